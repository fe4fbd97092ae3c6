"""How a peer learns which methods there are, and how their parameters and results are read."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw

__all__ = ["Method", "Vocabulary"]

P = TypeVar("P")
R = TypeVar("R")


class Method(Protocol[P, R]):  # pyright: ignore[reportInvalidTypeVarUse] - invariant, so calls are checked
    """A method with the types of its parameters and result."""

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> type[P]: ...
    def read_params(self, raw: bytes | Raw | memoryview, /) -> P: ...
    def read_result(self, raw: bytes | Raw, /) -> R: ...


class Vocabulary(Protocol):
    """The typed methods that one side receives, and how values become JSON."""

    @property
    def requests(self) -> Mapping[str, Method[Any, Any]]: ...
    @property
    def notifications(self) -> Mapping[str, Method[Any, Any]]: ...
    @property
    def stream(self) -> Method[Any, Any] | None:
        """The notification that comes in floods, and is decoded many at a time."""
        ...

    @property
    def encoder(self) -> msgspec.json.Encoder: ...
    @property
    def decode_hook(self) -> Callable[[type, Any], Any]: ...
