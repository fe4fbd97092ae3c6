"""Plays the client of a recorded conversation to any agent, and reports where its answers differ."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from acpella._plain_json import as_dict
from acpella.rpc import Channel
from acpella.rpc.wire import MessageLines

from ..format import RecordedFrame
from ..shape import differences, kind_of, session_of, without_volatile
from .exchanges import Match, digest
from .mapping import Mapping

__all__ = ["ReplayedClient"]

_NOT_RECORDED = -32601


@dataclass(eq=False, slots=True)
class _Question:
    """A request of the agent, and what the client answered: their places in the conversation."""

    method: str
    digest: bytes
    request: int
    answer: int | None = None
    used: bool = False


class ReplayedClient:
    """Sends what the recorded client sent, in the same order, and answers as it did."""

    def __init__(
        self,
        conversation: Sequence[RecordedFrame],
        *,
        cwd: str,
        match: Match = "shape",
        speed: float = 0,
        patience: float = 60.0,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`cwd` replaces the directory of the recorded sessions. `patience`: seconds for each answer."""
        self.failures: list[str] = []
        """Where the agent did not do what it did in the recording."""
        self.incomplete: bool = False
        """Whether the agent went away or left a request without an answer."""
        self._frames = conversation
        self._cwd = cwd
        self._match: Match = match
        self._speed = speed
        self._patience = patience
        self._tell = tell
        self._map = Mapping()
        self.requests: int = 0
        """How many requests the recorded client sent."""
        self._questions: list[_Question] = []
        self._recorded: dict[str, int] = {}  # position of the answer to each request, by its id
        self._look_through()
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}  # by the recorded id
        self._updates: dict[str | None, int] = {}
        self._moved = asyncio.Event()

    def _look_through(self) -> None:
        questions: dict[str, _Question] = {}
        for place, frame in enumerate(self._frames):
            kind = kind_of(frame.message)
            if kind == "request" and frame.direction == "out":
                self.requests += 1
            elif kind == "request" and frame.direction == "in":
                message = frame.message
                question = _Question(message["method"], digest(message.get("params")), place)
                questions[repr(message["id"])] = question
                self._questions.append(question)
            elif kind in ("response", "error") and frame.direction == "in":
                self._recorded.setdefault(repr(frame.message["id"]), place)
            elif kind in ("response", "error") and frame.direction == "out":
                if (question := questions.pop(repr(frame.message["id"]), None)) is not None:
                    question.answer = place

    async def run_on(self, channel: Channel) -> None:
        """Talk to an agent until the recording ends. `failures` then lists the differences.

        Raises:
            TransportError: the agent cannot be started.
        """
        self._wire = MessageLines(channel, self._heard)
        await self._wire.open()
        try:
            async with asyncio.TaskGroup() as self._group:
                play = self._group.create_task(self._play())
                ended = self._group.create_task(self._wire.ended_by())
                await asyncio.wait([play, ended], return_when=asyncio.FIRST_COMPLETED)
                if not play.done():
                    self.incomplete = True
                    self._fail(f"the agent went away: {ended.result()}")
                play.cancel()
                ended.cancel()
        finally:
            await self._wire.close()

    # -- what the client said --------------------------------------------------------------------

    async def _play(self) -> None:
        before = 0.0
        needed: list[str] = []  # answers that the client had received before its next message
        updates: dict[str | None, int] = {}
        for frame in self._frames:
            kind = kind_of(frame.message)
            if frame.direction == "in":
                if kind in ("response", "error"):
                    needed.append(repr(frame.message["id"]))
                elif kind == "notification":
                    session = session_of(frame.message)
                    updates[session] = updates.get(session, 0) + 1
                continue
            if kind not in ("request", "notification"):
                continue
            await self._until_answered(needed)
            if kind == "notification":
                await self._until_heard(frame, updates)
            if self._speed > 0 and frame.time > before:
                await asyncio.sleep((frame.time - before) / self._speed)
            before = frame.time
            await self._say(frame, kind)
        await self._until_answered([*needed, *self._answers])

    async def _until_answered(self, needed: list[str]) -> None:
        for key in needed:
            waiting = self._answers.get(key)
            if waiting is not None and not waiting.done():
                try:
                    async with asyncio.timeout(self._patience):
                        await asyncio.shield(waiting)
                except TimeoutError:
                    self.incomplete = True
                    self._fail(f"no answer to the request {key} within {self._patience:g} s")
                    waiting.cancel()
        needed.clear()

    async def _until_heard(self, frame: RecordedFrame, updates: dict[str | None, int]) -> None:
        """Wait until the agent has sent as many notifications as it had sent before this frame in the
        recording, or will send no more: so a cancel comes at the same place."""
        session = session_of(frame.message)
        try:
            async with asyncio.timeout(self._patience):
                while self._updates.get(session, 0) < updates.get(session, 0) and not all(
                    waiting.done() for waiting in self._answers.values()
                ):
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            pass  # the agent has been silent for so long that the client may go on

    async def _say(self, frame: RecordedFrame, kind: str) -> None:
        message = self._map.to_now(frame.message)
        params = as_dict(frame.message.get("params"))
        if isinstance(params.get("cwd"), str):
            self._map.add_directory(params["cwd"], self._cwd)
            message = {**message, "params": {**as_dict(message.get("params")), "cwd": self._cwd}}
        if kind == "request":
            self._next_id += 1
            waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
            self._waiting[self._next_id] = waiting
            self._answers[repr(frame.message["id"])] = waiting
            message = {**message, "id": self._next_id}
            waiting.add_done_callback(lambda done, asked=frame: self._answered(asked, done))
        await self._wire.send(message)

    def _answered(self, request: RecordedFrame, done: "asyncio.Future[dict[str, Any]]") -> None:
        key = repr(request.message["id"])
        if self._answers.get(key) is done:
            del self._answers[key]
        if done.cancelled() or key not in self._recorded:
            return
        recorded: Any = self._frames[self._recorded[key]].message
        now = done.result()
        method = request.message["method"]
        if kind_of(now) != kind_of(recorded):
            reason = as_dict(now.get("error")).get("message", "an answer")
            self._fail(
                f"`{method}` (line {request.line}): {kind_of(recorded)} then, {kind_of(now)} now: {reason}"
            )
            return
        before, result = as_dict(recorded.get("result")), as_dict(now.get("result"))
        self._map.add("sessionId", before.get("sessionId"), result.get("sessionId"))
        if before.get("stopReason") != result.get("stopReason"):
            stops = f"{before.get('stopReason')} then, {result.get('stopReason')} now"
            self._fail(f"`{method}` (line {request.line}): {stops}")
        if self._match == "exact":
            for difference in differences(without_volatile(before), without_volatile(result))[:20]:
                self._fail(f"`{method}` (line {request.line}): {difference}")

    # -- what the agent says ---------------------------------------------------------------------

    def _heard(self, message: dict[str, Any]) -> None:
        kind = kind_of(message)
        if kind in ("response", "error"):
            waiting = self._waiting.pop(message["id"], None) if isinstance(message["id"], int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif kind == "notification":
            session = self._map.recorded_session(session_of(message))
            self._updates[session] = self._updates.get(session, 0) + 1
        elif kind == "request":
            self._group.create_task(self._reply(message))
        self._moved.set()

    async def _reply(self, message: dict[str, Any]) -> None:
        method = message["method"]
        params = self._map.to_recorded(message.get("params"))
        free = [q for q in self._questions if not q.used and q.method == method]
        params_digest = digest(params)
        question = next((q for q in free if q.digest == params_digest), None)
        if question is None and self._match != "exact":
            question = next(iter(free), None)
        if question is None or question.answer is None:
            self._fail(f"the agent asks for `{method}`, which it did not then")
            error = {"code": _NOT_RECORDED, "message": f"the recording has no further `{method}`"}
            await self._wire.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        question.used = True
        before = as_dict(self._frames[question.request].message.get("params"))
        now = as_dict(message.get("params"))
        self._map.add("terminalId", before.get("terminalId"), now.get("terminalId"))
        await self._wire.send(
            {**self._map.to_now(self._frames[question.answer].message), "id": message["id"]}
        )

    def _fail(self, text: str) -> None:
        self.failures.append(text)
        if self._tell is not None:
            self._tell(text)
