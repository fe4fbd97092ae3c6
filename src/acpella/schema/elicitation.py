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
    """The client sends the user to a URL."""

    meta: Meta | None = field(default=None, name="_meta")


class ElicitationCapabilities(Wire, frozen=True, kw_only=True):
    """How the client can ask the user; an empty object means not at all."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class EnumOption(Wire, frozen=True, kw_only=True):
    """A value to choose and the words to show for it."""

    const: str
    title: str
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class StringPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """A text field, or one choice out of `enum` or `one_of`."""

    title: str | None = None
    description: str | None = None
    min_length: Strict[U32 | None] = None
    max_length: Strict[U32 | None] = None
    pattern: Strict[str | None] = None
    format: Strict[StringFormat | None] = None
    default: str | None = None
    enum: Strict[list[str] | None] = None
    one_of: Strict[list[EnumOption] | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class NumberPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="number"):
    """A field for a number."""

    title: str | None = None
    description: str | None = None
    minimum: Strict[float | None] = None
    maximum: Strict[float | None] = None
    default: float | None = None
    meta: Meta | None = field(default=None, name="_meta")


class IntegerPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="integer"):
    """A field for a whole number."""

    title: str | None = None
    description: str | None = None
    minimum: Strict[I64 | None] = None
    maximum: Strict[I64 | None] = None
    default: I64 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class BooleanPropertySchema(Wire, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A field for yes or no."""

    title: str | None = None
    description: str | None = None
    default: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


class StringMultiSelectItems(Wire, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """The values to choose from."""

    enum: list[str]
    meta: Meta | None = field(default=None, name="_meta")


class TitledMultiSelectItems(Wire, frozen=True, kw_only=True):
    """The values to choose from, with words to show."""

    any_of: list[EnumOption]
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
    title: str | None = None
    description: str | None = None
    min_items: Strict[U64 | None] = None
    max_items: Strict[U64 | None] = None
    default: list[str] | None = None
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
    required: Strict[list[str] | None] = None
    title: str | None = None
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


def _check_scope(session_id: SessionId | None, request_id: RequestId | UnsetType) -> None:
    if session_id is None and request_id is UNSET:
        raise ValueError("An elicitation belongs to a session or to a request: give session_id or request_id")


class ElicitationFormMode(Wire, frozen=True, kw_only=True, tag_field="mode", tag="form"):
    """Ask the user to fill in a form, for a session or for a request of the client's."""

    message: str
    requested_schema: ElicitationSchema
    session_id: Strict[SessionId | None] = None
    tool_call_id: ToolCallId | None = None
    request_id: Strict[RequestId | UnsetType] = UNSET
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


class ElicitationUrlMode(Wire, frozen=True, kw_only=True, tag_field="mode", tag="url"):
    """Ask the user to visit a URL, for a session or for a request of the client's."""

    message: str
    elicitation_id: ElicitationId
    url: str
    session_id: Strict[SessionId | None] = None
    tool_call_id: ToolCallId | None = None
    request_id: Strict[RequestId | UnsetType] = UNSET
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


CreateElicitationRequest: TypeAlias = ElicitationFormMode | ElicitationUrlMode | Unknown


class ElicitationAcceptAction(Wire, frozen=True, kw_only=True, tag_field="action", tag="accept"):
    """The user agreed; `content` holds what the form was filled with."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
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
    meta: Meta | None = field(default=None, name="_meta")
