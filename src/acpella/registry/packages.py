"""Agents from npm and PyPI: first a lock file says what would be installed, then exactly that is (G-035).

Nothing of a package runs until the user has agreed. npm's install scripts need a separate consent, and so
does what is built here: PyPI packages without a wheel, and npm's packages from git.
"""

import configparser
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from acpella._processes import inherited_environment
from acpella._redact import redact

from .download import Progress
from .errors import InstallError
from .platforms import find_tool
from .specs import split_npm, split_pypi
from .tools import ProgramFailed, run_tool

__all__ = ["NeedsBuild", "Resolved", "install_npm", "install_uv", "resolve_npm", "resolve_uv"]

RESOLVED_WITHIN = 300.0

_TOO_NEW = re.compile(
    r"ETARGET|notarget|No matching version|min-release-age|with a date before"
    r"|no version of|No solution found|exclude-newer",
    re.IGNORECASE,
)
"""What npm and uv print when a version does not exist, or is too new for the user's settings."""

_NO_WHEEL = re.compile(r"no usable wheels|building from source is disabled")
"""What uv prints when it would have to build a package."""

_NEEDS_PYTHON = re.compile(r"Python\s*(>=\s*3\.[0-9]+(?:\.[0-9]+)?)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")


class NeedsBuild(InstallError):
    """A package manager would have to build a package, which runs code of it before anybody has agreed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What a package manager would install."""

    version: str
    source: str
    """The package with its version."""
    digest: str
    details: tuple[str, ...] = ()
    """Lines about it, for whoever decides."""
    scripts: tuple[str, ...] = ()
    """Packages with install scripts, which are run only on request."""
    builds: bool = False
    """Whether packages may be built, which runs their code."""
    python: str = ""


def _environment() -> dict[str, str]:
    return {**inherited_environment(), "NO_COLOR": "1", "CI": "1", "npm_config_update_notifier": "false"}


def _tool(name: str) -> str:
    path = find_tool(name)
    if path is None:
        raise InstallError(f"{name} is not on the PATH")
    return path


# -- npm -----------------------------------------------------------------------------------------------

_NPM = ("--no-audit", "--no-fund", "--ignore-scripts")


def resolve_npm(spec: str, files: Path, progress: Progress, *, build: bool = False) -> Resolved:
    """Let npm write its lock file: every package with its version and digest; none is downloaded.

    Raises:
        NeedsBuild: a package comes from git, and `build` does not allow that.
        InstallError: there is no such package.
    """
    name, version = split_npm(spec)
    files.mkdir(parents=True, exist_ok=True)
    (files / "package.json").write_text('{"name": "acpella-agent", "private": true}\n', encoding="utf-8")
    npm = [_tool("npm"), "install", "--package-lock-only", "--save-exact", *_NPM]
    progress.step(f"look up {spec}")
    try:
        run_tool([*npm, spec], cwd=files, progress=progress, env=_environment(), within=RESOLVED_WITHIN)
    except ProgramFailed as error:
        if not version or not _TOO_NEW.search(error.output):
            raise
        progress.step(f"{spec} is not to be had; look up the newest version below it")
        ceiling = f"{name}@0.0.0 - {version}"
        run_tool([*npm, ceiling], cwd=files, progress=progress, env=_environment(), within=RESOLVED_WITHIN)
    return _locked_npm(name, version, files, build=build)


def _locked_npm(name: str, requested: str, files: Path, *, build: bool) -> Resolved:
    try:
        lock: Any = json.loads((files / "package-lock.json").read_bytes())
        packages = cast("dict[str, dict[str, Any]]", lock["packages"])
        main = packages[f"node_modules/{name}"]
        version, integrity = str(main["version"]), str(main["integrity"])
        source = main.get("resolved")  # npm can be configured to leave it out
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InstallError(f"npm wrote no usable lock file for {name}") from None
    # npm runs npm again in a clone, with the settings of that clone: it may name a program to run as `git`
    cloned = [
        place.rpartition("node_modules/")[2]
        for place, item in packages.items()
        if str(item.get("resolved", "")).startswith("git")
    ]
    if cloned and not build:
        raise NeedsBuild(
            f"{name}@{version} needs {', '.join(cloned)} from git, and npm runs code that it finds there"
        )
    details = [f"at {redact(source)}"] if isinstance(source, str) else []
    details.append(f"with {len(packages) - 2} packages that it needs")
    if requested and version != requested:
        details.append(f"version {requested} is not to be had; this is the newest one below it")
    if cloned:
        details.append(f"{', '.join(cloned)} from git, where npm runs code that it finds")
    scripts = [
        place.rpartition("node_modules/")[2]
        for place, item in packages.items()
        if item.get("hasInstallScript")
    ]
    return Resolved(
        version=version,
        source=f"{name}@{version}",
        digest=integrity,
        details=tuple(details),
        scripts=tuple(scripts),
        builds=build,
    )


def install_npm(
    resolved: Resolved, files: Path, progress: Progress, *, scripts: bool = False
) -> tuple[str, str]:
    """Install what the lock file says; npm compares every digest. Returns the runner and the program.

    Raises:
        InstallError: it cannot be installed, or has no program.
    """
    progress.step(f"npm installs {resolved.source}")
    options = [option for option in _NPM if not (scripts and option == "--ignore-scripts")]
    # not `npm ci`: it refuses a lock file that lacks optional packages of other systems
    run_tool([_tool("npm"), "install", *options], cwd=files, progress=progress, env=_environment())
    name, version = split_npm(resolved.source)
    if _locked_npm(name, version, files, build=resolved.builds).digest != resolved.digest:
        raise InstallError(f"npm has installed another {name} than the one that was shown")
    place = files / "node_modules" / name
    try:
        about: Any = json.loads((place / "package.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        raise InstallError(f"npm has not installed {name}") from None
    table = cast("dict[str, Any]", about) if isinstance(about, dict) else {}
    program = _npm_program(name, table.get("bin"))
    path = place / program
    if not path.is_file() or not path.resolve().is_relative_to(files.resolve()):
        raise InstallError(f"{name} has no file {program}, which is to be its program")
    if _runs_in_node(path):
        return "node", path.relative_to(files).as_posix()
    path.chmod(path.stat().st_mode | 0o500)
    return "", path.relative_to(files).as_posix()


def _npm_program(name: str, bins: Any) -> str:
    if isinstance(bins, str):
        return bins
    table = (
        {k: v for k, v in cast("dict[str, Any]", bins).items() if isinstance(v, str)}
        if isinstance(bins, dict)
        else {}
    )
    short = name.rpartition("/")[2]
    if short in table:
        return table[short]
    if len(set(table.values())) == 1:
        return next(iter(table.values()))
    there = f"it has: {', '.join(sorted(table))}" if table else "it has none"
    raise InstallError(f"{name} has no program of its own name; {there}")


def _runs_in_node(path: Path) -> bool:
    """Whether Node runs a program: a script whose `#!` line names Node, or one without such a line."""
    with open(path, "rb") as file:
        head = file.read(200)
    if head.startswith(b"#!"):
        return b"node" in head.split(b"\n", 1)[0]
    return not head.startswith((b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))


# -- PyPI ----------------------------------------------------------------------------------------------


def resolve_uv(spec: str, files: Path, progress: Progress, *, build: bool = False) -> Resolved:
    """Let uv write down every package with its version and digests; none is installed.

    Raises:
        NeedsBuild: a package has no wheel, and `build` does not allow to make one. Just to look up what
            such a package needs, uv would run code of it.
        InstallError: there is no such package, or it needs a Python that cannot be had.
    """
    name, version = split_pypi(spec)
    files.mkdir(parents=True, exist_ok=True)
    requirements, locked = files / "wanted.txt", files / "locked.txt"
    python = ""
    progress.step(f"look up {spec}")
    pattern = f"{name}=={version}" if version else name
    tried_ceiling = tried_python = False
    while True:
        requirements.write_text(pattern + "\n", encoding="utf-8")
        command = [_tool("uv"), "pip", "compile", os.fspath(requirements), "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--quiet", "-o", os.fspath(locked)]
        command += [] if build else ["--no-build"]
        command += ["--python", python] if python else []
        try:
            run_tool(command, cwd=files, progress=progress, env=_environment(), within=RESOLVED_WITHIN)
            break
        except ProgramFailed as error:
            needs = _NEEDS_PYTHON.search(error.output)
            if needs is not None and not tried_python:
                tried_python, python = True, needs[1].replace(" ", "")
                progress.step(f"it needs Python {python}")
            elif not build and _NO_WHEEL.search(error.output):
                names = ", ".join(re.findall(r"Wheels are required for `([^`]+)`", error.output))
                raise NeedsBuild(
                    f"{spec} needs {names or 'a package'} as a wheel, and there is only its source: "
                    "to build that runs code of it"
                ) from None
            elif version and not tried_ceiling and _TOO_NEW.search(error.output):
                tried_ceiling, pattern = True, f"{name}<={version}"
                progress.step(f"{spec} is not to be had; look up the newest version below it")
            else:
                raise
    return _locked_uv(name, version, locked, python, build=build)


def _locked_uv(name: str, requested: str, locked: Path, python: str, *, build: bool) -> Resolved:
    text = locked.read_text(encoding="utf-8")
    bare = _normal(name.partition("[")[0])
    versions: dict[str, str] = {}
    hashes: list[str] = []
    current = ""
    for line in text.splitlines():
        if match := _REQUIREMENT.match(line):
            current = _normal(match[1])
            versions[current] = match[2]
        if current == bare:
            hashes += re.findall(r"--hash=(sha256:[0-9a-f]{64})", line)
    if bare not in versions or not hashes:
        raise InstallError(f"uv wrote no usable list of packages for {name}")
    details = [f"its files have {', '.join(hashes)}", f"with {len(versions) - 1} packages that it needs"]
    if requested and versions[bare] != requested:
        details.append(f"version {requested} is not to be had; this is the newest one below it")
    if python:
        details.append(f"needs Python {python}")
    if build:
        details.append("what has no wheel is built here, which runs code of it")
    return Resolved(
        version=versions[bare],
        source=f"{name}=={versions[bare]}",
        digest="sha256:" + hashlib.sha256(text.encode()).hexdigest(),
        details=tuple(details),
        builds=build,
        python=python,
    )


def install_uv(resolved: Resolved, files: Path, progress: Progress) -> tuple[str, str]:
    """Install what is locked, into an environment of its own. Returns the runner and the program.

    Raises:
        InstallError: it cannot be installed, or has no program.
    """
    uv, venv = _tool("uv"), files / "venv"
    bin_directory = venv / ("Scripts" if sys.platform == "win32" else "bin")
    progress.step(f"uv installs {resolved.source}")
    make = [uv, "venv", os.fspath(venv), "--relocatable", "--no-project", "--quiet"]
    make += ["--python", resolved.python] if resolved.python else []
    run_tool(make, cwd=files, progress=progress, env=_environment())
    python = bin_directory / ("python.exe" if sys.platform == "win32" else "python")
    install = [uv, "pip", "install", "--require-hashes", "--quiet", "--python", os.fspath(python)]
    install += ["-r", os.fspath(files / "locked.txt")]
    install += [] if resolved.builds else ["--no-build"]
    run_tool(install, cwd=files, progress=progress, env=_environment())
    name = split_pypi(resolved.source)[0].partition("[")[0]
    script = _script(name, venv, bin_directory)
    return "", script.relative_to(files).as_posix()


def _script(name: str, venv: Path, bin_directory: Path) -> Path:
    ending = ".exe" if sys.platform == "win32" else ""
    own = bin_directory / (name + ending)
    if own.is_file():
        return own
    scripts = _console_scripts(name, venv)
    if len(scripts) == 1 and (bin_directory / (next(iter(scripts)) + ending)).is_file():
        return bin_directory / (next(iter(scripts)) + ending)
    there = f"it has: {', '.join(sorted(scripts))}" if scripts else "it has none"
    raise InstallError(f"{name} has no program of its own name; {there}")


def _console_scripts(name: str, venv: Path) -> Mapping[str, str]:
    for path in venv.rglob("*.dist-info/entry_points.txt"):
        if _normal(path.parent.name.partition("-")[0]) == _normal(name):
            parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
            parser.optionxform = str  # type: ignore[assignment,method-assign] - as its documentation says
            try:
                parser.read(path, encoding="utf-8")
            except (configparser.Error, UnicodeDecodeError):
                return {}
            return dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {}
    return {}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
