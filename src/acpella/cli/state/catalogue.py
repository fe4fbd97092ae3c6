"""Which sessions there were: a small file of the user's, so that `--continue` and `-s NAME` find them."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..terminal.output import say
from . import paths
from .file_locks import locked

__all__ = ["MAX_TITLE", "Catalogue", "SessionEntry", "new_key", "now", "title_of"]

T = TypeVar("T")

MAX_ENTRIES = 1000
"""Sessions that are remembered; the longest unused ones without a name go first."""

MAX_TITLE = 60
"""Characters of the prompt that title a session until the agent does."""


class SessionEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A session of a repository. Never holds an environment, nor a command with secrets in it."""

    key: str
    """Names the daemon's files."""
    root: str
    cwd: str
    agent: str
    """The agent's name, for people and for remembered permissions."""
    target: str | list[str] = ""
    """What `--agent` takes; empty if it held secrets."""
    settings: str = ""
    """The settings file that names the agent; empty if none does."""
    where: str = ""
    """The directory in which the agent was started, for commands with relative paths."""
    session_id: str = ""
    """Empty until the agent has made the session."""
    name: str = ""
    title: str = ""
    created_at: str = ""
    updated_at: str = ""

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.name or self.session_id


class _Document(msgspec.Struct):
    sessions: list[SessionEntry]
    version: int = 1


def now() -> str:
    """This moment, to the millisecond: sessions are sorted by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_key() -> str:
    """A name for the files of a session's daemon."""
    return os.urandom(6).hex()


def title_of(prompt: str) -> str:
    """The start of a prompt in one line, without secrets."""
    from acpella._redact import redact

    text = " ".join(redact(prompt).split())
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1] + "…"


class Catalogue:
    """The file, safe for many processes at once: changes are made under a lock and replace it whole.

    A file that is damaged is set aside by the next change, with a warning. Where nothing can be written,
    `change` raises `OSError`, and reading still works.
    """

    def __init__(self, path: Path | None = None, *, warn: Callable[[str], None] | None = None) -> None:
        self.path: Path = path or paths.state() / "sessions.json"
        self._warn = warn or say

    def entries(
        self, *, root: str | os.PathLike[str] | None = None, agent: str | None = None
    ) -> list[SessionEntry]:
        """Sessions, the last used first; those that were never made are left out."""
        matches = [
            entry
            for entry in self._read()
            if entry.session_id
            and (root is None or entry.root == os.fspath(root))
            and (agent is None or agent in (entry.agent, entry.target))
        ]
        return sorted(matches, key=lambda entry: entry.updated_at, reverse=True)

    def get(self, key: str) -> SessionEntry | None:
        return next((entry for entry in self._read() if entry.key == key), None)

    def named(self, root: str | os.PathLike[str], name: str) -> SessionEntry | None:
        """The session of that name in a repository, even if the agent has not made it yet."""
        place = os.fspath(root)
        return next((e for e in self._read() if e.root == place and e.name == name), None)

    def add(self, entry: SessionEntry) -> SessionEntry:
        """Remember a session. One of that name which another shell added meanwhile is returned instead."""

        def change(entries: list[SessionEntry]) -> SessionEntry:
            for there in entries:
                same_name = entry.name and (there.root, there.name) == (entry.root, entry.name)
                if same_name or (entry.session_id and _identity(there) == _identity(entry)):
                    if there.session_id:
                        return there
                    entries.remove(there)
                    entry.key = there.key  # nobody made it; another shell may be about to
                    break
            entry.created_at = entry.created_at or now()
            entry.updated_at = entry.updated_at or entry.created_at
            entries.append(entry)
            return entry

        return self.change(change)

    def update(self, key: str, **values: Any) -> None:
        """Change fields of a session; it counts as used now."""

        def change(entries: list[SessionEntry]) -> None:
            for entry in entries:
                if entry.key == key:
                    entry.updated_at = now()
                    for name, value in values.items():
                        setattr(entry, name, value)

        self.change(change)

    def remove(self, key: str) -> None:
        def change(entries: list[SessionEntry]) -> None:
            entries[:] = [entry for entry in entries if entry.key != key]

        self.change(change)

    def change(self, work: Callable[[list[SessionEntry]], T]) -> T:
        """Read, let `work` change the list, write. Raises `OSError` where that is not possible."""
        paths.private(self.path.parent)
        with locked(self.path.with_suffix(".lock")):
            entries = self._read(mend=True)
            result = work(entries)
            self._write(_trimmed(entries))
            return result

    # -- the file --------------------------------------------------------------------------

    def _read(self, *, mend: bool = False) -> list[SessionEntry]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            self._warn(f"{self.path} cannot be read, so earlier sessions are not found: {error.strerror}")
            return []
        try:
            return msgspec.json.decode(data, type=_Document).sessions
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            aside = self.path.with_name(f"sessions.broken-{int(time.time())}.json")
            if mend:
                os.replace(self.path, aside)
                self._warn(f"{self.path} was damaged ({error}); it is set aside as {aside.name}")
            else:
                self._warn(f"{self.path} is damaged ({error}); earlier sessions are not found")
            return []

    def _write(self, entries: list[SessionEntry]) -> None:
        data = msgspec.json.format(msgspec.json.encode(_Document(entries)), indent=1)
        paths.write_private(self.path, data)


def _identity(entry: SessionEntry) -> tuple[str, str, str]:
    return entry.session_id, entry.agent, entry.root


def _trimmed(entries: list[SessionEntry]) -> list[SessionEntry]:
    if len(entries) <= MAX_ENTRIES:
        return entries
    order = sorted(entries, key=lambda entry: (bool(entry.name), entry.updated_at))
    dropped = {entry.key for entry in order[: len(entries) - MAX_ENTRIES]}
    return [entry for entry in entries if entry.key not in dropped]
