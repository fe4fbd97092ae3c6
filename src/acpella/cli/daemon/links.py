"""The peers of a daemon, each a channel and its side of the relay: what passes through keeps its bytes."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from acpella._plain_json import as_dict
from acpella._redact import redact
from acpella.errors import ConnectionClosed, InternalError, ParseError, RpcError
from acpella.rpc import Channel
from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import ABSENT, RequestId
from acpella.rpc.relay import Frame, Side, read_frame

from .errors import to_wire

__all__ = ["AgentLink", "ClientLink", "DaemonLink", "request_id"]

log: logging.Logger = logging.getLogger(__name__)

EXCERPT = 200
"""Bytes of a line that is not a message, as shown to the user."""

WRITE_HIGH = 256 * 1024
"""Bytes that may wait for one side before the other has to pause."""

MAX_FRAME = 256 * 1024 * 1024
"""Bytes of a message. Without it, one without an end would fill the memory."""


class DaemonLink:
    """Cuts what a channel reads into frames. Implements `Receiver`."""

    def __init__(self, channel: Channel, *, own_ids: bool = False) -> None:
        self.channel = channel
        self.side: Side = Side(self._write, own_ids=own_ids)
        self.closed: bool = False
        self.on_full: Callable[[bool], None] | None = None
        """Hears when too much waits to be written, and when it no longer does."""
        self._framer = Framer(max_frame=MAX_FRAME, framing="lines")

    async def open(self) -> None:
        await self.channel.open(self, write_high=WRITE_HIGH)

    async def close(self) -> None:
        self.closed = True
        await self.channel.close()

    def _write(self, message: bytes) -> None:
        if not self.closed:
            self.channel.write(message + b"\n")

    # -- Receiver ------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        for block in self._framer.feed(data):
            if isinstance(block, Broken):
                self._handle(block)
                continue
            for line in block.split(b"\n"):
                if line and not line.isspace():
                    self._handle(read_frame(line))

    def _handle(self, message: Frame | Broken) -> None:
        try:
            if isinstance(message, Broken) or message.kind == "noise":
                self._on_noise(message)
            else:
                self._on_frame(message)
        except Exception:  # one bad frame must not end the conversation
            log.exception("failed to handle a frame")

    def pause_writing(self) -> None:
        if self.on_full is not None:
            self.on_full(True)

    def resume_writing(self) -> None:
        if self.on_full is not None:
            self.on_full(False)

    def ended(self, reason: ConnectionClosed) -> None:
        if not self.closed:
            self.closed = True
            self._on_end(reason)

    def _on_frame(self, frame: Frame) -> None:
        raise NotImplementedError

    def _on_noise(self, noise: Frame | Broken) -> bool:
        """What came cannot be read. False if nobody can have waited for it."""
        log.warning("skipped a line that is not a message: %s", _excerpt(noise))
        return self.side.end_wait(noise)

    def _on_end(self, reason: ConnectionClosed) -> None:
        raise NotImplementedError


class ClientLink(DaemonLink):
    """A client that is attached: somebody's `acpella run`, or a prompt that nobody waits for.

    Pending on its side is what the agent asked for and this client has to answer.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        on_frame: Callable[["ClientLink", Frame], None],
        on_lost: Callable[["ClientLink"], None],
        background: bool = False,
    ) -> None:
        super().__init__(channel)
        self.attached = False
        self.greeting = b""
        """The params of its `initialize`."""
        self.background = background
        self._pass_frame = on_frame
        self._on_lost = on_lost

    def _on_frame(self, frame: Frame) -> None:
        self._pass_frame(self, frame)

    def _on_noise(self, noise: Frame | Broken) -> bool:
        is_answered = super()._on_noise(noise)
        if not is_answered:
            self.side.refuse(b"null", ParseError())
        return is_answered

    def _on_end(self, reason: ConnectionClosed) -> None:
        self._on_lost(self)


class AgentLink(DaemonLink):
    """The agent. Calls of the daemon and those it passes on share one sequence of ids."""

    def __init__(
        self,
        channel: Channel,
        *,
        on_update: Callable[[Frame], None],
        on_request: Callable[[Frame], None],
        on_notification: Callable[[Frame], None],
        on_noise: Callable[[str], None],
        on_lost: Callable[[ConnectionClosed], None],
    ) -> None:
        super().__init__(channel, own_ids=True)
        self._pass_update = on_update
        self._pass_request = on_request
        self._pass_notification = on_notification
        self._pass_noise = on_noise
        self._on_lost = on_lost
        self._lost: ConnectionClosed | None = None

    async def close(self) -> None:
        await super().close()
        self.side.fail(to_wire(ConnectionClosed("the agent was ended before it answered")))

    def decline(self, request_id: RequestId, method: str, why: str = "no client is there to answer") -> None:
        """Answer the agent, since nobody is there who could."""
        if method == "session/request_permission":
            self.side.answer(request_id, {"outcome": {"outcome": "cancelled"}})
        elif method == "elicitation/create":
            self.side.answer(request_id, {"action": "cancel"})
        else:
            self.side.refuse(request_id, InternalError(why))

    def check_alive(self) -> None:
        """Raises `ConnectionClosed` if the agent has ended; nobody else may have heard of it yet."""
        if self._lost is not None:
            raise self._lost.again()

    async def call(self, method: str, params: Any, *, timeout: float) -> Any:
        """The result as plain JSON. `params` are a value, or JSON as bytes.

        Raises:
            RpcError, ConnectionClosed, TimeoutError
        """
        pending: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()

        def reply(response: Frame) -> None:
            if not pending.done():
                pending.set_result(response)

        self.side.call(method, params, reply)
        try:
            async with asyncio.timeout(timeout):
                response = await pending
        except TimeoutError:
            raise TimeoutError(f"{method} was not answered within {timeout:g} s") from None
        self.check_alive()
        if response.is_error:
            error = as_dict(msgspec.json.decode(response.envelope.error))
            raise RpcError.from_wire(
                error.get("code", -32603), str(error.get("message", "")), error.get("data")
            )
        result = response.envelope.result
        return None if result == ABSENT else msgspec.json.decode(result)

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind == "response":
            self.side.settle(frame)
        elif frame.kind == "request":
            self._pass_request(frame)
        elif frame.method == "session/update":
            self._pass_update(frame)
        else:
            self._pass_notification(frame)

    def _on_noise(self, noise: Frame | Broken) -> bool:
        self._pass_noise(_excerpt(noise))  # first, while there is somebody who waits
        return super()._on_noise(noise)

    def _on_end(self, reason: ConnectionClosed) -> None:
        self._lost = reason
        self._on_lost(reason)  # first, so that nobody whose call fails tries another one
        self.side.fail(to_wire(reason))


def _excerpt(noise: Frame | Broken) -> str:
    """What cannot be read, for people."""
    if isinstance(noise, Broken):
        return noise.reason
    return redact(noise.data[:EXCERPT].decode("utf-8", "replace").strip())


def request_id(request: Frame) -> RequestId:
    assert request.id is not None  # or it would be noise
    return request.id
