"""What "always" stands for when a command is asked about."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from acpella.local import Jail, JailError

__all__ = ["permission_key"]

_SYNTAX = re.compile(r"[|&;<>()$`\\\n\r{}*?\[\]~#!=]")
"""What makes more of a command than one program with its words."""

_NUMBER = re.compile(r"-\d{1,6}")

Operands = Literal["none", "words", "paths"]


@dataclass(frozen=True, slots=True)
class _Known:
    """How a program, or its subcommand, stays what it is."""

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

_KNOWN = {
    "cat": _Known("paths", "nAbs"),
    "date": _Known("none", "uR"),
    "df": _Known("none", "hTi"),
    "du": _Known("paths", "shac"),
    "echo": _Known("words", "ne"),
    "file": _Known("paths", "bi"),
    "head": _Known("paths", "q", values=("-n", "-c"), number=True),
    "ls": _Known("paths", "laAhrtRS1dFi", ("--all", "--human-readable")),
    "mypy": _Known("paths", "v", ("--strict", "--pretty", "--show-error-codes", "--no-error-summary")),
    "pwd": _Known("none", "LP"),
    "pyright": _Known("paths", options=("--stats", "--outputjson", "--warnings", "--verbose")),
    "pytest": _Known("paths", "qvxsl", ("--lf", "--ff", "--no-header"), values=("-k", "-m")),
    "ruff check": _Known("paths", "qv", ("--diff", "--statistics", "--no-cache", "--preview")),
    "ruff format": _Known("paths", "qv", ("--check", "--diff", "--no-cache", "--preview")),
    "stat": _Known("paths", "Lf", values=("-c",)),
    "tail": _Known("paths", "q", values=("-n", "-c"), number=True),
    "tree": _Known("paths", "adfhD", ("--dirsfirst",), values=("-L",)),
    "tsc": _Known("paths", options=("--noEmit", "--pretty", "--strict", "--version")),
    "uname": _Known("none", "asrmnop"),
    "wc": _Known("paths", "lwcm"),
    "which": _Known("words", "a"),
    "cargo build": _Known("none", "qv", _CARGO),
    "cargo check": _Known("none", "qv", _CARGO),
    "cargo clippy": _Known("none", "qv", _CARGO),
    "cargo doc": _Known("none", "qv", ("--no-deps", *_CARGO)),
    "cargo fmt": _Known("none", "qv", ("--check", "--all")),
    "cargo test": _Known("words", "qv", ("--no-run", "--no-fail-fast", *_CARGO)),
    "git add": _Known("paths", "Auv", ("--all", "--update")),
    "git blame": _Known("paths", "sew", values=("-L",)),
    "git branch": _Known("words", "arv", ("--all", "--list", "--show-current")),
    "git commit": _Known("none", "aqv", ("--all", "--quiet"), values=("-m", "--message")),
    "git diff": _Known("paths", "pwb", ("--staged", "--cached", "--no-color", "--word-diff", *_READS_GIT)),
    "git fetch": _Known("none", "qv", ("--all", "--prune", "--tags", "--quiet")),
    "git log": _Known(
        "paths", "p", ("--no-color", *_READS_GIT), values=("-n", "--author", "--since"), number=True
    ),
    "git pull": _Known("none", "qv", ("--ff-only", "--rebase", "--quiet")),
    "git rev-parse": _Known("paths", options=("--abbrev-ref", "--short", "--show-toplevel", "--git-dir")),
    "git show": _Known("paths", "pw", ("--no-color", *_READS_GIT)),
    "git status": _Known("paths", "sbu", ("--short", "--branch", "--porcelain", "--ignored")),
    "git switch": _Known("words", "q", values=("-c", "--create")),
    "go build": _Known("paths", options=("-v", "-race")),
    "go fmt": _Known("paths", options=("-n", "-x")),
    "go list": _Known("paths", options=("-m", "-json", "-deps")),
    "go test": _Known("paths", options=("-v", "-race", "-short", "-cover"), values=("-run", "-count")),
    "go vet": _Known("paths", options=("-v",)),
    "npm ci": _Known("none", "s", ("--silent", "--ignore-scripts")),
    "npm install": _Known("none", "s", ("--silent", "--ignore-scripts")),
    "npm ls": _Known("words", "al", ("--all", "--json")),
    "npm outdated": _Known("none", "l", ("--json",)),
    "npm test": _Known("none", "s", ("--silent",)),
    "pip check": _Known("none"),
    "pip freeze": _Known("none", "l", ("--local",)),
    "pip list": _Known("none", "lo", ("--outdated", "--local")),
    "pip show": _Known("words", "f", ("--files",)),
    "uv lock": _Known("none", "qv", ("--check", "--locked")),
    "uv sync": _Known("none", "qv", ("--locked", "--frozen", "--all-extras", "--all-groups")),
    "uv tree": _Known("none", "qv", ("--locked", "--frozen")),
}
"""Programs that stay what they are with these options, whatever they work on.

An option that is missing here may name a program to run or a place to write to, reach another machine, or
destroy something. Missing as a whole is what gets other code (`pip install`), gives something away
(`git push`) or throws work away (`git restore`).
"""


def permission_key(command: str, cwd: Path, jail: Jail) -> str:
    """What "always" stands for: the program, with its subcommand; or exactly this command.

    Coarse only for known programs with harmless options, on files that the jail would give: `sh -c`, pipes,
    `cat .env` and the like are remembered word for word.
    """
    command = command.strip()
    exact = f"run:{command}"
    if not command.isprintable() or _SYNTAX.search(command):
        return exact
    try:
        words = shlex.split(command)
    except ValueError:
        return exact
    for length in (1, 2):
        name = " ".join(words[:length])
        if name.split() == words[:length] and (known := _KNOWN.get(name)) is not None:
            return f"run:{name}" if _harmless(known, words[length:], cwd, jail) else exact
    return exact


def _harmless(known: _Known, words: list[str], cwd: Path, jail: Jail) -> bool:
    rest = iter(words)
    for word in rest:
        if word in known.values:
            if next(rest, "-").startswith(
                "-"
            ):  # some programs take the next option for the value, some do not
                return False
        elif word.startswith("-"):
            joined = len(word) > 1 and all(letter in known.letters for letter in word[1:])
            if not joined and word not in known.options and not (known.number and _NUMBER.fullmatch(word)):
                return False
        elif known.operands == "none" or not word or word[0] in "@+:":  # a file with options, a forced ref
            return False
        elif known.operands == "paths" and not _inside(word, cwd, jail):
            return False
    return True


def _inside(word: str, cwd: Path, jail: Jail) -> bool:
    """Whether a word names no file outside the jail, neither whole nor in parts such as HEAD:a.py."""
    try:
        for part in {word, *word.split(":")} - {""}:
            jail.resolve(cwd / part)
    except (JailError, OSError):
        return False
    return True
