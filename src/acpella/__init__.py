"""acpella: the Python toolkit for the Agent Client Protocol (ACP).

Importing this module loads nothing but itself; each name below is imported when it is first used.
"""

TYPE_CHECKING = False  # type checkers know this name; importing it from typing would cost 5 ms

if TYPE_CHECKING:
    from acpella import agent as agent
    from acpella import errors as errors
    from acpella import rpc as rpc
    from acpella import schema as schema
    from acpella import sessions as sessions
    from acpella import transport as transport
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
    from acpella.agent import Unsupported as Unsupported
    from acpella.agent import run as run
    from acpella.errors import AcpellaError as AcpellaError
    from acpella.errors import AuthRequired as AuthRequired
    from acpella.errors import ConnectionClosed as ConnectionClosed
    from acpella.errors import RpcError as RpcError
    from acpella.errors import TransportError as TransportError

__version__ = "0.1.0"

_HOMES = {
    "AcpellaError": "acpella.errors",
    "Agent": "acpella.agent",
    "AuthRequired": "acpella.errors",
    "Choice": "acpella.agent",
    "ConnectionClosed": "acpella.errors",
    "EnvLogin": "acpella.agent",
    "Login": "acpella.agent",
    "Mode": "acpella.agent",
    "RpcError": "acpella.errors",
    "Select": "acpella.agent",
    "TerminalLogin": "acpella.agent",
    "Toggle": "acpella.agent",
    "Tool": "acpella.agent",
    "TransportError": "acpella.errors",
    "Turn": "acpella.agent",
    "Unsupported": "acpella.agent",
    "run": "acpella.agent",
}
"""Where each exported name lives."""

_MODULES = {"agent", "errors", "rpc", "schema", "sessions", "transport"}

__all__ = [
    "AcpellaError",
    "Agent",
    "AuthRequired",
    "Choice",
    "ConnectionClosed",
    "EnvLogin",
    "Login",
    "Mode",
    "RpcError",
    "Select",
    "TerminalLogin",
    "Toggle",
    "Tool",
    "TransportError",
    "Turn",
    "Unsupported",
    "__version__",
    "agent",
    "errors",
    "rpc",
    "run",
    "schema",
    "sessions",
    "transport",
]


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"acpella.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'acpella' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
