"""What a user types into the fields of a form, as the agent's schema wants it."""

import re
from typing import Any

from acpella.schema import (
    BooleanPropertySchema,
    ElicitationPropertySchema,
    IntegerPropertySchema,
    MultiSelectPropertySchema,
    NumberPropertySchema,
    StringMultiSelectItems,
    StringPropertySchema,
    TitledMultiSelectItems,
)

__all__ = ["choice_text", "choices_of", "read_value", "show_value"]


def choices_of(field: ElicitationPropertySchema) -> list[tuple[str, str]]:
    """The values to choose from, each with its words; whoever shows them makes every character visible."""
    if isinstance(field, StringPropertySchema):
        if field.one_of is not None:
            return [(option.const, option.title) for option in field.one_of]
        return [(value, value) for value in field.enum or []]
    if isinstance(field, MultiSelectPropertySchema):
        if isinstance(field.items, TitledMultiSelectItems):
            return [(option.const, option.title) for option in field.items.any_of]
        if isinstance(field.items, StringMultiSelectItems):
            return [(value, value) for value in field.items.enum]
    return []


_UNCLEAR = re.compile(r"^$|^\s|\s$|\s\s|^\"|\(sends ")
"""Texts that need quotes: their blanks are not seen, or they look like a text and what it sends."""


def choice_text(value: str, words: str) -> str:
    """A choice as it is shown: its words, and what is sent for them if that is something else."""
    if value == words:
        return _quoted(words)
    return f"{_quoted(words)} (sends {_quoted(value)})"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"' if _UNCLEAR.search(text) else text


def show_value(value: Any, choices: list[tuple[str, str]]) -> str:
    """A default in the words of its choices; whoever shows it makes every character visible."""
    words = dict(choices)
    if isinstance(value, list):
        return ", ".join(show_value(each, choices) for each in value)  # pyright: ignore[reportUnknownVariableType] - any JSON
    if isinstance(value, bool):
        return "y" if value else "n"
    return choice_text(str(value), words.get(str(value), str(value)))


def read_value(field: ElicitationPropertySchema, text: str) -> Any:
    """What was typed as the field wants it.

    Raises:
        ValueError: it is not; the message says what is wanted.
    """
    text = text.strip()
    if isinstance(field, BooleanPropertySchema):
        if text.lower() in ("y", "yes", "true", "on", "1"):
            return True
        if text.lower() in ("n", "no", "false", "off", "0"):
            return False
        raise ValueError("y or n, please")
    if isinstance(field, IntegerPropertySchema | NumberPropertySchema):
        return _number(field, text)
    if isinstance(field, MultiSelectPropertySchema):
        words = [word.strip() for word in text.split(",") if word.strip()]
        chosen = list(dict.fromkeys(_choice(field, word) for word in words))
        _check_range(len(chosen), field.min_items, field.max_items, "choices")
        return chosen
    if choices_of(field):
        return _choice(field, text)
    if isinstance(field, StringPropertySchema):
        _check_text(field, text)
    return text


def _number(field: IntegerPropertySchema | NumberPropertySchema, text: str) -> float:
    whole = isinstance(field, IntegerPropertySchema)
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        raise ValueError("a whole number, please" if whole else "a number, please") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("a number, please")
    _check_range(value, field.minimum, field.maximum, "")
    return value


def _check_range(value: float, low: float | None, high: float | None, what: str) -> None:
    if low is not None and value < low:
        raise ValueError(f"at least {low:g} {what}".rstrip())
    if high is not None and value > high:
        raise ValueError(f"at most {high:g} {what}".rstrip())


def _choice(field: ElicitationPropertySchema, text: str) -> str:
    choices = choices_of(field)
    fits = {value for value, words in choices if text in (value, words)}
    if len(fits) == 1:
        return fits.pop()
    if text.isdigit() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1][0]
    raise ValueError(f"a number from 1 to {len(choices)}, please")


_FORMATS = {
    "email": (r"[^@\s]+@[^@\s]+", "an e-mail address, please"),
    "uri": (r"[A-Za-z][A-Za-z0-9+.-]*:\S+", "an address such as https://…, please"),
    "date": (r"\d{4}-\d\d-\d\d", "a date such as 2026-01-31, please"),
    "date-time": (r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*", "a time such as 2026-01-31T12:00:00Z, please"),
}


_SLOW = re.compile(r"\)[*+{]|(?:[*+{].*){4}|.{200}", re.DOTALL)
"""Patterns that might take for ever; they are the agent's, and it can check for itself."""


def _check_text(field: StringPropertySchema, text: str) -> None:
    _check_range(len(text), field.min_length, field.max_length, "characters")
    if field.format in _FORMATS and not re.fullmatch(_FORMATS[field.format][0], text):
        raise ValueError(_FORMATS[field.format][1])
    if field.pattern is not None and len(text) <= 200 and not _SLOW.search(field.pattern):
        try:
            fits = re.search(field.pattern, text) is not None
        except re.error:
            fits = True
        if not fits:
            raise ValueError(f"this must match {field.pattern}")
