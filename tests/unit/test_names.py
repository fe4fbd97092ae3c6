"""One word for one thing: what names in the code may not be, and maps of the code that lead somewhere."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "acpella"

SAY_NOTHING = frozenset(
    (
        "told",
        "found",
        "kept",
        "shown",
        "said",
        "given",
        "made",
        "gone",
        "heard",
        "meant",
        "named",
        "things",
        "stuff",
    )
)
"""Participles that would fit every value. A noun says what is there."""

SAME_THING = {
    "Messages": "of a result; and a provider's interface, which is called that",
    "Method": "of JSON-RPC, and one of ACP",
    "ModelRequest": "what a model is asked; the test server receives the same",
    "ProcessTree": "one for each family of systems, of which one is loaded",
    "ToolUse": "what a model wants to be run; the test server answers with the same",
    "Vocabulary": "the methods that a connection knows; rpc says what it needs of them",
}
"""Names without underscore that stand in several modules, and why they may."""


@cache
def modules() -> list[tuple[str, str, ast.Module]]:
    """Path, text and tree of every module of the package."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in sorted(SOURCES.rglob("*.py"))]
    return [(path.relative_to(SOURCES).as_posix(), text, ast.parse(text)) for path, text in texts]


def locals_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each parameter, and of each variable that is bound in a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def test_locals_are_named_for_what_they_hold() -> None:
    vague = [
        f"{path}:{line}: {name}"
        for path, _, tree in modules()
        for line, name in locals_of(tree)
        if name in SAY_NOTHING
    ]
    assert not vague, "a noun would say what is there: " + ", ".join(vague)


def test_a_class_has_its_name_for_itself() -> None:
    names = Counter(
        node.name
        for _, _, tree in modules()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == SAME_THING.keys()


def test_the_protocol_version_is_written_once() -> None:
    """The codecs have their own number, and a check of version 1 is of version 1."""
    literal = re.compile(r"""protocol_?[vV]ersion["']?\)?\s*(?::|=|!=|==)\s*\d""")
    owners = ("agent/codec/", "client/codec.py", "check/")
    others = [path for path, text, _ in modules() if not path.startswith(owners) and literal.search(text)]
    assert not others, f"`_protocol_versions.PROTOCOL_VERSION` has it: {others}"


@pytest.mark.parametrize(
    "name", ["ARCHITECTURE.md", "docs/explanation/architecture.md", "docs/explanation/glossary.md"]
)
def test_a_map_leads_to_what_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    places = re.findall(r"`([a-z_0-9]+/(?:[a-z_0-9/]*(?:\.py|\.ts|/))?)`(?: \(`(#?\w+)`\))?", text)
    assert len(places) > 10
    for place, function in places:
        path = next(
            (base / place for base in (SOURCES, SOURCES / "server", ROOT) if (base / place).exists()), None
        )
        assert path is not None, f"{name}: there is no {place}"
        if function:
            keyword = "def " if place.endswith(".py") else ""
            assert f"{keyword}{function}(" in path.read_text(encoding="utf-8"), (
                f"{name}: {place} has no {function}"
            )
