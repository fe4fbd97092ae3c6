"""What an editor may not send, and the answers it gets."""

import os
import re
import secrets

from acpella.errors import InvalidParams, ResourceNotFound
from acpella.schema import McpServer, McpServerHttp, McpServerSse

__all__ = ["check_places", "checked_id", "new_session_id", "no_session"]

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


def check_places(cwd: str, directories: list[str], servers: list[McpServer], mcp: frozenset[str]) -> None:
    """Absolute paths only (R-020, R-150), and only MCP transports that the agent offered (R-154)."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise InvalidParams(f"cwd must be an absolute path, not {cwd!r}")
    for directory in directories:
        if not os.path.isabs(directory) or "\0" in directory:
            raise InvalidParams(f"additionalDirectories must be absolute paths, not {directory!r}")
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
