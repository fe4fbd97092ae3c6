"""Questions of an agent to the user: forms to fill in, and pages to visit."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from acpella.errors import InvalidParams
from acpella.schema import (
    BooleanPropertySchema,
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
    ElicitationAcceptAction,
    ElicitationCancelAction,
    ElicitationDeclineAction,
    ElicitationFormMode,
    ElicitationSchema,
    ElicitationUrlMode,
    IntegerPropertySchema,
    MultiSelectPropertySchema,
    NumberPropertySchema,
    StringMultiSelectItems,
    StringPropertySchema,
    TitledMultiSelectItems,
    Unknown,
)

__all__ = ["Elicit", "Elicitations", "check_form", "defaults_of", "to_response"]

log: logging.Logger = logging.getLogger(__name__)

Reply: TypeAlias = "CreateElicitationResponse | Mapping[str, Any] | bool | None"

Elicit: TypeAlias = Callable[[Any], Awaitable[Reply]]
"""Shows an elicitation to the user. Gives what the form was filled with, True for consent to a page, False
for no, None for no choice; or the protocol's own answer."""

MAX_OPEN_PAGES = 256
"""Pages whose end is awaited. Without it, an agent that never tells the end fills the memory."""


class Elicitations:
    """Asks the user through `ask` and tells `on_complete` when the agent says that a page was finished."""

    def __init__(self, ask: Elicit, on_complete: Callable[[str], None] | None = None) -> None:
        self._ask = ask
        self._on_complete = on_complete
        self._open_pages: dict[str, None] = {}

    async def answer(self, request: CreateElicitationRequest) -> CreateElicitationResponse:
        """Ask the user, and check the form before it is sent (R-364)."""
        if isinstance(request, Unknown):
            raise InvalidParams(f"this client shows forms and pages, not {request.tag!r}")
        response = to_response(await self._ask(request))
        if not isinstance(response, ElicitationAcceptAction):
            return response
        if isinstance(request, ElicitationUrlMode):
            self._open_pages[request.elicitation_id] = None  # consent is not completion
            while len(self._open_pages) > MAX_OPEN_PAGES:
                del self._open_pages[next(iter(self._open_pages))]
            return ElicitationAcceptAction(meta=response.meta)
        wrong = check_form(request.requested_schema, response.content or {})
        if wrong:
            log.error("the answer to %r does not fit its form and is not sent: %s", request.message, wrong[0])
            return ElicitationCancelAction()
        return response

    def complete(self, params: CompleteElicitationNotification) -> None:
        """The agent says that the user is done at a page; unknown and finished ones are ignored (R-369)."""
        if params.elicitation_id not in self._open_pages:
            return
        del self._open_pages[params.elicitation_id]
        if self._on_complete is not None:
            self._on_complete(params.elicitation_id)


def to_response(reply: Reply) -> CreateElicitationResponse:
    """The protocol's answer for what a handler returned."""
    if reply is None:
        return ElicitationCancelAction()
    if isinstance(reply, bool):
        return ElicitationAcceptAction() if reply else ElicitationDeclineAction()
    if isinstance(reply, Mapping):
        return ElicitationAcceptAction(content=dict(reply))
    return reply


def defaults_of(request: ElicitationFormMode | ElicitationSchema) -> dict[str, Any]:
    """What the form is filled with before the user changes it."""
    schema = request.requested_schema if isinstance(request, ElicitationFormMode) else request
    defaults = {name: getattr(field, "default", None) for name, field in schema.properties.items()}
    return {name: value for name, value in defaults.items() if value is not None}


def check_form(schema: ElicitationSchema, content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the values of a form, in words for the user; empty if nothing is.

    `pattern` is not evaluated: it is the agent's, and a hostile one would never end (R-366).
    """
    wrong = [f"{name} is needed" for name in schema.required or [] if content.get(name) is None]
    for name, value in content.items():
        field = schema.properties.get(name)
        if field is None:
            wrong.append(f"there is no field {name}")
        elif (complaint := _complaint(field, value)) is not None:
            wrong.append(f"{name} {complaint}")
    return wrong


def _complaint(field: Any, value: Any) -> str | None:
    match field:
        case StringPropertySchema():
            return _text_complaint(field, value)
        case BooleanPropertySchema():
            return None if isinstance(value, bool) else "must be yes or no"
        case NumberPropertySchema() | IntegerPropertySchema():
            kinds = int if isinstance(field, IntegerPropertySchema) else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds):
                return "must be a whole number" if kinds is int else "must be a number"
            return _bounds(cast("float", value), field.minimum, field.maximum, "")
        case MultiSelectPropertySchema():
            return _choices_complaint(field, value)
        case _:
            return None  # a kind of field that nobody here knows; the agent will say


def _text_complaint(field: StringPropertySchema, value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    choices = field.enum if field.enum is not None else [o.const for o in field.one_of or []] or None
    if choices is not None and value not in choices:
        return f"must be one of: {', '.join(choices)}"
    return _bounds(len(value), field.min_length, field.max_length, " characters")


def _choices_complaint(field: MultiSelectPropertySchema, value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list"
    chosen = cast("list[Any]", value)
    choices: list[str] | None = None
    if isinstance(field.items, StringMultiSelectItems):
        choices = field.items.enum
    elif isinstance(field.items, TitledMultiSelectItems):
        choices = [option.const for option in field.items.any_of]
    if choices is not None and any(item not in choices for item in chosen):
        return f"must be some of: {', '.join(choices)}"
    return _bounds(len(chosen), field.min_items, field.max_items, " choices")


def _bounds(value: float, least: float | None, most: float | None, what: str) -> str | None:
    if least is not None and value < least:
        return f"must be at least {least:g}{what}"
    if most is not None and value > most:
        return f"must be at most {most:g}{what}"
    return None
