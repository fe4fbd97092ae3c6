"""What is known of a conversation after each frame. Pure: frames in, state out; nothing is sent or awaited.

Directions are those of recordings: `in` came from the agent, `out` from the client. The state is what the
two have said, so the audits of both sides can read it: what was announced, which sessions exist, which of
them have a turn running, which tool calls, terminals and questions are open.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import msgspec

from acpella.rpc.message import read_json

__all__ = [
    "CheckedConversation",
    "CheckedFrame",
    "Elicitation",
    "Kind",
    "ObservedSession",
    "ObservedToolCall",
    "Way",
    "as_list",
    "as_object",
    "id_key",
]

Way: TypeAlias = Literal["in", "out"]
Kind: TypeAlias = Literal["request", "notification", "response", "noise"]

KEPT_FRAMES = 64
"""Frames that are remembered for their context. Without a bound, a long recording is held in memory."""

KEPT_IDS = 4096
"""Answered requests that are remembered, to tell a second answer from an answer to no request at all."""

KEPT_CALLS = 256
"""Tool calls of a session whose frames are remembered; of older ones only the status is."""

SETUP_METHODS = ("session/new", "session/load", "session/resume", "session/fork")


@dataclass(slots=True, eq=False)
class CheckedFrame:
    """One message, or one line that is not a message."""

    number: int
    time: float
    way: Way
    kind: Kind
    message: Any
    raw: bytes | None = None
    reason: str = ""
    """Why the frame is noise and not a message."""
    id: Any = None
    method: str = ""
    """The method; for a response, that of the request it answers, or empty if it answers none."""
    request: "CheckedFrame | None" = None
    """The request that a response answers."""
    answered_before: bool = False
    """Whether this is a response to a request that had already been answered."""
    # computed once, because many audits read them
    params: dict[str, Any] = field(init=False)
    """The params, or an empty object if they are not one."""
    session: str | None = field(init=False)
    """The session that the frame is about."""
    update_kind: str = field(init=False)
    """Which `session/update`; empty for other frames."""

    def __post_init__(self) -> None:
        self.params = as_object(as_object(self.message).get("params"))
        session = (self.request.params if self.request is not None else self.params).get("sessionId")
        self.session = session if isinstance(session, str) else None
        is_update = self.method == "session/update" and self.kind != "response"
        kind = self.update.get("sessionUpdate") if is_update else ""
        self.update_kind = kind if isinstance(kind, str) else ""

    @property
    def is_object(self) -> bool:
        """Whether this is a JSON object, and so could be a message at all."""
        return isinstance(self.message, dict)

    @property
    def result(self) -> Any:
        return as_object(self.message).get("result")

    @property
    def error(self) -> Any:
        return as_object(self.message).get("error")

    @property
    def lacks_id(self) -> bool:
        """Whether this is a response without an id. An error has null as its id if it answers no request."""
        if self.kind != "response" or self.id is not None or self.request is not None:
            return False
        return "id" not in self.message or not self.is_error

    @property
    def is_error(self) -> bool:
        return self.kind == "response" and self.error is not None

    @property
    def code(self) -> int | None:
        """The code of an error."""
        code = as_object(self.error).get("code")
        return code if isinstance(code, int) else None

    @property
    def update(self) -> dict[str, Any]:
        """The update in a `session/update`."""
        return as_object(self.params.get("update"))

    def keys(self) -> list[str]:
        """The keys that audits select frames by.

        `any`, the kind, `call METHOD` for requests and notifications, `answer METHOD` and `error METHOD` for
        responses, `error`, `update`, `update KIND`.
        """
        keys = ["any", self.kind]
        if self.kind in ("request", "notification"):
            keys.append(f"call {self.method}")
            if self.method == "session/update":
                keys += ["update", f"update {self.update_kind}"]
        elif self.kind == "response":
            if self.is_error:
                keys += ["error", f"error {self.method}"]
            elif self.method:
                keys.append(f"answer {self.method}")
        return keys


@dataclass(slots=True)
class ObservedToolCall:
    """A tool call, as far as it was reported."""

    id: str
    first: CheckedFrame | None
    """The frame that reported it first. `first` and `last` are None once many newer calls have come."""
    announced: bool
    """Whether a `tool_call` announced it, not just an update or a question."""
    status: str = "pending"
    last: CheckedFrame | None = None
    repeated: bool = False
    """Whether it was first reported while the session was being loaded or resumed."""


@dataclass(slots=True)
class Elicitation:
    """A page that the user was sent to."""

    id: str
    open: bool = True


@dataclass(slots=True)
class ObservedSession:
    """A session, as far as it was reported."""

    id: str
    setup: CheckedFrame | None
    """The request that made it; None if it was never made on this connection."""
    cwd: str = ""
    prompt: CheckedFrame | None = None
    """The prompt of the running turn."""
    cancel: CheckedFrame | None = None
    """The cancel of the turn that runs."""
    answer: CheckedFrame | None = None
    """The answer that ended the last turn."""
    was_cancelled: bool = False
    """Whether the last turn was cancelled."""
    loading: CheckedFrame | None = None
    turns: int = 0
    closed: bool = False
    modes: dict[str, Any] | None = None
    options: list[Any] | None = None
    commands: list[Any] | None = None
    tools: dict[str, ObservedToolCall] = field(default_factory=dict[str, ObservedToolCall])
    recent_tools: deque[ObservedToolCall] = field(default_factory=deque[ObservedToolCall])
    turn_tools: set[str] = field(default_factory=set[str])
    """The tool calls of the turn that runs or ran last."""
    message_kinds: dict[str, str] = field(default_factory=dict[str, str])
    """Which kind of message an id was first used for."""

    @property
    def mode_ids(self) -> list[Any]:
        """The modes that were offered."""
        return [as_object(m).get("id") for m in as_list((self.modes or {}).get("availableModes"))]

    def option(self, id: Any) -> dict[str, Any] | None:
        """The option with that id."""
        for option in self.options or ():
            if as_object(option).get("id") == id:
                return as_object(option)
        return None


class CheckedConversation:
    """One connection. `take` each frame in order; the state is the one after the last frame taken."""

    def __init__(self) -> None:
        self.frames: deque[CheckedFrame] = deque(maxlen=KEPT_FRAMES)
        self.count: int = 0
        self.pending: dict[Way, dict[Any, CheckedFrame]] = {"in": {}, "out": {}}
        """Requests without an answer, by who sent them."""
        self._answered: dict[Way, dict[Any, None]] = {"in": {}, "out": {}}
        self.initialize: CheckedFrame | None = None
        self.initialized: CheckedFrame | None = None
        """The answer to `initialize`."""
        self.version: int | None = None
        self.client: dict[str, Any] = {}
        """What the client announced."""
        self.agent: dict[str, Any] = {}
        """What the agent announced."""
        self.auth_methods: list[dict[str, Any]] = []
        self.logged_in: bool = False
        self.sessions: dict[str, ObservedSession] = {}
        self.subagents: set[str] = set()
        self.terminals: dict[str, str] = {}
        """The state of each terminal: `open`, `killed` or `released`."""
        self.elicitations: dict[str, Elicitation] = {}
        self.batched: set[Any] = set()
        """Ids in batches, which are not messages but may get answers."""
        self.turns: int = 0
        """How many turns have ended."""
        self.ended = False

    # -- what was announced --------------------------------------------------------------------

    def client_can(self, path: str) -> bool:
        """Whether the client announced a capability, such as `fs.readTextFile` (R-032)."""
        return _has(self.client, path)

    def agent_can(self, path: str) -> bool:
        """Whether the agent announced a capability, such as `sessionCapabilities.list`."""
        return _has(self.agent, path)

    @property
    def agent_name(self) -> str:
        """The agent's name for itself and its version; empty if it did not say."""
        answer = as_object(self.initialized.result) if self.initialized else {}
        return _name(as_object(answer.get("agentInfo")))

    @property
    def client_name(self) -> str:
        """The client's name for itself and its version; empty if it did not say."""
        params = self.initialize.params if self.initialize else {}
        return _name(as_object(params.get("clientInfo")))

    def is_creating(self) -> bool:
        """Whether a session is being created whose id is not yet known."""
        return any(f.method in ("session/new", "session/fork") for f in self.pending["out"].values())

    def session_of(self, frame: CheckedFrame) -> ObservedSession | None:
        """The session that a frame is about, if it is known."""
        return self.sessions.get(frame.session or "")

    def was_answered(self, way: Way, id: Any) -> bool:
        """Whether a request with that id was answered."""
        return id_key(id) in self._answered[way]

    # -- frames --------------------------------------------------------------------------------

    def read(self, way: Way, data: bytes | Any, time: float = 0.0) -> CheckedFrame:
        """Classify a line or a message; `take` adds it to the state. Bytes are parsed as JSON; other values
        are the parsed JSON."""
        self.count += 1
        raw = data if isinstance(data, bytes) else None
        message: Any = data
        if raw is not None:
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return CheckedFrame(self.count, time, way, "noise", None, raw, f"not UTF-8: {error.reason}")
            try:
                message = read_json(raw)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                return CheckedFrame(self.count, time, way, "noise", None, raw, f"not JSON: {error}")
        elif isinstance(data, str):
            return CheckedFrame(self.count, time, way, "noise", None, data.encode(), "not JSON")
        if not isinstance(message, dict):
            what = (
                "an array, and batches do not exist in ACP" if isinstance(message, list) else "not an object"
            )
            return CheckedFrame(self.count, time, way, "noise", message, raw, what)
        table = cast("dict[str, Any]", message)
        id, method = table.get("id"), table.get("method")
        if isinstance(method, str):
            kind = "request" if "id" in table else "notification"
            return CheckedFrame(self.count, time, way, kind, table, raw, "", id, method)
        if "result" not in table and "error" not in table:
            what = "neither a request, a notification nor a response"
            return CheckedFrame(self.count, time, way, "noise", table, raw, what)
        other: Way = "out" if way == "in" else "in"
        request = self.pending[other].get(id_key(id))
        method = request.method if request is not None else ""
        before = request is None and id_key(id) in self._answered[other]
        return CheckedFrame(self.count, time, way, "response", table, raw, "", id, method, request, before)

    def take(self, frame: CheckedFrame) -> None:
        """Update the state with a frame."""
        self.frames.append(frame)
        if frame.kind == "noise":
            self.batched |= {id_key(as_object(entry).get("id")) for entry in as_list(frame.message)}
        elif frame.kind == "request":
            self.pending[frame.way][id_key(frame.id)] = frame
            self._begin(frame)
        elif frame.kind == "notification":
            self._hear(frame)
        elif frame.request is not None:
            other: Way = "out" if frame.way == "in" else "in"
            del self.pending[other][id_key(frame.id)]
            answered_ids = self._answered[other]
            answered_ids[id_key(frame.id)] = None
            if len(answered_ids) > KEPT_IDS:
                del answered_ids[next(iter(answered_ids))]
            self._answer(frame, frame.request)

    def _begin(self, frame: CheckedFrame) -> None:
        """A request was sent."""
        session = self.session_of(frame)
        if frame.method == "initialize" and frame.way == "out":
            self.initialize = frame
            self.client = as_object(frame.params.get("clientCapabilities"))
        elif frame.method == "session/load" and frame.session is not None:
            session = self.sessions.setdefault(frame.session, ObservedSession(frame.session, frame))
            session.loading = frame
        elif frame.method == "session/resume" and frame.session is not None:
            session = self.sessions.setdefault(frame.session, ObservedSession(frame.session, frame))
            session.loading = frame
        elif frame.method == "session/prompt" and frame.session is not None:
            # a prompt makes its session known even if it was never opened: the agent may refer to it now
            session = self.sessions.setdefault(frame.session, ObservedSession(frame.session, None))
            if session.prompt is not None:
                return
            session.prompt = frame
            session.cancel = None
            session.turns += 1
            session.turn_tools = set()
        elif frame.method == "session/request_permission" and session is not None:
            self._tell_tool(session, as_object(frame.params.get("toolCall")), frame, announced=False)
        elif frame.method == "elicitation/create" and isinstance(frame.params.get("elicitationId"), str):
            id = frame.params["elicitationId"]
            self.elicitations[id] = Elicitation(id)

    def _hear(self, frame: CheckedFrame) -> None:
        """A notification was sent."""
        session = self.session_of(frame)
        if frame.method == "session/cancel" and session is not None and session.prompt is not None:
            session.cancel = session.cancel or frame
        elif frame.method == "session/update" and session is not None:
            self._update(session, frame)
        elif frame.method == "session/update" and frame.session and self.is_creating():
            session = self.sessions.setdefault(frame.session, ObservedSession(frame.session, None))
            self._update(session, frame)
        elif frame.method == "elicitation/complete":
            elicitation = self.elicitations.get(str(frame.params.get("elicitationId")))
            if elicitation is not None:
                elicitation.open = False

    def _update(self, session: ObservedSession, frame: CheckedFrame) -> None:
        update = frame.update
        match frame.update_kind:
            case "tool_call":
                self._tell_tool(session, update, frame, announced=True)
            case "tool_call_update":
                self._tell_tool(session, update, frame, announced=False)
            case "available_commands_update":
                session.commands = as_list(update.get("availableCommands"))
            case "current_mode_update":
                if session.modes is not None:
                    session.modes = {**session.modes, "currentModeId": update.get("currentModeId")}
            case "config_option_update":
                session.options = as_list(update.get("configOptions"))
            case "subagent_update":
                self.subagents.add(str(update.get("sessionId")))
            case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk":
                if isinstance(update.get("messageId"), str):
                    session.message_kinds.setdefault(update["messageId"], frame.update_kind)
            case _:
                pass

    def _tell_tool(
        self, session: ObservedSession, update: dict[str, Any], frame: CheckedFrame, *, announced: bool
    ) -> None:
        id = update.get("toolCallId")
        if not isinstance(id, str):
            return
        call = session.tools.get(id)
        if call is None:
            call = session.tools[id] = ObservedToolCall(id, frame, announced)
            call.repeated = session.loading is not None
            session.recent_tools.append(call)
            if len(session.recent_tools) > KEPT_CALLS:
                old = session.recent_tools.popleft()
                old.first = old.last = None
        elif announced:
            call.announced = True
        if session.loading is None:
            session.turn_tools.add(id)
        if isinstance(update.get("status"), str):
            call.status = update["status"]
        if call.first is not None:
            call.last = frame

    def _answer(self, frame: CheckedFrame, request: CheckedFrame) -> None:
        """A request was answered."""
        result = as_object(frame.result)
        session = self.sessions.get(request.session or "")
        if session is not None and session.loading is request:
            session.loading = None
        if request.method == "session/prompt":
            self.turns += 1
            if session is not None and session.prompt is request:
                session.prompt, session.answer = None, frame
                session.was_cancelled = session.cancel is not None
        if frame.is_error:
            return
        match request.method:
            case "initialize" if request.way == "out":
                self.initialized = frame
                version = result.get("protocolVersion")
                self.version = version if isinstance(version, int) else None
                self.agent = as_object(result.get("agentCapabilities"))
                self.auth_methods = [as_object(method) for method in as_list(result.get("authMethods"))]
            case "authenticate":
                self.logged_in = True
            case "session/new" | "session/fork":
                if isinstance(id := result.get("sessionId"), str):
                    session = self.sessions.setdefault(id, ObservedSession(id, request))
                    session.setup = request
                    session.closed = False
                    self._set_up(session, request, result)
            case "session/load" | "session/resume":
                if session is not None:
                    session.closed = False
                    self._set_up(session, request, result)
            case "session/close" | "session/delete":
                if session is not None:
                    session.closed = True
            case "session/set_mode":
                if session is not None and session.modes is not None:
                    session.modes = {**session.modes, "currentModeId": request.params.get("modeId")}
            case "session/set_config_option":
                if session is not None:
                    session.options = as_list(result.get("configOptions"))
            case "terminal/create":
                self.terminals[str(result.get("terminalId"))] = "open"
            case "terminal/kill":
                self.terminals[str(request.params.get("terminalId"))] = "killed"
            case "terminal/release":
                self.terminals[str(request.params.get("terminalId"))] = "released"
            case _:
                pass

    def _set_up(self, session: ObservedSession, request: CheckedFrame, result: dict[str, Any]) -> None:
        session.cwd = str(request.params.get("cwd", ""))
        if isinstance(result.get("modes"), dict):
            session.modes = result["modes"]
        if isinstance(result.get("configOptions"), list):
            session.options = result["configOptions"]


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _name(info: dict[str, Any]) -> str:
    """A peer's name for itself and its version. Version 0 is left out: it means that the author gave none."""
    version = info.get("version", "")
    return f"{info.get('name', '')} {'' if version == '0' else version}".strip()


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def id_key(id: Any) -> Any:
    """Ids of different types are different: 1 is neither "1" nor true."""
    if isinstance(id, str | int | float) or id is None:
        return (type(id).__name__, id)
    return ("other", msgspec.json.encode(id))


def _has(capabilities: dict[str, Any], path: str) -> bool:
    value: Any = capabilities
    for name in path.split("."):
        value = as_object(value).get(name)
    return value is True or isinstance(value, dict)
