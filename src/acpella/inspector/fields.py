"""What the fields of a message mean, by the types of the protocol."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from acpella._plain_json import as_dict
from acpella.schema.field_docs import field_docs
from acpella.schema.methods import METHODS

__all__ = ["FieldNote", "notes_of"]

MAX_NOTES = 500
"""Notes on one message. A list of a thousand entries does not need a thousand explanations."""


_BY_NAME = {method.name: method for method in METHODS}


class FieldNote(msgspec.Struct, omit_defaults=True):
    """About one field."""

    path: str
    """Such as `params.update.kind`; `[]` stands for each entry of a list."""
    text: str = ""
    type: str = ""
    """What the field may hold, in words."""
    unknown: bool = False
    """The protocol does not know it."""


def notes_of(message: Any, method: str) -> list[FieldNote]:
    """Notes on each field of a message; for a response, `method` is the method that it answers."""
    fields = as_dict(message)
    method_facts = _BY_NAME.get(method)
    if method_facts is None:
        return []
    part, kind = ("result", method_facts.result) if "result" in fields else ("params", method_facts.params)
    if part not in fields or not issubclass(kind, msgspec.Struct):
        return []
    notes: dict[str, FieldNote] = {}
    for note in _walk(part, fields[part], _info(kind)):
        notes.setdefault(note.path, note)
        if len(notes) >= MAX_NOTES:
            break
    return list(notes.values())


@cache
def _info(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


def _walk(path: str, value: Any, kind: inspect.Type) -> Iterator[FieldNote]:
    if isinstance(value, list) and (item := _item_type(kind)) is not None:
        for entry in value:  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from _walk(f"{path}[]", entry, item)
    if not isinstance(value, dict) or (struct := _struct_for(value, kind)) is None:  # pyright: ignore[reportUnknownArgumentType] - JSON
        return
    sentence = (struct.cls.__doc__ or "").strip().partition("\n")[0]
    if sentence:
        yield FieldNote(path, sentence)
    fields = {field.encode_name: field for field in struct.fields}
    meanings = field_docs(struct.cls)
    for name, entry in as_dict(value).items():
        field = fields.get(name)
        if field is not None:
            required = "required" if field.required else "optional"
            within = list(_walk(f"{path}.{name}", entry, field.type))
            about = within[0].text if within and within[0].path == f"{path}.{name}" else ""  # its type's
            meaning = meanings.get(field.name, about)
            yield FieldNote(f"{path}.{name}", meaning, f"{_words(field.type)}, {required}")
            yield from within
        elif name == struct.tag_field:
            yield FieldNote(f"{path}.{name}", sentence, "text, required")
        else:
            yield FieldNote(f"{path}.{name}", "the protocol does not know this field", unknown=True)


def _choices(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type)
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _item_type(kind: inspect.Type) -> inspect.Type | None:
    for choice in _choices(kind):
        if isinstance(choice, inspect.CollectionType | inspect.VarTupleType):
            return choice.item_type
    return None


def _struct_for(value: dict[str, Any], kind: inspect.Type) -> inspect.StructType | None:
    """The type of an object: the one that its tag names, or else the only one without a tag."""
    structs = [choice for choice in _choices(kind) if isinstance(choice, inspect.StructType)]
    tagged = [struct for struct in structs if struct.tag_field is not None]
    for struct in tagged:
        if value.get(str(struct.tag_field)) == struct.tag:
            return struct
    plain = [struct for struct in structs if struct.tag_field is None]
    return plain[0] if len(plain) == 1 else None


def _words(kind: inspect.Type) -> str:
    """A type in words."""
    words: list[str] = []
    for choice in _choices(kind):
        match choice:
            case inspect.LiteralType(values):
                words.append(" | ".join(map(str, values)))
            case inspect.StrType():
                words.append("text")
            case inspect.IntType() | inspect.FloatType():
                words.append("number")
            case inspect.BoolType():
                words.append("true or false")
            case inspect.StructType(cls):
                words.append(cls.__name__)
            case inspect.CollectionType(item) | inspect.VarTupleType(item):
                words.append(f"list of {_words(item)}")
            case inspect.DictType():
                words.append("object")
            case _:
                pass
    return " or ".join(dict.fromkeys(words)) or "any value"
