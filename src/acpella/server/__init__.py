"""Agents for people elsewhere: any agent over HTTP, server-sent events and WebSocket.

`asgi` makes an application for any ASGI server or framework, `serve` runs it. Needs `acpella[standard]`.
"""

from typing import TYPE_CHECKING

from .access.credentials import AuthHook, Credential, Requester, Scope
from .access.tokens import Tokens
from .app import Server, asgi
from .settings import ServerSettings

if TYPE_CHECKING:
    from .runner import Runner, serve

__all__ = [
    "AuthHook",
    "Credential",
    "Requester",
    "Runner",
    "Scope",
    "Server",
    "ServerSettings",
    "Tokens",
    "asgi",
    "serve",
]


def __getattr__(name: str) -> object:
    if name not in ("Runner", "serve"):
        raise AttributeError(f"module 'acpella.server' has no attribute {name!r}")
    try:
        from . import runner
    except ImportError as error:
        raise ImportError(
            f"serving needs {error.name}: pip install 'acpella[standard]'", name=error.name
        ) from error
    return getattr(runner, name)
