"""Prompts, cancelling, modes and options as the client sends them; updates as it takes them."""

from typing import Any

from acpella.check.client_probe import ClientProbe
from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["PROMPT", "UPDATES"]

PROMPT = Area("prompt", "client", "Turns", page="prompt-turn")
UPDATES = Area("updates", "client", "Updates", page="prompt-turn")

declare_call(PROMPT, "prompt", m.PROMPT, rule="R-201", level="must")
declare_call(PROMPT, "cancel", m.CANCEL, rule="R-206", level="capability")
declare_call(PROMPT, "set-mode", m.SET_MODE, rule="R-300", level="capability")
declare_call(PROMPT, "set-option", m.SET_CONFIG_OPTION, rule="R-307", level="capability")


@PROMPT.audit("session-known", rule="R-200", level="must", on=("call session/prompt",))
def session_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A prompt is for a session that was opened on this connection."""
    session = talk.session_of(frame)
    opened = session is not None and session.setup is not None and session.loading is None
    return OK if opened else f"a prompt is for the session {frame.session!r}, which is not open"


@PROMPT.audit("not-closed", rule="R-200", level="should", on=("call session/prompt",))
def not_closed(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A prompt is for a session that was not closed or deleted."""
    session = talk.session_of(frame)
    if session is None:
        return None
    return OK if not session.closed else f"a prompt is for the session {frame.session!r}, which was closed"


@PROMPT.audit("one-at-a-time", rule="R-213", level="should", on=("call session/prompt",))
def one_at_a_time(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A session gets one prompt at a time."""
    session = talk.session_of(frame)
    if session is None:
        return None
    return OK if session.prompt is None else "a prompt was sent while a turn of the session ran"


def _gate(name: str, block: str, capability: str) -> None:
    @PROMPT.audit(
        f"{name}-gate",
        rule="R-201",
        level="must",
        on=("call session/prompt",),
        page="content",
        text=f"Content of the kind {block} is sent only to agents with promptCapabilities.{capability}.",
    )
    def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if talk.agent_can(f"promptCapabilities.{capability}"):
            return None
        kinds = [as_object(item).get("type") for item in as_list(frame.params.get("prompt"))]
        return f"a prompt holds a block of the kind {block}" if block in kinds else OK


_gate("image", "image", "image")
_gate("audio", "audio", "audio")
_gate("embedded", "resource", "embeddedContext")


@PROMPT.audit("cancel-known", rule="R-206", level="should", on=("call session/cancel",))
def cancel_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A cancel is for a session of this connection."""
    known = talk.session_of(frame) is not None
    return OK if known else f"a cancel is for the session {frame.session!r}, which is not open"


@PROMPT.audit(
    "mode-offered", rule="R-300", level="capability", on=("call session/set_mode",), page="session-modes"
)
def mode_offered(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A mode is one of those that the agent offers."""
    session, id = talk.session_of(frame), frame.params.get("modeId")
    offered = session.mode_ids if session is not None else []
    return OK if id in offered else f"the mode {id!r} is not offered"


@PROMPT.audit("option-offered", rule="R-307", level="capability", on=("call session/set_config_option",),
              page="session-config-options")  # fmt: skip
def option_offered(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """An option is set to a value that it offers."""
    session = talk.session_of(frame)
    option = session.option(frame.params.get("configId")) if session is not None else None
    if option is None:
        return f"the option {frame.params.get('configId')!r} is not offered"
    value = frame.params.get("value")
    if option.get("type") == "boolean":
        return OK if isinstance(value, bool) else f"the option {option.get('id')!r} was set to {value!r}"
    text = str(option.get("options"))
    return OK if isinstance(value, str) and repr(value) in text else f"the value {value!r} is not offered"


# -- updates -----------------------------------------------------------------------------------


async def _takes(probe: ClientProbe, what: str, name: str, /, **fields: Any) -> None:
    probe.update(name, **fields)
    await probe.still_works(f"the client did not go on after {what}")


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@UPDATES.scenario("message", rule="R-109", level="must")
async def message(probe: ClientProbe) -> None:
    """The client takes what the agent says."""
    await _takes(probe, "a message", "agent_message_chunk", content=_text("words\n"))


@UPDATES.scenario("thought", rule="R-109", level="must")
async def thought(probe: ClientProbe) -> None:
    """The client takes what the agent thinks."""
    await _takes(probe, "a thought", "agent_thought_chunk", content=_text("thinking\n"))


@UPDATES.scenario("plan", rule="R-241", level="must", page="agent-plan")
async def plan(probe: ClientProbe) -> None:
    """The client takes a plan."""
    entry = {"content": "check", "priority": "high", "status": "in_progress"}
    await _takes(probe, "a plan", "plan", entries=[entry])


@UPDATES.scenario("tool-call", rule="R-261", level="must", page="tool-calls")
async def tool_call(probe: ClientProbe) -> None:
    """The client takes a tool call and its changes."""
    probe.update("tool_call", toolCallId="seen", title="A tool", kind="read", status="pending")
    content = [{"type": "content", "content": _text("output")}]
    await _takes(
        probe, "a tool call", "tool_call_update", toolCallId="seen", status="completed", content=content
    )


@UPDATES.scenario("unknown-tool-call", rule="R-261", level="robust", page="tool-calls")
async def unknown_tool_call(probe: ClientProbe) -> None:
    """The client survives a change of a tool call that was never announced."""
    await _takes(
        probe, "an unknown tool call", "tool_call_update", toolCallId="never-seen", status="completed"
    )


@UPDATES.scenario("diff", rule="R-261", level="must", page="tool-calls")
async def diff(probe: ClientProbe) -> None:
    """The client takes a tool call with a diff."""
    content = [{"type": "diff", "path": probe.path(), "oldText": "a\n", "newText": "b\n"}]
    await _takes(probe, "a diff", "tool_call", toolCallId="diff", title="Edit", kind="edit", content=content)


@UPDATES.scenario("commands", rule="R-310", level="must", page="slash-commands")
async def commands(probe: ClientProbe) -> None:
    """The client takes a list of commands."""
    listed = [{"name": "check", "description": "Check again", "input": {"hint": "what"}}]
    await _takes(probe, "commands", "available_commands_update", availableCommands=listed)


@UPDATES.scenario("mode", rule="R-300", level="must", page="session-modes")
async def mode(probe: ClientProbe) -> None:
    """The client takes a change of the mode."""
    await _takes(probe, "a change of the mode", "current_mode_update", currentModeId="other")


@UPDATES.scenario("unknown-kind", rule="R-034", level="must")
async def unknown_kind(probe: ClientProbe) -> None:
    """The client survives an update of a kind that it does not know."""
    await _takes(probe, "an unknown update", "acpella_unknown_update", content=_text("x"))


@UPDATES.scenario("malformed", rule="R-034", level="must")
async def malformed(probe: ClientProbe) -> None:
    """The client survives an update that cannot be read."""
    await _takes(probe, "a malformed update", "tool_call", title=7)


@UPDATES.scenario("unknown-session", rule="R-034", level="robust")
async def unknown_session(probe: ClientProbe) -> None:
    """The client survives an update of a session that it does not know."""
    probe.update("agent_message_chunk", session="acpella-nobody", content=_text("x"))
    await probe.still_works("the client did not go on after an update of an unknown session")


@UPDATES.scenario("unknown-option-type", rule="R-305", level="robust", page="session-config-options")
async def unknown_option_type(probe: ClientProbe) -> None:
    """The client survives an option of a type that it does not know."""
    option = {"id": "x", "name": "X", "type": "acpella_dial", "currentValue": 3}
    await _takes(probe, "an unknown option", "config_option_update", configOptions=[option])


@UPDATES.scenario("flood", rule="R-109", level="robust")
async def flood(probe: ClientProbe) -> None:
    """The client survives two thousand updates in a row."""
    for _ in range(2000):
        probe.update("agent_thought_chunk", content=_text("."))
    await probe.still_works("the client did not go on after 2000 updates")


@PROMPT.scenario("cancel", rule="R-206", level="info", needs=("user",))
async def cancel(probe: ClientProbe) -> None:
    """The user of a client can cancel a turn, also during a question."""
    probe.say("Do not answer the next question: cancel this turn instead.\n")
    reply = await probe.ask("allow_once", "reject_once", title="Cancel the turn now")
    if not probe.cancelled.is_set():
        raise Failed("the question was answered, and the turn was not cancelled", reply.request, reply)
