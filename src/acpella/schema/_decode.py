"""How JSON becomes Structs: strictly at first, and with what may be forgiven when that fails."""

import functools
from typing import Any, TypeVar, cast

import msgspec

from ._old import OldShape
from ._salvage import decode_hook, salvage
from ._wire import native

__all__ = ["decode", "decode_hook", "decoder_of", "read"]

T = TypeVar("T")


@functools.cache
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """The strict decoder of a type, built on first use."""
    return msgspec.json.Decoder(native(kind), dec_hook=decode_hook)


def decode(kind: type[T], data: bytes | msgspec.Raw) -> T:
    """Read JSON as a Struct (or a union of them).

    Reads strictly first. When that fails, what the specification lets a reader forgive is replaced by its
    default, and unknown union members are kept as `Unknown`.

    Raises:
        msgspec.DecodeError: the data is not JSON, or breaks the schema where nothing may be forgiven.
    """
    return read(kind, data)


def read(kind: type[T], data: bytes | msgspec.Raw | memoryview, old: OldShape | None = None) -> T:
    """`decode`, knowing also how older peers write the same message."""
    if old is None or old.hint is None or old.hint not in bytes(data):
        try:
            return decoder_of(kind).decode(data)
        except msgspec.ValidationError:
            pass
    value = msgspec.json.decode(data)
    if old is not None and isinstance(value, dict):
        value = old.modernize(cast("dict[str, Any]", value))
    return salvage(kind, value)
