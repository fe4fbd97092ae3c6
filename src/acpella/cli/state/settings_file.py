"""Edits the settings file without touching what else is in it."""

import contextlib
import json
import os
import shlex
import stat
import tempfile
from pathlib import Path
from typing import Any, cast

from acpella.client.jsonc import parse, strip
from acpella.client.settings import ClientSettings, SettingsError

__all__ = ["SettingsFile"]


class SettingsFile:
    """One file, read and replaced as a whole. What it has besides agents is kept, in its order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before: bytes | None = None
        """What was read last; None for no file."""
        self.after: bytes | None = None
        """What was written; None for nothing, or a file that is gone."""

    def read(self) -> dict[str, Any]:
        """The whole document; empty if there is no file.

        Raises:
            SettingsError: the file cannot be read, or is not a JSON object; says where it is wrong.
        """
        self.before = None
        try:
            self.before = self.path.read_bytes()
            text = self.before.decode("utf-8-sig")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.path} cannot be read: {error}") from None
        try:
            value = parse(text)
        except ValueError as error:
            raise SettingsError(f"{self.path}: {error}; mend it first, nothing was changed") from None
        if not isinstance(value, dict):
            raise SettingsError(f"{self.path} must be an object; nothing was changed")
        return cast("dict[str, Any]", value)

    def add_agent(self, name: str, entry: dict[str, Any], *, replace: bool = False) -> None:
        """Raises `SettingsError` if there is one of that name, or the file is wrong."""
        document = self.read()
        agents = document.setdefault("agent_servers", {})
        if not isinstance(agents, dict):
            raise SettingsError(f"{self.path}: agent_servers must be an object")
        table = cast("dict[str, Any]", agents)
        if name in table and not replace:
            raise SettingsError(
                f"{self.path} has an agent {name!r} already; "
                f"`acpella agents add --replace {shlex.quote(name)} COMMAND ...` overwrites it"
            )
        table[name] = entry
        self._write(document)

    def remove_agent(self, name: str) -> None:
        """A file that says nothing else goes, too. Raises `SettingsError` if there is none of that name."""
        settings = ClientSettings.load(self.path) if self.path.exists() else ClientSettings()
        if name not in settings.agents:
            hint = settings.suggest(name)
            raise SettingsError(f"no agent {name!r} in {self.path}" + (f"; {hint}" if hint else ""))
        self._check_plain()
        document = self.read()
        del document["agent_servers"][name]
        if document == {"agent_servers": {}} and not self.path.is_symlink():
            self._remove()
        else:
            self._write(document)

    def _remove(self) -> None:
        try:
            self.path.unlink()
            if self.path.parent.name == ".acpella":
                with contextlib.suppress(OSError):
                    self.path.parent.rmdir()  # something else may be there
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be removed: {error.strerror}") from None

    def _check_plain(self) -> None:
        """Comments would be lost: whoever wrote them edits the file."""
        text = self.path.read_text(encoding="utf-8-sig") if self.path.exists() else ""
        if strip(text) != text:
            raise SettingsError(
                f"{self.path} has comments or trailing commas, which would be lost; change it with an editor"
            )

    def _write(self, document: dict[str, Any]) -> None:
        self._check_plain()
        data = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
        path = Path(os.path.realpath(self.path))  # a link into somebody's dotfiles stays one
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".settings-")
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be written: {error.strerror}") from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, path)
            self.after = data
        except OSError as error:
            os.unlink(name)
            raise SettingsError(f"{self.path} cannot be written: {error.strerror}") from None
