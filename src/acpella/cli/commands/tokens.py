"""`acpella tokens`: who may use a server, in the file that `acpella serve --token-file` reads."""

import argparse
import hashlib
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from .. import exits
from ..state.file_locks import locked
from ..terminal.output import columns, say, show, show_json

if TYPE_CHECKING:
    from acpella.server.access.tokens import Token

__all__ = ["declare", "run"]

SHORTEST_PREFIX = 4
"""Digits of a hash that are enough to say which token is meant, if they are those of one only."""

DEFAULT_SCOPES = "prompt,approve"
"""Of a user. An `admin` sees what others do, so that has to be said."""

_EPILOG = """\
examples:
  acpella tokens add tokens alice                                   a new token; it is shown this once
  acpella tokens add tokens ci --scopes prompt --until 2030-12-31   one that ends, and answers no questions
  acpella tokens add tokens prometheus --scopes admin               one for /metrics only
  acpella tokens list tokens                                        whose there are; never the tokens
  acpella tokens remove tokens alice                                revoke all tokens of alice's
  acpella tokens remove tokens 3f9a01bc                             or one, by its digits in the list
  acpella serve --token-file tokens my:agent                        the server that they are for

scopes:
  read      see sessions and what happens in them, change nothing
  prompt    use the agent; includes read
  approve   answer its questions, and choose modes that ask less; includes read
  admin     /metrics, and with serve --inspect the messages of everybody; only if it is named

A running server takes a new token at once, and closes what a removed one had opened within a second or two.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Add, list and remove the tokens of a server's users."
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    adding = actions.add_parser("add", help="make a token for a user and print it, this once")
    listing = actions.add_parser("list", help="whose tokens there are, for what, and until when")
    removing = actions.add_parser("remove", help="revoke a token, or all of a user's")
    hashing = actions.add_parser("hash", help="replace tokens that stand in the file by their SHA-256")
    for sub in (adding, listing, removing, hashing):
        sub.add_argument("file", metavar="FILE", help="the token file of the server")
    adding.add_argument("user", metavar="USER", help="a name without spaces; may have several tokens")
    adding.add_argument(
        "--scopes", metavar="SCOPE,...", help="prompt, approve, read, admin; default: prompt,approve"
    )
    adding.add_argument(
        "--until", metavar="DATE", help="when it ends: 2030-12-31, or 2030-12-31T18:00+02:00; default: never"
    )
    listing.add_argument("--json", action="store_true", help="as JSON")
    removing.add_argument("which", metavar="USER|DIGITS", help="a user, or the first digits of a hash")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    work = {"add": _add, "list": _list, "remove": _remove, "hash": _hash}[arguments.action]
    try:
        return work(arguments)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        say(str(error))
        return exits.USAGE


# -- the actions ---------------------------------------------------------------------------------------


def _add(arguments: argparse.Namespace) -> int:
    from acpella.server.access.credentials import scopes_of
    from acpella.server.access.tokens import end_of

    user: str = arguments.user
    if not user or user.startswith("#") or not all(c.isprintable() and not c.isspace() for c in user):
        raise ValueError(f"{user!r} cannot be a user's name: names have no spaces and do not begin with #")
    words = [user]
    token = secrets.token_hex(32)
    words.append("sha256:" + hashlib.sha256(token.encode()).hexdigest())
    if arguments.until is not None:
        try:
            end = end_of(arguments.until)
        except ValueError:
            raise ValueError(f"{arguments.until!r} is not a date such as 2030-12-31") from None
        if end <= time.time():
            raise ValueError(f"{arguments.until} is over")
        words.append(f"until={arguments.until}")
    names = [name.strip() for name in (arguments.scopes or DEFAULT_SCOPES).split(",")]
    scopes_of(names)
    words.append("scopes=" + ",".join(names))
    line = " ".join(words)
    path = _real(arguments.file)
    with _changing(path):
        lines = _read(path) if path.exists() else []
        if mistake := _mistake(lines):
            raise ValueError(mistake)
        _replace(path, [*(one.text for one in lines), line])
    say(f"a new token for {user}; it is shown this once, {arguments.file} keeps only its SHA-256")
    show(token)
    say("clients send it as `Authorization: Bearer TOKEN`; acpella's find it in ACPELLA_TOKEN")
    return exits.DONE


def _list(arguments: argparse.Namespace) -> int:
    path = _real(arguments.file)
    lines = _read(path)
    rows = [_row(line, line.token) for line in lines if line.token is not None]
    if arguments.json:
        show_json(rows)
    else:
        columns(
            [
                (row["user"], row["hash"], ",".join(row["scopes"]), _shown_end(row), row["note"])
                for row in rows
            ]
        )
    if not rows:
        say(f"{arguments.file} holds no token; `acpella tokens add` makes one")
    if any(line.token is not None and line.token.is_clear for line in lines):
        say(f"tokens stand in {arguments.file} in clear; `acpella tokens hash {arguments.file}` hashes them")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        say(f"{arguments.file} can be read by other users of this machine; chmod 600 it")
    _warn(lines)
    return exits.USAGE if _mistake(lines) else exits.DONE


def _remove(arguments: argparse.Namespace) -> int:
    path = _real(arguments.file)
    with _changing(path):
        lines = _read(path)
        removed = _meant(lines, arguments.which)
        _replace(path, [line.text for line in lines if line not in removed])
    for line in removed:
        assert line.token is not None
        say(f"removed the token {line.token.sha256.hex()[:8]} of {line.token.user}")
    if not any(line.token is not None for line in lines if line not in removed):
        say(f"{arguments.file} holds no token any more; nobody is let in")
    _warn(lines)
    return exits.USAGE if _mistake(lines) else exits.DONE  # it is not revoked yet


def _hash(arguments: argparse.Namespace) -> int:
    path = _real(arguments.file)
    with _changing(path):
        lines = _read(path)
        clear = [line for line in lines if line.token is not None and line.token.is_clear]
        _replace(path, [_hashed(line) if line in clear else line.text for line in lines])
    say(f"hashed {len(clear)} tokens; they work as before")
    _warn(lines)
    return exits.DONE


def _row(line: "_Line", token: "Token") -> dict[str, Any]:
    from acpella.server.access.credentials import Scope

    notes: list[str] = []
    if token.until is not None and token.until <= time.time():
        notes.append("is over")
    if token.is_clear:
        notes.append(f"in clear on line {line.number}")
    return {
        "user": token.user,
        "hash": token.sha256.hex()[:8],
        "scopes": [scope for scope in get_args(Scope) if scope in token.scopes],
        "until": None if token.until is None else datetime.fromtimestamp(token.until, UTC).isoformat(),
        "note": ", ".join(notes),
    }


def _shown_end(row: dict[str, Any]) -> str:
    return "no end" if row["until"] is None else f"until {row['until'].removesuffix('T00:00:00+00:00')}"


def _meant(lines: "list[_Line]", which: str) -> "list[_Line]":
    """The lines of a user, or that of a hash. Raises `ValueError` when there is none, or several hashes."""
    tokens = [(line, line.token) for line in lines if line.token is not None]
    of_user = [line for line, token in tokens if token.user == which]
    if of_user:
        return of_user
    prefix = which.removeprefix("sha256:").lower()
    matches = [line for line, token in tokens if token.sha256.hex().startswith(prefix)]
    if len(prefix) < SHORTEST_PREFIX or not matches:
        users = ", ".join(sorted({token.user for _, token in tokens})) or "none"
        raise ValueError(f"no user {which!r}, and no hash that begins so; there are: {users}")
    if len(matches) > 1:
        raise ValueError(f"{which} is how {len(matches)} hashes begin; give more digits")
    return matches


def _hashed(line: "_Line") -> str:
    assert line.token is not None
    user, clear, *_ = line.text.split()
    head, _, tail = line.text.partition(user)
    return head + user + tail.replace(clear, "sha256:" + line.token.sha256.hex(), 1)


# -- the file ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str
    token: "Token | None"
    mistake: str


def _real(file: str) -> Path:
    return Path(os.path.realpath(file))  # a link stays one


def _read(path: Path) -> list[_Line]:
    from acpella.server.access.tokens import read_line

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}; `acpella tokens add` makes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    lines: list[_Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            lines.append(_Line(number, line, read_line(line), ""))
        except ValueError as error:
            lines.append(_Line(number, line, None, f"{path}:{number}: {error}"))
    return lines


def _mistake(lines: list[_Line]) -> str:
    """Why a server would not take the file; empty if it would."""
    wrong = next((line.mistake for line in lines if line.mistake), "")
    return f"{wrong}; until it is mended, a server goes on with the earlier file" if wrong else ""


def _warn(lines: list[_Line]) -> None:
    if mistake := _mistake(lines):
        say(mistake)


def _replace(path: Path, lines: list[str]) -> None:
    """Put a whole new file in its place, with the owner and mode of the old one."""
    try:
        before = path.stat() if path.exists() else None
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tokens-")
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
            if before is not None and os.name == "posix":
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(
                        file.fileno(), before.st_uid, before.st_gid
                    )  # its server must be able to read it
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        os.replace(name, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(name)
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def _changing(path: Path) -> Generator[None]:
    """One change at a time; the directory is locked, since the file is replaced."""
    with ExitStack() as locks:
        try:
            locks.enter_context(locked(path.parent, directory=True))
        except TimeoutError:
            raise ValueError(f"another process has been changing {path} for long") from None
        except OSError as error:
            raise ValueError(f"{path.parent} cannot be used: {error.strerror}") from None
        yield
