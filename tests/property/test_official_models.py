"""Random messages travel between our Structs and the models of the official Python SDK, both ways, unchanged.

The SDK speaks schema 1.19 with unstable parts: what it does not know, or knows under another name, is listed
here, and tests check that each exception is still needed.
"""

import importlib
import os
import pkgutil
import types
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import NODEFAULT, Struct, UnsetType

import acpella.schema as schema
from acpella.schema import Unknown, Wire, decode, encode
from acpella.schema._wire import Pick

official = pytest.importorskip("acp.schema", reason="the official Python SDK is not installed")
pydantic = pytest.importorskip("pydantic")

Model: TypeAlias = Any
Json: TypeAlias = dict[str, Any]

NAMES: dict[str, str] = {
    "AudioContent": "AudioContentBlock",
    "AuthMethodEnvVar": "EnvVarAuthMethod",
    "AuthMethodTerminal": "TerminalAuthMethod",
    "BooleanPropertySchema": "ElicitationBooleanPropertySchema",
    "CancelledPermissionOutcome": "DeniedOutcome",
    "Content": "ContentToolCallContent",
    "Diff": "FileEditToolCallContent",
    "ElicitationAcceptAction": "AcceptElicitationResponse",
    "ElicitationCancelAction": "CancelElicitationResponse",
    "ElicitationDeclineAction": "DeclineElicitationResponse",
    "EmbeddedResource": "EmbeddedResourceContentBlock",
    "ImageContent": "ImageContentBlock",
    "IntegerPropertySchema": "ElicitationIntegerPropertySchema",
    "LegacyMessageMcpNotification": "MessageMcpNotification",
    "LegacyMessageMcpRequest": "MessageMcpRequest",
    "McpServerAcp": "AcpMcpServer",
    "McpServerHttp": "HttpMcpServer",
    "McpServerSse": "SseMcpServer",
    "MultiSelectPropertySchema": "ElicitationMultiSelectPropertySchema",
    "NesEditSuggestion": "NesEditSuggestionVariant",
    "NesJumpSuggestion": "NesJumpSuggestionVariant",
    "NesRenameSuggestion": "NesRenameSuggestionVariant",
    "NesSearchAndReplaceSuggestion": "NesSearchAndReplaceSuggestionVariant",
    "NumberPropertySchema": "ElicitationNumberPropertySchema",
    "Plan": "AgentPlanUpdate",
    "PlanFile": "PlanUpdateFile",
    "PlanItems": "PlanUpdateItems",
    "PlanMarkdown": "PlanUpdateMarkdown",
    "PlanRemoved": "AgentPlanRemovedUpdate",
    "PlanUpdate": "AgentPlanContentUpdate",
    "ResourceLink": "ResourceContentBlock",
    "SelectedPermissionOutcome": "AllowedOutcome",
    "SessionConfigBoolean": "SessionConfigOptionBoolean",
    "SessionConfigSelect": "SessionConfigOptionSelect",
    "StringPropertySchema": "ElicitationStringPropertySchema",
    "Terminal": "TerminalToolCallContent",
    "TextContent": "TextContentBlock",
    "ToolCall": "ToolCallStart",
}
"""Our tagged Structs and the SDK's models that carry the tag."""

SPLIT: dict[str, tuple[str, ...]] = {
    "ElicitationFormMode": ("CreateFormSessionElicitationRequest", "CreateFormRequestElicitationRequest"),
    "ElicitationUrlMode": ("CreateUrlSessionElicitationRequest", "CreateUrlRequestElicitationRequest"),
    "SetSessionConfigOptionRequest": (
        "SetSessionConfigOptionBooleanRequest",
        "SetSessionConfigOptionSelectRequest",
    ),
}
"""One Struct of ours, several models of the SDK."""

NEWER: dict[str, set[str]] = {
    "auth/status": {
        "AuthAccount",
        "AuthStatusCapabilities",
        "AuthStatusRequest",
        "AuthStatusResponse",
        "AuthStatusUpdateNotification",
    },
    "compaction and notices": {
        "CompactionCapabilities",
        "CompactionSummaryChunk",
        "CompactionUpdate",
        "Notice",
        "NoticeCapabilities",
    },
    "archive, status, title, system prompt": {
        "ArchiveSessionRequest",
        "ArchiveSessionResponse",
        "SessionArchiveCapabilities",
        "SessionStatusCapabilities",
        "SessionStatusRequest",
        "SessionStatusResponse",
        "SessionSystemPromptCapabilities",
        "SessionSystemPromptModeCapabilities",
        "SessionSystemPromptOverrideCapabilities",
        "SessionTitleCapabilities",
        "SetSessionTitleRequest",
        "SetSessionTitleResponse",
        "SystemPrompt",
        "UnarchiveSessionRequest",
        "UnarchiveSessionResponse",
    },
    "subagents": {
        "IdleStateUpdate",
        "RequiresActionStateUpdate",
        "RunningStateUpdate",
        "SessionCancelCapabilities",
        "SessionMessage",
        "SessionMessageChunk",
        "SubagentCapabilities",
        "SubagentSessionCapabilities",
        "SubagentUpdate",
        "UnknownStateUpdate",
    },
    "proxies": {"ProxySuccessorNotification", "ProxySuccessorRequest"},
    "stateless MCP over ACP": {"McpError", "MessageMcpResponse"},
    "older than 1.19: choosing a model": {
        "ModelInfo",
        "SessionModelState",
        "SetSessionModelRequest",
        "SetSessionModelResponse",
    },
}
"""Structs that the SDK has no model for, by topic."""

OTHER_SHAPE = {"MessageMcpRequest", "MessageMcpNotification"}
"""The SDK has the name, but means the legacy form by it."""

UNKNOWN_FIELDS: dict[str, set[str]] = {
    "AgentAuthCapabilities": {"status"},
    "ClientCapabilities": {"subagents"},
    "ClientSessionCapabilities": {"compaction", "notices"},
    "ForkSessionRequest": {"system_prompt"},
    "ForkSessionResponse": {"models"},
    "ListSessionsRequest": {"archived"},
    "LoadSessionRequest": {"system_prompt"},
    "LoadSessionResponse": {"models"},
    "NewSessionRequest": {"system_prompt"},
    "NewSessionResponse": {"models"},
    "ResumeSessionRequest": {"system_prompt"},
    "ResumeSessionResponse": {"models"},
    "SessionCapabilities": {"archive", "status", "system_prompt", "title"},
    "SessionInfo": {"archived"},
    "ToolCall": {"name"},
    "ToolCallProgress": {"name"},
    "ToolCallUpdate": {"name"},
}
"""Fields that the SDK's models do not have."""

WITHOUT_STRUCT: dict[str, str] = {
    **{
        f"{side}{kind}": "a JSON-RPC envelope"
        for side in ("Agent", "Client")
        for kind in ("Request", "Response", "Notification", "ResponseMessage", "ErrorMessage")
    },
    "AvailableCommandInput": "a root model around UnstructuredCommandInput",
    "CreateOtherElicitationRequest": "Unknown here",
    "ElicitationContentValue": "a root model around plain values",
    "ElicitationFormRequestMode": "part of CreateFormRequestElicitationRequest",
    "ElicitationFormSessionMode": "part of CreateFormSessionElicitationRequest",
    "ElicitationOtherPropertySchema": "Unknown here",
    "ElicitationRequestScope": "flattened here",
    "ElicitationSessionScope": "flattened here",
    "ElicitationUrlRequestMode": "part of CreateUrlRequestElicitationRequest",
    "ElicitationUrlSessionMode": "part of CreateUrlSessionElicitationRequest",
    "OtherElicitationResponse": "Unknown here",
    "OtherMultiSelectItems": "Unknown here",
}
"""Models of the SDK that we have no Struct for."""

UNTAGGED_PARTS = {"SessionConfigBoolean", "SessionConfigSelect", "ElicitationFormMode", "ElicitationUrlMode"}
"""Models that are only a part of what our Struct of that name holds."""

PROTOCOLS = ["anthropic", "openai", "azure", "vertex", "bedrock"]  # the SDK refuses any other string
CONFIG_CATEGORIES = ["mode", "model", "model_config", "thought_level"]  # the SDK drops any other
URLS = ["https://example.com/", "https://example.com/a?b=c"]  # as the SDK's URL type writes them

OUR_VALUES: dict[tuple[str, str], SearchStrategy[Any]] = {
    ("PromptResponse", "stop_reason"): st.sampled_from(get_args(schema.StopReason)),  # closed in the SDK
    ("PermissionOption", "kind"): st.sampled_from(get_args(schema.PermissionOptionKind)),
    ("ProviderCurrentConfig", "api_type"): st.sampled_from(PROTOCOLS),
    ("ProviderInfo", "supported"): st.lists(st.sampled_from(PROTOCOLS), max_size=2),
    ("SetProviderRequest", "api_type"): st.sampled_from(PROTOCOLS),
    ("SessionConfigBoolean", "category"): st.none() | st.sampled_from(CONFIG_CATEGORIES),
    ("SessionConfigSelect", "category"): st.none() | st.sampled_from(CONFIG_CATEGORIES),
    ("ElicitationUrlMode", "url"): st.sampled_from(URLS),
}
# --- strategies ---

TEXTS = st.text(max_size=4)
LEAVES: SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS
JSON: SearchStrategy[Any] = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(TEXTS, LEAVES, max_size=2)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)

OFFICIAL_VALUES: dict[tuple[str, str], SearchStrategy[Any]] = {
    ("Annotations", "audience"): st.lists(st.sampled_from(get_args(schema.Role)), max_size=2),
    ("ElicitationAcceptAction", "content"): st.dictionaries(
        TEXTS, TEXTS | st.integers(-9, 9) | FLOATS | st.booleans() | st.lists(TEXTS, max_size=2), max_size=2
    ),
    ("ElicitationSchema", "type"): st.just("object"),
    ("ProviderCurrentConfig", "apiType"): st.sampled_from(PROTOCOLS),
    ("ProviderInfo", "supported"): st.lists(st.sampled_from(PROTOCOLS), max_size=2),
    ("SessionConfigOptionBoolean", "category"): st.sampled_from(CONFIG_CATEGORIES),
    ("SessionConfigOptionSelect", "category"): st.sampled_from(CONFIG_CATEGORIES),
    ("SetProviderRequest", "apiType"): st.sampled_from(PROTOCOLS),
    ("SetProviderRequest", "headers"): st.dictionaries(TEXTS, TEXTS, max_size=2),  # not nullable
    ("StringPropertySchema", "format"): st.sampled_from(get_args(schema.StringFormat)),
}
"""Fields whose type in the SDK is not the schema's, mostly wider; subclasses of the models included."""


STRUCTS: dict[str, type[Struct]] = {
    cls.__name__: cls
    for cls in (getattr(schema, name) for name in schema.__all__)
    if isinstance(cls, type) and issubclass(cls, Wire) and cls is not Wire
}
UNMATCHED = set[str]().union(*NEWER.values()) | OTHER_SHAPE


def picked_members() -> dict[int, list[type[Struct]]]:
    found: dict[int, list[type[Struct]]] = {}

    def look(annotation: Any) -> None:
        if get_origin(annotation) is Annotated:
            inner, *extras = get_args(annotation)
            for extra in extras:
                if isinstance(extra, Pick):
                    found[id(cast("Any", extra))] = [one for one in get_args(inner) if one is not Unknown]
        for one in get_args(annotation):
            look(one)

    for info in pkgutil.iter_modules(schema.__path__):
        for value in vars(importlib.import_module(f"acpella.schema.{info.name}")).values():
            look(value)
    return found


PICKED = picked_members()
CACHE: dict[Any, SearchStrategy[Any]] = {}


def ours(cls: type[Struct]) -> SearchStrategy[Any]:
    """Random instances of a Struct, without what the SDK does not know."""
    if cls not in CACHE:
        CACHE[cls] = st.deferred(lambda: build(cls))
    return CACHE[cls]


def build(cls: type[Struct]) -> SearchStrategy[Any]:
    required: dict[str, SearchStrategy[Any]] = {}
    optional: dict[str, SearchStrategy[Any]] = {}
    for info in msgspec.structs.fields(cls):
        if info.name in UNKNOWN_FIELDS.get(cls.__name__, set()):
            continue
        given = OUR_VALUES.get((cls.__name__, info.name))
        needed = info.default is NODEFAULT and info.default_factory is NODEFAULT
        (required if needed else optional)[info.name] = value_of(info.type) if given is None else given
    if cls.__name__ in ("ElicitationFormMode", "ElicitationUrlMode"):
        session = {**required, "session_id": TEXTS, "tool_call_id": optional.pop("tool_call_id")}
        request = {**required, "request_id": optional.pop("request_id")}
        del optional["session_id"]
        fields = st.fixed_dictionaries(session, optional=optional) | st.fixed_dictionaries(
            request, optional=optional
        )
    else:
        optional.pop("type", None)  # SetSessionConfigOptionRequest finds it out
        fields = st.fixed_dictionaries(required, optional=optional)
    return fields.map(lambda given: cls(**given))


def value_of(kind: Any) -> SearchStrategy[Any]:
    """Random values of one of our annotations."""
    origin = get_origin(kind)
    pick = getattr(kind, "pick", None)
    if pick is not None:
        return st.one_of([ours(cls) for cls in PICKED[id(pick)]])
    if origin is Annotated:
        inner, meta = get_args(kind)
        return st.integers(meta.ge, 2**63 - 1 if meta.le is None else meta.le) if inner is int else TEXTS
    if origin in (Union, types.UnionType):
        members = [one for one in get_args(kind) if one is not UnsetType]
        known = [one for one in members if getattr(one, "__name__", None) not in UNMATCHED]
        return st.one_of([value_of(one) for one in known])
    if origin is list:
        (item,) = get_args(kind)
        members = PICKED.get(id(getattr(item, "pick", None)), [])
        if members == [schema.SessionConfigSelectOption, schema.SessionConfigSelectGroup]:  # never mixed
            return st.one_of([st.lists(ours(cls), max_size=2) for cls in members])
        return st.lists(value_of(item), max_size=2)
    if origin is dict:
        return st.dictionaries(TEXTS, value_of(get_args(kind)[1]), max_size=2)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Struct):
        return ours(kind)
    simple: dict[Any, SearchStrategy[Any]] = {
        str: TEXTS,
        bool: st.booleans(),
        float: FLOATS,
        types.NoneType: st.none(),
        Any: JSON,
    }
    return simple[kind]


def theirs(model: Model) -> SearchStrategy[Json]:
    """Random JSON of a model of the SDK."""
    if model not in CACHE:
        CACHE[model] = st.deferred(lambda: build_official(model))
    return CACHE[model]


def build_official(model: Model) -> SearchStrategy[Json]:
    required: dict[str, SearchStrategy[Any]] = {}
    optional: dict[str, SearchStrategy[Any]] = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        chosen = [
            OFFICIAL_VALUES[base.__name__, key]
            for base in model.__mro__
            if (base.__name__, key) in OFFICIAL_VALUES
        ]
        if chosen:
            values = chosen[0]
        else:
            nullable = info.is_required() or info.default is None
            values = official_value(info.annotation, info.metadata, nullable=nullable)
        (required if info.is_required() else optional)[key] = values
    return st.fixed_dictionaries(required, optional=optional)


def official_value(kind: Any, metadata: list[Any], *, nullable: bool) -> SearchStrategy[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        return official_value(get_args(kind)[0], [], nullable=nullable)
    if origin in (Union, types.UnionType):
        hidden = {official.OtherMultiSelectItems, official.ElicitationOtherPropertySchema}
        members = [
            one for one in get_args(kind) if (nullable or one is not types.NoneType) and one not in hidden
        ]
        return st.one_of([official_value(one, metadata, nullable=True) for one in members])
    if origin is list:
        return st.lists(official_value(get_args(kind)[0], [], nullable=True), max_size=2)
    if origin is dict:
        return st.dictionaries(TEXTS, official_value(get_args(kind)[1], [], nullable=True), max_size=2)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if kind is int:
        low = next((one.ge for one in metadata if hasattr(one, "ge")), -(2**31))
        high = next((one.le for one in metadata if hasattr(one, "le")), 2**31 - 1)
        return st.integers(low, high)
    if isinstance(kind, type) and issubclass(kind, pydantic.RootModel):
        return official_value(cast("Any", kind).model_fields["root"].annotation, [], nullable=True)
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        return theirs(kind)
    simple: dict[Any, SearchStrategy[Any]] = {
        str: TEXTS,
        bool: st.booleans(),
        float: FLOATS,
        types.NoneType: st.none(),
        Any: JSON,
        pydantic.AnyUrl: st.sampled_from(URLS),
    }
    return simple[kind]


# --- pairs ---


def models_of(name: str) -> list[Model]:
    return [getattr(official, one) for one in SPLIT.get(name, (NAMES.get(name, name),))]


def model_for(value: Struct) -> Model:
    models = models_of(type(value).__name__)
    match value:
        case schema.ElicitationFormMode() | schema.ElicitationUrlMode():
            return models[0] if value.session_id is not None else models[1]
        case schema.SetSessionConfigOptionRequest():
            return models[0] if isinstance(value.value, bool) else models[1]
        case _:
            (model,) = models
            return model


BACK: dict[str, type[Struct]] = {}
for _struct in STRUCTS.values():
    if _struct.__name__ not in UNMATCHED:
        for _model in models_of(_struct.__name__):
            BACK[_model.__name__] = _struct
        if hasattr(official, _struct.__name__) and _struct.__name__ not in UNTAGGED_PARTS:
            BACK.setdefault(_struct.__name__, _struct)
BACK["MessageMcpRequest"] = schema.LegacyMessageMcpRequest
BACK["MessageMcpNotification"] = schema.LegacyMessageMcpNotification

OFFICIAL_MODELS: list[str] = sorted(
    name
    for name, model in cast("Json", vars(official)).items()
    if isinstance(model, type)
    and issubclass(model, pydantic.BaseModel)
    and model.__module__ == official.__name__
    and not name.startswith("_")
    and name != "BaseModel"
    and "[" not in name  # what generic root models are made of
)

EXAMPLES = int(os.environ.get("ACPELLA_EXAMPLES", "12"))
"""How many messages of each type; more find more, and take longer."""

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=EXAMPLES < 50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("name", sorted(STRUCTS.keys() - UNMATCHED))
def test_our_messages_survive_the_official_models(name: str) -> None:
    @quick
    @given(ours(STRUCTS[name]))
    def survives(value: Struct) -> None:
        sent = encode(value)
        model = model_for(value).model_validate_json(sent)
        back = decode(type(value), model.model_dump_json(by_alias=True, exclude_unset=True).encode())
        assert back == value

    survives()


@pytest.mark.parametrize("name", sorted(set(OFFICIAL_MODELS) - WITHOUT_STRUCT.keys() - UNTAGGED_PARTS))
def test_official_messages_survive_our_structs(name: str) -> None:
    model = getattr(official, name)

    @quick
    @given(theirs(model))
    def survives(given: Json) -> None:
        before = model.model_validate(given)
        sent = before.model_dump_json(by_alias=True, exclude_unset=True).encode()
        after = model.model_validate_json(encode(decode(BACK[name], sent)))
        assert plain(after) == plain(before)

    survives()


ABSENT_WHEN_EMPTY = {
    "additionalDirectories",
    "args",
    "content",
    "env",
    "headers",
    "locations",
    "mcpServers",
} | {"positionEncodings"}
"""Lists and maps that mean the same when empty as when absent; we leave them out."""


def plain(model: Model) -> Any:
    """What a model says, with one spelling for things that mean the same."""
    return told(model.model_dump(by_alias=True, exclude_none=True, mode="json"))


def told(value: Any) -> Any:
    if isinstance(value, list):
        return [told(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found = {key: told(one) for key, one in cast("Json", value).items()}
    for key in ABSENT_WHEN_EMPTY & found.keys():
        if found[key] in ([], {}):
            del found[key]
    if "toolCallId" in found:  # the defaults of a new tool call
        if found.get("kind") == "other":
            del found["kind"]
        if found.get("status") == "pending":
            del found["status"]
    return found


# --- the lists above, kept honest ---


def test_each_official_model_is_compared_or_listed() -> None:
    assert set(OFFICIAL_MODELS) - WITHOUT_STRUCT.keys() - UNTAGGED_PARTS <= BACK.keys()
    assert WITHOUT_STRUCT.keys() <= set(OFFICIAL_MODELS)


def test_the_sdk_still_lacks_what_is_listed_as_newer() -> None:
    for name in UNMATCHED - OTHER_SHAPE:
        assert not hasattr(official, name), name
    for name in OTHER_SHAPE:
        assert "connection_id" in getattr(official, name).model_fields, name


def test_the_sdk_still_lacks_the_listed_fields() -> None:
    for name, fields in UNKNOWN_FIELDS.items():
        for model in models_of(name):
            assert fields.isdisjoint(model.model_fields), name


def test_the_sdk_still_differs_where_values_are_chosen() -> None:
    option = {"type": "boolean", "id": "i", "name": "n", "currentValue": True, "category": "other"}
    assert official.SessionConfigOptionBoolean.model_validate(option).category is None
    with pytest.raises(pydantic.ValidationError):
        official.ProviderCurrentConfig.model_validate({"apiType": "other", "baseUrl": "u"})
    with pytest.raises(pydantic.ValidationError):
        official.PromptResponse.model_validate({"stopReason": "tired"})
    provider = {"providerId": "p", "apiType": "openai", "baseUrl": "u", "headers": None}
    assert official.SetProviderRequest.model_validate(provider).headers is None
    assert official.Annotations.model_validate({"audience": ["everyone"]}).audience == ["everyone"]
    assert official.StringPropertySchema.model_validate({"format": "color"}).format == "color"
    assert official.ElicitationAcceptAction.model_validate({"content": {"a": {}}}).content == {"a": {}}
    assert official.ElicitationSchema.model_validate({"type": "thing"}).type == "thing"
