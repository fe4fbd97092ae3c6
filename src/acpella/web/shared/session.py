"""A session that several pages may watch: its log, who is there, what runs and what waits for a person."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from acpella.errors import RpcError
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame

from .branch import branch_of
from .clock import now
from .log import SessionLog
from .viewer import Role, Viewer

__all__ = ["SharedPrompt", "SharedQuestion", "SharedSession", "State"]

MAX_ANSWERED = 64
"""Answered questions for which it is remembered who answered, for whoever comes too late."""

MAX_TITLE = 60
"""Characters of a title that is made of a prompt."""

State: TypeAlias = Literal["running", "waiting", "done", "failed", "idle"]


class SharedPrompt(NamedTuple):
    """A prompt that waits for its turn."""

    frame: Frame
    viewer: Viewer


@dataclass(slots=True)
class SharedQuestion:
    """What the agent asks people."""

    number: int
    request_id: bytes
    method: str
    tool: str = ""
    """The kind of tool call that a permission is about, such as `edit`."""
    asked: float = field(default_factory=time.monotonic)


class SharedSession:
    """Every page that watches reads `log`; what it shows is a fold of that."""

    def __init__(
        self, session_id: str, *, owner: str, cwd: str, changed: Callable[["SharedSession"], None]
    ) -> None:
        """`changed` is told when what a list of sessions shows has changed."""
        self.id = session_id
        self.id_json: bytes = msgspec.json.encode(session_id)
        self.owner = owner
        self.cwd = cwd
        self.branch: str = ""
        """The branch that its directory is on; empty where there is none."""
        self.title: str = ""
        self.is_named = False
        """Whether a person gave it its title, which an agent does not change then."""
        self.log: SessionLog = SessionLog()
        self.viewers: dict[Viewer, Role] = {}
        self.guests: dict[str, Role] = {}
        """Users other than the owner who were let in."""
        self.questions: dict[int, SharedQuestion] = {}
        self.queue: deque[SharedPrompt] = deque()
        self.turn_since: float | None = None
        self.turn_elsewhere: float | None = None
        """Since when a turn runs that another client of the agent began."""
        self.tells_turns: bool = False
        """Whether the agent tells of such turns."""
        self.ended: State = "idle"
        self.updated: float = now()
        self.is_open = False
        """Whether the agent has it open. It has not after it was started anew."""
        self.opening: asyncio.Task[None] | None = None
        """While the agent opens it again."""
        self.is_silent = False
        """Whether updates are ignored, since the agent replays what is in the log already."""
        self._questions = 0
        self._answered_by: dict[int, str] = {}
        self._changed = changed

    # -- state ---------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        if self.questions:
            return "waiting"
        runs = self.turn_since is not None or self.turn_elsewhere is not None
        return "running" if runs else self.ended

    def to_entry(self) -> dict[str, Any]:
        """For a list of sessions."""
        question = next(iter(self.questions.values()), None)
        return {
            "sessionId": self.id,
            "cwd": self.cwd,
            "title": self.title or None,
            "state": self.state,
            "updatedAt": int(self.updated * 1000),
            "owner": self.owner,
            "waitsFor": question.method if question is not None else None,
            "waitsTool": question.tool if question is not None else "",
            "branch": self.branch,
            "people": len({viewer.principal for viewer in self.viewers}),
        }

    def touch(self) -> None:
        self.updated = now()
        self.branch = branch_of(self.cwd)
        self._changed(self)

    # -- who is there --------------------------------------------------------------------------

    def role_of(self, principal: str) -> Role | None:
        """What a user may do here; None for nothing."""
        return "controller" if principal == self.owner else self.guests.get(principal)

    def may_control(self, viewer: Viewer) -> bool:
        return self.role_of(viewer.principal) == "controller" and viewer.may("prompt")

    def may_answer(self, viewer: Viewer) -> bool:
        return self.role_of(viewer.principal) == "controller" and viewer.may("approve")

    def join(self, viewer: Viewer, role: Role, after: int) -> None:
        self.viewers[viewer] = role
        viewer.watch(self, after)
        self.tell_people()

    def leave(self, viewer: Viewer) -> None:
        if self.viewers.pop(viewer, None) is not None:
            viewer.watched.pop(self, None)
            self.tell_people()

    def let_in(self, guests: dict[str, Role]) -> None:
        """These may come, besides the owner; others who are here have to leave."""
        self.guests = guests
        for viewer in [one for one in self.viewers if self.role_of(one.principal) is None]:
            self.leave(viewer)
        self.tell_people()

    def people(self) -> list[dict[str, Any]]:
        """Everybody who is here, each once."""
        people: dict[str, dict[str, Any]] = {}
        for viewer, role in self.viewers.items():
            controls = role == "controller" and self.may_control(viewer)
            entry = people.setdefault(
                viewer.principal,
                {
                    "name": viewer.principal,
                    "role": "observer",
                    "approves": False,
                    "owner": viewer.principal == self.owner,
                },
            )
            if controls:
                entry["role"] = "controller"
            entry["approves"] = entry["approves"] or (controls and viewer.may("approve"))
        return list(people.values())

    def tell_people(self) -> None:
        people = self.people()
        for viewer in self.viewers:
            viewer.notify("_acpella/session/people", {"sessionId": self.id, "people": people})
        self._changed(self)

    # -- what happens --------------------------------------------------------------------------

    def wake(self) -> None:
        for viewer in self.viewers:
            viewer.wake()

    def note(self, kind: str, **values: Any) -> None:
        """Something that every page shows."""
        self.log.add(kind, **values)
        self.wake()

    def note_update(self, update: bytes | Raw) -> None:
        """An update of the agent, as it came."""
        if not self.is_silent:
            self.log.add_raw(b"update", b"update", bytes(update))
            self.wake()

    def begin_turn(self, prompt: SharedPrompt) -> None:
        self.turn_since, self.turn_elsewhere = time.monotonic(), None
        params = prompt.frame.envelope.params
        try:
            blocks = msgspec.json.decode(params, type=_PromptParams).prompt
        except UNREADABLE:
            blocks = Raw(b"[]")  # the agent says what is wrong with it
        self.title = self.title or _title_of(blocks)
        self.note("prompt", by=prompt.viewer.principal, prompt=blocks)
        self.touch()

    def end_turn(self, response: Frame) -> None:
        since, self.turn_since = self.turn_since, None
        took = 0 if since is None else int((time.monotonic() - since) * 1000)
        envelope = response.envelope
        if response.is_error:
            self.ended = "failed"
            self.note("end", error=envelope.error, ms=took)
        else:
            self.ended = "done"
            self.note("end", result=envelope.result or Raw(b"null"), ms=took)
        self.touch()

    def note_turn_elsewhere(self, *, running: bool, stop_reason: str = "end_turn") -> None:
        """A turn that somebody began at another connection of the agent runs, or is over."""
        self.tells_turns |= running
        if running == (self.turn_elsewhere is not None) or (running and self.turn_since is not None):
            return
        if running:
            self.turn_elsewhere = time.monotonic()
            self.note("turn", running=True)
        else:
            since, self.turn_elsewhere = self.turn_elsewhere or 0.0, None
            self.ended = "done"
            took = int((time.monotonic() - since) * 1000)
            self.note("turn", running=False, result={"stopReason": stop_reason}, ms=took)
        self.touch()

    def ask(self, frame: Frame) -> None:
        """The agent asks people something."""
        assert frame.id is not None
        self._questions += 1
        tool = _tool_of(frame.envelope.params or Raw(b"{}"))
        self.questions[self._questions] = SharedQuestion(self._questions, frame.id, frame.method, tool)
        self.note("ask", q=self._questions, method=frame.method, params=frame.envelope.params or Raw(b"{}"))
        self.touch()

    def take_question(self, number: int) -> SharedQuestion:
        """Take an open question away, to answer it. Raises `RpcError`: somebody was faster."""
        question = self.questions.pop(number, None)
        if question is None:
            by = self._answered_by.get(number)
            text = f"answered by {by}" if by else "this is not asked any more"
            raise RpcError(text, code=-32004)
        return question

    def note_answer(
        self, question: SharedQuestion, *, by: str | None, result: object, elsewhere: bool = False
    ) -> None:
        """A question is answered, or asked no more; `elsewhere`: at another connection of the agent."""
        waited = int((time.monotonic() - question.asked) * 1000)
        if by is not None:
            self._answered_by[question.number] = by
            if len(self._answered_by) > MAX_ANSWERED:
                del self._answered_by[next(iter(self._answered_by))]
        where = {"elsewhere": True} if elsewhere else {}
        self.note("answered", q=question.number, by=by, result=result, ms=waited, **where)
        self.touch()


class _Text(msgspec.Struct):
    text: str = ""


def _title_of(blocks: Raw) -> str:
    """The beginning of a prompt, for a session that its agent gives no title."""
    try:
        texts = [block.text for block in msgspec.json.decode(blocks, type=list[_Text])]
    except UNREADABLE:
        return ""
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1].rsplit(" ", 1)[0] + "…"


class _ToolCall(msgspec.Struct):
    kind: str = ""


class _Asked(msgspec.Struct):
    tool_call: _ToolCall = msgspec.field(name="toolCall", default_factory=_ToolCall)


def _tool_of(params: Raw) -> str:
    try:
        return msgspec.json.decode(params, type=_Asked).tool_call.kind
    except UNREADABLE:
        return ""


class _PromptParams(msgspec.Struct):
    prompt: Raw = Raw(b"[]")
