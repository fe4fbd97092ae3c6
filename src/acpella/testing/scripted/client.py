"""A client that does what a test tells it, right or wrong."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias

from acpella._plain_json import as_dict
from acpella._protocol_versions import PROTOCOL_VERSION
from acpella.client.targets import Target, open_target
from acpella.errors import ConnectionClosed, RpcError
from acpella.recording.shape import kind_of, session_of, update_kind
from acpella.rpc.wire import MessageLines

__all__ = ["ClientAnswer", "ScriptedClient", "ScriptedTurn"]

Json: TypeAlias = dict[str, Any]

ClientAnswer: TypeAlias = "Json | Callable[[Json], Json | None] | None"
"""The result for a request of the agent, or a function of its params that returns one; None: no answer.

A result with the key `error` is an error.
"""

_MOST_NOISE = 100
_SHOWN_NOISE = 200

PATIENCE = 60.0
"""Seconds that a call waits for its answer unless told otherwise."""


class ScriptedTurn:
    """The result of a prompt: everything from the prompt to its answer."""

    def __init__(self, answer: Json, messages: list[Json]) -> None:
        self.answer = answer
        """The whole answer, `result` or `error`."""
        self.messages = messages
        """What the agent sent meanwhile."""

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended; None if it failed."""
        return as_dict(self.answer.get("result")).get("stopReason")

    @property
    def updates(self) -> list[Json]:
        """The updates of the session, in order."""
        return [m["params"]["update"] for m in self.messages if update_kind(m)]

    @property
    def text(self) -> str:
        """What the agent said."""
        chunks = [u for u in self.updates if u["sessionUpdate"] == "agent_message_chunk"]
        return "".join(str(as_dict(update.get("content")).get("text", "")) for update in chunks)


class ScriptedClient:
    """A client in plain messages: `async with ScriptedClient("agent.py") as client:`.

    `target` is what `connect` takes. Nothing is sent or checked that the test does not ask for, so a test can
    do what a good client never would. `answers` are for the agent's requests, by method; those that are
    missing get "Method not found", and permission is given unless `answers` say otherwise.
    """

    def __init__(
        self,
        target: Target,
        *,
        answers: Mapping[str, ClientAnswer] | None = None,
        env: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.received: list[Json] = []
        """Every message of the agent, in order."""
        self.noise: list[str] = []
        """The first lines of the agent that are not messages, shortened."""
        self._target = target
        self._env = env
        self._answers: dict[str, ClientAnswer] = {"session/request_permission": _allow, **(answers or {})}
        self._patience = patience
        self._next_id = 0
        self._waiting: dict[object, asyncio.Future[Json]] = {}
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        _, channel = open_target(self._target, env=self._env)
        self._channel = channel
        self._wire = MessageLines(channel, self._heard, noise=self._heard_noise)
        await self._wire.open()
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.cancel()
        await self._wire.close()

    # -- what a test says ------------------------------------------------------------------------

    async def initialize(self, **params: Any) -> Json:
        """Send `initialize`; returns the result. `params` override version 1 without capabilities."""
        hello: Json = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": {}, **params}
        return await self._result("initialize", hello)

    async def new_session(self, cwd: str = "/", **params: Any) -> str:
        """Open a session; returns its id."""
        result = await self._result("session/new", {"cwd": cwd, "mcpServers": [], **params})
        return str(result["sessionId"])

    async def prompt(self, session: str, text: str, *, cancel_after: int | None = None) -> ScriptedTurn:
        """Send a prompt and wait for its answer; `cancel_after` cancels it after that many updates."""
        start = len(self.received)
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        asking = asyncio.get_running_loop().create_task(self.call("session/prompt", params))
        try:
            if cancel_after is not None:
                await self.until(lambda: asking.done() or self._updates_since(start, session) >= cancel_after)
                await self.notify("session/cancel", {"sessionId": session})
            answer = await asking
        finally:
            asking.cancel()
        return ScriptedTurn(answer, [m for m in self.received[start:] if m is not answer])

    async def call(self, method: str, params: object = None, *, patience: float | None = None) -> Json:
        """Send a request; returns the whole answer, be it `result` or `error`.

        Raises:
            TimeoutError: no answer came in time.
            ConnectionClosed: the agent went away.
        """
        self._next_id += 1
        waiting = self._waiting[self._next_id] = asyncio.get_running_loop().create_future()
        await self.send({"id": self._next_id, "method": method, "params": {} if params is None else params})
        try:
            async with asyncio.timeout(self._patience if patience is None else patience):
                return await waiting
        except TimeoutError:
            seconds = self._patience if patience is None else patience
            raise TimeoutError(
                f"the agent did not answer {method} within {seconds:g} s{self._printed()}{self._stderr()}"
            ) from None

    async def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        await self.send({"method": method, "params": {} if params is None else params})

    async def send(self, message: Json) -> None:
        """Send any object; `jsonrpc` is added."""
        await self._wire.send({"jsonrpc": "2.0", **message})

    async def write(self, data: str | bytes) -> None:
        """Write this unchanged; a complete message needs a newline at its end."""
        await self._wire.write(data if isinstance(data, bytes) else data.encode())

    def stop_reading(self) -> None:
        """Stop reading, so that the agent's output piles up."""
        self._wire.stop_reading()

    async def hang_up(self) -> None:
        """Close the connection without notice."""
        await self._wire.close()

    async def until(self, what: Callable[[], object], *, patience: float | None = None) -> None:
        """Wait until a condition holds; it is checked whenever something arrives.

        Raises:
            TimeoutError: it did not happen in time.
        """
        async with asyncio.timeout(self._patience if patience is None else patience):
            while not what():
                self._arrived.clear()
                await self._arrived.wait()

    async def until_gone(self) -> ConnectionClosed:
        """Wait until the agent goes away; returns the reason."""
        async with asyncio.timeout(self._patience):
            return await self._wire.ended_by()

    # -- what the agent says ---------------------------------------------------------------------

    def _heard(self, message: Json) -> None:
        self.received.append(message)
        kind = kind_of(message)
        if kind in ("response", "error"):
            waiting = self._waiting.pop(message["id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif kind == "request":
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._arrived.set()

    def _heard_noise(self, line: bytes) -> None:
        if len(self.noise) < _MOST_NOISE:
            self.noise.append(line[:_SHOWN_NOISE].decode(errors="replace"))
        self._arrived.set()

    def _printed(self) -> str:
        """What the agent printed instead of messages, which often explains what went wrong."""
        return f"; it printed {' / '.join(self.noise[:3])!r}, which is not a message" if self.noise else ""

    async def _answer(self, message: Json) -> None:
        method = str(message["method"])
        answer = self._answers.get(method, {"error": {"code": -32601, "message": "Method not found"}})
        if callable(answer):
            answer = answer(as_dict(message.get("params")))
        if answer is not None:
            outcome = answer if "error" in answer else {"result": answer}
            await self.send({"id": message["id"], **outcome})

    async def _watch(self) -> None:
        reason = await self._wire.ended_by()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionClosed(f"{reason}{self._printed()}"))
        self._arrived.set()

    async def _result(self, method: str, params: Json) -> Json:
        answer = await self.call(method, params)
        if "error" in answer:
            error = as_dict(answer["error"])
            raise RpcError(f"{method}: {error.get('message')}", code=error.get("code", 0))
        return as_dict(answer.get("result"))

    def _updates_since(self, start: int, session: str) -> int:
        return sum(bool(update_kind(m)) and session_of(m) == session for m in self.received[start:])

    def _stderr(self) -> str:
        tail = self._channel.about.stderr_tail
        return f"; its stderr ends with:\n{tail}" if tail else ""


def _allow(params: Json) -> Json:
    options: list[Json] = params.get("options") or []
    chosen = next((o for o in options if str(o.get("kind", "")).startswith("allow")), None)
    if chosen is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}
