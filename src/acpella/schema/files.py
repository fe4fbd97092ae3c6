"""Files that the agent reads and writes through the client."""

from ._wire import U32, Meta, Strict, Wire, field
from .protocol import SessionId

__all__ = ["ReadTextFileRequest", "ReadTextFileResponse", "WriteTextFileRequest", "WriteTextFileResponse"]


class ReadTextFileRequest(Wire, frozen=True, kw_only=True):
    """Ask for a file's text, unsaved edits included; `line` counts from 1."""

    session_id: SessionId
    """The session that the agent reads the file for."""
    path: str
    """The file to read, as an absolute path."""
    line: Strict[U32 | None] = None
    """The first line to read, counted from 1. Absent means from the start."""
    limit: Strict[U32 | None] = None
    """How many lines to read at most. Absent means all the rest."""
    meta: Meta | None = field(default=None, name="_meta")


class ReadTextFileResponse(Wire, frozen=True, kw_only=True):
    """The text asked for."""

    content: str
    """The text of the file as the editor has it, or the lines that were asked for."""
    meta: Meta | None = field(default=None, name="_meta")


class WriteTextFileRequest(Wire, frozen=True, kw_only=True):
    """Replace a file's text, or create the file."""

    session_id: SessionId
    """The session that the agent writes the file for."""
    path: str
    """The file to write, as an absolute path; the client creates it if it is missing."""
    content: str
    """The whole new text of the file."""
    meta: Meta | None = field(default=None, name="_meta")


class WriteTextFileResponse(Wire, frozen=True, kw_only=True):
    """The text was written."""

    meta: Meta | None = field(default=None, name="_meta")
