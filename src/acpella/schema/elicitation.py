"""Asking the user for input, in a form or behind a URL."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from ._wire import I64, U32, U64, Meta, Pick, Strict, Unknown, Wire, field
from .protocol import RequestId, SessionId
from .tools import ToolCallId

__all__ = [
    "BooleanPropertySchema",
    "CompleteElicitationNotification",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "ElicitationAcceptAction",
    "ElicitationCancelAction",
    "ElicitationCapabilities",
    "ElicitationContentValue",
    "ElicitationDeclineAction",
    "ElicitationFormCapabilities",
    "ElicitationFormMode",
    "ElicitationId",
    "ElicitationPropertySchema",
    "ElicitationSchema",
    "ElicitationUrlCapabilities",
    "ElicitationUrlMode",
    "EnumOption",
    "IntegerPropertySchema",
    "MultiSelectItems",
    "MultiSelectPropertySchema",
    "NumberPropertySchema",
    "StringFormat",
    "StringMultiSelectItems",
    "StringPropertySchema",
    "TitledMultiSelectItems",
]

ElicitationId: TypeAlias = str
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]
ElicitationContentValue: TypeAlias = str | I64 | float | bool | list[str]


class ElicitationFormCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows forms."""

    meta: Meta | None = field(default=None, name="_meta")


class ElicitationUrlCapabilities(Wire, frozen=True, kw_only=True):
    """The client can send the user to a URL."""

    meta: Meta | None = field(default=None, name="_meta")


class ElicitationCapabilities(Wire, frozen=True, kw_only=True):
    """How the client can ask the user; an empty object means not at all."""

    form: ElicitationFormCapabilities | None = None
    """An object here, even `{}`, means that the client can show forms to the user."""
    url: ElicitationUrlCapabilities | None = None
    """An object here, even `{}`, means that the client can send the user to a URL."""
    meta: Meta | None = field(default=None, name="_meta")


class EnumOption(Wire, frozen=True, kw_only=True):
    """A value to choose and the words to show for it."""

    const: str
    """What the answer holds if the user chooses this."""
    title: str
    """What the user sees in place of the value."""
    description: str | None = None
    """More about this choice, to show beside its title."""
    meta: Meta | None = field(default=None, name="_meta")


class StringPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """A text field, or one choice out of `enum` or `one_of`."""

    title: str | None = None
    """What to call the field in the form."""
    description: str | None = None
    """What the user should enter, in more words than the title."""
    min_length: Strict[U32 | None] = None
    """The fewest characters that the text may have."""
    max_length: Strict[U32 | None] = None
    """The most characters that the text may have."""
    pattern: Strict[str | None] = None
    """A regular expression that the text has to match."""
    format: Strict[StringFormat | None] = None
    """What the text has to be: an email address, a URI, a date, or a date with a time."""
    default: str | None = None
    """The text that the field holds before the user changes it."""
    enum: Strict[list[str] | None] = None
    """The values to choose from, shown as they are; the user takes one."""
    one_of: Strict[list[EnumOption] | None] = None
    """The values to choose from, each with words to show; the user takes one."""
    meta: Meta | None = field(default=None, name="_meta")


class NumberPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="number"):
    """A field for a number."""

    title: str | None = None
    """What to call the field in the form."""
    description: str | None = None
    """What the user should enter, in more words than the title."""
    minimum: Strict[float | None] = None
    """The smallest number that is allowed."""
    maximum: Strict[float | None] = None
    """The largest number that is allowed."""
    default: float | None = None
    """The number that the field holds before the user changes it."""
    meta: Meta | None = field(default=None, name="_meta")


class IntegerPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="integer"):
    """A field for a whole number."""

    title: str | None = None
    """What to call the field in the form."""
    description: str | None = None
    """What the user should enter, in more words than the title."""
    minimum: Strict[I64 | None] = None
    """The smallest number that is allowed."""
    maximum: Strict[I64 | None] = None
    """The largest number that is allowed."""
    default: I64 | None = None
    """The number that the field holds before the user changes it."""
    meta: Meta | None = field(default=None, name="_meta")


class BooleanPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A field for yes or no."""

    title: str | None = None
    """What to call the field in the form."""
    description: str | None = None
    """What a yes means, in more words than the title."""
    default: bool | None = None
    """Whether the field says yes before the user changes it."""
    meta: Meta | None = field(default=None, name="_meta")


class StringMultiSelectItems(Wire, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """The values to choose from."""

    enum: list[str]
    """The values that may be chosen, shown as they are."""
    meta: Meta | None = field(default=None, name="_meta")


class TitledMultiSelectItems(Wire, frozen=True, kw_only=True):
    """The values to choose from, with words to show."""

    any_of: list[EnumOption]
    """The values that may be chosen, each with words to show."""
    meta: Meta | None = field(default=None, name="_meta")


def _items(value: dict[str, Any]) -> type | None:
    if "anyOf" in value:
        return TitledMultiSelectItems
    return StringMultiSelectItems if value.get("type") == "string" else None


MultiSelectItems: TypeAlias = Annotated[
    StringMultiSelectItems | TitledMultiSelectItems | Unknown, Pick(_items)
]


class MultiSelectPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="array"):
    """A field for several choices."""

    items: MultiSelectItems
    """The values that the user may choose, with or without words to show for them."""
    title: str | None = None
    """What to call the field in the form."""
    description: str | None = None
    """What the user should choose, in more words than the title."""
    min_items: Strict[U64 | None] = None
    """How many values the user has to choose at least."""
    max_items: Strict[U64 | None] = None
    """How many values the user may choose at most."""
    default: list[str] | None = None
    """The values that are chosen before the user changes anything."""
    meta: Meta | None = field(default=None, name="_meta")


ElicitationPropertySchema: TypeAlias = (
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
    | Unknown
)


def _no_properties() -> dict[str, ElicitationPropertySchema]:
    return {}


class ElicitationSchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="object"):
    """The fields of a form."""

    # always written, even empty; msgspec leaves out the empty dicts of `dict` but not of a function.
    properties: Strict[dict[str, ElicitationPropertySchema]] = field(default_factory=_no_properties)
    """The fields of the form by name; the answer uses the same names."""
    required: Strict[list[str] | None] = None
    """The names of the fields that the user has to fill in. Absent means none."""
    title: str | None = None
    """The heading of the form."""
    description: str | None = None
    """What the form is for, in more words than its heading."""
    meta: Meta | None = field(default=None, name="_meta")


def _check_scope(session_id: SessionId | None, request_id: RequestId | UnsetType) -> None:
    if session_id is None and request_id is UNSET:
        raise ValueError("An elicitation belongs to a session or to a request: give session_id or request_id")


class ElicitationFormMode(Wire, frozen=True, kw_only=True, tag_field="mode", tag="form"):
    """Ask the user to fill in a form, for a session or for a request of the client's."""

    message: str
    """What the agent wants to know and why, for the user to read."""
    requested_schema: ElicitationSchema
    """The form that the client shows; it has no fields within fields."""
    session_id: Strict[SessionId | None] = None
    """The session that the question belongs to. Absent means that it belongs to a request."""
    tool_call_id: ToolCallId | None = None
    """The tool call that needs the answer. Absent means that no single one does."""
    request_id: Strict[RequestId | UnsetType] = UNSET
    """The client's open request that needs the answer, such as a login before any session exists."""
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


class ElicitationUrlMode(Wire, frozen=True, kw_only=True, tag_field="mode", tag="url"):
    """Ask the user to visit a URL, for a session or for a request of the client's."""

    message: str
    """What the user should do at the URL and why."""
    elicitation_id: ElicitationId
    """The agent's id for this question; `elicitation/complete` names it later."""
    url: str
    """The page to visit; the client opens it only after the user has seen the address and agreed."""
    session_id: Strict[SessionId | None] = None
    """The session that the question belongs to. Absent means that it belongs to a request."""
    tool_call_id: ToolCallId | None = None
    """The tool call that needs the visit. Absent means that no single one does."""
    request_id: Strict[RequestId | UnsetType] = UNSET
    """The client's open request that needs the visit, such as a login before any session exists."""
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


CreateElicitationRequest: TypeAlias = ElicitationFormMode | ElicitationUrlMode | Unknown


class ElicitationAcceptAction(Wire, frozen=True, kw_only=True, tag_field="action", tag="accept"):
    """The user agreed; `content` holds what the form was filled with."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
    """What the user entered, by the name of each field. Absent means nothing, as with a URL."""
    meta: Meta | None = field(default=None, name="_meta")


class ElicitationDeclineAction(Wire, frozen=True, kw_only=True, tag_field="action", tag="decline"):
    """The user said no."""

    meta: Meta | None = field(default=None, name="_meta")


class ElicitationCancelAction(Wire, frozen=True, kw_only=True, tag_field="action", tag="cancel"):
    """The user did not choose."""

    meta: Meta | None = field(default=None, name="_meta")


CreateElicitationResponse: TypeAlias = (
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction | Unknown
)


class CompleteElicitationNotification(Wire, frozen=True, kw_only=True):
    """The user is done at the URL."""

    elicitation_id: ElicitationId
    """The question by URL that is settled now; a client ignores an id that it does not know."""
    meta: Meta | None = field(default=None, name="_meta")
