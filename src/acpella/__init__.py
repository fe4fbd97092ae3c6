"""acpella: the Python toolkit for the Agent Client Protocol (ACP).

Importing this module loads nothing but itself; each name below is imported when it is first used.
"""

TYPE_CHECKING = False  # type checkers know this name; importing it from typing would cost 5 ms

if TYPE_CHECKING:
    from acpella import errors as errors
    from acpella import rpc as rpc
    from acpella import schema as schema
    from acpella import transport as transport
    from acpella.errors import AcpellaError as AcpellaError
    from acpella.errors import AuthRequired as AuthRequired
    from acpella.errors import ConnectionClosed as ConnectionClosed
    from acpella.errors import RpcError as RpcError
    from acpella.errors import TransportError as TransportError

__version__ = "0.1.0"

_HOMES = {
    "AcpellaError": "acpella.errors",
    "AuthRequired": "acpella.errors",
    "ConnectionClosed": "acpella.errors",
    "RpcError": "acpella.errors",
    "TransportError": "acpella.errors",
}
"""Where each exported name lives."""

_MODULES = {"errors", "rpc", "schema", "transport"}

__all__ = [
    "AcpellaError",
    "AuthRequired",
    "ConnectionClosed",
    "RpcError",
    "TransportError",
    "__version__",
    "errors",
    "rpc",
    "schema",
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
