"""The schema as a judge reads it: nothing is forgiven, and fields that nobody specified are named."""

import functools
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

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
    problems: list[str] = []

    def visit(struct: type[Struct], fields: dict[str, Any], where: str) -> None:
        for name, values in _closed(struct).items():
            if name in fields and fields[name] not in values:
                problems.append(f"Invalid enum value {fields[name]!r} - at {where}.{name}")

    _walk(native(kind), value, "$", visit)
    return problems[0] if problems else None


@functools.cache
def _closed(kind: type[Struct]) -> dict[str, tuple[Any, ...]]:
    """The values of the fields that are read with more than the specification has."""
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

    def visit(struct: type[Struct], fields: dict[str, Any], where: str) -> None:
        known = {*_fields(struct), struct.__struct_config__.tag_field}
        paths.extend(f"{where}.{name}" for name in fields if name not in known)

    _walk(native(kind), value, "$", visit)
    return paths


_Visit: TypeAlias = Callable[[type[Struct], dict[str, Any], str], None]
"""Gets each object that is read as a Struct, and its place."""


def _walk(kind: Any, value: Any, where: str, visit: _Visit) -> None:
    if not isinstance(value, dict | list):  # nothing else has fields
        return
    origin = _origin(kind)
    if origin is Annotated:
        _walk(get_args(kind)[0], value, where, visit)
    elif isinstance(pick := getattr(kind, "pick", None), Pick) and isinstance(value, dict):
        member = cast("Pick[Any]", pick).member(cast("dict[str, Any]", value))
        if member is not None:
            _walk(member, value, where, visit)
    elif isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
        _walk_struct(kind, cast("dict[str, Any]", value), where, visit)
    elif origin is list and isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            _walk(get_args(kind)[0], item, f"{where}[{place}]", visit)
    elif origin is dict and isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            _walk(get_args(kind)[1], item, f"{where}.{name}", visit)
    elif origin is Union or origin is types.UnionType:
        _walk_union(get_args(kind), value, where, visit)


def _walk_union(members: tuple[Any, ...], value: Any, where: str, visit: _Visit) -> None:
    if isinstance(value, dict):
        structs = _structs(members)
        for struct in structs:
            config = struct.__struct_config__
            if len(structs) == 1 or cast("dict[str, Any]", value).get(config.tag_field or "") == config.tag:
                _walk_struct(struct, cast("dict[str, Any]", value), where, visit)
                return
        for member in members:
            if isinstance(getattr(member, "pick", None), Pick) or get_origin(member) is dict:
                _walk(member, value, where, visit)
                return
    elif isinstance(value, list):
        for member in members:
            if get_origin(member) is list:
                _walk(member, value, where, visit)
                return


def _walk_struct(kind: type[Struct], value: dict[str, Any], where: str, visit: _Visit) -> None:
    visit(kind, value, where)
    known_fields = _fields(kind)
    for name, item in value.items():
        if name in known_fields:
            _walk(known_fields[name], item, f"{where}.{name}", visit)


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
