"""Limits of MCP servers, and the error that tells what went wrong with one."""

from acpella.errors import AcpellaError

__all__ = [
    "CALL_TIMEOUT",
    "CLOSE_TIMEOUT",
    "CRASH_WINDOW",
    "DESCRIPTION_LIMIT",
    "LINE_LIMIT",
    "LIST_TIMEOUT",
    "MAX_PAGES",
    "MAX_SERVERS",
    "MAX_TOOLS",
    "NAME_LIMIT",
    "QUIET_WAIT",
    "RECONNECT_PAUSE",
    "RECONNECT_TIMEOUT",
    "SCHEMA_LIMIT",
    "START_TIMEOUT",
    "McpServerError",
]

START_TIMEOUT = 30.0
"""Seconds for a server to start and list its tools; without it a silent one blocks the prompt."""

CALL_TIMEOUT = 300.0
"""Seconds for one tool call; without it a server that forgot a call holds the turn forever."""

LIST_TIMEOUT = 15.0
"""Seconds to list the tools again after the server said that they changed."""

CLOSE_TIMEOUT = 0.9
"""Seconds for all servers of a session to end before they are killed; a session has one second to close."""

CRASH_WINDOW = 60.0
"""Seconds that a restarted server must live to be restarted again, or a broken one restarts forever."""

RECONNECT_TIMEOUT = 10.0
"""Seconds to try again to reach a server over http or sse after its connection was lost."""

RECONNECT_PAUSE = 0.5
"""Seconds between two such attempts."""

QUIET_WAIT = 2.0
"""Seconds that a prompt waits for starting servers before the user is told what it waits for."""

MAX_SERVERS = 32
"""Servers of one session."""

MAX_PAGES = 100
"""Pages of one tool list; without it a server whose list never ends is never ready."""

MAX_TOOLS = 512
"""Tools of one server; more would only fill the model's context."""

NAME_LIMIT = 64
"""Characters of a tool's name: what all model providers take."""

DESCRIPTION_LIMIT = 8 * 1024
"""Characters of a tool's description that the model sees."""

SCHEMA_LIMIT = 128 * 1024
"""Bytes of a tool's schema; a tool with a longer one is left out."""

LINE_LIMIT = 32 * 1024 * 1024
"""Bytes of one message on a server's stdout; without it a server that never ends a line fills the memory."""


class McpServerError(AcpellaError):
    """An MCP server could not be started, reached or used. The message is for people and holds no secrets."""
