"""Turns: prompts, their answers, and the updates in between."""

import base64

from acpella.check.conversation import CheckedConversation, CheckedFrame
from acpella.check.link import Failed, Gone, TimedOut
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Problem, Verdict
from acpella.check.shapes import declare_answer, declare_update
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("prompt", "agent", "Turns", page="prompt-turn")

TURN_UPDATES = (
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
)
"""What belongs to a turn. Other updates may come at any time (R-214)."""

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
        "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00"
    b"\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
).decode()

declare_answer(AREA, "prompt", m.PROMPT, rule="R-202", level="must", tck="ACP-PROMPT-001")
declare_update(AREA, "user_message_chunk", rule="R-240")
declare_update(AREA, "agent_message_chunk", rule="R-240")
declare_update(AREA, "agent_thought_chunk", rule="R-240")
declare_update(AREA, "plan", rule="R-241", page="agent-plan")
declare_update(AREA, "session_info_update", rule="R-243", page="session-list")
declare_update(AREA, "usage_update", rule="R-242", page="session-usage")
declare_update(AREA, "notice", rule="R-245")
declare_update(AREA, "compaction_update", rule="R-246")
declare_update(AREA, "compaction_summary_chunk", rule="R-246")
declare_update(AREA, "plan_update", rule="R-244")
declare_update(AREA, "plan_removed", rule="R-244")
declare_update(AREA, "subagent_update", rule="R-249")
declare_update(AREA, "session_message", rule="R-249")


@AREA.audit("update-kind", rule="R-033", level="must", on=("update",), page="schema")
def update_kind(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Every update is of a kind that the protocol has."""
    return OK if frame.update_kind in UPDATE_KINDS else f"there is no update {frame.update_kind!r}"


@AREA.audit("session-known", rule="R-140", level="must", on=("update",), tck="ACP-PROMPT-002")
def session_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Every update is about a session of this connection."""
    if talk.session_of(frame) is not None or frame.session in talk.subagents or talk.is_creating():
        return OK
    return f"an update is about the session {frame.session!r}, which was not opened here"


@AREA.audit("late-after-cancel", rule="R-212", level="must", on=("update", "answer session/prompt"),
            tck="ACP-CANCEL-002")  # fmt: skip
def late_after_cancel(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """After a cancelled prompt was answered, nothing of its turn follows."""
    session = talk.session_of(frame)
    if frame.kind == "response":
        return OK if session is not None and session.cancel is not None else None
    if session is None or session.prompt or session.loading or not session.was_cancelled:
        return None
    if frame.update_kind in TURN_UPDATES:
        return Problem(
            f"{frame.update_kind} came after the answer to a cancelled prompt", _last(talk, session.id)
        )
    return OK


@AREA.audit("late", rule="R-205", level="should", on=("update",))
def late(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """All updates of a turn come before the answer to its prompt."""
    session = talk.session_of(frame)
    if session is None or session.loading is not None or session.was_cancelled:
        return None
    if session.prompt is None and session.turns and frame.update_kind in TURN_UPDATES:
        return Problem(f"{frame.update_kind} came after the answer to the prompt", _last(talk, session.id))
    return OK


def _last(talk: CheckedConversation, id: str) -> tuple[CheckedFrame, ...]:
    answer = talk.sessions[id].answer
    return () if answer is None else (answer,)


def _gate(name: str, capability: str, kinds: tuple[str, ...], what: str) -> None:
    @AREA.audit(
        f"{name}-gate",
        rule="R-244",
        level="must",
        on=("answer session/prompt", *(f"update {kind}" for kind in kinds)),
        page="schema",
        text=f"{what} are sent only to clients that announced clientCapabilities.{capability}.",
    )
    def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if talk.client_can(capability):
            return None
        if frame.kind == "response":
            return OK
        return f"{frame.update_kind} was sent to a client without clientCapabilities.{capability}"


_gate("notice", "session.notices", ("notice",), "Notices")
_gate("compaction", "session.compaction", ("compaction_update", "compaction_summary_chunk"), "Compactions")
_gate("plan", "plan", ("plan_update", "plan_removed"), "Plans with ids")
_gate("subagent", "subagents", ("subagent_update", "session_message", "session_message_chunk"), "Sub-agents")

UPDATE_KINDS = {
    *TURN_UPDATES,
    *("available_commands_update", "current_mode_update", "config_option_update"),
    *("session_info_update", "usage_update", "notice", "compaction_update", "compaction_summary_chunk"),
    *("plan_update", "plan_removed", "subagent_update", "session_message", "session_message_chunk"),
}


@AREA.audit(
    "message-id", rule="R-240", level="should", on=("update user_message_chunk", "update agent_message_chunk")
)
def message_id(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """One message id is not used for words of the user and of the agent."""
    session, id = talk.session_of(frame), frame.update.get("messageId")
    if session is None or not isinstance(id, str):
        return None
    first = session.message_kinds.get(id, frame.update_kind)
    mixed = first != frame.update_kind and "user_message_chunk" in (first, frame.update_kind)
    return f"the message id {id!r} is used for a {first} and a {frame.update_kind}" if mixed else OK


@AREA.audit("compaction-order", rule="R-246", level="capability", on=("update compaction_update",))
def compaction_order(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A compaction that has ended does not go on."""
    id, session = frame.update.get("compactionId"), frame.session
    ended = [
        f
        for f in talk.frames
        if f.update_kind == "compaction_update"
        and f.session == session
        and f.update.get("compactionId") == id
        and f.update.get("status") in ("completed", "failed", "cancelled")
    ]
    return Problem(f"the compaction {id!r} had ended", (ended[0],)) if ended else OK


@AREA.scenario("text", rule="R-202", level="must", tck="ACP-PROMPT-001")
async def text(probe: Probe) -> None:
    """A prompt is answered with the reason why its turn ended."""
    turn = await probe.hello(await probe.new_session())
    if not isinstance(turn.stop_reason, str):
        raise Failed("the answer has no stop reason", turn.request, turn.answer)


@AREA.scenario("says-something", rule="R-108", level="should")
async def says_something(probe: Probe) -> None:
    """A turn that ends by itself has shown something to the user."""
    turn = await probe.hello(await probe.new_session())
    if turn.stop_reason == "end_turn" and not [u for u in turn.updates if u.update_kind in TURN_UPDATES]:
        raise Failed("the turn ended without any update", turn.request, turn.answer)


@AREA.scenario("again", rule="R-202", level="must")
async def again(probe: Probe) -> None:
    """A session takes a second prompt after the first."""
    session = await probe.new_session()
    await probe.hello(session)
    await probe.hello(session)


@AREA.scenario("resource-link", rule="R-107", level="should", tck="ACP-PROMPT-003", page="content")
async def resource_link(probe: Probe) -> None:
    """A prompt may hold a link to a resource."""
    path = probe.new_path()
    path.write_text("hello\n", encoding="utf-8")
    link = {"type": "resource_link", "uri": path.as_uri(), "name": path.name}
    await probe.prompt(await probe.new_session(), [_words(probe), link])


def _words(probe: Probe) -> dict[str, str]:
    return {"type": "text", "text": probe.profile.text("hello")}


@AREA.scenario("image", rule="R-107", level="capability", tck="ACP-PROMPTCAP-001", page="content")
async def image(probe: Probe) -> None:
    """An agent that offers images takes one in a prompt."""
    probe.offered("promptCapabilities.image")
    picture = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    await probe.prompt(await probe.new_session(), [_words(probe), picture])


@AREA.scenario("audio", rule="R-107", level="capability", tck="ACP-PROMPTCAP-002", page="content")
async def audio(probe: Probe) -> None:
    """An agent that offers audio takes it in a prompt."""
    probe.offered("promptCapabilities.audio")
    sound = {"type": "audio", "mimeType": "audio/wav", "data": SILENCE}
    await probe.prompt(await probe.new_session(), [_words(probe), sound])


@AREA.scenario("embedded-text", rule="R-107", level="capability", tck="ACP-PROMPTCAP-003", page="content")
async def embedded_text(probe: Probe) -> None:
    """An agent that offers embedded context takes a text in a prompt."""
    probe.offered("promptCapabilities.embeddedContext")
    resource = {"uri": probe.new_path().as_uri(), "mimeType": "text/plain", "text": "hello"}
    await probe.prompt(await probe.new_session(), [_words(probe), {"type": "resource", "resource": resource}])


@AREA.scenario("embedded-blob", rule="R-281", level="capability", tck="ACP-PROMPTCAP-003", page="content")
async def embedded_blob(probe: Probe) -> None:
    """An agent that offers embedded context takes binary data in a prompt."""
    probe.offered("promptCapabilities.embeddedContext")
    resource = {"uri": probe.new_path(".png").as_uri(), "mimeType": "image/png", "blob": PIXEL}
    await probe.prompt(await probe.new_session(), [_words(probe), {"type": "resource", "resource": resource}])


@AREA.scenario("missing-session", rule="R-202", level="should")
async def missing_session(probe: Probe) -> None:
    """A prompt that names no session is refused with -32602."""
    reply = await probe.link.call("session/prompt", {"prompt": [_words(probe)]})
    if reply.code != -32602:
        raise Failed("a prompt without a session did not fail with -32602", reply.request, reply)


@AREA.scenario("empty", rule="R-202", level="robust")
async def empty(probe: Probe) -> None:
    """A prompt without any content is answered or refused, and the session goes on."""
    session = await probe.new_session()
    await probe.begin(session, []).end()
    await probe.hello(session)


@AREA.scenario("unknown-block", rule="R-033", level="robust", page="content")
async def unknown_block(probe: Probe) -> None:
    """A prompt with content of an unknown kind is answered or refused, and the session goes on."""
    session = await probe.new_session()
    await probe.begin(session, [_words(probe), {"type": "acpella_unknown", "data": 1}]).end()
    await probe.hello(session)


@AREA.scenario("annotations", rule="R-280", level="robust", page="content")
async def annotations(probe: Probe) -> None:
    """Annotations in a prompt do not disturb."""
    notes = {"audience": ["assistant"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
    await probe.prompt(await probe.new_session(), [{**_words(probe), "annotations": notes}])


@AREA.scenario("unicode", rule="R-001", level="must", page="transports")
async def unicode(probe: Probe) -> None:
    """A prompt may hold any character: line separators, emoji, controls, combining marks."""
    words = (
        probe.profile.text("hello") + " \u2028\u2029 \U0001f469\u200d\U0001f680 \x01 e\u0301 \u202e \ufeff"
    )
    await probe.prompt(await probe.new_session(), words)


@AREA.scenario("large", rule="R-016", level="robust", page="transports")
async def large(probe: Probe) -> None:
    """A prompt of one megabyte is answered or refused, and the agent goes on."""
    session = await probe.new_session()
    words = [_words(probe), {"type": "text", "text": "x " * 500_000}]
    try:
        await probe.begin(session, words).end()
    except (TimedOut, Gone) as failure:
        raise Failed(f"a prompt of 1 MB was too much: {failure.text}", timing=failure.timing) from None
    await probe.still_works("the agent did not go on after a prompt of 1 MB")


@AREA.scenario("second-while-busy", rule="R-213", level="robust", needs=("slow",))
async def second_while_busy(probe: Probe) -> None:
    """A second prompt during a turn is refused or waits; both are answered after a cancel."""
    session = await probe.new_session()
    first = probe.begin(session, probe.text_for("slow"))
    await probe.busy(first)
    second = probe.begin(session, probe.profile.text("hello"))
    await probe.link.quiet(0.1)
    probe.link.notify("session/cancel", {"sessionId": session})
    await first.end()
    probe.link.notify("session/cancel", {"sessionId": session})
    await second.end()


@AREA.scenario("others-while-busy", rule="R-202", level="robust", needs=("slow",))
async def others_while_busy(probe: Probe) -> None:
    """Other requests are answered while a turn runs."""
    session = await probe.new_session()
    turn = probe.begin(session, probe.text_for("slow"))
    await probe.busy(turn)
    try:
        await probe.new_session()
    finally:
        probe.link.notify("session/cancel", {"sessionId": session})
        await turn.end()
