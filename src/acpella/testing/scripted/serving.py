"""A scripted agent and one client: requests come in, their scripts run."""

import asyncio
import os
import sys
from typing import Any, cast

from acpella._plain_json import as_dict
from acpella._protocol_versions import PROTOCOL_VERSION
from acpella.rpc import Channel
from acpella.rpc.wire import MessageLines

from .script import Script
from .steps import End, Json, Step, say

__all__ = ["Serving"]

_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602


class Serving:
    """Serves one client until it goes away, or the script ends it."""

    def __init__(self, script: Script, received: list[Json], *, is_process: bool) -> None:
        self._script = script
        self._received = received
        self._is_process = is_process
        self._early: list[Json] | None = []  # messages that came while the first steps ran
        self._calls: dict[object, asyncio.Future[Json]] = {}
        self._turns: dict[str, _Act] = {}
        self._sessions: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._numbers = {"call": 0, "tool": 0, "session": 0}

    async def run(self, channel: Channel) -> None:
        """Open the channel, serve, close it."""
        self.wire: MessageLines = MessageLines(channel, self._heard)
        await self.wire.open()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._start(self._begin())
                self._start(self._until_gone())
                await self._over.wait()
                for task in list(self._tasks):
                    task.cancel()
        finally:
            await self.wire.close()

    async def _begin(self) -> None:
        await _Act(self, "", None).run(tuple(self._script.first))
        early, self._early = self._early or [], None
        for message in early:
            self._heard(message)

    async def _until_gone(self) -> None:
        await self.wire.ended_by()
        self._over.set()

    def _start(self, work: Any) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- what the client says --------------------------------------------------------------------

    def _heard(self, message: Json) -> None:
        if self._early is not None:
            self._early.append(message)
            return
        self._received.append(message)
        method = message.get("method")
        if method is None:
            waiting = self._calls.pop(message.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            self._start(self._answer(str(method), message))
        elif method == "session/cancel" and not self._script.ignores_cancel:
            turn = self._turns.get(str(_params(message).get("sessionId")))
            if turn is not None:
                turn.cancel()

    async def _answer(self, method: str, message: Json) -> None:
        params = _params(message)
        session = params.get("sessionId")
        text = _words(params) if method == "session/prompt" else ""
        if method == "session/prompt" and session not in self._sessions:
            answer: Json = {"error": {"code": _INVALID_PARAMS, "message": f"no session {session!r}"}}
        else:
            act = _Act(self, session if isinstance(session, str) else "", message["id"])
            steps = self._script.steps_for(method, text)
            answer = await self._usual(method, params, text, act) if steps is None else await act.run(steps)
            if method in ("session/new", "session/load") and "result" in answer:
                self._sessions.add(str(answer["result"].get("sessionId", session)))
        await self.wire.send({"jsonrpc": "2.0", "id": message["id"], **answer})

    async def _usual(self, method: str, params: Json, text: str, act: "_Act") -> Json:
        """The answer to a request that has no rule."""
        if method == "initialize":
            info = {"name": self._script.name, "version": "0"}
            hello = {"protocolVersion": PROTOCOL_VERSION, "agentCapabilities": {}, "agentInfo": info}
            return {"result": {**hello, **self._script.hello}}
        if method == "session/new":
            return {"result": {"sessionId": f"session-{self.number('session')}"}}
        if method == "session/prompt":
            return await act.run((say(f"You said: {text}"),))
        return {"error": {"code": _METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}

    # -- for the steps -----------------------------------------------------------------------------

    def number(self, what: str) -> int:
        """The next number for an id."""
        self._numbers[what] += 1
        return self._numbers[what]

    async def call(self, method: str, params: Json) -> Json:
        """Call the client; returns its whole answer."""
        call_id = self.number("call")
        waiting = self._calls[call_id] = asyncio.get_running_loop().create_future()
        await self.wire.send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        try:
            return await waiting
        finally:
            self._calls.pop(call_id, None)

    def begin_turn(self, session: str, act: "_Act") -> None:
        self._turns[session] = act

    def end_turn(self, session: str) -> None:
        self._turns.pop(session, None)

    async def write_stderr(self, text: str) -> None:
        if self._is_process:
            await asyncio.to_thread(sys.stderr.write, text if text.endswith("\n") else f"{text}\n")

    async def crash(self, code: int) -> None:
        """End without an answer."""
        if self._is_process:
            os._exit(code)
        self._over.set()
        await asyncio.Event().wait()


class _Act:
    """The script of one request while it runs."""

    def __init__(self, serving: Serving, session: str, request: object) -> None:
        self.session = session
        self.answers: list[Any] = []
        self._serving = serving
        self._request = request
        self._playing: asyncio.Task[None] | None = None
        self._cancelled = False

    async def run(self, steps: tuple[Step, ...]) -> Json:
        """Carry out the steps; returns the answer to the request."""
        is_turn = bool(self.session)
        if is_turn:
            self._serving.begin_turn(self.session, self)
        try:
            self._playing = asyncio.create_task(self.play(steps))
            await self._playing
        except End as end:
            return end.answer
        except asyncio.CancelledError:
            if not self._cancelled:
                self._playing.cancel() if self._playing else None
                raise
            return {"result": {"stopReason": "cancelled"}}
        finally:
            if is_turn:
                self._serving.end_turn(self.session)
        return {"result": {"stopReason": "end_turn"} if is_turn else {}}

    def cancel(self) -> None:
        """The client has cancelled the turn."""
        self._cancelled = True
        if self._playing is not None:
            self._playing.cancel()

    async def play(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            await step.play(self)

    def new_tool_call_id(self) -> str:
        return f"call-{self._serving.number('tool')}"

    async def update(self, fields: Json) -> None:
        await self.notify("session/update", {"sessionId": self.session, "update": fields})

    async def call(self, method: str, params: Json) -> Json:
        answer = await self._serving.call(method, params)
        self.answers.append(answer.get("result", answer.get("error")))
        return answer

    async def notify(self, method: str, params: Json) -> None:
        await self._serving.wire.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def write(self, data: bytes) -> None:
        await self._serving.wire.write(data)

    async def write_stderr(self, text: str) -> None:
        await self._serving.write_stderr(text)

    async def wait(self, seconds: float | None) -> None:
        if seconds is None:
            await asyncio.Event().wait()
        else:
            await asyncio.sleep(seconds)

    async def stall(self) -> None:
        self._serving.wire.stop_reading()
        await asyncio.Event().wait()

    async def crash(self, code: int) -> None:
        await self._serving.crash(code)


def _params(message: Json) -> Json:
    return as_dict(message.get("params"))


def _words(params: Json) -> str:
    """The text of a prompt."""
    prompt = params.get("prompt")
    blocks = cast("list[Any]", prompt) if isinstance(prompt, list) else []
    return "\n".join(str(as_dict(block).get("text", "")) for block in blocks)
