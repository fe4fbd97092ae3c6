"""Files that the agent reads and writes through the client."""

from ._wire import U32, Meta, Strict, Wire, field
from .protocol import SessionId

__all__ = ["ReadTextFileRequest", "ReadTextFileResponse", "WriteTextFileRequest", "WriteTextFileResponse"]


class ReadTextFileRequest(Wire, frozen=True, kw_only=True):
    """Ask for a file's text, unsaved edits included; `line` counts from 1."""

    session_id: SessionId
    path: str
    line: Strict[U32 | None] = None
    limit: Strict[U32 | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class ReadTextFileResponse(Wire, frozen=True, kw_only=True):
    """The text asked for."""

    content: str
    meta: Meta | None = field(default=None, name="_meta")


class WriteTextFileRequest(Wire, frozen=True, kw_only=True):
    """Replace a file's text, or create the file."""

    session_id: SessionId
    path: str
    content: str
    meta: Meta | None = field(default=None, name="_meta")


class WriteTextFileResponse(Wire, frozen=True, kw_only=True):
    """The text was written."""

    meta: Meta | None = field(default=None, name="_meta")
