"""Questions to the user: may I?"""

from dataclasses import dataclass

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.probe import Probe, ProbedTurn, exists
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("permission", "agent", "Permission", page="tool-calls")
ASK = ("call session/request_permission",)
FINAL = ("completed", "failed")

declare_call(AREA, "request", m.REQUEST_PERMISSION, rule="R-270", level="capability")


@AREA.audit("has-options", rule="R-270", level="capability", on=ASK)
def has_options(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question has at least one option."""
    return OK if as_list(frame.params.get("options")) else "a question has no options"


@AREA.audit("option-ids", rule="R-271", level="capability", on=ASK)
def option_ids(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Each option of a question has an id of its own."""
    ids = [as_object(option).get("optionId") for option in as_list(frame.params.get("options"))]
    twice = [id for id in ids if ids.count(id) > 1]
    return f"two options have the id {twice[0]!r}" if twice else OK


@AREA.audit("can-refuse", rule="R-273", level="info", on=ASK)
def can_refuse(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question has an option that says no."""
    kinds = [str(as_object(option).get("kind")) for option in as_list(frame.params.get("options"))]
    return OK if any(kind.startswith("reject") for kind in kinds) else f"the options are {kinds}"


@AREA.audit("session-known", rule="R-140", level="capability", on=ASK)
def session_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question is about a session of this connection."""
    known = talk.session_of(frame) is not None or frame.session in talk.subagents
    return OK if known else f"a question is about the session {frame.session!r}"


@AREA.audit("in-turn", rule="R-270", level="should", on=ASK)
def in_turn(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question is asked during a turn."""
    session = talk.session_of(frame)
    if session is None:
        return None
    return OK if session.prompt is not None else "a question was asked while no turn ran"


@dataclass(frozen=True)
class _Asked:
    """A turn in which the agent asked, and what came of it."""

    turn: ProbedTurn
    ran: bool | None
    """Whether the tool ran; None if that cannot be seen."""
    how: str
    """What that is known by."""
    frames: tuple[CheckedFrame | None, ...]
    """The question, the answer to it, what became of the tool call, and the end of the turn."""


async def _run_permission_turn(probe: Probe, answer: str) -> _Asked:
    """Run a turn in which the agent asks before it runs a command."""
    path = str(probe.new_path())
    probe.permission = answer
    try:
        session = await probe.new_session()
        turn = probe.begin(session, probe.text_for("ask", command=f"touch {path}"))
        await turn.end()
    finally:
        probe.permission = "allow"
    questions = [f for f in turn.frames if f.method == "session/request_permission"]
    if not questions:
        raise Unproved("the agent did not ask")
    question = questions[0]
    answered = next((f for f in probe.link.sent if f.kind == "response" and f.request is question), None)
    after = [f for f in turn.updates if answered is not None and f.number > answered.number]
    call = as_object(question.params.get("toolCall")).get("toolCallId")
    ends = [f for f in after if f.update.get("toolCallId") == call and f.update.get("status") in FINAL]
    status = ends[-1].update["status"] if ends else None
    if probe.profile.names("ask", "command"):
        ran, how = (
            exists(path),
            "the file that the command makes is " + ("there" if exists(path) else "missing"),
        )
    else:  # nothing is known of what the tool does, so the agent's word for it counts
        ran, how = (
            None if status is None else status == "completed",
            f"the tool call was reported as {status}",
        )
    return _Asked(turn, ran, how, (question, answered, *ends[-1:], turn.answer))


def _unseen(asked: _Asked, what: str) -> Unproved:
    how = "the end of the tool call was not reported" if asked.ran is None else asked.how
    return Unproved(f"{how} {what}; a prompt for 'ask' with {{command}} in it shows whether the tool ran")


async def _must_not_run(probe: Probe, answer: str, what: str) -> None:
    asked = await _run_permission_turn(probe, answer)
    if asked.ran is None:
        raise _unseen(asked, f"after {what}")
    if asked.ran:
        raise Failed(f"the tool ran after {what}: {asked.how}", *asked.frames)


@AREA.scenario("allow", rule="R-273", level="capability", needs=("ask",))
async def allow(probe: Probe) -> None:
    """A tool that was allowed runs."""
    asked = await _run_permission_turn(probe, "allow")
    if asked.ran is None or not (asked.ran or probe.profile.names("ask", "command")):
        raise _unseen(asked, "after it was allowed")  # a tool that was allowed may fail for its own reasons
    if not asked.ran:
        raise Failed(f"the tool did not run after it was allowed: {asked.how}", *asked.frames)


@AREA.scenario("reject", rule="R-273", level="capability", needs=("ask",))
async def reject(probe: Probe) -> None:
    """A tool that was refused does not run."""
    await _must_not_run(probe, "reject", "it was refused")


@AREA.scenario("cancelled-outcome", rule="R-273", level="capability", needs=("ask",))
async def cancelled_outcome(probe: Probe) -> None:
    """A tool does not run if its question was answered with the outcome `cancelled`."""
    await _must_not_run(probe, "cancel", "the question was cancelled")


@AREA.scenario("unknown-option", rule="R-271", level="robust", needs=("ask",))
async def unknown_option(probe: Probe) -> None:
    """A tool does not run if its question was answered with an option that was not offered."""
    await _must_not_run(probe, "unknown", "an option that was not offered")


@AREA.scenario("failed-question", rule="R-273", level="robust", needs=("ask",))
async def failed_question(probe: Probe) -> None:
    """A tool does not run if its question failed."""
    await _must_not_run(probe, "error", "its question failed")


@AREA.scenario("reject-goes-on", rule="R-202", level="capability", needs=("ask",))
async def reject_goes_on(probe: Probe) -> None:
    """A turn whose tool was refused still ends with a stop reason."""
    asked = await _run_permission_turn(probe, "reject")
    if asked.turn.answer is None or asked.turn.answer.is_error:
        raise Failed("the turn failed after a tool was refused", *asked.frames)
