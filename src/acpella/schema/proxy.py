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
    params: Strict[Any] = UNSET
    meta: Meta | None = field(default=None, name="_meta")


class ProxySuccessorNotification(Wire, frozen=True, kw_only=True):
    """A notification that goes to the next component, or comes from it."""

    method: str
    params: Strict[Any] = UNSET
    meta: Meta | None = field(default=None, name="_meta")
