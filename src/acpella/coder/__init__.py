"""The built-in coding agent: tools, modes, models, MCP servers and memory, behind ACP."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import agent as agent

__all__ = ["agent"]


def __getattr__(name: str) -> Any:
    # Loaded when used: MCP servers and models import parts of this package without the rest.
    if name == "agent":
        from .app import agent

        return agent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
