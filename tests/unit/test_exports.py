"""What the package shows to the outside, and what importing it costs."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import acpella

ROOT = Path(__file__).parents[2]

PUBLIC = [
    "acpella.agent",
    "acpella.client",
    "acpella.errors",
    "acpella.local",
    "acpella.recording",
    "acpella.rpc",
    "acpella.schema",
    "acpella.server",
    "acpella.sessions",
    "acpella.testing",
    "acpella.transport",
]


def test_every_root_name_can_be_imported() -> None:
    for name in acpella.__all__:
        assert getattr(acpella, name) is not None


def test_type_checkers_see_the_same_root_names() -> None:
    """The names under TYPE_CHECKING are those of `__all__`, so that editors complete what really is there."""
    tree = ast.parse(Path(acpella.__file__).read_text(encoding="utf-8"))
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in guard.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(acpella.__all__)


def test_an_unknown_root_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = acpella.nonsense  # type: ignore[attr-defined]


def test_importing_the_root_loads_nothing_else() -> None:
    """The root is lazy: no third-party module, not even asyncio."""
    code = "import sys; before = set(sys.modules); import acpella; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["acpella"]


def test_the_sdk_needs_no_third_party_module_but_msgspec() -> None:
    code = (
        "import sys; import acpella.agent, acpella.rpc, acpella.schema.methods, acpella.transport; "
        "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    # what the interpreter's own site hooks load is not ours
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*{n.partition('.')[0] for n in sys.modules})"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split()) - set(bare.stdout.split())
    assert loaded - {"typing_extensions"} == {"acpella", "msgspec"}  # msgspec takes it where it is installed


@pytest.mark.parametrize("name", PUBLIC)
def test_public_modules_list_exactly_what_they_offer(name: str) -> None:
    module = importlib.import_module(name)
    listed = module.__all__
    assert len(set(listed)) == len(listed)
    for exported in listed:
        assert hasattr(module, exported), exported


def source_files() -> list[Path]:
    return sorted(Path(acpella.__file__).parent.rglob("*.py"))


def defined_in(tree: ast.Module) -> set[str]:
    """The public classes and functions that a module defines at its top level."""
    statements = [*tree.body]
    for node in tree.body:
        if isinstance(node, ast.If):
            statements += [*node.body, *node.orelse]  # one for each system
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name
        for node in statements
        if isinstance(node, kinds) and not node.name.startswith("_") and not is_requirement(node)
    }


def is_requirement(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A function of `acpella.check` that its decorator hands to an `Area`; nobody imports it."""
    calls = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
    return any(call.endswith((".audit", ".scenario")) for call in calls)


def bound_in(tree: ast.Module) -> set[str]:
    """Every name that a module has at its top level, those for type checkers included."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def listed_in(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_all_is_exact_in_every_module(path: Path) -> None:
    """What a module defines for others is in `__all__`, and what stands there exists."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    listed = listed_in(tree)
    if listed is None:
        assert path.name in ("__main__.py", "__init__.py") and not defined_in(tree) - {"main"}, "no __all__"
        return
    assert defined_in(tree) - set(listed) == set(), "defined, but neither listed nor private"
    assert set(listed) - bound_in(tree) - {"__version__"} == set(), "listed, but not there"


def test_no_public_name_means_two_things() -> None:
    """Those of `acpella.schema` aside, which are the specification's."""
    homes: dict[str, object] = {}
    # an agent's slash command and a node's command to another; an event of a session's log and of a recording
    twice = {"Command", "Event"}
    for name in (name for name in PUBLIC if name != "acpella.schema"):
        module = importlib.import_module(name)
        for exported in set(module.__all__) - twice:
            thing = getattr(module, exported)
            assert homes.setdefault(exported, thing) is thing, (
                f"{exported} of {name} is another one elsewhere"
            )


def test_every_module_can_be_imported_alone() -> None:
    """No cycle hides behind the order in which the package happens to be loaded."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [re.sub(r"[()|]", " ", layer) for layer in reversed(contract["layers"])]
    ran = imports_alone("acpella", *layers)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout.split()[0]) > 100, "all were found"


def test_a_module_that_needs_another_one_first_is_found(tmp_path: Path) -> None:
    """A cycle that works from one end only, a name that nobody imported, a layer that looks up."""
    files = {
        "low/__init__.py": "",
        "low/looks_up.py": "import bad.high.fine",
        "low/fine.py": "here = True",
        "high/__init__.py": "",
        "high/fine.py": "from bad.low import fine",
        "high/first.py": "import bad.high.second\nname = 1",
        "high/second.py": "from bad.high.first import name",
        "high/uses_unimported.py": "import bad\nbad.low.fine.here",
    }
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / "bad" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
    ran = imports_alone("bad", "bad.low", "bad.high", path=tmp_path)
    assert ran.returncode == 1
    assert set(re.findall(r"(\S+) cannot be imported alone", ran.stdout)) == {
        "bad.high.first",
        "bad.high.uses_unimported",
    }
    assert "bad.low imports bad.high, bad.high.fine, which is above it" in ran.stdout


def imports_alone(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = Path(__file__).parent / "suite" / "imports_alone.py"
    return subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **({"PYTHONPATH": str(path)} if path else {})},
    )
