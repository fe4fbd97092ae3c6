"""The schema as a judge reads it: nothing is forgiven, and fields that nobody specified are named."""

import functools
import types
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from ._salvage import decode_hook
from ._wire import OPENED, Pick, flag_of, native

__all__ = ["extra_fields", "schema_error"]


def schema_error(kind: Any, value: Any) -> str | None:
    """Why plain JSON is not a value of that type, and where; None if it is one."""
    try:
        msgspec.convert(value, native(kind), dec_hook=decode_hook)
    except (msgspec.ValidationError, ValueError) as error:
        return str(error).replace("`", "")
    for name, values in _closed(kind).items():
        if value.get(name) not in values:
            return f"Invalid enum value {value.get(name)!r} - at $.{name}"
    return None


@functools.cache
def _closed(kind: Any) -> dict[str, tuple[Any, ...]]:
    """The values of the fields that are read with more than the specification has."""
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return {}
    return {
        info.encode_name: tuple(
            value for part in get_args(info.type) if get_origin(part) is Literal for value in get_args(part)
        )
        for info in msgspec.structs.fields(kind)
        if flag_of(kind, info.name) is OPENED
    }


def extra_fields(kind: Any, value: Any) -> list[str]:
    """Where objects have fields that no version of the protocol gives them, as paths from `$`."""
    paths: list[str] = []
    _walk(native(kind), value, "$", paths)
    return paths


def _walk(kind: Any, value: Any, where: str, problems: list[str]) -> None:
    if not isinstance(value, dict | list):  # nothing else has fields
        return
    origin = _origin(kind)
    if origin is Annotated:
        _walk(get_args(kind)[0], value, where, problems)
    elif isinstance(pick := getattr(kind, "pick", None), Pick) and isinstance(value, dict):
        member = cast("Pick[Any]", pick).member(cast("dict[str, Any]", value))
        if member is not None:
            _walk(member, value, where, problems)
    elif isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
        _walk_struct(kind, cast("dict[str, Any]", value), where, problems)
    elif origin is list and isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            _walk(get_args(kind)[0], item, f"{where}[{place}]", problems)
    elif origin is dict and isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            _walk(get_args(kind)[1], item, f"{where}.{name}", problems)
    elif origin is Union or origin is types.UnionType:
        _walk_union(get_args(kind), value, where, problems)


def _walk_union(members: tuple[Any, ...], value: Any, where: str, problems: list[str]) -> None:
    if isinstance(value, dict):
        structs = _structs(members)
        for struct in structs:
            config = struct.__struct_config__
            if len(structs) == 1 or cast("dict[str, Any]", value).get(config.tag_field or "") == config.tag:
                _walk_struct(struct, cast("dict[str, Any]", value), where, problems)
                return
        for member in members:
            if isinstance(getattr(member, "pick", None), Pick) or get_origin(member) is dict:
                _walk(member, value, where, problems)
                return
    elif isinstance(value, list):
        for member in members:
            if get_origin(member) is list:
                _walk(member, value, where, problems)
                return


def _walk_struct(kind: type[Struct], value: dict[str, Any], where: str, problems: list[str]) -> None:
    known_fields = _fields(kind)
    for name, item in value.items():
        if name in known_fields:
            _walk(known_fields[name], item, f"{where}.{name}", problems)
        elif name != kind.__struct_config__.tag_field:
            problems.append(f"{where}.{name}")


@functools.cache
def _origin(kind: Any) -> Any:
    return get_origin(kind)


@functools.cache
def _structs(members: tuple[Any, ...]) -> list[type[Struct]]:
    return [member for member in members if isinstance(member, type) and issubclass(member, Struct)]


@functools.cache
def _fields(kind: type[Struct]) -> dict[str, Any]:
    fields = {info.encode_name: info.type for info in msgspec.structs.fields(kind)}
    fields["_meta"] = Any
    return fields
