"""Text files of a session: the editor's, or this machine's where the author allowed it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from acpella.errors import AcpellaError, RequestCancelled, ResourceNotFound, RpcError, Unsupported
from acpella.schema import ReadTextFileRequest, WriteTextFileRequest, methods

from .turn_core import TurnCore

if TYPE_CHECKING:
    from acpella.local import Jail

__all__ = ["Files"]


class Files:
    """Text files of the session: the editor's, unsaved changes included, or else this machine's.

    Relative paths are relative to the session's directory.
    """

    def __init__(self, turn: TurnCore) -> None:
        self._turn = turn

    @property
    def in_editor(self) -> bool:
        """Whether the editor gives its files, unsaved changes included."""
        return self._turn.capabilities.reads_files

    @property
    def local(self) -> bool:
        """Whether this machine's files stand in for what the editor lacks."""
        return self._turn.definition.local

    @property
    def can_read(self) -> bool:
        """Whether the editor, or this machine, lets the agent read files."""
        return self._turn.capabilities.reads_files or self._turn.definition.local

    @property
    def can_write(self) -> bool:
        """Whether the editor, or this machine, lets the agent write files."""
        return self._turn.capabilities.writes_files or self._turn.definition.local

    async def read(self, path: str | Path, *, line: int | None = None, limit: int | None = None) -> str:
        """The text of a file: all of it, or `limit` lines from `line` (from 1).

        Raises:
            FileNotFoundError: no such file.
            Unsupported: the editor offers no files and the agent may not read this machine's.
        """
        full = self._full(path)
        if self._turn.capabilities.reads_files:
            return await self._read_in_editor(full, line, limit)
        self._need_local("read files")
        return await asyncio.to_thread(self._turn.session.jail().read_text, full, line=line, limit=limit)

    async def _read_in_editor(self, full: str, line: int | None, limit: int | None) -> str:
        request = ReadTextFileRequest(session_id=self._turn.session.id, path=full, line=line, limit=limit)
        try:
            text = (await self._turn.call(methods.READ_TEXT_FILE, request)).content
        except ResourceNotFound:
            raise FileNotFoundError(full) from None
        except RequestCancelled:
            raise
        except RpcError as error:
            if await self.on_disk(full) is False:
                raise FileNotFoundError(full) from error
            raise
        if not text and await self.on_disk(full) is False:  # many editors give no text for a missing file
            raise FileNotFoundError(full)
        return text

    async def on_disk(self, path: str | Path) -> bool | None:
        """Whether this machine has the file; None if it cannot tell, as when the editor is elsewhere."""
        if not self._turn.definition.local and self._turn.editor.principal:
            return None  # a user of a server, who learns nothing about the server's files
        return await asyncio.to_thread(_is_there, self._turn.session.jail(), self._full(path))

    async def write(self, path: str | Path, text: str) -> None:
        """Replace the text of a file, or create it.

        Raises:
            Unsupported: the editor takes no writes and the agent may not write this machine's files.
        """
        full = self._full(path)
        if self._turn.capabilities.writes_files:
            request = WriteTextFileRequest(session_id=self._turn.session.id, path=full, content=text)
            await self._turn.call(methods.WRITE_TEXT_FILE, request)
            return
        self._need_local("write files")
        await asyncio.to_thread(self._turn.session.jail().write_text, full, text)

    def _full(self, path: str | Path) -> str:
        self._turn.check_going()
        return self._turn.session.full_path(path)

    def _need_local(self, what: str) -> None:
        if not self._turn.definition.local:
            raise Unsupported(
                f"this editor does not let agents {what}; Agent(..., local=True) would use this machine"
            )


def _is_there(jail: "Jail", path: str) -> bool | None:
    try:
        real = jail.resolve(path)
        if not any(real.is_relative_to(root) and root.is_dir() for root in jail.roots):
            return None
        return real.exists()
    except (AcpellaError, OSError):
        return None
