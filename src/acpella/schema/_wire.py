"""What Structs of the wire are made of: the base Struct, open unions, field flags; and how they become JSON.

The flags say how a reader treats a malformed value; they mirror the annotations of the official schema:

- a field with a default falls back to it ([e]), and a list with a default loses only its bad items ([s]),
  unless the field is `Strict`;
- a required field is strict, unless it is `Lenient`: then the key must be there, its value may be broken;
- `NullAsEmpty` reads null as the empty list or map ([n]) and is strict about everything else;
- an `Opened` enumeration is closed in the specification, and read with values that it does not have.
"""

import functools
import types
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec
from msgspec import Struct
from msgspec import field as field  # for the modules beside this one

__all__ = ["Flag", "Meta", "Pick", "Unknown", "Wire", "encode", "flag_of", "native"]

T = TypeVar("T")

Meta: TypeAlias = dict[str, Any]
"""The free-form `_meta` object that every ACP object may carry."""


class Flag:
    """Marks how a field is read when its value is malformed."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STRICT = Flag("strict")
LENIENT = Flag("lenient")
NULL_AS_EMPTY = Flag("null as empty")
OPENED = Flag("opened")

Strict = Annotated[T, STRICT]
Lenient = Annotated[T, LENIENT]
NullAsEmpty = Annotated[T, NULL_AS_EMPTY]
Opened = Annotated[T, OPENED]

U16 = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
U32 = Annotated[int, msgspec.Meta(ge=0, le=4_294_967_295)]
U64 = Annotated[int, msgspec.Meta(ge=0)]  # msgspec bounds end at i64, so the upper one is left out
I32 = Annotated[int, msgspec.Meta(ge=-2_147_483_648, le=2_147_483_647)]
I64 = Annotated[int, msgspec.Meta(ge=-9_223_372_036_854_775_808, le=9_223_372_036_854_775_807)]


class Unknown:
    """A union member that this version does not know. It encodes back to the JSON it came from."""

    __slots__ = ("raw", "tag")
    __match_args__ = ("tag", "raw")

    def __init__(self, tag: str | None, raw: bytes) -> None:
        self.tag: str | None = tag
        self.raw: bytes = raw

    @property
    def value(self) -> dict[str, Any]:
        """The member as plain JSON."""
        return msgspec.json.decode(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.tag == other.tag and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.tag)

    def __repr__(self) -> str:
        excerpt = self.raw if len(self.raw) <= 200 else self.raw[:200] + b"..."
        return f"Unknown({self.tag!r}, {excerpt!r})"


class Pick(Generic[T]):
    """Annotates a union that JSON does not tag: names the member that an object is, None for unknown."""

    __slots__ = ("member",)

    def __init__(self, member: Callable[[dict[str, Any]], type | None]) -> None:
        self.member = member


class _Picked(type):
    """Type of the stand-ins that msgspec sees for `Pick` unions; `decode_hook` makes their values."""

    pick: Pick[Any]

    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec checks what the hook returned, which has chosen already


@functools.cache
def _stand_in(pick: Pick[Any]) -> type:
    return _Picked("Picked", (), {"pick": pick})


def native(annotation: Any) -> Any:
    """The annotation as msgspec can read it: without flags and `Unknown`, picked unions as stand-ins."""
    origin = get_origin(annotation)
    if origin is None:
        return annotation
    if origin is Annotated:
        inner, *extras = get_args(annotation)
        for extra in extras:
            if isinstance(extra, Pick):
                return _stand_in(cast("Pick[Any]", extra))
        constraints = [extra for extra in extras if not isinstance(extra, Flag)]
        inner = native(inner)
        return Annotated[(inner, *constraints)] if constraints else inner
    if origin is Union or origin is types.UnionType:
        members = tuple(native(arg) for arg in get_args(annotation) if arg is not Unknown)
        return Union[members]  # noqa: UP007 - built from a tuple
    if origin is list or origin is dict:
        return cast("Any", origin)[tuple(native(arg) for arg in get_args(annotation))]
    return annotation


FLAGS: dict[type, dict[str, Flag]] = {}
"""The flags of each Struct's own fields, by class."""


class Wire(Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """Base of everything on the wire: camelCase in JSON, absent values left out, unknown fields ignored."""

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        own = cls.__annotations__  # without inherited ones; Python 3.14 makes them on demand
        flags: dict[str, Flag] = {}
        for name, annotation in own.items():
            if get_origin(annotation) is Annotated:
                for extra in get_args(annotation)[1:]:
                    if isinstance(extra, Flag):
                        flags[name] = extra
        FLAGS[cls] = flags
        plain = {name: native(annotation) for name, annotation in own.items()}
        type.__setattr__(cls, "__annotations__", plain)  # for msgspec


def flag_of(cls: type, field: str) -> Flag | None:
    """The flag of a field, its own or inherited."""
    for base in cls.__mro__:
        flags = FLAGS.get(base)
        if flags and field in flags:
            return flags[field]
    return None


def _encode_hook(value: object) -> object:
    if isinstance(value, Unknown):
        return msgspec.Raw(value.raw)
    raise TypeError(f"{type(value).__name__} has no place in an ACP message")


encoder = msgspec.json.Encoder(enc_hook=_encode_hook)
"""Writes Structs, `Unknown` members included."""


def encode(value: object) -> bytes:
    """JSON of a Struct (or of plain JSON values)."""
    return encoder.encode(value)
