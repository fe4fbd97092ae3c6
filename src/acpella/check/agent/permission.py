"""Questions to the user: may I?"""

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.probe import Probe, ProbedTurn, exists
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("permission", "agent", "Permission", page="tool-calls")
ASK = ("call session/request_permission",)

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


async def _run_permission_turn(probe: Probe, answer: str) -> tuple[ProbedTurn, str, CheckedFrame]:
    """Run a turn in which the agent asks before it creates a file; returns the turn, path and question."""
    path = str(probe.new_path())
    probe.permission = answer
    try:
        session = await probe.new_session()
        turn = probe.begin(session, probe.text_for("ask", command=f"touch {path}"))
        await turn.end()
    finally:
        probe.permission = "allow"
    requests = [f for f in turn.frames if f.method == "session/request_permission"]
    if not requests:
        raise Unproved("the agent did not ask")
    return turn, path, requests[0]


async def _must_not_run(probe: Probe, answer: str, what: str) -> None:
    turn, path, requests = await _run_permission_turn(probe, answer)
    if exists(path):
        raise Failed(f"the tool ran after {what}", requests, turn.answer)


@AREA.scenario("allow", rule="R-273", level="capability", needs=("ask",))
async def allow(probe: Probe) -> None:
    """A tool that was allowed runs."""
    turn, path, requests = await _run_permission_turn(probe, "allow")
    if not exists(path):
        raise Failed("the tool did not run after it was allowed", requests, turn.answer)


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
    turn, _, requests = await _run_permission_turn(probe, "reject")
    if turn.answer is None or turn.answer.is_error:
        raise Failed("the turn failed after a tool was refused", requests, turn.answer)
