"""Every definition of the official v1 JSON schemas, field by field, against our Structs.

The schemas are looked for in $ACPELLA_SCHEMA_DIR, beside the repository, and in the npm SDK of tests/peers.
"""

import importlib
import json
import os
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

import msgspec
import pytest
from msgspec import NODEFAULT, UNSET, Struct, UnsetType

import acpella.schema as schema
from acpella.schema import Wire, decode, encode, methods
from acpella.schema._wire import LENIENT, NULL_AS_EMPTY, OPENED, STRICT, Pick, Unknown, flag_of, native
from acpella.schema.strict import schema_error

Json: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
PLACES = [
    *([Path(os.environ["ACPELLA_SCHEMA_DIR"])] if "ACPELLA_SCHEMA_DIR" in os.environ else []),
    ROOT.parent / "shared" / "schema",
    ROOT / "tests" / "peers" / "node_modules" / "@agentclientprotocol" / "sdk" / "schema",
]


def load(name: str) -> dict[str, Json]:
    for place in PLACES:
        for path in (place / "v1" / name, place / name):
            if path.exists():
                return json.loads(path.read_text(encoding="utf-8"))["$defs"]
    pytest.skip("the official schema is not here; set ACPELLA_SCHEMA_DIR", allow_module_level=True)


STABLE = load("schema.json")
UNSTABLE = load("schema.unstable.json")  # a superset of the stable one

ENVELOPES = {
    f"{side}{kind}"
    for side in ("Agent", "Client", "Proxy")
    for kind in ("Request", "Response", "Notification")
}
"""JSON-RPC's own shapes: the rpc package reads those."""

ELSEWHERE = {
    "ElicitationSchemaType": "the tag of ElicitationSchema",
    "ElicitationSessionScope": "flattened into the elicitation modes",
    "ElicitationRequestScope": "flattened into the elicitation modes",
    "ErrorStopReason": "flattened into IdleStateUpdate",
}
"""Definitions without a name of their own here."""

FLATTENED: dict[str, list[str]] = {
    "SessionConfigSelect": ["SessionConfigOption"],
    "SessionConfigBoolean": ["SessionConfigOption"],
    "ElicitationAcceptAction": ["CreateElicitationResponse"],
    "ElicitationDeclineAction": ["CreateElicitationResponse"],
    "ElicitationCancelAction": ["CreateElicitationResponse"],
    "ElicitationFormMode": [
        "CreateElicitationRequest",
        "ElicitationSessionScope?",
        "ElicitationRequestScope?",
    ],
    "ElicitationUrlMode": [
        "CreateElicitationRequest",
        "ElicitationSessionScope?",
        "ElicitationRequestScope?",
    ],
    "IdleStateUpdate": ["ErrorStopReason"],
}
"""Structs that also hold the fields of other definitions; "?" makes those optional."""

BARE_MEMBERS = {
    "CancelledPermissionOutcome": "RequestPermissionOutcome",
    "ElicitationDeclineAction": "CreateElicitationResponse",
    "ElicitationCancelAction": "CreateElicitationResponse",
}
"""Union members that the schema spells without a definition."""

UPDATE_VARIANTS = {"UserMessageChunk", "AgentMessageChunk", "AgentThoughtChunk", "ToolCallProgress"}
"""Tagged subclasses of a definition that several updates share."""

LEGACY_MODULES = {"acpella.schema.nes", "acpella.schema.models"}
LEGACY_STRUCTS = {
    "AuthEnvVar",
    "AuthMethodEnvVar",
    "ConnectMcpRequest",
    "ConnectMcpResponse",
    "DisconnectMcpRequest",
    "DisconnectMcpResponse",
    "LegacyMessageMcpNotification",
    "LegacyMessageMcpRequest",
}
LEGACY_FIELDS = {
    "AgentCapabilities": {"nes", "positionEncoding"},
    "ClientCapabilities": {"nes", "positionEncodings"},
    "NewSessionResponse": {"models"},
    "LoadSessionResponse": {"models"},
    "ResumeSessionResponse": {"models"},
    "ForkSessionResponse": {"models"},
}
"""What shipped peers still speak although the schema has dropped it."""

LEGACY_MEMBERS = {"AuthMethod": {"env_var"}}

OPENED_FIELDS = {("PromptResponse", "stopReason"), ("PermissionOption", "kind")}
"""Closed enums that we read openly: an unknown stop reason must not fail a prompt, and an unknown kind of
option not a question whose other options are known."""

UNWRITTEN_DEFAULTS: dict[tuple[str, str], Any] = {
    ("ToolCall", "kind"): "other",
    ("ToolCall", "status"): "pending",
}
"""Defaults that only the prose of the specification gives."""

FORGIVEN = {
    ("MessageMcpResponse", "error"): "malformed beside a result it is ignored, alone it fails the Struct"
}
"""Fields softer than the schema says."""

BOUNDS: dict[str, tuple[int, int | None]] = {
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, None),  # msgspec cannot bound beyond i64
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


@dataclass(frozen=True)
class Shape:
    """A type, told in the same words for both sides."""

    kind: str
    of: Any = None


@dataclass(frozen=True)
class Field:
    required: bool
    nullable: bool
    shape: Shape
    flags: frozenset[str]
    default: Any


# --- the official side ---


def official_shape(node: Json) -> tuple[Shape, bool]:
    """The shape of a schema node, and whether null is allowed."""
    if "$ref" in node:
        return named_shape(node["$ref"].rsplit("/", 1)[1])
    if "allOf" in node:
        (only,) = node["allOf"]
        return official_shape(only)
    members: list[Json] | None = node.get("anyOf") or node.get("oneOf")
    if members is not None:
        return official_union(members)
    kinds: list[str] = node["type"] if isinstance(node.get("type"), list) else [node.get("type", "any")]
    nullable = "null" in kinds
    (kind,) = [one for one in kinds if one != "null"] or ["null"]
    match kind:
        case "integer":
            return Shape("integer", BOUNDS[node["format"]]), nullable
        case "number":
            return Shape("number"), nullable
        case "array":
            return Shape("array", official_shape(node["items"])[0]), nullable
        case "object":
            extra = node.get("additionalProperties")
            return Shape(
                "map", official_shape(cast("Json", extra))[0] if isinstance(extra, dict) else Shape("any")
            ), nullable
        case "string":
            return Shape("string", node.get("minLength")), nullable
        case _:
            return Shape(kind), nullable


def official_union(members: list[Json]) -> tuple[Shape, bool]:
    real = [member for member in members if member.get("type") != "null"]
    nullable = len(real) < len(members)
    values = [member["const"] for member in real if "const" in member]
    if values and all(isinstance(value, str) for value in values):
        return Shape("enum", (frozenset(values), len(values) < len(real))), nullable
    if values:  # numbers with names
        return Shape("integer", BOUNDS["int32"]), nullable
    if len(real) == 1:
        shape, inner = official_shape(real[0])
        return shape, nullable or inner
    return Shape("union", frozenset(official_shape(member)[0] for member in real)), nullable


def is_object(definition: Json) -> bool:
    return definition.get("type") == "object"


def named_shape(name: str) -> tuple[Shape, bool]:
    definition = UNSTABLE[name]
    if is_object(definition) or "discriminator" in definition or is_tagged(definition):
        return Shape("ref", name), False
    if any("$ref" in member or "allOf" in member for member in definition.get("anyOf", [])):
        return (Shape("ref", name), False) if len(definition["anyOf"]) > 1 else official_shape(definition)
    return official_shape(definition)


def is_tagged(definition: Json) -> bool:
    members: list[Json] = definition.get("anyOf") or definition.get("oneOf") or []
    return any(member.get("type") == "object" for member in members)


def official_fields(name: str) -> dict[str, Field]:
    if name not in UNSTABLE:
        own: dict[str, Field] = {}
    else:
        own = fields_of(name, UNSTABLE[name])
    for other in FLATTENED.get(name, []):
        more = fields_of(other.rstrip("?"), UNSTABLE[other.rstrip("?")])
        if other.endswith("?"):
            more = {
                key: Field(False, key == "sessionId" or one.nullable, one.shape, one.flags, one.default)
                for key, one in more.items()
            }
        own.update(more)
    return own


def fields_of(name: str, definition: Json) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for key, node in cast("dict[str, Json]", definition.get("properties", {})).items():
        shape, nullable = official_shape(node)
        if (name, key) in OPENED_FIELDS:
            shape = Shape("enum", (shape.of[0], True))
        flags = {
            flag
            for flag, word in (
                ("e", "x-deserialize-default-on-error"),
                ("s", "x-deserialize-skip-invalid-items"),
                ("n", "x-deserialize-default-on-null"),
            )
            if node.get(word)
        }
        found[key] = Field(
            key in definition.get("required", []),
            nullable,
            shape,
            frozenset(flags),
            node.get("default", NODEFAULT),
        )
    return found


# --- our side ---

PUBLIC: dict[str, Any] = {name: getattr(schema, name) for name in schema.__all__}
STRUCTS: dict[str, type[Struct]] = {
    name: value
    for name, value in PUBLIC.items()
    if isinstance(value, type) and issubclass(value, Wire) and value is not Wire
}
PICKS: dict[int, str] = {}
UNIONS: dict[frozenset[Any], str] = {}
for _name, _value in PUBLIC.items():
    if get_origin(_value) is Annotated:
        for _extra in get_args(_value)[1:]:
            if isinstance(_extra, Pick):
                PICKS[id(cast("Any", _extra))] = _name
    elif get_origin(_value) in (Union, types.UnionType) and Unknown in get_args(_value):
        UNIONS[frozenset(get_args(native(_value)))] = _name


def our_shape(kind: Any) -> tuple[Shape, bool]:
    origin = get_origin(kind)
    pick = getattr(kind, "pick", None)
    if pick is not None:
        return (Shape("ref", PICKS[id(pick)]) if id(pick) in PICKS else Shape("picked")), False
    if origin is Annotated:
        inner, *extras = get_args(kind)
        bounds: list[msgspec.Meta] = [extra for extra in extras if isinstance(extra, msgspec.Meta)]
        if inner is int:
            (meta,) = bounds
            return Shape("integer", (meta.ge, meta.le)), False
        (meta,) = bounds
        return Shape("string", meta.min_length), False
    if origin in (Union, types.UnionType):
        return our_union(get_args(kind))
    if origin is list:
        return Shape("array", our_shape(get_args(kind)[0])[0]), False
    if origin is dict:
        return Shape("map", our_shape(get_args(kind)[1])[0]), False
    if origin is Literal:
        return Shape("enum", (frozenset(get_args(kind)), False)), False
    if isinstance(kind, type) and issubclass(kind, Struct):
        return Shape("ref", kind.__name__), False
    simple = {str: "string", bool: "boolean", float: "number", Any: "any"}
    assert kind in simple, f"{kind} is not a type of this schema"
    return Shape(simple[kind]), False


def our_union(members: tuple[Any, ...]) -> tuple[Shape, bool]:
    nullable = types.NoneType in members
    real = [member for member in members if member not in (types.NoneType, UnsetType)]
    literals = [member for member in real if get_origin(member) is Literal]
    if literals:
        values = frozenset(value for literal in literals for value in get_args(literal))
        assert set(real) - set(literals) <= {str}
        return Shape("enum", (values, len(real) > len(literals))), nullable
    if frozenset(real) in UNIONS:
        return Shape("ref", UNIONS[frozenset(real)]), nullable
    if len(real) == 1:
        return our_shape(real[0])[0], nullable
    return Shape("union", frozenset(our_shape(member)[0] for member in real)), nullable


def our_fields(cls: type[Struct]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for info in msgspec.structs.fields(cls):
        shape, nullable = our_shape(info.type)
        required = info.default is NODEFAULT and info.default_factory is NODEFAULT
        flag = flag_of(cls, info.name)
        flags: set[str] = set()
        if flag is LENIENT or (flag is None and not required):
            flags = {"e", "s"} if shape.kind == "array" else {"e"}
        elif flag is NULL_AS_EMPTY:
            flags = {"n"}
        else:
            assert flag is STRICT or required
        default = info.default if info.default_factory is NODEFAULT else info.default_factory()
        found[info.encode_name] = Field(required, nullable, shape, frozenset(flags), default)
    return found


def assert_default(owner: str, key: str, ours: Field, theirs: Field) -> None:
    place = f"{owner}.{key}"
    if ours.required:
        return
    if theirs.default is not NODEFAULT:
        if isinstance(ours.default, Struct):
            assert decode(type(ours.default), encode(theirs.default)) == ours.default, place
        else:
            assert ours.default == theirs.default, place
    elif (owner, key) in UNWRITTEN_DEFAULTS:
        assert ours.default == UNWRITTEN_DEFAULTS[owner, key], place
    elif ours.nullable:
        assert ours.default is None or ours.default is UNSET, place
    elif ours.shape.kind in ("array", "map"):
        assert ours.default in ([], {}), place
    else:
        assert ours.default is UNSET, place


STRUCT_DEFINITIONS = sorted(
    name
    for name, definition in UNSTABLE.items()
    if is_object(definition)
    and name not in ENVELOPES
    and name not in ELSEWHERE
    and name not in ("CreateElicitationRequest", "CreateElicitationResponse", "SessionConfigOption")
)
TAGGED_DEFINITIONS = sorted(
    name
    for name, definition in UNSTABLE.items()
    if (is_tagged(definition) or "discriminator" in definition)
    and name not in ENVELOPES
    and name
    not in ("IdleStateUpdate", "SetSessionConfigOptionRequest", "MessageMcpResponse", "MultiSelectItems")
)
OTHER_DEFINITIONS = sorted(
    set(UNSTABLE) - set(STRUCT_DEFINITIONS) - set(TAGGED_DEFINITIONS) - ENVELOPES - set(ELSEWHERE)
)


def test_the_stable_schema_is_part_of_the_unstable_one() -> None:
    assert STABLE.keys() <= UNSTABLE.keys()
    for name, definition in STABLE.items():
        if name not in ENVELOPES:
            assert fields_of(name, definition).keys() <= fields_of(name, UNSTABLE[name]).keys(), name
            for key, field in fields_of(name, definition).items():
                newer = fields_of(name, UNSTABLE[name])[key]
                assert (field.required, field.nullable, field.flags) == (
                    newer.required,
                    newer.nullable,
                    newer.flags,
                )


@pytest.mark.parametrize("name", sorted(UNSTABLE.keys() - ENVELOPES - ELSEWHERE.keys()))
def test_each_definition_has_a_public_name(name: str) -> None:
    assert name in PUBLIC


@pytest.mark.parametrize("name", [*STRUCT_DEFINITIONS, "ElicitationDeclineAction", "ElicitationCancelAction"])
def test_each_struct_has_the_fields_of_its_definition(name: str) -> None:
    cls = STRUCTS[name]
    ours = our_fields(cls)
    theirs = official_fields(name)
    if name == "ElicitationSchema":
        assert cls.__struct_config__.tag_field == "type"
        assert theirs.pop("type").shape == Shape("enum", (frozenset({cls.__struct_config__.tag}), False))
    if name == "SetSessionConfigOptionRequest":
        assert ours.pop("value").shape == Shape("union", frozenset({Shape("string"), Shape("boolean")}))
        assert ours.pop("type").shape == Shape("enum", (frozenset({"boolean"}), True))
    if name == "IdleStateUpdate":
        theirs["stopReason"] = Field(False, True, idle_stop_reasons(), frozenset("e"), NODEFAULT)
    assert ours.keys() - LEGACY_FIELDS.get(name, set()) == theirs.keys()
    for key, their in theirs.items():
        our = ours[key]
        place = f"{name}.{key}"
        assert our.required == their.required, place
        if their.shape.kind != "any":  # any value includes null
            assert our.nullable == their.nullable, place
        assert our.flags == their.flags, place
        if name == "SessionConfigSelect" and key == "options":
            assert our.shape == Shape("array", Shape("picked")), place
        else:
            assert our.shape == their.shape, place
        assert_default(name, key, our, their)


def idle_stop_reasons() -> Shape:
    values = {
        member["properties"]["stopReason"]["const"]
        for member in UNSTABLE["IdleStateUpdate"]["anyOf"]
        if "const" in member["properties"]["stopReason"]
    }
    return Shape("enum", (frozenset(values), True))


@pytest.mark.parametrize("name", TAGGED_DEFINITIONS)
def test_each_union_has_the_tags_and_members_of_its_definition(name: str) -> None:
    members: list[Json] = UNSTABLE[name].get("oneOf") or UNSTABLE[name]["anyOf"]
    theirs: dict[str | None, str | None] = {}
    tag_fields: set[str] = set()
    for member in members:
        tags = {key: node["const"] for key, node in member.get("properties", {}).items() if "const" in node}
        if not tags and ("not" in member):
            continue  # the open rest is our Unknown
        payload = member["allOf"][0]["$ref"].rsplit("/", 1)[1] if "allOf" in member else None
        if tags:
            ((key, tag),) = tags.items()
            tag_fields.add(key)
        else:
            tag = None
        theirs[tag] = payload

    alias = PUBLIC[name]
    union = get_args(alias)[0] if get_origin(alias) is Annotated else alias
    ours: dict[str | None, str | None] = {}
    for cls in get_args(union):
        if cls is Unknown:
            continue
        config = cast("type[Struct]", cls).__struct_config__
        assert config.tag is None or {config.tag_field} == tag_fields, cls
        ours[cast("str | None", config.tag)] = definition_of(cls)
    for tag in LEGACY_MEMBERS.get(name, set()):
        del ours[tag]
    assert ours == theirs


def definition_of(cls: type) -> str | None:
    if cls.__name__ in BARE_MEMBERS:
        return None
    if cls.__name__ in UPDATE_VARIANTS:
        return cls.__mro__[1].__name__
    return cls.__name__


@pytest.mark.parametrize("name", OTHER_DEFINITIONS)
def test_each_other_definition_reads_the_same_values(name: str) -> None:
    alias = PUBLIC[name]
    match name:
        case "ErrorCode":
            codes = [member["const"] for member in UNSTABLE[name]["anyOf"] if "const" in member]
            assert sorted(codes) == sorted(schema.ErrorCode)
        case "InitializeProxyRequest" | "InitializeProxyResponse" | "AvailableCommandInput":
            assert Shape("ref", alias.__name__) == official_shape(UNSTABLE[name])[0]
        case "EmbeddedResourceResource" | "MultiSelectItems":
            members = [member["allOf"][0] for member in UNSTABLE[name]["anyOf"] if "allOf" in member]
            names = {official_shape(member)[0].of for member in members}
            assert {cls.__name__ for cls in get_args(get_args(alias)[0]) if cls is not Unknown} == names
        case "SessionConfigSelectOptions":
            members = [official_shape(member)[0] for member in UNSTABLE[name]["anyOf"]]
            union = get_args(get_args(alias)[0])[0]
            assert {Shape("array", Shape("ref", cls.__name__)) for cls in get_args(union)} == set(members)
        case "MessageMcpResponse":
            ours = our_fields(alias)
            both = {k: v for member in UNSTABLE[name]["anyOf"] for k, v in fields_of(name, member).items()}
            assert ours.keys() == both.keys()
            for key, their in both.items():
                assert ours[key].shape == their.shape
                assert ours[key].flags == their.flags or (name, key) in FORGIVEN
        case _:
            theirs, nullable = official_shape(UNSTABLE[name])
            shape, ours_nullable = our_shape(alias)
            assert (shape, ours_nullable) == (theirs, nullable)


def test_no_struct_is_unknown_to_the_schema() -> None:
    known = UNSTABLE.keys() | BARE_MEMBERS.keys() | UPDATE_VARIANTS | LEGACY_STRUCTS
    unknown = {
        name for name, cls in STRUCTS.items() if name not in known and cls.__module__ not in LEGACY_MODULES
    }
    assert not unknown


def test_update_variants_add_no_fields() -> None:
    for name in UPDATE_VARIANTS:
        cls = STRUCTS[name]
        assert our_fields(cls) == our_fields(cast("type[Struct]", cls.__mro__[1]))


def test_each_module_exports_what_it_defines_and_the_package_all_of_it() -> None:
    folder = Path(schema.__file__).parent
    found = {"Meta", "Unknown", "Wire", "decode", "encode"}
    for path in folder.glob("[!_]*.py"):
        module = importlib.import_module(f"acpella.schema.{path.stem}")
        defined = {
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
        }
        assert defined <= set(module.__all__), path.stem
        assert len(module.__all__) == len(set(module.__all__)), path.stem
        if path.stem not in (
            "field_docs",
            "methods",
            "strict",
        ):  # tables and functions, not words of the protocol
            found.update(module.__all__)
    assert sorted(found) == sorted(schema.__all__)


# --- methods ---

SIDES = {"agent": "agent", "client": "client", "protocol": "both", "proxy": "proxy"}


def name_of(kind: Any) -> str:
    if isinstance(kind, type):
        return kind.__name__
    return next(name for name, value in PUBLIC.items() if value == kind)


def official_methods(definitions: dict[str, Json]) -> set[tuple[str, str, str, str]]:
    """Side, method, kind and the params' definition of each method."""
    return {
        (
            SIDES[definition["x-side"]],
            definition["x-method"],
            "notification" if name.endswith("Notification") else "request",
            name,
        )
        for name, definition in definitions.items()
        if "x-method" in definition and not name.endswith("Response")
    }


def test_the_methods_are_those_of_the_schema() -> None:
    ours = {
        (
            one.to,
            one.name,
            one.kind,
            "InitializeProxyRequest" if one is methods.INITIALIZE_PROXY else name_of(one.params),
        )
        for one in methods.METHODS
        if one.stability != "legacy"
    }
    assert ours == official_methods(UNSTABLE)


def test_a_method_is_stable_when_the_stable_schema_has_it() -> None:
    stable = {
        (one.to, one.name, one.kind, name_of(one.params))
        for one in methods.METHODS
        if one.stability == "stable"
    }
    assert stable == official_methods(STABLE)
    assert len(stable) == 25


def test_the_results_are_those_of_the_schema() -> None:
    answers = {
        (SIDES[definition["x-side"]], definition["x-method"]): name
        for name, definition in UNSTABLE.items()
        if "x-method" in definition and name.endswith("Response")
    }
    for one in methods.METHODS:
        if one.kind == "notification":
            assert one.result is types.NoneType
        elif one.stability != "legacy":
            name = answers.pop((one.to, one.name))
            assert one.result == PUBLIC[name], name
    assert not answers


def test_legacy_methods_are_the_ones_peers_still_speak() -> None:
    legacy = {one.name for one in methods.METHODS if one.stability == "legacy"} - {"mcp/message"}
    assert len(legacy) == 13
    assert legacy.isdisjoint({method for _, method, _, _ in official_methods(UNSTABLE)})


def test_each_side_knows_the_methods_it_receives() -> None:
    for one in methods.METHODS:
        for side, vocabulary in (("agent", methods.AGENT), ("client", methods.CLIENT)):
            table = vocabulary.requests if one.kind == "request" else vocabulary.notifications
            if one.to in (side, "both"):
                assert table[one.name].kind == one.kind
                assert one.name == "mcp/message" or table[one.name] is one
    assert methods.CLIENT.stream is methods.UPDATE
    assert methods.AGENT.stream is None


def test_a_judge_reads_as_closed_what_is_closed() -> None:
    opened = {
        (name, info.encode_name)
        for name, kind in vars(schema).items()
        if isinstance(kind, type) and issubclass(kind, Wire)
        for info in msgspec.structs.fields(kind)
        if flag_of(kind, info.name) is OPENED
    }
    assert opened == OPENED_FIELDS
    assert schema_error(schema.PromptResponse, {"stopReason": "done"}) is not None
    assert schema_error(schema.PromptResponse, {"stopReason": "refusal"}) is None
    option = {"optionId": "a", "name": "A", "kind": "allow_project"}
    assert schema_error(schema.PermissionOption, option) is not None
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": [option]}
    assert schema_error(schema.RequestPermissionRequest, asked) == (
        "Invalid enum value 'allow_project' - at $.options[0].kind"
    )
