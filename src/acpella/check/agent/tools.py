"""Tool calls as the agent reports them."""

from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.paths import is_absolute
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Problem, Verdict
from acpella.check.shapes import declare_update

__all__ = ["AREA"]

AREA = Area("tools", "agent", "Tool calls", page="tool-calls")

CALLS = ("update tool_call", "update tool_call_update")
FINAL = ("completed", "failed")

declare_update(AREA, "tool_call", rule="R-260")
declare_update(AREA, "tool_call_update", rule="R-261")


@AREA.audit("unique-id", rule="R-260", level="should", on=("update tool_call",))
def unique_id(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A tool call is announced once, with an id that no other call of the session has."""
    session = talk.session_of(frame)
    if session is None or session.loading is not None:
        return None
    tool = session.tools.get(str(frame.update.get("toolCallId")))
    if tool is None or not tool.announced or tool.repeated:
        return OK
    return Problem(f"the tool call {tool.id!r} was announced before", _frames(tool.first))


@AREA.audit("announced", rule="R-204", level="should", on=("update tool_call_update",))
def announced(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A tool call is announced by `tool_call` before it is updated."""
    session = talk.session_of(frame)
    if session is None or session.loading is not None:
        return None
    tool = session.tools.get(str(frame.update.get("toolCallId")))
    if tool is not None and tool.announced:
        return OK
    return f"the tool call {frame.update.get('toolCallId')!r} was never announced"


@AREA.audit("no-way-back", rule="R-204", level="should", on=("update tool_call_update",))
def no_way_back(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A tool call that has completed or failed does not start again."""
    session = talk.session_of(frame)
    if session is None or session.loading is not None:
        return None
    tool, status = session.tools.get(str(frame.update.get("toolCallId"))), frame.update.get("status")
    if tool is None or status is None:
        return None
    if tool.status in FINAL and status not in FINAL:
        return Problem(f"the tool call {tool.id!r} went from {tool.status} to {status}", _frames(tool.last))
    return OK


@AREA.audit("finished", rule="R-202", level="should", on=("answer session/prompt",))
def finished(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """When a turn ends by itself, each of its tool calls has completed or failed."""
    session = talk.session_of(frame)
    if session is None or as_object(frame.result).get("stopReason") != "end_turn" or not session.turn_tools:
        return None
    for id in sorted(session.turn_tools):
        call = session.tools[id]
        if call.status not in FINAL:
            return Problem(
                f"the turn ended while the tool call {id!r} was {call.status}", _frames(call.first)
            )
    return OK


@AREA.audit("location-absolute", rule="R-020", level="capability", on=CALLS)
def location_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The locations of a tool call are absolute paths."""
    paths = [as_object(place).get("path") for place in as_list(frame.update.get("locations"))]
    bad = [path for path in paths if isinstance(path, str) and not is_absolute(path)]
    return f"a location is {bad[0]!r}" if bad else (OK if paths else None)


@AREA.audit("location-line", rule="R-021", level="capability", on=CALLS)
def location_line(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The lines of locations are counted from 1."""
    lines = [as_object(place).get("line") for place in as_list(frame.update.get("locations"))]
    lines = [line for line in lines if line is not None]
    return "a location is at line 0" if 0 in lines else (OK if lines else None)


def _frames(frame: CheckedFrame | None) -> tuple[CheckedFrame, ...]:
    return () if frame is None else (frame,)


def _is_replayed(frame: CheckedFrame, talk: CheckedConversation) -> bool:
    session = talk.session_of(frame)
    return session is not None and session.loading is not None


def _content(frame: CheckedFrame, kind: str) -> list[dict[str, Any]]:
    items = [as_object(item) for item in as_list(frame.update.get("content"))]
    return [item for item in items if item.get("type") == kind]


@AREA.audit("diff-absolute", rule="R-020", level="capability", on=CALLS)
def diff_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The diffs of a tool call have absolute paths."""
    paths = [diff.get("path") for diff in _content(frame, "diff")]
    bad = [path for path in paths if isinstance(path, str) and not is_absolute(path)]
    return f"a diff is about {bad[0]!r}" if bad else (OK if paths else None)


@AREA.audit("terminal-known", rule="R-263", level="should", on=CALLS, page="terminals")
def terminal_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A terminal in a tool call is one that the agent made with `terminal/create`."""
    if _is_replayed(frame, talk):
        return None
    ids = [str(item.get("terminalId")) for item in _content(frame, "terminal")]
    unknown = [id for id in ids if id not in talk.terminals]
    return (
        f"a tool call shows the terminal {unknown[0]!r}, which was not made"
        if unknown
        else (OK if ids else None)
    )


@AREA.audit("terminal-open", rule="R-263", level="should", on=CALLS, page="terminals")
def terminal_open(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A terminal is shown in a tool call before it is released."""
    session = talk.session_of(frame)
    if _is_replayed(frame, talk):
        return None
    tool = session.tools.get(str(frame.update.get("toolCallId"))) if session else None
    terminals = _content(tool.first, "terminal") if tool is not None and tool.first is not None else []
    ids = [str(item.get("terminalId")) for item in _content(frame, "terminal")]
    new = [id for id in ids if id not in [str(item.get("terminalId")) for item in terminals]]
    released = [id for id in new if talk.terminals.get(id) == "released"]
    late = released and not any(_shows(f, released[0]) for f in talk.frames)
    return f"the terminal {released[0]!r} was shown after its release" if late else (OK if ids else None)


def _shows(frame: CheckedFrame, id: str) -> bool:
    return any(str(item.get("terminalId")) == id for item in _content(frame, "terminal"))


@AREA.scenario("reported", rule="R-260", level="should", needs=("read",))
async def reported(probe: Probe) -> None:
    """A tool that the model uses is reported as a tool call."""
    path = probe.new_path()
    path.write_text("papaya\n", encoding="utf-8")
    turn = await probe.provoke(await probe.new_session(), "read", file=str(path))
    if not [f for f in turn.updates if f.update_kind in ("tool_call", "tool_call_update")]:
        probe.must_name("read", "file")
        if "papaya" not in turn.text:
            raise Unproved("the agent did not read the file")
        raise Failed("a file was read, and no tool call was reported", turn.request, turn.answer)


@AREA.scenario("progress", rule="R-204", level="should", needs=("run",))
async def progress(probe: Probe) -> None:
    """A tool call is told when it starts and when it ends."""
    turn = await probe.provoke(await probe.new_session(), "run", command="true")
    calls = [f for f in turn.updates if f.update_kind in ("tool_call", "tool_call_update")]
    if not calls:
        raise Unproved("the agent reported no tool call")
    statuses = [f.update.get("status") for f in calls]
    if not set(FINAL) & set(statuses) or "in_progress" not in statuses:
        raise Failed(f"the states of the tool call were {statuses}", *calls[:3])
