"""Agents of other frameworks as ACP agents: `acpella.run(x)`, `acpella.adapt(x)`.

Each module imports only those below it; a framework is imported by its own module, when it is used:

    front                                       `adapt` and `run`
    targets  agent                              `my.py:agent` to an object · `AdaptedAgent`
    pydantic_ai  langgraph  openai_agents  claude_agent  google_adk  strands
                                                one framework each
    detect                                      which of them an object is for
    interface                                   what an adapter is: `Adapter`, `Conversation`
    turn                                        `AdaptedTurn`: what an adapter drives
    tools                                       MCP servers and the editor's files as tools for a model
    calls  permissions                          tool calls by the framework's ids · permission
    present  content  failures  jsonable        words for a call · prompts · errors · values as JSON

Adapters in other packages register under the entry-point group `acpella.adapters`; see `interface`.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agent import AdaptedAgent as AdaptedAgent
    from .content import Media as Media
    from .front import adapt as adapt
    from .front import run as run
    from .interface import Adapter as Adapter
    from .interface import Conversation as Conversation
    from .interface import Declared as Declared
    from .present import Presented as Presented
    from .targets import adapt_target as adapt_target
    from .targets import load_target as load_target
    from .tools import SessionTool as SessionTool
    from .tools import ToolFailed as ToolFailed
    from .turn import AdaptedTurn as AdaptedTurn

_HOMES = {
    "AdaptedAgent": ".agent",
    "AdaptedTurn": ".turn",
    "Adapter": ".interface",
    "Conversation": ".interface",
    "Declared": ".interface",
    "Media": ".content",
    "Presented": ".present",
    "SessionTool": ".tools",
    "ToolFailed": ".tools",
    "adapt": ".front",
    "adapt_target": ".targets",
    "load_target": ".targets",
    "run": ".front",
}

__all__ = [
    "AdaptedAgent",
    "AdaptedTurn",
    "Adapter",
    "Conversation",
    "Declared",
    "Media",
    "Presented",
    "SessionTool",
    "ToolFailed",
    "adapt",
    "adapt_target",
    "load_target",
    "run",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value
