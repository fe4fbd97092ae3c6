# ruff: noqa: E501 - a table with a defect a line
"""How the sample agent breaks a requirement, if changing what it sends or reads is enough.

The other defects are in `sample_agent.py` itself: `self.breaks(ID)`.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from endpoint import Endpoint, Json, RpcFailure

if TYPE_CHECKING:
    from sample_agent import SampleAgent

Change = Callable[[Json], Any]


def put(path: str, value: Any) -> Change:
    """Set a value deep in a message."""

    def change(message: Json) -> Json:
        *way, last = path.split(".")
        place: Any = message
        for name in way:
            place = place[int(name)] if isinstance(place, list) else place[name]
        if isinstance(place, list):
            place[int(last)] = value
        else:
            place[last] = value
        return message

    return change


def drop(path: str) -> Change:
    """Remove a field."""

    def change(message: Json) -> Json:
        *way, last = path.split(".")
        place: Any = message
        for name in way:
            place = place[name]
        place.pop(last, None)
        return message

    return change


def also(extra: Any) -> Change:
    """Send something else after the message."""
    return lambda message: (message, extra)


def twice(message: Json) -> Any:
    return (message, message)


def double(path: str) -> Change:
    """Repeat the first item of a list."""

    def change(message: Json) -> Json:
        place: Any = message
        for name in path.split("."):
            place = place[name]
        place.append(place[0])
        return message

    return change


def note(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def nothing(message: Json) -> None:
    return None


def relative(path: str) -> Change:
    return put(path, "some/where.txt")


U = "params.update."
STRAY = {"jsonrpc": "2.0", "id": "nobody", "result": {}}

SENT: dict[str, tuple[str, Change]] = {
    # requirement: (which message is changed, how)
    "messages.json": ("answer initialize", also(b"Debug: hello")),
    "messages.utf8": ("answer initialize", also(b'{"jsonrpc":"2.0","method":"_x/\xff","params":{}}')),
    "messages.object": ("answer initialize", also([])),
    "messages.version-field": ("update agent_message_chunk", drop("jsonrpc")),
    "messages.kind": ("answer initialize", also({"jsonrpc": "2.0", "id": "what"})),
    "messages.result-or-error": ("error _acpella.check/fence", put("result", None)),
    "messages.error-object": ("error _acpella.check/fence", put("error.code", "-32601")),
    "messages.error-message": ("error _acpella.check/fence", put("error.message", "")),
    "messages.known-id": ("answer initialize", also(STRAY)),
    "messages.one-answer": ("answer session/prompt", twice),
    "messages.id-unique": ("call session/request_permission", twice),
    "messages.method-known": ("answer initialize", also(note("sample/thing", {}))),
    "messages.extra-fields": ("update agent_message_chunk", put(U + "sample", 1)),
    "messages.meta": ("update agent_message_chunk", put("params._meta", 5)),
    "messages.trace-context": ("update agent_message_chunk", put("params._meta", {"traceparent": "x"})),
    "messages.empty-object": ("answer session/set_mode", put("result", None)),
    "messages.cancel-request": ("answer initialize", also(note("$/cancel_request", {"requestId": 4711}))),
    "messages.unknown-method": ("error acpella/does_not_exist", lambda m: {"jsonrpc": "2.0", "id": m["id"], "result": {}}),
    "messages.custom-request-code": ("error _acpella.check/unknown", put("error.code", -32603)),
    "initialize.initialize-answer-schema": ("answer initialize", put("result.agentInfo.version", 3)),
    "initialize.capabilities": ("answer initialize", drop("result.agentCapabilities")),
    "initialize.info": ("answer initialize", drop("result.agentInfo")),
    "login.unique-ids": ("answer initialize", double("result.authMethods")),
    "login.status-answer-schema": ("answer auth/status", put("result.accounts", [{"name": "x"}])),
    "login.status-update-schema": ("call auth/status_update", drop("params.state")),
    "login.authenticate-answer-schema": ("answer authenticate", put("result", [])),
    "login.logout-answer-schema": ("answer logout", put("result", "bye")),
    "sessions.new-answer-schema": ("answer session/new", put("result.modes.availableModes", "many")),
    "sessions.new": ("answer session/new", lambda m: {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32603, "message": "no"}}),
    "stored.load-answer-schema": ("answer session/load", put("result.modes", "all")),
    "stored.resume-answer-schema": ("answer session/resume", put("result.modes", "all")),
    "stored.list-answer-schema": ("answer session/list", put("result.nextCursor", 3)),
    "stored.close-answer-schema": ("answer session/close", put("result", "ok")),
    "stored.delete-answer-schema": ("answer session/delete", put("result", "ok")),
    "stored.fork-answer-schema": ("answer session/fork", put("result.modes", "all")),
    "stored.title-answer-schema": ("answer session/set_title", put("result.title", 3)),
    "stored.list-absolute": ("entry session/list", put("result.sessions.0.cwd", "some/where")),
    "prompt.prompt-answer-schema": ("answer session/prompt", put("result.usage", {"totalTokens": "many"})),
    "prompt.user-message-chunk-schema": ("update user_message_chunk", put(U + "content.text", 3)),
    "prompt.agent-message-chunk-schema": ("update agent_message_chunk", put(U + "messageId", 3)),
    "prompt.agent-thought-chunk-schema": ("update agent_thought_chunk", drop(U + "content")),
    "prompt.plan-schema": ("update plan", put(U + "entries.0.status", "later")),
    "prompt.session-info-update-schema": ("update session_info_update", put(U + "title", 3)),
    "prompt.usage-update-schema": ("update usage_update", put(U + "used", None)),
    "prompt.notice-schema": ("update notice", put(U + "title", "")),
    "prompt.compaction-update-schema": ("update compaction_update", drop(U + "status")),
    "prompt.compaction-summary-chunk-schema": ("update compaction_summary_chunk", drop(U + "content")),
    "prompt.plan-update-schema": ("update plan_update", put(U + "plan", {"type": "items"})),
    "prompt.plan-removed-schema": ("update plan_removed", drop(U + "planId")),
    "prompt.subagent-update-schema": ("update subagent_update", put(U + "title", 3)),
    "prompt.session-message-schema": ("update session_message", drop(U + "messageId")),
    "prompt.session-known": (
        "answer session/prompt",
        also(note("session/update", {"sessionId": "nobody", "update": {"sessionUpdate": "usage_update", "used": 1, "size": 2}})),
    ),
    "tools.tool-call-schema": ("update tool_call", put(U + "kind", "dance")),
    "tools.tool-call-update-schema": ("update tool_call_update", put(U + "title", 3)),
    "tools.announced": ("update tool_call", nothing),
    "tools.location-absolute": ("locations", relative(U + "locations.0.path")),
    "tools.location-line": ("locations", put(U + "locations.0.line", 0)),
    "tools.diff-absolute": ("diff", relative(U + "content.0.path")),
    "tools.terminal-known": ("terminal", put(U + "content.0.terminalId", "nobody")),
    "permission.request-schema": ("call session/request_permission", put("params.options.0.kind", "perhaps")),
    "permission.has-options": ("call session/request_permission", put("params.options", [])),
    "permission.option-ids": ("call session/request_permission", double("params.options")),
    "permission.can-refuse": ("call session/request_permission", lambda m: (m["params"]["options"].pop(), m)[1]),
    "permission.session-known": ("call session/request_permission", put("params.sessionId", "nobody")),
    "files.read-schema": ("call fs/read_text_file", put("params.limit", "all")),
    "files.write-schema": ("call fs/write_text_file", put("params.content", 3)),
    "files.absolute": ("call fs/read_text_file", relative("params.path")),
    "files.line": ("call fs/read_text_file", put("params.line", 0)),
    "files.session-known": ("call fs/read_text_file", put("params.sessionId", "nobody")),
    "terminals.create-schema": ("call terminal/create", put("params.outputByteLimit", "much")),
    "terminals.output-schema": ("call terminal/output", drop("params.sessionId")),
    "terminals.wait-schema": ("call terminal/wait_for_exit", drop("params.sessionId")),
    "terminals.kill-schema": ("call terminal/kill", drop("params.sessionId")),
    "terminals.release-schema": ("call terminal/release", drop("params.sessionId")),
    "terminals.cwd-absolute": ("call terminal/create", put("params.cwd", ".")),
    "terminals.known": ("call terminal/kill", put("params.terminalId", "nobody")),
    "terminals.session-known": ("call terminal/output", put("params.sessionId", "nobody")),
    "elicitation.create-schema": ("call elicitation/create", put("params.message", 3)),
    "elicitation.complete-schema": ("call elicitation/complete", put("params.elicitationId", 3)),
    "elicitation.mode": ("call elicitation/create", drop("params.mode")),
    "elicitation.scope": ("call elicitation/create", drop("params.sessionId")),
    "elicitation.form-object": ("form", drop("params.requestedSchema.type")),
    "elicitation.required-known": ("form", put("params.requestedSchema.required", ["age"])),
    "elicitation.page-https": ("page", put("params.url", "ftp://example.com")),
    "elicitation.complete-known": ("call elicitation/complete", put("params.elicitationId", "nobody")),
    "modes.set-answer-schema": ("answer session/set_mode", put("result", "ok")),
    "modes.current-mode-update-schema": ("update current_mode_update", lambda m: put(U + "modeId", "code")(drop(U + "currentModeId")(m))),
    "modes.current": ("answer session/new", put("result.modes.currentModeId", "dream")),
    "modes.unique": ("answer session/new", lambda m: put("result.modes.availableModes", [*m["result"]["modes"]["availableModes"], {"id": "ask", "name": "Again"}])(m)),
    "modes.update-known": ("update current_mode_update", put(U + "currentModeId", "dream")),
    "options.set-answer-schema": ("answer session/set_config_option", put("result.configOptions.0.name", 3)),
    "options.config-option-update-schema": ("update config_option_update", put(U + "configOptions.0.name", 3)),
    "options.unique": ("answer session/new", double("result.configOptions")),
    "options.current": ("answer session/new", put("result.configOptions.1.currentValue", "c")),
    "options.mode-in-sync": ("answer session/new", put("result.configOptions.0.category", "_sample")),
    "commands.available-commands-update-schema": ("update available_commands_update", put(U + "availableCommands.0.description", 3)),
    "commands.no-slash": ("update available_commands_update", put(U + "availableCommands.0.name", "/help")),
    "commands.unique": ("update available_commands_update", double(U + "availableCommands")),
    "tools.finished": ("final", nothing),
    "tools.no-way-back": ("final", lambda m: (m, put(U + "status", "in_progress")(_copy(m)), m)),
    "tools.reported": ("tools", nothing),
    "tools.progress": ("progress", nothing),
}  # fmt: skip


ENUMS: dict[str, tuple[str, Change]] = {
    # requirement, and the closed enumeration that gets a value which it does not have
    "prompt.prompt-answer-schema of StopReason": ("answer session/prompt", put("result.stopReason", "done")),
    "prompt.agent-message-chunk-schema of Role": ("update agent_message_chunk", put(U + "content.annotations", {"audience": ["bot"]})),
    "prompt.plan-schema of PlanEntryPriority": ("update plan", put(U + "entries.0.priority", "urgent")),
    "prompt.plan-schema of PlanEntryStatus": ("update plan", put(U + "entries.0.status", "later")),
    "tools.tool-call-schema of ToolKind": ("update tool_call", put(U + "kind", "dance")),
    "tools.tool-call-update-schema of ToolKind": ("update tool_call_update", put(U + "kind", "dance")),
    "tools.tool-call-schema of ToolCallStatus": ("update tool_call", put(U + "status", "waiting")),
    "tools.tool-call-update-schema of ToolCallStatus": ("final", put(U + "status", "done")),
    "permission.request-schema of PermissionOptionKind": ("call session/request_permission", put("params.options.1.kind", "reject")),
    "permission.request-schema of ToolCallStatus": ("call session/request_permission", put("params.toolCall.status", "waiting")),
    "elicitation.create-schema of StringFormat": ("form", put("params.requestedSchema.properties.name.format", "hex")),
}  # fmt: skip


def _ignore_unknown(line: bytes) -> bool:
    return b'"id"' in line and (b'"_acpella' in line or b"005facpella" in line or b'"acpella/' in line)


def _misspell(message: Json) -> Json:
    result = message["result"]
    return {**message, "result": {("session_id" if k == "sessionId" else k): v for k, v in result.items()}}


def _copy(message: Json) -> Json:
    import json

    return json.loads(json.dumps(message))


def selects(what: str, message: Json, method: str) -> bool:
    """Whether a message is the one that a defect changes."""
    update = message.get("params", {}).get("update", {}) if message.get("method") == "session/update" else {}
    kind, _, name = what.partition(" ")
    match kind:
        case "answer":
            return "result" in message and method == name
        case "entry":
            return "result" in message and method == name and bool(message["result"].get("sessions"))
        case "error":
            return "error" in message and method == name
        case "call":
            return message.get("method") == name
        case "update":
            return update.get("sessionUpdate") == name
        case "locations":
            return bool(update.get("locations"))
        case "diff" | "terminal":
            content = update.get("content")
            return isinstance(content, list) and bool(content) and content[0]["type"] == kind
        case "form" | "page":
            mode = "form" if kind == "form" else "url"
            return method == "elicitation/create" and message.get("params", {}).get("mode") == mode
        case "final":
            return update.get("status") in ("completed", "failed")
        case "tools":
            return update.get("sessionUpdate") in ("tool_call", "tool_call_update")
        case "progress":
            return update.get("status") == "in_progress"
        case _:
            raise ValueError(what)


READ: dict[str, bytes] = {
    # requirement: text in a line that is not read
    "messages.string-id": b'"a-1"',
    "messages.large-id": b"9007199254740991",
    "messages.zero-id": b'"id":0,',
    "messages.custom-request": b"_acpella.check/unknown",
    "messages.two-at-once": b"_acpella.check/two",
    "robust.crlf": b"\r",
    "robust.blanks-in-json": b"_acpella.check/blanks",
    "robust.escapes": rb"\u005f",
    "robust.many-requests": b'"n":77',
}

GARBAGE: dict[str, Callable[[bytes], bool]] = {
    # requirement: the line that ends the agent
    "robust.not-json": lambda line: line.startswith(b"this"),
    "robust.no-message": lambda line: line.startswith(b'{"foo"'),
    "robust.not-an-object": lambda line: line == b"42",
    "robust.batch": lambda line: line.startswith(b"["),
    "robust.blank-lines": lambda line: not line.strip(),
}


def install(defect: str, agent: "SampleAgent", end: Endpoint) -> None:
    """Break one thing."""
    if defect in SENT or defect in ENUMS:
        what, change = SENT.get(defect) or ENUMS[defect]
        end.break_ = lambda message, method: (
            change(_copy(message)) if selects(what, message, method) else message
        )
    if defect == "session_id":
        end.break_ = lambda message, method: (
            _misspell(message) if selects("answer session/new", message, method) else message
        )
    if defect == "silent about the unknown":
        end.drop = _ignore_unknown
    if defect in READ:
        end.drop = lambda line: READ[defect] in line
    close = lambda: asyncio.get_running_loop().create_task(end.close())  # noqa: E731
    if defect in GARBAGE:
        end.on_garbage = lambda line: GARBAGE[defect](line) and close()
    if defect == "robust.bad-utf8":
        end.drop = lambda line: b"\xff" in line and bool(close())
    if defect == "robust.deep":
        end.drop = lambda line: b"check/deep" in line and bool(close())
    if defect == "robust.long-line":
        end.drop = lambda line: len(line) > 5_000_000 and bool(close())
    if defect in ("robust.not-json-answer", "robust.not-an-object-answer"):
        end.break_ = lambda message, method: None if message.get("id", 0) is None else message
    if defect == "robust.batch-not-processed":
        reply = {"id": "batched", "error": {"code": -32601, "message": "no"}}
        end.on_garbage = lambda line: line.startswith(b"[") and end.send(reply)
    if defect == "messages.in-pieces":
        end.deaf_to_pieces = True
    if defect in ("messages.id-type", "messages.id-null"):
        numbers = iter(range(10**6))
        end.next_id = lambda: next(numbers) + 0.5 if defect == "messages.id-type" else None
    answered = {
        "messages.unknown-notification": "acpella/does_not_exist",
        "messages.custom-notification": "_acpella.check/unknown",
        "messages.protocol-notification": "$/acpella_unknown",
    }
    failure = {"id": None, "error": {"code": -32601, "message": "no"}}
    if defect in answered:
        end.on_unknown = lambda method: method == answered[defect] and end.send(failure)
    if defect == "messages.stray-response":
        end.on_stray = lambda: end.send(failure)
    if defect == "prompt.update-kind":
        end.break_ = _also_strange
    if defect == "permission.in-turn":
        end.break_ = _late_question
    if defect in ("prompt.missing-session", "robust.wrong-type"):
        end.break_ = _other_code
    if defect == "robust.missing-params":
        end.break_ = _forgiving
    if defect == "messages.usable-after-error":
        _break_after_error(end)
    if defect == "options.ignored":
        agent.needs_choice = True


def _also_strange(message: Json, method: str) -> Any:
    if message.get("method") != "session/update":
        return message
    return (
        message,
        note("session/update", {**message["params"], "update": {"sessionUpdate": "sample_thing"}}),
    )


def _late_question(message: Json, method: str) -> Any:
    if method != "session/prompt" or "result" not in message or not _late_question.__dict__.get("asked"):
        if message.get("method") == "session/request_permission":
            _late_question.__dict__["asked"] = message
        return message
    return (message, {**_late_question.__dict__["asked"], "id": "late"})


def _other_code(message: Json, method: str) -> Any:
    if message.get("error", {}).get("code") == -32602:
        message["error"]["code"] = -32603
    return message


def _forgiving(message: Json, method: str) -> Any:
    if method == "session/new" and message.get("error", {}).get("message") == "Invalid params":
        return {"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": "out-of-nothing"}}
    return message


def _break_after_error(end: Endpoint) -> None:
    """The request after one for an unknown method fails."""
    state = {"broken": False}

    def drop(line: bytes) -> bool:
        if b"acpella/does_not_exist" in line and b'"id"' in line:
            state["broken"] = True
        elif b"session/new" in line and state["broken"]:
            state["broken"] = False
            handler = end.requests["session/new"]

            async def fail(params: Json) -> Any:
                end.requests["session/new"] = handler
                raise RpcFailure(-32603, "broken by an error before")

            end.requests["session/new"] = fail
        else:
            state["broken"] = False
        return False

    end.drop = drop
