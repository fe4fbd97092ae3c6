"""Remembers what the user always or never allows, in a file that people can read and edit.

An answer holds until somebody revokes it or deletes its line. Those for one session are kept by
`client/permissions.py`.
"""

import logging
import os
from pathlib import Path
from typing import Literal, TypeAlias, cast

__all__ = ["Decision", "RememberedPermissions"]

log: logging.Logger = logging.getLogger(__name__)

Decision: TypeAlias = Literal["allow", "deny"]

_HEADER = "# What acpella agents may always or never do. Delete a line to be asked again.\n"


class RememberedPermissions:
    """A table of decisions by owner (an agent's name) and key (what it wanted to do).

    The file belongs to the user alone (0600) and is replaced in one step. A malformed file is left
    untouched and counts as empty; then decisions live as long as this object.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._broken = False
        self._stamp: tuple[int, int] | None = None
        self._decisions: dict[str, dict[str, Decision]] = {}

    @property
    def path(self) -> Path:
        """The file that holds the answers."""
        return self._path

    def get(self, owner: str, key: str) -> Decision | None:
        """What was decided, in this process or another."""
        self._refresh()
        return self._decisions.get(_writable(owner), {}).get(_writable(key))

    def all(self, owner: str) -> dict[str, Decision]:
        """Everything that was decided for an owner."""
        self._refresh()
        return dict(self._decisions.get(_writable(owner), {}))

    def owners(self) -> list[str]:
        """Everybody for whom something was decided."""
        self._refresh()
        return sorted(owner for owner, decisions in self._decisions.items() if decisions)

    def remember(self, owner: str, key: str, decision: Decision) -> None:
        """Keep a decision from now on."""
        self._refresh()
        self._decisions.setdefault(_writable(owner), {})[_writable(key)] = decision
        self._save()

    def forget(self, owner: str, key: str) -> bool:
        """Ask again from now on; False if nothing was remembered."""
        self._refresh()
        decision = self._decisions.get(_writable(owner), {}).pop(_writable(key), None)
        if decision is not None:
            self._save()
        return decision is not None

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            if self._stamp is not None:  # it was there, and the user has removed it
                self._stamp, self._decisions, self._broken = None, {}, False
            return
        except OSError:
            return
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._decisions = _parse(self._path.read_text(encoding="utf-8"))
            self._broken = False
        except (OSError, ValueError) as error:
            # whoever revokes an answer and mistypes must not be taken to have allowed it
            self._decisions, self._broken = {}, True
            log.warning("%s is ignored until it is mended: %s", self._path, error)

    def _save(self) -> None:
        if self._broken:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            import tempfile  # with the TOML reader 10 ms, which most turns need not pay

            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".permissions-")  # 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(_format(self._decisions))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, self._path)
            except BaseException:
                os.unlink(name)
                raise
            status = self._path.stat()
            self._stamp = (status.st_mtime_ns, status.st_size)
        except OSError as error:
            log.warning("%s could not be written; the decision holds for now only: %s", self._path, error)


def _writable(text: str) -> str:
    """A name that TOML can have; one with a stray byte would make the whole file malformed."""
    return text.encode("utf-8", "backslashreplace").decode()


def _parse(text: str) -> dict[str, dict[str, Decision]]:
    decisions: dict[str, dict[str, Decision]] = {}
    import tomllib

    for owner, table in tomllib.loads(text).items():
        if not isinstance(table, dict):
            raise ValueError(f"{owner!r} is not a table")
        for key, decision in cast("dict[str, object]", table).items():
            if decision not in ("allow", "deny"):
                raise ValueError(f"{owner}.{key} is {decision!r}, not allow or deny")
            decisions.setdefault(owner, {})[key] = decision
    return decisions


def _format(decisions: dict[str, dict[str, Decision]]) -> str:
    lines = [_HEADER]
    for owner, table in sorted(decisions.items()):
        if table:
            lines.append(f"\n[{_quote(owner)}]\n")
            lines += [f'{_quote(key)} = "{decision}"\n' for key, decision in sorted(table.items())]
    return "".join(lines)


def _quote(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'
