"""The second reading: keep what the specification lets a reader keep of a message that is not quite right.

Only reached when the strict decoder has failed, so it may be slow. It walks plain JSON along the Structs.
"""

import functools
import logging
import types
from typing import Annotated, Any, NamedTuple, Union, cast, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, ValidationError

from ._wire import LENIENT, NULL_AS_EMPTY, Flag, Pick, Unknown, encode, flag_of, native

__all__ = ["decode_hook", "salvage"]

log: logging.Logger = logging.getLogger(__name__)


def salvage(kind: Any, value: Any) -> Any:
    """Read plain JSON along a type, forgiving what its flags allow."""
    return _read(native(kind), value, "$")


def decode_hook(stand_in: Any, value: object) -> object:
    """msgspec's hook: makes the values of picked unions."""
    return _read_picked(stand_in.pick, value)


def _read_picked(pick: Pick[Any], value: object, where: str = "$") -> object:
    """Read a member of a union that JSON does not tag."""
    if not isinstance(value, dict):
        raise ValidationError(f"Expected `object`, got `{_json_name(value)}` - at `{where}`")
    member = pick.member(cast("dict[str, Any]", value))
    if member is None:
        return _unknown(cast("dict[str, Any]", value), "type")
    return _read(member, cast("dict[str, Any]", value), where)


class _Field(NamedTuple):
    name: str
    key: str
    kind: Any
    flag: Flag | None
    required: bool

    @property
    def soft(self) -> bool:
        return self.flag is LENIENT or (self.flag is None and not self.required)


@functools.cache
def _fields(cls: type[Struct]) -> list[_Field]:
    return [
        _Field(
            info.name,
            info.encode_name,
            info.type,
            flag_of(cls, info.name),
            required=info.default is NODEFAULT and info.default_factory is NODEFAULT,
        )
        for info in msgspec.structs.fields(cls)
    ]


def _read(kind: Any, value: Any, where: str) -> Any:
    try:
        return msgspec.convert(value, kind, dec_hook=decode_hook)
    except ValidationError as error:
        strict = str(error)  # the error itself has this frame, with the whole message in it
    origin = get_origin(kind)
    if origin is Annotated:  # `native` has left only bounds, and those hold
        raise _placed(strict, where)
    if isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
        return _read_struct(kind, cast("dict[str, Any]", value), where)
    if origin is Union or origin is types.UnionType:
        return _read_union(get_args(kind), value, where, strict)
    if origin is list and isinstance(value, list):
        (item,) = get_args(kind)
        return [_read(item, one, f"{where}[{i}]") for i, one in enumerate(cast("list[Any]", value))]
    if origin is dict and isinstance(value, dict):
        item = get_args(kind)[1]
        pairs = cast("dict[str, Any]", value).items()
        return {key: _read(item, one, f"{where}[{key!r}]") for key, one in pairs}
    raise _placed(strict, where)


def _read_union(members: tuple[Any, ...], value: Any, where: str, strict: str) -> Any:
    structs = [m for m in members if isinstance(m, type) and issubclass(m, Struct)]
    if structs and isinstance(value, dict):
        if len(structs) == 1:
            return _read_struct(structs[0], cast("dict[str, Any]", value), where)
        return _read_tagged(structs, cast("dict[str, Any]", value), where)
    for member in members:
        if get_origin(member) in (list, dict) and isinstance(value, get_origin(member)):
            return _read(member, value, where)
    raise _placed(strict, where)


def _read_tagged(structs: list[type[Struct]], value: dict[str, Any], where: str) -> Any:
    field = structs[0].__struct_config__.tag_field
    assert field is not None, "msgspec refuses untagged unions"
    if field not in value:
        raise ValidationError(f"Object missing required field `{field}` - at `{where}`")
    tag: object = value[field]
    for struct in structs:
        if struct.__struct_config__.tag == tag:
            return _read_struct(struct, value, where)  # a known tag stays what it claims to be
    if isinstance(tag, str):
        return _unknown(value, field)
    raise ValidationError(f"Expected `str`, got `{_json_name(tag)}` - at `{where}.{field}`")


def _read_struct(cls: type[Struct], value: dict[str, Any], where: str) -> Any:
    values: dict[str, Any] = {}
    for field in _fields(cls):
        place = f"{where}.{field.key}"
        if field.key not in value:
            if field.required:
                raise ValidationError(f"Object missing required field `{field.key}` - at `{where}`")
            continue
        raw = value[field.key]
        if raw is None and field.flag is NULL_AS_EMPTY:
            values[field.name] = _empty(field.kind)
            continue
        try:
            values[field.name] = _read_soft_list(field, raw, place) if field.soft else None
            if values[field.name] is None:
                values[field.name] = _read(field.kind, raw, place)
        except ValidationError as error:
            values.pop(field.name, None)
            if not field.soft:
                raise
            log.warning("%s.%s is malformed and was left out: %s", cls.__name__, field.name, error)
            if field.required:
                values[field.name] = _empty(field.kind)
    try:
        return cls(**values)
    except ValueError as error:  # what a __post_init__ refused
        raise ValidationError(f"{error} - at `{where}`") from None


def _read_soft_list(field: _Field, raw: Any, where: str) -> list[Any] | None:
    """The good items of a list whose flag lets the bad ones go; None if this is not such a list."""
    kind = _list_of(field.kind)
    if kind is None or not isinstance(raw, list):
        return None
    good: list[Any] = []
    for i, item in enumerate(cast("list[Any]", raw)):
        try:
            good.append(_read(kind, item, f"{where}[{i}]"))
        except ValidationError as error:
            log.warning("an item of %s was skipped: %s", field.name, error)
    return good


def _list_of(kind: Any) -> Any:
    """The item type if the annotation is a list or a union with one."""
    if get_origin(kind) is list:
        return get_args(kind)[0]
    for member in get_args(kind) if get_origin(kind) in (Union, types.UnionType) else ():
        if get_origin(member) is list:
            return get_args(member)[0]
    return None


def _empty(kind: Any) -> Any:
    return [] if _list_of(kind) is not None else {}


def _unknown(value: dict[str, Any], field: str) -> Unknown:
    tag = value.get(field)
    return Unknown(tag if isinstance(tag, str) else None, encode(value))


def _placed(text: str, where: str) -> ValidationError:
    """The error of a part, with the part's place in the whole."""
    what, at, inner = text.rpartition(" - at `$")
    return ValidationError(f"{what} - at `{where}{inner}" if at else f"{text} - at `{where}`")


def _json_name(value: object) -> str:
    names: dict[type, str] = {
        type(None): "null",
        bool: "bool",
        int: "int",
        float: "float",
        str: "str",
        list: "array",
    }
    return names.get(type(value), "object")
