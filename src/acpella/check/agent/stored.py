"""Sessions that were there before: list, load, resume, fork, close, delete."""

from dataclasses import dataclass
from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.paths import is_absolute, same_path
from acpella.check.probe import Probe, message_text
from acpella.check.requirement import OK, Area, Problem, Verdict
from acpella.check.shapes import declare_answer
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("stored", "agent", "Stored sessions", page="session-setup")

HISTORY = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
MAX_PAGES = 20
"""The most pages of a list that are read. Without a limit, a list whose cursors never end is read forever."""

declare_answer(AREA, "load", m.LOAD_SESSION, rule="R-142", level="capability", tck="ACP-LOAD-001")
declare_answer(AREA, "resume", m.RESUME_SESSION, rule="R-143", level="capability", tck="ACP-RESUME-001")
declare_answer(AREA, "list", m.LIST_SESSIONS, rule="R-160", level="capability", tck="ACP-LIST-001")
declare_answer(AREA, "close", m.CLOSE_SESSION, rule="R-175", level="capability", tck="ACP-CLOSE-001")
declare_answer(AREA, "delete", m.DELETE_SESSION, rule="R-170", level="capability", tck="ACP-DELETE-001")
declare_answer(AREA, "fork", m.FORK_SESSION, rule="R-141", level="capability")
declare_answer(AREA, "title", m.SET_TITLE, rule="R-141", level="capability")


@AREA.audit(
    "list-absolute", rule="R-020", level="capability", on=("answer session/list",), page="session-list"
)
def list_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Listed sessions have absolute working directories."""
    entries = [as_object(entry) for entry in as_list(as_object(frame.result).get("sessions"))]
    if not entries:
        return None
    bad = [e.get("cwd") for e in entries if isinstance(e.get("cwd"), str) and not is_absolute(e["cwd"])]
    return f"a listed session has the cwd {bad[0]!r}" if bad else OK


@AREA.audit("list-once", rule="R-140", level="capability", on=("answer session/list",), page="session-list")
def list_once(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A page of a list names a session once."""
    ids = [as_object(entry).get("sessionId") for entry in as_list(as_object(frame.result).get("sessions"))]
    twice = [id for id in ids if ids.count(id) > 1]
    return f"the session {twice[0]!r} is listed twice" if twice else (OK if ids else None)


@AREA.audit("resume-silent", rule="R-143", level="capability", on=("update",), tck="ACP-RESUME-002")
def resume_silent(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Resuming sends no history."""
    session = talk.session_of(frame)
    if session is None or session.loading is None or session.loading.method != "session/resume":
        return None
    if frame.update_kind in HISTORY:
        return Problem(f"{frame.update_kind} was sent before session/resume was answered", (session.loading,))
    return OK


@AREA.audit("notice-replayed", rule="R-145", level="should", on=("update notice",), page="session-setup")
def notice_replayed(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Notices are not part of a replay."""
    session = talk.session_of(frame)
    if session is not None and session.loading is not None and session.loading.method == "session/load":
        return Problem("a notice was replayed", (session.loading,))
    return OK


async def _told(probe: Probe) -> tuple[str, str, str]:
    """Make a session with one turn; returns its id, what the user said, and what the agent said."""
    session = await probe.new_session()
    words = probe.profile.text("hello")
    turn = await probe.prompt(session, words)
    if not turn.text.strip():
        raise Unproved("the agent said nothing that could be replayed")
    return session, words, turn.text


@dataclass(frozen=True)
class _Again:
    """A session that was loaded or resumed."""

    words: str
    said: str
    reply: CheckedFrame
    probe: Probe
    mark: int

    @property
    def before(self) -> list[CheckedFrame]:
        """The updates before the answer."""
        frames = self.probe.link.since(self.mark)
        return [f for f in frames[: frames.index(self.reply)] if f.method == "session/update"]

    @property
    def after(self) -> list[CheckedFrame]:
        """What came after the answer."""
        frames = self.probe.link.since(self.mark)
        return frames[frames.index(self.reply) + 1 :]


async def _open_again(probe: Probe, method: str) -> _Again:
    """Load or resume a session: on a new connection, or on the old one if the agent refuses that."""
    session, words, updates = await _told(probe)
    again = await probe.another()
    mark = again.link.mark()
    params: dict[str, Any] = {"sessionId": session, "cwd": probe.directory, "mcpServers": []}
    reply = await again.link.call(method, params)
    if not reply.is_error:
        return _Again(words, updates, reply, again, mark)
    mark = probe.link.mark()
    reply = await probe.link.call(method, params)
    if reply.is_error:
        raise Failed(f"{method} failed for a session that has just been used", reply.request, reply)
    return _Again(words, updates, reply, probe, mark)


@AREA.scenario("load", rule="R-142", level="capability", connection="fresh", tck="ACP-LOAD-001")
async def load(probe: Probe) -> None:
    """A session that was used can be loaded."""
    probe.offered("loadSession")
    await _open_again(probe, "session/load")


@AREA.scenario("load-after-restart", rule="R-142", level="should", connection="fresh")
async def load_after_restart(probe: Probe) -> None:
    """A session can be loaded by a new process of the agent."""
    probe.offered("loadSession")
    session, _, _ = await _told(probe)
    await probe.close()  # an agent may refuse a session that another of its processes still has open
    again = await probe.another()
    params: dict[str, Any] = {"sessionId": session, "cwd": probe.directory, "mcpServers": []}
    reply = await again.link.call("session/load", params)
    if reply.is_error:
        raise Failed("session/load failed in a new process", reply.request, reply)


@AREA.scenario(
    "load-user", rule="R-142", level="capability", connection="fresh", transports=("stdio", "websocket")
)
async def load_user(probe: Probe) -> None:
    """Loading replays what the user said, before it is answered."""
    probe.offered("loadSession")
    again = await _open_again(probe, "session/load")
    if again.words not in message_text(again.before, "user_message_chunk"):
        reply = again.reply
        raise Failed("what the user said was not replayed before the answer", reply.request, reply)


@AREA.scenario(
    "load-agent", rule="R-142", level="capability", connection="fresh", transports=("stdio", "websocket")
)
async def load_agent(probe: Probe) -> None:
    """Loading replays what the agent said, before it is answered."""
    probe.offered("loadSession")
    again = await _open_again(probe, "session/load")
    replayed = message_text(again.before, "agent_message_chunk").strip()
    # notices that were sent as messages need not be replayed, so it is enough to find the end of the answer
    if not replayed or (replayed not in again.said and again.said.strip()[-20:] not in replayed):
        reply = again.reply
        raise Failed("what the agent said was not replayed before the answer", reply.request, reply)


@AREA.scenario(
    "load-order", rule="R-142", level="capability", connection="fresh", transports=("stdio", "websocket")
)
async def load_order(probe: Probe) -> None:
    """Loading replays the user's words before the agent's answer to them."""
    probe.offered("loadSession")
    again = await _open_again(probe, "session/load")
    kinds = [f.update_kind for f in again.before]
    if "user_message_chunk" not in kinds or "agent_message_chunk" not in kinds:
        raise Unproved("the replay does not hold both")
    if kinds.index("user_message_chunk") > kinds.index("agent_message_chunk"):
        raise Failed("the agent's words were replayed before the user's", *again.before[:3])


@AREA.scenario("load-late", rule="R-142", level="capability", connection="fresh", tck="ACP-LOAD-002",
               transports=("stdio", "websocket"))  # fmt: skip
async def load_late(probe: Probe) -> None:
    """Nothing of a replay comes after loading was answered."""
    probe.offered("loadSession")
    again = await _open_again(probe, "session/load")
    await again.probe.link.quiet(0.3)
    late = [f for f in again.after if f.update_kind in HISTORY]
    if late:
        raise Failed("history was sent after session/load was answered", again.reply, *late[:2])


@AREA.scenario("load-prompt", rule="R-142", level="capability", connection="fresh")
async def load_prompt(probe: Probe) -> None:
    """A session that was loaded takes prompts."""
    probe.offered("loadSession")
    session, _, _ = await _told(probe)
    params: dict[str, Any] = {"sessionId": session, "cwd": probe.directory, "mcpServers": []}
    reply = await probe.link.call("session/load", params)
    if reply.is_error:
        raise Unproved("the session could not be loaded on the connection that made it")
    await probe.hello(session)


async def _refused(probe: Probe, method: str, **more: Any) -> None:
    params: dict[str, Any] = {"sessionId": "acpella-does-not-exist", **more}
    reply = await probe.link.call(method, params)
    if not reply.is_error:
        raise Failed(f"{method} succeeded for a session that does not exist", reply.request, reply)


@AREA.scenario("load-unknown", rule="R-142", level="should")
async def load_unknown(probe: Probe) -> None:
    """Loading a session that does not exist fails."""
    probe.offered("loadSession")
    await _refused(probe, "session/load", cwd=probe.directory, mcpServers=[])


@AREA.scenario("resume", rule="R-143", level="capability", connection="fresh", tck="ACP-RESUME-001")
async def resume(probe: Probe) -> None:
    """A session that was used can be resumed."""
    probe.offered("sessionCapabilities.resume")
    await _open_again(probe, "session/resume")


@AREA.scenario("resume-prompt", rule="R-143", level="capability", connection="fresh")
async def resume_prompt(probe: Probe) -> None:
    """A session that was resumed takes prompts."""
    probe.offered("sessionCapabilities.resume")
    session, _, _ = await _told(probe)
    reply = await probe.link.call("session/resume", {"sessionId": session, "cwd": probe.directory})
    if reply.is_error:
        raise Unproved("the session could not be resumed on the connection that made it")
    await probe.hello(session)


@AREA.scenario("resume-unknown", rule="R-143", level="should")
async def resume_unknown(probe: Probe) -> None:
    """Resuming a session that does not exist fails."""
    probe.offered("sessionCapabilities.resume")
    await _refused(probe, "session/resume", cwd=probe.directory)


async def _list(probe: Probe, **params: Any) -> list[dict[str, Any]]:
    """All pages of a list."""
    entries: list[dict[str, Any]] = []
    cursors: set[str] = set()
    for _ in range(MAX_PAGES):
        reply = await probe.link.call("session/list", params)
        if reply.is_error:
            raise Failed("session/list is offered and failed", reply.request, reply)
        entries += [as_object(entry) for entry in as_list(as_object(reply.result).get("sessions"))]
        cursor = as_object(reply.result).get("nextCursor")
        if not isinstance(cursor, str):
            return entries
        if cursor in cursors:
            raise Failed(f"the cursor {cursor!r} came twice: the list never ends", reply.request, reply)
        cursors.add(cursor)
        params = {**params, "cursor": cursor}
    return entries


@AREA.scenario("list", rule="R-160", level="capability", tck="ACP-LIST-001", page="session-list")
async def list_all(probe: Probe) -> None:
    """Sessions can be listed without any parameter, and the pages end."""
    probe.offered("sessionCapabilities.list")
    await _list(probe)


@AREA.scenario("list-has-it", rule="R-160", level="should", page="session-list")
async def list_has_it(probe: Probe) -> None:
    """A session that was used is listed."""
    probe.offered("sessionCapabilities.list")
    session, _, _ = await _told(probe)
    entries = await _list(probe, cwd=probe.directory)
    if session not in [entry.get("sessionId") for entry in entries]:
        raise Failed("a session that was used is not in the list of its cwd", *probe.link.heard[-1:])


@AREA.scenario("list-filter", rule="R-160", level="capability", page="session-list")
async def list_filter(probe: Probe) -> None:
    """A list for a working directory holds only sessions of that directory."""
    probe.offered("sessionCapabilities.list")
    await _told(probe)
    for entry in await _list(probe, cwd=probe.directory):
        cwd = entry.get("cwd")
        if isinstance(cwd, str) and not same_path(cwd, probe.directory):
            raise Failed(f"the list of one cwd has a session of {cwd}", *probe.link.heard[-1:])


@AREA.scenario("list-empty", rule="R-160", level="capability", tck="ACP-LIST-002", page="session-list")
async def list_empty(probe: Probe) -> None:
    """A list for a directory without sessions is empty, and no error."""
    probe.offered("sessionCapabilities.list")
    reply = await probe.link.call("session/list", {"cwd": probe.new_directory()})
    if reply.is_error or as_object(reply.result).get("sessions") != []:
        raise Failed("the list of a directory without sessions is not []", reply.request, reply)


@AREA.scenario("list-cursor", rule="R-162", level="should", page="session-list")
async def list_cursor(probe: Probe) -> None:
    """A cursor that the agent has not made is refused."""
    probe.offered("sessionCapabilities.list")
    reply = await probe.link.call("session/list", {"cursor": "acpella-made-this-up"})
    if not reply.is_error:
        raise Failed("a cursor that was made up is accepted", reply.request, reply)


@AREA.scenario("list-changes-nothing", rule="R-164", level="capability", page="session-list")
async def list_changes_nothing(probe: Probe) -> None:
    """Two lists in a row are the same."""
    probe.offered("sessionCapabilities.list")
    directory = probe.directory
    first = {entry.get("sessionId") for entry in await _list(probe, cwd=directory)}
    second = {entry.get("sessionId") for entry in await _list(probe, cwd=directory)}
    if first != second:
        raise Failed("two lists in a row differ", *probe.link.heard[-2:])


@AREA.scenario("close", rule="R-175", level="capability", tck="ACP-CLOSE-001")
async def close(probe: Probe) -> None:
    """A session can be closed."""
    probe.offered("sessionCapabilities.close")
    reply = await probe.link.call("session/close", {"sessionId": await probe.new_session()})
    if reply.is_error:
        raise Failed("session/close is offered and failed", reply.request, reply)


@AREA.scenario("close-cancels", rule="R-175", level="capability", tck="ACP-CLOSE-002", needs=("slow",))
async def close_cancels(probe: Probe) -> None:
    """Closing a session during a turn ends the turn as cancelled."""
    probe.offered("sessionCapabilities.close")
    session = await probe.new_session()
    turn = probe.begin(session, probe.text_for("slow"))
    await probe.busy(turn)
    closing = await probe.link.call("session/close", {"sessionId": session})
    answer = await turn.end()
    if answer.is_error or turn.stop_reason != "cancelled":
        raise Failed("the turn of a closed session did not end as cancelled", turn.request, closing, answer)


@AREA.scenario("delete", rule="R-170", level="capability", tck="ACP-DELETE-001", page="session-delete")
async def delete(probe: Probe) -> None:
    """A session can be deleted."""
    probe.offered("sessionCapabilities.delete")
    session, _, _ = await _told(probe)
    reply = await probe.link.call("session/delete", {"sessionId": session})
    if reply.is_error:
        raise Failed("session/delete is offered and failed", reply.request, reply)


@AREA.scenario("delete-unlists", rule="R-170", level="capability", page="session-delete")
async def delete_unlists(probe: Probe) -> None:
    """A session that was deleted is no longer listed."""
    probe.offered("sessionCapabilities.delete")
    probe.offered("sessionCapabilities.list")
    session, _, _ = await _told(probe)
    reply = await probe.link.call("session/delete", {"sessionId": session})
    listed = [entry.get("sessionId") for entry in await _list(probe, cwd=probe.directory)]
    if session in listed:
        raise Failed("a deleted session is listed", reply.request, *probe.link.heard[-1:])


@AREA.scenario("delete-unknown", rule="R-170", level="should", tck="ACP-DELETE-002", page="session-delete")
async def delete_unknown(probe: Probe) -> None:
    """Deleting a session that does not exist succeeds."""
    probe.offered("sessionCapabilities.delete")
    reply = await probe.link.call("session/delete", {"sessionId": "acpella-does-not-exist"})
    if reply.is_error:
        raise Failed("deleting an unknown session failed", reply.request, reply)


@AREA.scenario("fork", rule="R-141", level="capability", page="rfds/session-fork")
async def fork(probe: Probe) -> None:
    """A fork is a session of its own that takes prompts at once."""
    probe.offered("sessionCapabilities.fork")
    session, _, _ = await _told(probe)
    params: dict[str, Any] = {"sessionId": session, "cwd": probe.directory, "mcpServers": []}
    reply = await probe.link.call("session/fork", params)
    if reply.is_error:
        raise Failed("session/fork is offered and failed", reply.request, reply)
    await probe.hello(probe.session_id(reply))


@AREA.scenario("title", rule="R-141", level="capability", page="rfds/session-title")
async def title(probe: Probe) -> None:
    """A session can be given a title, and the answer holds it."""
    probe.offered("sessionCapabilities.title")
    session, _, _ = await _told(probe)
    reply = await probe.link.call("session/set_title", {"sessionId": session, "title": "Mine"})
    if not as_object(reply.result).get("title"):
        raise Failed("session/set_title did not answer with the title", reply.request, reply)
