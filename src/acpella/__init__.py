"""acpella: the Python toolkit for the Agent Client Protocol (ACP).

Importing this module loads nothing but itself; each name below is imported when it is first used.
"""

TYPE_CHECKING = False  # type checkers know this name; importing it from typing would cost 5 ms

if TYPE_CHECKING:
    from acpella import adapters as adapters
    from acpella import agent as agent
    from acpella import client as client
    from acpella import coder as coder
    from acpella import errors as errors
    from acpella import rpc as rpc
    from acpella import schema as schema
    from acpella import server as server
    from acpella import sessions as sessions
    from acpella import sync as sync
    from acpella import testing as testing
    from acpella import transport as transport
    from acpella._version import __version__ as __version__
    from acpella.adapters import adapt as adapt
    from acpella.adapters import run as run
    from acpella.agent import Agent as Agent
    from acpella.agent import Choice as Choice
    from acpella.agent import EnvLogin as EnvLogin
    from acpella.agent import Login as Login
    from acpella.agent import Mode as Mode
    from acpella.agent import Select as Select
    from acpella.agent import TerminalLogin as TerminalLogin
    from acpella.agent import Toggle as Toggle
    from acpella.agent import Tool as Tool
    from acpella.agent import Turn as Turn
    from acpella.agent import current_turn as current_turn
    from acpella.client import Permissions as Permissions
    from acpella.client import Result as Result
    from acpella.client import Rule as Rule
    from acpella.client import Terminals as Terminals
    from acpella.client import Timeouts as Timeouts
    from acpella.client import Workspace as Workspace
    from acpella.client import connect as connect
    from acpella.client.sync import ask as ask
    from acpella.errors import AcpellaError as AcpellaError
    from acpella.errors import AuthRequired as AuthRequired
    from acpella.errors import ConnectionClosed as ConnectionClosed
    from acpella.errors import RpcError as RpcError
    from acpella.errors import TransportError as TransportError
    from acpella.errors import Unsupported as Unsupported

_HOMES = {
    "AcpellaError": "acpella.errors",
    "Agent": "acpella.agent",
    "AuthRequired": "acpella.errors",
    "Choice": "acpella.agent",
    "ConnectionClosed": "acpella.errors",
    "EnvLogin": "acpella.agent",
    "Login": "acpella.agent",
    "Mode": "acpella.agent",
    "Permissions": "acpella.client",
    "Result": "acpella.client",
    "RpcError": "acpella.errors",
    "Rule": "acpella.client",
    "Select": "acpella.agent",
    "TerminalLogin": "acpella.agent",
    "Terminals": "acpella.client",
    "Timeouts": "acpella.client",
    "Toggle": "acpella.agent",
    "Tool": "acpella.agent",
    "TransportError": "acpella.errors",
    "Turn": "acpella.agent",
    "Unsupported": "acpella.errors",
    "Workspace": "acpella.client",
    "adapt": "acpella.adapters",
    "ask": "acpella.client.sync",
    "connect": "acpella.client",
    "current_turn": "acpella.agent",
    "run": "acpella.adapters",
    "__version__": "acpella._version",
}
"""Where each exported name lives."""

_MODULES = {
    "adapters": "acpella.adapters",
    "agent": "acpella.agent",
    "client": "acpella.client",
    "coder": "acpella.coder",
    "errors": "acpella.errors",
    "rpc": "acpella.rpc",
    "schema": "acpella.schema",
    "server": "acpella.server",
    "sessions": "acpella.sessions",
    "transport": "acpella.transport",
    "sync": "acpella.sync",
    "testing": "acpella.testing",
}

__all__ = [
    "AcpellaError",
    "Agent",
    "AuthRequired",
    "Choice",
    "ConnectionClosed",
    "EnvLogin",
    "Login",
    "Mode",
    "Permissions",
    "Result",
    "RpcError",
    "Rule",
    "Select",
    "TerminalLogin",
    "Terminals",
    "Timeouts",
    "Toggle",
    "Tool",
    "TransportError",
    "Turn",
    "Unsupported",
    "Workspace",
    "__version__",
    "adapt",
    "adapters",
    "agent",
    "ask",
    "client",
    "coder",
    "connect",
    "current_turn",
    "errors",
    "rpc",
    "run",
    "schema",
    "server",
    "sessions",
    "sync",
    "testing",
    "transport",
]


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'acpella' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
