"""`npm` and `uv` for tests: programs that write what the real ones would, and log how they were called."""

import sys
from pathlib import Path

from tiny_agent import tiny_agent

NPM = """#!{python}
import json, os, sys, time
from pathlib import Path
available = {available!r}
with open({log!r}, "a") as log: log.write("npm " + " ".join(sys.argv[1:]) + "\\n")
if {hang!r}: time.sleep(60)
name = {name!r}
if "--package-lock-only" in sys.argv:
    wanted = sys.argv[-1].rpartition("@")[2]
    if " - " in wanted:
        top = tuple(map(int, wanted.split(" - ")[1].split(".")))
        fit = [v for v in available if tuple(map(int, v.split("."))) <= top]
    else:
        fit = [v for v in available if v == wanted]
    if not fit:
        print("npm error code ETARGET\\nnpm error notarget No matching version found for " + sys.argv[-1])
        sys.exit(1)
    lock = {{"packages": {{"": {{}}, "node_modules/" + name:
        {{"version": fit[-1], "integrity": "sha512-" + fit[-1], "hasInstallScript": {scripts!r}}},
        **{needs!r}}}}}
    Path("package-lock.json").write_text(json.dumps(lock))
else:
    version = json.loads(Path("package-lock.json").read_text())["packages"]["node_modules/" + name]["version"]
    place = Path("node_modules", name)
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({{"bin": {bins!r}}}))
    (place / "index.js").write_text({program!r}.replace("1.0.0", version))
    if "--ignore-scripts" not in sys.argv: Path("built").touch()
"""

UV = """#!{python}
import os, sys
from pathlib import Path
args = sys.argv[1:]
with open({log!r}, "a") as log: log.write("uv " + " ".join(args) + "\\n")
available = {available!r}
if args[:2] == ["pip", "compile"]:
    wanted = Path(args[2]).read_text().strip()
    if {source!r} and "--no-build" in args:
        print("Because tiny-py==1.0.0 has no usable wheels we can conclude that ...\\n")
        print("hint: Wheels are required for `tiny-py` because building from source is disabled")
        sys.exit(1)
    version = wanted.rpartition("=")[2]
    fit = [v for v in available if v == version or ("<=" in wanted and v <= version)]
    if not fit:
        print("No solution found: because there is no version of " + wanted)
        sys.exit(1)
    digest = " \\\\\\n    --hash=sha256:"
    lines = ["tiny-py==" + fit[-1] + digest + "a" * 64, "other==2.0" + digest + "b" * 64]
    Path(args[args.index("-o") + 1]).write_text("\\n".join(lines) + "\\n")
elif args[0] == "venv":
    Path(args[1], "bin").mkdir(parents=True)
else:
    script = Path(args[args.index("--python") + 1]).parent / "tiny-py"
    script.write_text({program!r})
    script.chmod(0o755)
"""


def fake_npm(place: Path, available: list[str], **more: object) -> Path:
    """Write a fake `npm` into a directory; returns its log. `program` is the agent, `bins` the `bin` of its
    package, `needs` more of the lock file."""
    log = place / "tools.log"
    values = {
        "hang": False,
        "scripts": False,
        "name": "@scope/tiny",
        "bins": {"tiny": "index.js"},
        "needs": {},
    }
    values |= {"program": tiny_agent().decode(), **more}
    _write(place / "npm", NPM, available=available, log=str(log), **values)
    return log


def fake_uv(place: Path, available: list[str], *, source: bool = False) -> Path:
    """Write a fake `uv`; with `source` there is no wheel of what it installs."""
    log = place / "tools.log"
    program = tiny_agent().decode()
    _write(place / "uv", UV, available=available, log=str(log), program=program, source=source)
    return log


def _write(path: Path, text: str, **values: object) -> None:
    path.write_text(text.format(python=sys.executable, **values), encoding="utf-8")
    path.chmod(0o755)
