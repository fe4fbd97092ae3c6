"""MCP servers of a session: started with it, their tools listed and called, stopped with it.

Needs the package `mcp` (in `acpella[standard]`), which is imported when the first server is started.
"""

from .content import McpResult
from .management import SessionServers
from .servers import McpServers, McpTool, available, transports
from .settings import McpServerError

__all__ = [
    "McpResult",
    "McpServerError",
    "McpServers",
    "McpTool",
    "SessionServers",
    "available",
    "transports",
]
