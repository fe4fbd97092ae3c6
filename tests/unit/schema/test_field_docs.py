"""The sentence below each field of a type."""

import importlib
import pkgutil

import msgspec
import pytest

import acpella.schema
from acpella.schema.field_docs import field_docs

UNSTABLE = {"acpella.schema.nes"}
"""Suggestions for the next edit, which no released editor speaks yet."""


def structs() -> list[type[msgspec.Struct]]:
    modules = [
        importlib.import_module(f"acpella.schema.{module.name}")
        for module in pkgutil.iter_modules(acpella.schema.__path__)
    ]
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
        and module.__name__ not in UNSTABLE
    ]


def test_every_field_of_every_message_has_a_sentence() -> None:
    missing = [
        f"{kind.__module__}.{kind.__name__}.{field.name}"
        for kind in structs()
        for field in msgspec.structs.fields(kind)
        if field.name != "meta" and not field_docs(kind).get(field.name)
    ]
    assert missing == []


def test_sentences_are_whole() -> None:
    for kind in structs():
        for name, sentence in field_docs(kind).items():
            assert sentence[:1].isupper() or sentence[:1] == "`", (kind, name, sentence)
            assert sentence.endswith("."), (kind, name, sentence)


def test_a_type_has_the_sentences_of_those_that_it_extends() -> None:
    class Base(msgspec.Struct):
        first: int
        """The first."""

    class Wider(Base):
        second: int
        """The second,
        in two lines."""
        third: int

    assert field_docs(Wider) == {"first": "The first.", "second": "The second, in two lines."}


def test_without_a_source_there_are_no_sentences() -> None:
    made = msgspec.defstruct("Made", ["field"], module="acpella.made")
    assert field_docs(made) == {}


@pytest.mark.parametrize("kind", [int, dict])
def test_other_types_have_none(kind: type) -> None:
    assert field_docs(kind) == {}
