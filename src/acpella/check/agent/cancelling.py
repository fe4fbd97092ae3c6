"""Cancelling turns and requests."""

import asyncio

from acpella.check.conversation import CheckedFrame
from acpella.check.link import Failed, NotOffered, TimedOut
from acpella.check.probe import Probe, ProbedTurn
from acpella.check.requirement import Area

__all__ = ["AREA"]

AREA = Area("cancel", "agent", "Cancelling", page="prompt-turn")

LONG_TURN = 1.3
"""Seconds after which a turn is one that a cancel can find running. Programs like to sleep for whole and half
seconds, so this is between them."""


async def _cancelled(probe: Probe, *, times: int = 1) -> tuple[ProbedTurn, CheckedFrame, float]:
    """Cancel a turn: that of the prompt for `slow`, or of any if there is none; returns the turn, its answer,
    and the seconds from the cancel to the answer.

    Raises:
        NotOffered: the turn ends so soon that a cancel may come too late. Whether it does depends on how busy
            the machine is, so a pass would be luck.
    """
    loop = asyncio.get_running_loop()
    session, slow = await probe.new_session(), probe.profile.has("slow")
    turn = probe.begin(session, probe.text_for("slow" if slow else "hello"))
    if slow:
        await probe.busy(turn)
    elif not await _takes_long(turn):
        await probe.begin_and_cancel(session, probe.profile.text("hello")).end()
        await probe.link.quiet(0.1)  # the audits look for what comes after a cancel, in time or not
        raise NotOffered(
            "the turn for 'hello' ends so soon that a cancel may come too late; a prompt that takes long "
            'proves it: slow = "…" under [profile] in acp-check.toml'
        )
    for _ in range(times):
        probe.link.notify("session/cancel", {"sessionId": session})
    began = loop.time()
    answer = await turn.end()
    return turn, answer, loop.time() - began


async def _takes_long(turn: ProbedTurn) -> bool:
    try:
        await turn.end(within=LONG_TURN)
    except TimedOut:
        return True
    return False


@AREA.scenario("mid-turn", rule="R-210", level="must", tck="ACP-CANCEL-001")
async def mid_turn(probe: Probe) -> None:
    """A prompt that is cancelled is answered with the stop reason `cancelled`."""
    turn, answer, _ = await _cancelled(probe)
    await probe.link.quiet(0.1)  # for updates that come too late
    if not answer.is_error and turn.stop_reason != "cancelled":
        luck = not probe.profile.has("slow")  # the turn may have ended just then, which it does not do twice
        text = f"a cancelled turn ended with {turn.stop_reason!r}"
        raise Failed(text, turn.request, answer, timing=luck)


@AREA.scenario("no-error", rule="R-211", level="must", tck="ACP-CANCEL-001")
async def no_error(probe: Probe) -> None:
    """A prompt that is cancelled is not answered with an error."""
    turn, answer, _ = await _cancelled(probe)
    if answer.is_error:
        raise Failed("a cancelled prompt was answered with an error", turn.request, answer)


@AREA.scenario("soon", rule="R-209", level="should")
async def soon(probe: Probe) -> None:
    """A cancelled turn ends within five seconds."""
    turn, answer, seconds = await _cancelled(probe)
    if seconds > 5:
        raise Failed(f"a cancelled turn ended after {seconds:.1f} seconds", turn.request, answer, timing=True)


@AREA.scenario("goes-on", rule="R-210", level="must")
async def goes_on(probe: Probe) -> None:
    """A session takes prompts after one was cancelled."""
    turn, _, _ = await _cancelled(probe)
    await probe.hello(turn.request.session or "")


@AREA.scenario("twice", rule="R-221", level="robust")
async def twice(probe: Probe) -> None:
    """A session takes prompts after a turn was cancelled twice."""
    turn, _, _ = await _cancelled(probe, times=2)
    await probe.hello(turn.request.session or "")


@AREA.scenario("idle", rule="R-213", level="robust")
async def idle(probe: Probe) -> None:
    """A cancel without a turn changes nothing."""
    session = await probe.new_session()
    probe.link.notify("session/cancel", {"sessionId": session})
    await probe.fence()
    turn = await probe.hello(session)
    if turn.stop_reason == "cancelled":
        raise Failed("a cancel before the prompt cancelled the prompt", turn.request, turn.answer)


@AREA.scenario("unknown-session", rule="R-009", level="must")
async def unknown_session(probe: Probe) -> None:
    """A cancel for a session that does not exist is not answered."""
    mark = probe.link.mark()
    sent = probe.link.notify("session/cancel", {"sessionId": "acpella-does-not-exist"})
    await probe.still_works("the agent did not go on after a cancel for an unknown session")
    stray = [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]
    if stray:
        raise Failed("a cancel was answered", sent, *stray)


@AREA.scenario("only-one", rule="R-210", level="capability", needs=("slow",))
async def only_one(probe: Probe) -> None:
    """A cancel ends the turn of its own session alone."""
    first, second = await probe.new_session(), await probe.new_session()
    turns = [probe.begin(session, probe.text_for("slow")) for session in (first, second)]
    for turn in turns:
        await probe.busy(turn)
    probe.link.notify("session/cancel", {"sessionId": first})
    await turns[0].end()
    await probe.link.quiet(0.2)
    ended = [f for f in probe.link.heard if f.request is turns[1].request]
    probe.link.notify("session/cancel", {"sessionId": second})
    await turns[1].end()
    if ended and turns[1].stop_reason == "cancelled":
        raise Failed("the cancel of one session ended the turn of another", turns[1].request, *ended)


@AREA.scenario("request-unknown", rule="R-221", level="must", page="cancellation")
async def request_unknown(probe: Probe) -> None:
    """`$/cancel_request` for a request that never was is ignored."""
    mark = probe.link.mark()
    sent = probe.link.notify("$/cancel_request", {"requestId": 987_654_321})
    await probe.still_works("the agent did not go on after $/cancel_request for an unknown id")
    stray = [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]
    if stray:
        raise Failed("$/cancel_request for an unknown id was answered", sent, *stray)


@AREA.scenario("request-finished", rule="R-221", level="robust", page="cancellation")
async def request_finished(probe: Probe) -> None:
    """`$/cancel_request` for a request that was answered changes nothing."""
    reply = await probe.fence()
    probe.link.notify("$/cancel_request", {"requestId": reply.id})
    await probe.still_works("the agent did not go on after $/cancel_request for a finished request")


@AREA.scenario("request-running", rule="R-220", level="capability", page="cancellation", needs=("slow",))
async def request_running(probe: Probe) -> None:
    """A prompt that `$/cancel_request` names is still answered: with a result or with -32800."""
    session = await probe.new_session()
    turn = probe.begin(session, probe.text_for("slow"))
    await probe.busy(turn)
    probe.link.notify("$/cancel_request", {"requestId": turn.request.id})
    await probe.link.quiet(0.5)
    if not [f for f in probe.link.heard if f.request is turn.request]:
        probe.link.notify("session/cancel", {"sessionId": session})  # `$/cancel_request` may be ignored
    answer = await turn.end()
    if answer.is_error and answer.code != -32800:
        raise Failed(
            "a request that was cancelled failed with another code than -32800", turn.request, answer
        )


@AREA.scenario("while-asking", rule="R-224", level="capability", needs=("ask",))
async def while_asking(probe: Probe) -> None:
    """A turn that is cancelled while the user is asked ends as cancelled."""
    probe.permission = "wait"
    try:
        session = await probe.new_session()
        path = probe.new_path()
        turn = probe.begin(session, probe.text_for("ask", command=f"touch {path}"))
        await probe.asked(turn)
        probe.link.notify("session/cancel", {"sessionId": session})
        answer = await turn.end()
    finally:
        probe.permission = "allow"
    if answer.is_error or turn.stop_reason != "cancelled":
        raise Failed(
            "a turn that was cancelled during a question did not end as cancelled", turn.request, answer
        )
