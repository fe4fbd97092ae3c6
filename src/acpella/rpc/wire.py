"""Reads and writes messages line by line, for programs that play one side of a conversation."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import msgspec

from acpella.errors import ConnectionClosed

from .channel import Channel
from .framing import Broken, Framer

__all__ = ["MessageLines"]

WRITE_HIGH = 1024 * 1024


class MessageLines:
    """A channel of messages. What cannot be read as one is passed over."""

    def __init__(
        self,
        channel: Channel,
        on_message: Callable[[dict[str, Any]], None],
        *,
        noise: Callable[[bytes], None] | None = None,
    ) -> None:
        """`noise` hears of lines that are not messages."""
        self._channel = channel
        self._heard = on_message
        self._noise = noise
        self._framer = Framer()
        self._room = asyncio.Event()
        self._room.set()
        self._end: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        await self._channel.open(self, write_high=WRITE_HIGH)

    async def ended_by(self) -> ConnectionClosed:
        """Wait until the peer is gone."""
        return await asyncio.shield(self._end)

    async def close(self) -> None:
        await self._channel.close()

    async def send(self, message: Any) -> None:
        """Send a message as JSON values, or a line that is not a message."""
        await self._room.wait()
        if isinstance(message, bytes):
            self._channel.write(message + b"\n")
        elif isinstance(message, str):
            self._channel.write(message.encode("utf-8", "surrogatepass") + b"\n")
        else:
            self._channel.write(self._framer.wrap(msgspec.json.encode(message)))

    async def write(self, data: bytes) -> None:
        """Bytes as they are."""
        await self._room.wait()
        self._channel.write(data)

    def stop_reading(self) -> None:
        """Take nothing more from the peer."""
        self._channel.pause_reading()

    # -- what a channel calls ------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        headers = False
        for block in self._framer.feed(data):
            headers = headers or self._framer.framing == "headers"
            if isinstance(block, Broken):
                continue
            for line in [block] if headers else block.split(b"\n"):
                self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            self._heard(cast("dict[str, Any]", message))
        elif self._noise is not None and line.strip():
            self._noise(line)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def ended(self, reason: ConnectionClosed) -> None:
        for block in self._framer.finish():
            if isinstance(block, bytes):
                self._line(block)
        self._room.set()
        if not self._end.done():
            self._end.set_result(reason)
