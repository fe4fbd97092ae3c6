"""Requirements on both sides: JSON-RPC, and the schema of each message, declared for the side of an area."""

import re
from typing import Any

from acpella.schema import methods as m
from acpella.schema.methods import AGENT, CLIENT, Method
from acpella.schema.strict import extra_fields, schema_error

from .conversation import CheckedConversation, CheckedFrame, as_list, as_object, id_key
from .requirement import OK, Area, Level, Problem, Verdict

__all__ = ["declare_answer", "declare_call", "declare_messages", "declare_update"]

I64 = 2**63
DEEPEST = 12
"""How many levels deep in a message `_meta` is looked for."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def declare_messages(area: Area) -> None:
    """JSON-RPC itself (R-001 to R-029) for the side of the area."""
    agent = area.side == "agent"
    who = f"The {area.side}"
    where = "stdout" if agent else "the agent's stdin"
    vocabulary = CLIENT if agent else AGENT

    @area.audit(
        "json",
        rule="R-003" if agent else "R-004",
        level="must",
        on=("any",),
        tck="ACP-TRANSPORT-001" if agent else "",
        page="transports",
        text=f"{who} writes nothing but JSON to {where}, one message a line.",
    )
    def json(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        return f"a line is {frame.reason}" if frame.reason.startswith("not JSON") else OK

    @area.audit(
        "utf8",
        rule="R-001",
        level="must",
        on=("any",),
        tck="ACP-TRANSPORT-002" if agent else "",
        page="transports",
        text=f"{who} writes UTF-8.",
    )
    def utf8(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        return f"a line is {frame.reason}" if frame.reason.startswith("not UTF-8") else OK

    @area.audit(
        "object", rule="R-013", level="must", on=("any",), text=f"{who} sends single objects, no batches."
    )
    def an_object(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if frame.kind == "noise" and frame.message is not None and not isinstance(frame.message, dict):
            return f"a message is {frame.reason}"
        return OK

    @area.audit(
        "version-field", rule="R-001", level="must", on=("any",), text='Every message has "jsonrpc": "2.0".'
    )
    def jsonrpc(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if not frame.is_object:
            return None
        version = as_object(frame.message).get("jsonrpc")
        return OK if version == "2.0" else f'"jsonrpc" is {version!r}'

    @area.audit(
        "kind",
        rule="R-008",
        level="must",
        on=("any",),
        text="Every message is a request, a notification or a response, and not two of them.",
    )
    def kind(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if not frame.is_object:
            return None
        if frame.kind == "noise":
            return frame.reason
        both = {"result", "error"} & as_object(frame.message).keys() if frame.kind != "response" else ()
        return f"a message has a method and {' and '.join(sorted(both))}" if both else OK

    @area.audit(
        "result-or-error",
        rule="R-008",
        level="must",
        on=("response",),
        tck="ACP-JSONRPC-002" if agent else "",
        text="A response has a result or an error, not both.",
    )
    def one_of_two(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        both = frame.message.get("error") is not None and "result" in frame.message
        return "a response has a result and an error" if both else OK

    @area.audit(
        "error-object",
        rule="R-050",
        level="must",
        on=("error",),
        tck="ACP-JSONRPC-002" if agent else "",
        text="An error has a whole number as its code and a string as its message.",
    )
    def error_object(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        error = frame.error
        if not isinstance(error, dict):
            return f"the error is not an object: {error!r}"
        code: Any = as_object(error).get("code")
        if not isinstance(code, int) or isinstance(code, bool) or not -(2**31) <= code < 2**31:
            return f"the code of an error is {code!r}"
        message: Any = as_object(error).get("message")
        return OK if isinstance(message, str) else f"the message of an error is {message!r}"

    @area.audit(
        "error-message",
        rule="R-050",
        level="info",
        on=("error",),
        tck="ACP-ERROR-001" if agent else "",
        text="The message of an error is a short line, not empty.",
    )
    def error_message(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        message: Any = as_object(frame.error).get("message")
        if not isinstance(message, str):
            return None
        return (
            OK if message.strip() and "\n" not in message else f"the message of an error is {message[:80]!r}"
        )

    @area.audit(
        "known-id",
        rule="R-014",
        level="must",
        on=("response",),
        tck="ACP-JSONRPC-001" if agent else "",
        text="A response has the id of a request that waits for one, in the same type.",
    )
    def known_id(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if frame.request is not None or frame.answered_before:
            return OK
        if frame.lacks_id:
            return "a response has no id" if "id" not in frame.message else "a result has the id null"
        if frame.id is None or id_key(frame.id) in talk.batched:
            return None  # an answer to something that had no id, or that was not a message
        return f"a response has the id {frame.id!r}, which no open request has"

    @area.audit(
        "one-answer", rule="R-008", level="must", on=("response",), text="A request is answered only once."
    )
    def one_answer(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if frame.answered_before:
            return f"the request {frame.id!r} was answered a second time"
        return OK if frame.request is not None else None

    @area.audit(
        "id-type",
        rule="R-010",
        level="capability",
        on=("request",),
        text="The id of a request is a string or a whole number of 64 bits.",
    )
    def id_type(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        id = frame.id
        if id is None or isinstance(id, str):
            return OK
        if isinstance(id, int) and not isinstance(id, bool):
            return OK if -I64 <= id < I64 else f"the id {id} does not fit into 64 bits"
        return f"the id of a request is {id!r}"

    @area.audit(
        "id-null", rule="R-010", level="should", on=("request",), text="The id of a request is not null."
    )
    def id_null(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        return OK if frame.id is not None else f"a request for {frame.method} has the id null"

    @area.audit(
        "id-unique",
        rule="R-010",
        level="capability",
        on=("request",),
        text="Two requests that wait for answers have different ids.",
    )
    def id_unique(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        other = talk.pending[frame.way].get(id_key(frame.id))
        return OK if other is None else Problem(f"two open requests have the id {frame.id!r}", (other,))

    @area.audit(
        "method-known",
        rule="R-026",
        level="must",
        on=("request", "notification"),
        page="extensibility",
        text="A method that the protocol does not define begins with an underscore.",
    )
    def method_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if frame.method.startswith("_"):
            return OK
        names = vocabulary.requests if frame.kind == "request" else vocabulary.notifications
        if frame.method in names:
            return OK
        return f"{frame.method!r} is not a {frame.kind} to {'clients' if agent else 'agents'}"

    @area.audit(
        "extra-fields",
        rule="R-023",
        level="should",
        on=("request", "notification", "response"),
        tck="ACP-SCHEMA-002" if agent else "",
        page="extensibility",
        text="Fields of one's own stand in _meta, not beside those of the protocol.",
    )
    def extra(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        typed = _kind_and_value(frame, vocabulary)
        if typed is None:
            return None
        extra = extra_fields(*typed)
        return (
            f"{frame.method} has {', '.join(extra[:5])}, which the protocol does not define" if extra else OK
        )

    @area.audit(
        "meta",
        rule="R-024",
        level="must",
        on=("request", "notification", "response"),
        page="extensibility",
        text="_meta is an object wherever it stands.",
    )
    def meta(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        return _bad_meta(frame.message) or OK

    @area.audit(
        "trace-context",
        rule="R-025",
        level="should",
        on=("request", "notification", "response"),
        page="extensibility",
        text="traceparent in _meta is a W3C trace context.",
    )
    def trace(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        body = frame.params if frame.kind != "response" else as_object(frame.result)
        value: Any = as_object(body.get("_meta")).get("traceparent")
        if value is None:
            return None
        good = isinstance(value, str) and _TRACEPARENT.fullmatch(value)
        return OK if good else f"traceparent is {value!r}"

    @area.audit(
        "empty-object",
        rule="R-017",
        level="should",
        on=("response",),
        tck="ACP-LOAD-003" if agent else "",
        text="A result that has nothing to say is {}, not null.",
    )
    def empty(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if frame.request is None or frame.is_error or frame.method.startswith("_"):
            return None
        return f"the result of {frame.method} is null" if frame.result is None else OK

    @area.audit(
        "cancel-request",
        rule="R-221",
        level="should",
        on=("call $/cancel_request",),
        page="cancellation",
        text="$/cancel_request names a request that its sender has made.",
    )
    def cancel_request(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        id = frame.params.get("requestId")
        known = id_key(id) in talk.pending[frame.way] or talk.was_answered(frame.way, id)
        return OK if known else f"$/cancel_request names {id!r}, which was never requested"


def declare_call(area: Area, name: str, method: Method[Any, Any], *, rule: str, level: Level) -> None:
    """What the side of the area sends with a method matches the schema."""

    @area.audit(
        f"{name}-schema",
        rule=rule,
        level=level,
        on=(f"call {method.name}",),
        tck="ACP-SCHEMA-001" if area.side == "agent" else "",
        text=f"What the {area.side} sends with {method.name} matches the schema.",
    )
    def matches(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if (frame.kind == "request") != (method.kind == "request"):
            return f"{method.name} is sent as a {frame.kind}"
        error = schema_error(method.params, frame.message.get("params", {}))
        return OK if error is None else f"{method.name}: {error}"


def declare_answer(
    area: Area, name: str, method: Method[Any, Any], *, rule: str, level: Level, tck: str = ""
) -> None:
    """What the side of the area answers to a method matches the schema."""

    @area.audit(
        f"{name}-answer-schema",
        rule=rule,
        level=level,
        on=(f"answer {method.name}",),
        tck=tck or ("ACP-SCHEMA-001" if area.side == "agent" else ""),
        text=f"What the {area.side} answers to {method.name} matches the schema.",
    )
    def matches(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        result = frame.result
        if result is None and method.null == b"{}":
            result = {}  # another requirement checks this
        error = schema_error(method.result, result)
        return OK if error is None else f"the answer to {method.name}: {error}"


def declare_update(area: Area, kind: str, *, rule: str, level: Level = "capability", page: str = "") -> None:
    """Updates of one kind match the schema."""

    @area.audit(
        f"{kind.replace('_', '-')}-schema",
        rule=rule,
        level=level,
        on=(f"update {kind}",),
        tck="ACP-PROMPT-002",
        page=page or area.page,
        text=f"An update of the kind {kind} matches the schema.",
    )
    def matches(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        error = schema_error(m.UPDATE.params, frame.message.get("params"))
        return OK if error is None else f"{kind}: {error}"


def _kind_and_value(frame: CheckedFrame, vocabulary: m.Vocabulary) -> tuple[Any, Any] | None:
    """The type of what a frame carries, and the JSON that should be of that type."""
    if frame.kind == "response":
        table = AGENT.requests if vocabulary is CLIENT else CLIENT.requests
        method = table.get(frame.method)
        if method is None or frame.is_error:
            return None
        return method.result, frame.result
    table = vocabulary.requests if frame.kind == "request" else vocabulary.notifications
    method = table.get(frame.method)
    return None if method is None else (method.params, frame.message.get("params", {}))


def _bad_meta(message: Any) -> str | None:
    wrong = _meta_that_is_no_object(message, 0)
    return None if wrong is None else f"${wrong[0]}._meta is {wrong[1]!r:.60}"


def _meta_that_is_no_object(value: Any, depth: int) -> tuple[str, Any] | None:
    """The path and value of a `_meta` that is not an object. This runs for every message, so a path is built
    only when one is found."""
    if isinstance(value, dict):
        for name, item in as_object(value).items():
            if name == "_meta":
                if item is not None and not isinstance(item, dict):
                    return "", item
            elif isinstance(item, dict | list) and name not in ("rawInput", "rawOutput") and depth < DEEPEST:
                if (wrong := _meta_that_is_no_object(item, depth + 1)) is not None:
                    return f".{name}{wrong[0]}", wrong[1]
    elif isinstance(value, list):
        for place, item in enumerate(as_list(value)):  # pyright: ignore[reportUnknownArgumentType] - JSON
            if isinstance(item, dict | list) and depth < DEEPEST:
                if (wrong := _meta_that_is_no_object(item, depth + 1)) is not None:
                    return f"[{place}]{wrong[0]}", wrong[1]
    return None
