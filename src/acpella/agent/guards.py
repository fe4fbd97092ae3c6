"""What an editor may not send, and the answers it gets."""

import os
import re
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from acpella.errors import InvalidParams, ResourceNotFound
from acpella.schema import McpServer, McpServerHttp, McpServerSse, SessionUpdate, decode
from acpella.sessions import InvalidDocument

from .operations import Workplace

__all__ = [
    "check_absolute",
    "check_history",
    "check_places",
    "checked_id",
    "new_session_id",
    "no_session",
    "real_places",
]

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def new_session_id() -> str:
    """128 random bits in letters that every store and file system takes."""
    return "sess_" + secrets.token_hex(16)


def checked_id(session_id: str) -> str:
    """C20: what cannot be an id of ours reaches no store."""
    if not _SESSION_ID.fullmatch(session_id):
        raise InvalidParams("a session id has at most 128 of A-Z a-z 0-9 _ -")
    return session_id


def no_session(session_id: str) -> ResourceNotFound:
    return ResourceNotFound(
        "no such session is open; create, load or resume it first", data={"sessionId": session_id}
    )


def check_history(cwd: str, updates: Iterable[bytes]) -> None:
    """What is imported will be replayed to editors, so it must be what they can read."""
    if "\0" in cwd:
        raise InvalidDocument(f"session.cwd must be an absolute path, not {cwd!r}")
    for number, update in enumerate(updates, 1):
        try:
            decode(cast("Any", SessionUpdate), update)
        except msgspec.ValidationError as error:
            raise InvalidDocument(f"update {number} of the session document is wrong: {error}") from None


def check_absolute(path: str, what: str = "cwd") -> None:
    """R-020."""
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidParams(f"{what} must be an absolute path, not {path!r}")


def real_places(workplace: Workplace) -> list[str]:
    """Where the directories of a session really are."""
    return [os.path.realpath(place) for place in (workplace.cwd, *workplace.directories)]


def check_places(
    cwd: str, directories: Sequence[str], servers: Sequence[McpServer], mcp: frozenset[str]
) -> None:
    """Absolute paths only (R-020, R-150), and only MCP transports that the agent offered (R-154)."""
    check_absolute(cwd)
    for directory in directories:
        check_absolute(directory, "each of additionalDirectories")
    for server in servers:
        kind = (
            "http"
            if isinstance(server, McpServerHttp)
            else "sse"
            if isinstance(server, McpServerSse)
            else None
        )
        if kind is not None and kind not in mcp:
            raise InvalidParams(f"this agent does not connect to MCP servers over {kind}")
