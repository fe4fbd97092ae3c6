"""Plays the agent of a recorded conversation to any client."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from acpella._plain_json import as_dict
from acpella.rpc import Channel
from acpella.rpc.wire import MessageLines

from ..format import RecordedFrame
from ..shape import differences, kind_of, session_of, shape
from .exchanges import Answer, CancelPoint, Exchange, Match, NoMatch, RecordedScript, Say, Step
from .mapping import Mapping, name_home

__all__ = ["ReplayedAgent"]

_NOT_RECORDED = -32603
_PARSE_ERROR = -32700

_Branch: TypeAlias = tuple[Exchange, Iterator[Step]]


class ReplayedAgent:
    """Answers as the recorded agent did, with the current ids, sessions, terminals and directories."""

    def __init__(
        self,
        conversation: Sequence[RecordedFrame],
        *,
        match: Match = "shape",
        speed: float = 0,
        more: Sequence[Sequence[RecordedFrame]] = (),
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`speed` 1 takes as long as the recording, 4 a quarter of that, 0 no time. `more` are conversations
        in which a question may have been answered differently. `tell` is called at once with each failure."""
        self.failures: list[str] = []
        """What the client did that was not recorded."""
        self._script = RecordedScript(conversation)
        self._branches = [self._script, *map(RecordedScript, more)]
        self._match: Match = match
        self._speed = speed
        self._tell = tell
        self._map = Mapping()
        self._next_id = 1_000_000  # far from the ids that clients and recordings use
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._playing: dict[asyncio.Task[None], tuple[Exchange, Any]] = {}
        self._cancelled: dict[Exchange, asyncio.Event] = {}

    async def serve_on(self, channel: Channel) -> None:
        """Serve a client until it disconnects."""
        self._wire = MessageLines(channel, self._heard, noise=self._heard_noise)
        await self._wire.open()
        try:
            async with asyncio.TaskGroup() as self._group:
                for step in self._script.prelude:
                    await self._wire.send(step.frame.message)
                await self._wire.ended_by()
                for task in self._playing:
                    task.cancel()
        finally:
            await self._wire.close()

    # -- what the client says --------------------------------------------------------------------

    def _heard(self, message: dict[str, Any]) -> None:
        kind = kind_of(message)
        if kind == "request":
            self._begin(message)
        elif kind in ("response", "error"):
            waiting = self._waiting.pop(message["id"], None) if isinstance(message["id"], int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif kind == "notification" and message["method"] == "session/cancel":
            self._cancel(session_of(message))

    def _heard_noise(self, line: bytes) -> None:
        begin = line[:80].decode("utf-8", "replace")
        self._start(self._refuse(None, f"a line is no message: {begin}", code=_PARSE_ERROR), None, None)

    def _begin(self, message: dict[str, Any]) -> None:
        method, request_id = str(message["method"]), message["id"]
        now: Any = message.get("params", {})
        params = self._map.to_recorded(now)
        try:
            exchange = self._script.find(
                method, params, self._map.recorded_session(session_of(message)), self._match
            )
        except NoMatch as error:
            self._start(self._refuse(request_id, str(error)), None, request_id)
            return
        recorded, current = as_dict(exchange.params), as_dict(now)
        self._map.add_directory(recorded.get("cwd"), current.get("cwd"))
        self._map.add("sessionId", recorded.get("sessionId"), current.get("sessionId"))
        self._start(self._play(exchange, request_id), exchange, request_id)

    def _start(self, work: Any, exchange: Exchange | None, request_id: Any) -> None:
        task = self._group.create_task(work)
        if exchange is not None:
            self._playing[task] = exchange, request_id
            task.add_done_callback(lambda task: self._playing.pop(task, None))

    def _cancel(self, session: str | None) -> None:
        """End the turn as it ended in the recording, if it was cancelled there; otherwise at once."""
        for task, (exchange, request_id) in list(self._playing.items()):
            if exchange.method == "session/prompt" and exchange.session == self._map.recorded_session(
                session
            ):
                if exchange.cancelled:
                    self._cancelled.setdefault(exchange, asyncio.Event()).set()
                else:
                    task.cancel()
                    self._start(self._answer(request_id, {"stopReason": "cancelled"}), None, request_id)

    # -- what the agent did --------------------------------------------------------------------

    async def _play(self, exchange: Exchange, request_id: Any) -> None:
        before = exchange.request.time
        source = exchange  # changes when an answer was recorded in another exchange
        questions: dict[str, tuple[asyncio.Future[dict[str, Any]], RecordedFrame]] = {}
        steps = iter(exchange.steps)
        while (step := next(steps, None)) is not None:
            if isinstance(step, Say):
                await self._pause(step.frame.time - before)
                await self._say(step.frame, source, request_id, questions)
            elif isinstance(step, CancelPoint):
                await self._cancelled.setdefault(exchange, asyncio.Event()).wait()
            elif step.id in questions:
                waiting, question = questions.pop(step.id)
                other = await self._compare(question, step, await waiting)
                if isinstance(other, str):
                    await self._refuse(request_id, other)
                    return
                if other is not None:
                    source, steps = other
            before = step.frame.time
        if not source.answered:
            await self._refuse(request_id, f"the recording ends before the answer to `{exchange.method}`")

    async def _pause(self, seconds: float) -> None:
        if self._speed > 0 and seconds > 0:
            await asyncio.sleep(seconds / self._speed)

    async def _say(
        self,
        frame: RecordedFrame,
        exchange: Exchange,
        request_id: Any,
        questions: dict[str, tuple[asyncio.Future[dict[str, Any]], RecordedFrame]],
    ) -> None:
        kind = kind_of(frame.message)
        message = frame.message if kind == "noise" else self._map.to_now(frame.message)
        if kind in ("response", "error") and repr(frame.message["id"]) == repr(
            exchange.request.message["id"]
        ):
            message = {**message, "id": request_id}
        elif kind in ("response", "error"):
            return  # it answers no request here, but its id could be that of a new request
        elif kind == "request":
            waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
            self._next_id += 1
            self._waiting[self._next_id] = waiting
            questions[repr(frame.message["id"])] = waiting, frame
            message = {**message, "id": self._next_id}
        await self._wire.send(message)

    async def _compare(
        self, question: RecordedFrame, recorded: Answer, now: dict[str, Any]
    ) -> "_Branch | str | None":
        """How to go on after an answer: None if it is the recorded one, else the branch that has it, or an
        error message if none does."""
        result, before = now.get("result"), recorded.frame.message.get("result")
        self._map.add("terminalId", as_dict(before).get("terminalId"), as_dict(result).get("terminalId"))
        if question.message["method"] == "session/request_permission":
            if _choice(result) == _choice(before):
                return None
            branch = self._branch(question, _choice(result))
            if branch is not None:
                return branch
            return (
                f"another answer to the question of line {question.line} than was recorded: "
                f"{_choice(before)} then, {_choice(result)} now"
            )
        if self._match == "exact" and (
            differing := differences(name_home(before), name_home(self._map.to_recorded(result)))
        ):
            listed = "".join(f"\n  {difference}" for difference in differing[:20])
            method = question.message["method"]
            return f"another answer to `{method}` than was recorded (recorded ≠ now):{listed}"
        return None

    def _branch(self, question: RecordedFrame, choice: str) -> "_Branch | None":
        """What the agent did in a recording where the same question was answered in this way."""
        params_shape = shape(question.message.get("params"))
        for script in self._branches:
            for exchange in script.exchanges:
                methods: set[str] = set()
                for place, step in exchange.steps.places():
                    if isinstance(step, Answer):
                        if step.id in methods and _choice(step.frame.message.get("result")) == choice:
                            return exchange, exchange.steps.after(place)
                        methods.discard(step.id)
                    elif kind_of(step.frame.message) == "request" and step.frame != question:
                        if shape(step.frame.message.get("params")) == params_shape:
                            methods.add(repr(step.frame.message["id"]))
        return None

    async def _answer(self, request_id: Any, result: Any) -> None:
        await self._wire.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    async def _refuse(self, request_id: Any, text: str, *, code: int = _NOT_RECORDED) -> None:
        self.failures.append(text)
        if self._tell is not None:
            self._tell(text)
        error = {"code": code, "message": text}
        await self._wire.send({"jsonrpc": "2.0", "id": request_id, "error": error})


def _choice(result: Any) -> str:
    """What was chosen: the option, or that the question was cancelled."""
    try:
        outcome = result["outcome"]
        return str(outcome.get("optionId") or outcome["outcome"])
    except (KeyError, TypeError, AttributeError):
        return "an error"
