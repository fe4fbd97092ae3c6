"""What "always" stands for when a command is asked about."""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from acpella.local import Jail, JailError

__all__ = ["known_program"]

_SYNTAX = re.compile(r"[|&;<>()$`\\\n\r{}*?\[\]~#!=]")
"""Shell syntax: a command with any of it is more than one program and its arguments."""

_NUMBER = re.compile(r"-\d{1,6}")

Operands = Literal["none", "words", "paths"]


@dataclass(frozen=True, slots=True)
class _Syntax:
    """With which arguments a program, or its subcommand, is harmless."""

    operands: Operands
    """Whether it takes anything but options, and whether that may name a file."""
    letters: str = ""
    """Options of one letter, which may be joined: -la."""
    options: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """Options with a value of their own that names no file and no program."""
    number: bool = False
    """Whether -5 is an option."""


_READS_GIT = (
    "--oneline",
    "--stat",
    "--graph",
    "--all",
    "--decorate",
    "--name-only",
    "--name-status",
    "--reverse",
)
_CARGO = (
    "--release",
    "--workspace",
    "--all",
    "--all-targets",
    "--all-features",
    "--locked",
    "--offline",
    "--lib",
)

_COMMANDS = {
    "cat": _Syntax("paths", "nAbs"),
    "date": _Syntax("none", "uR"),
    "df": _Syntax("none", "hTi"),
    "du": _Syntax("paths", "shac"),
    "echo": _Syntax("words", "ne"),
    "file": _Syntax("paths", "bi"),
    "head": _Syntax("paths", "q", values=("-n", "-c"), number=True),
    "ls": _Syntax("paths", "laAhrtRS1dFi", ("--all", "--human-readable")),
    "mypy": _Syntax("paths", "v", ("--strict", "--pretty", "--show-error-codes", "--no-error-summary")),
    "pwd": _Syntax("none", "LP"),
    "pyright": _Syntax("paths", options=("--stats", "--outputjson", "--warnings", "--verbose")),
    "pytest": _Syntax("paths", "qvxsl", ("--lf", "--ff", "--no-header"), values=("-k", "-m")),
    "ruff check": _Syntax("paths", "qv", ("--diff", "--statistics", "--no-cache", "--preview")),
    "ruff format": _Syntax("paths", "qv", ("--check", "--diff", "--no-cache", "--preview")),
    "stat": _Syntax("paths", "Lf", values=("-c",)),
    "tail": _Syntax("paths", "q", values=("-n", "-c"), number=True),
    "tree": _Syntax("paths", "adfhD", ("--dirsfirst",), values=("-L",)),
    "tsc": _Syntax("paths", options=("--noEmit", "--pretty", "--strict", "--version")),
    "uname": _Syntax("none", "asrmnop"),
    "wc": _Syntax("paths", "lwcm"),
    "which": _Syntax("words", "a"),
    "cargo build": _Syntax("none", "qv", _CARGO),
    "cargo check": _Syntax("none", "qv", _CARGO),
    "cargo clippy": _Syntax("none", "qv", _CARGO),
    "cargo doc": _Syntax("none", "qv", ("--no-deps", *_CARGO)),
    "cargo fmt": _Syntax("none", "qv", ("--check", "--all")),
    "cargo test": _Syntax("words", "qv", ("--no-run", "--no-fail-fast", *_CARGO)),
    "git add": _Syntax("paths", "Auv", ("--all", "--update")),
    "git blame": _Syntax("paths", "sew", values=("-L",)),
    "git branch": _Syntax("words", "arv", ("--all", "--list", "--show-current")),
    "git commit": _Syntax("none", "aqv", ("--all", "--quiet"), values=("-m", "--message")),
    "git diff": _Syntax("paths", "pwb", ("--staged", "--cached", "--no-color", "--word-diff", *_READS_GIT)),
    "git fetch": _Syntax("none", "qv", ("--all", "--prune", "--tags", "--quiet")),
    "git log": _Syntax(
        "paths", "p", ("--no-color", *_READS_GIT), values=("-n", "--author", "--since"), number=True
    ),
    "git pull": _Syntax("none", "qv", ("--ff-only", "--rebase", "--quiet")),
    "git rev-parse": _Syntax("paths", options=("--abbrev-ref", "--short", "--show-toplevel", "--git-dir")),
    "git show": _Syntax("paths", "pw", ("--no-color", *_READS_GIT)),
    "git status": _Syntax("paths", "sbu", ("--short", "--branch", "--porcelain", "--ignored")),
    "git switch": _Syntax("words", "q", values=("-c", "--create")),
    "go build": _Syntax("paths", options=("-v", "-race")),
    "go fmt": _Syntax("paths", options=("-n", "-x")),
    "go list": _Syntax("paths", options=("-m", "-json", "-deps")),
    "go test": _Syntax("paths", options=("-v", "-race", "-short", "-cover"), values=("-run", "-count")),
    "go vet": _Syntax("paths", options=("-v",)),
    "npm ci": _Syntax("none", "s", ("--silent", "--ignore-scripts")),
    "npm install": _Syntax("none", "s", ("--silent", "--ignore-scripts")),
    "npm ls": _Syntax("words", "al", ("--all", "--json")),
    "npm outdated": _Syntax("none", "l", ("--json",)),
    "npm test": _Syntax("none", "s", ("--silent",)),
    "pip check": _Syntax("none"),
    "pip freeze": _Syntax("none", "l", ("--local",)),
    "pip list": _Syntax("none", "lo", ("--outdated", "--local")),
    "pip show": _Syntax("words", "f", ("--files",)),
    "uv lock": _Syntax("none", "qv", ("--check", "--locked")),
    "uv sync": _Syntax("none", "qv", ("--locked", "--frozen", "--all-extras", "--all-groups")),
    "uv tree": _Syntax("none", "qv", ("--locked", "--frozen")),
}
"""Programs that stay harmless with these options, whatever they work on.

An option that is missing here may name a program to run or a place to write to, reach another machine, or
destroy something. Commands that are missing altogether fetch code which the project does not name
(`pip install`), publish something (`git push`) or throw work away (`git restore`).
"""

_WHOLE_REPOSITORY = ("git blame", "git diff", "git log", "git show")
"""Commands that show files of the whole repository, wherever in it they are run."""


def known_program(command: str, cwd: Path, jail: Jail) -> str | None:
    """The program, with its subcommand, that "always" stands for; None if it stands for exactly this command.

    The former only for known programs with harmless options, on files that the jail allows: `sh -c`, pipes,
    `cat .env` and the like are remembered word for word. So is what is not plain ASCII: a shell takes a blank
    of another script for a part of a name.
    """
    if not (command.isascii() and command.isprintable()) or _SYNTAX.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for length in (1, 2):
        name = " ".join(words[:length])
        if name.split() == words[:length] and (syntax := _COMMANDS.get(name)) is not None:
            bases = [cwd]
            if name in _WHOLE_REPOSITORY and (top := _top(cwd)) is not None:
                bases.append(top)
            return name if _harmless(syntax, words[length:], bases, jail) else None
    return None


def _harmless(syntax: _Syntax, words: list[str], bases: list[Path], jail: Jail) -> bool:
    if not all(_inside(".", base, jail) for base in bases):
        return False
    rest = iter(words)
    for word in rest:
        if word in syntax.values:
            if next(rest, "-").startswith(
                "-"
            ):  # some programs take the next option for the value, some do not
                return False
        elif word.startswith("-"):
            joined = len(word) > 1 and all(letter in syntax.letters for letter in word[1:])
            if not joined and word not in syntax.options and not (syntax.number and _NUMBER.fullmatch(word)):
                return False
        elif syntax.operands == "none" or not word or word[0] in "@+:":  # a file with options, a forced ref
            return False
        elif syntax.operands == "paths" and not all(_inside(word, base, jail) for base in bases):
            return False
    return True


def _inside(word: str, base: Path, jail: Jail) -> bool:
    """Whether a word names no file outside the jail, neither whole nor in parts such as HEAD:a.py."""
    try:
        for part in {word, word.partition(":")[2], *word.split(":")} - {""}:
            jail.resolve(base / part)
    except (JailError, OSError):
        return False
    return True


def _top(cwd: Path) -> Path | None:
    """Where the repository begins that git finds from here, and from where it reads `HEAD:a.py`."""
    real = Path(os.path.realpath(cwd))
    return next((each for each in (real, *real.parents) if os.path.lexists(each / ".git")), None)
