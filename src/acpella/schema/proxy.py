"""Proxies between a client and an agent (unstable)."""

from typing import Any, TypeAlias

from msgspec import UNSET

from ._wire import Meta, Strict, Wire, field
from .initialize import InitializeRequest, InitializeResponse

__all__ = [
    "InitializeProxyRequest",
    "InitializeProxyResponse",
    "ProxySuccessorNotification",
    "ProxySuccessorRequest",
    "ProxySuccessorResponse",
]

InitializeProxyRequest: TypeAlias = InitializeRequest
InitializeProxyResponse: TypeAlias = InitializeResponse
ProxySuccessorResponse: TypeAlias = Any


class ProxySuccessorRequest(Wire, frozen=True, kw_only=True):
    """A request that goes to the next component, or comes from it."""

    method: str
    """The method of the request that is passed on."""
    params: Strict[Any] = UNSET
    """The params of the request that is passed on, unchanged. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")


class ProxySuccessorNotification(Wire, frozen=True, kw_only=True):
    """A notification that goes to the next component, or comes from it."""

    method: str
    """The method of the notification that is passed on."""
    params: Strict[Any] = UNSET
    """The params of the notification that is passed on, unchanged. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")
