"""Every frame of a conversation on stdout, byte for byte (FEATURES D11).

On a terminal, characters that it would obey are written as JSON escapes.
"""

import sys
from typing import Any, BinaryIO

import msgspec

from acpella.rpc import Channel, ChannelInfo, Receiver

from .output import harmless_json

__all__ = ["Mirror"]

_object = msgspec.json.Decoder(dict[str, Any]).decode


class Mirror:
    """A channel that shows what passes through another one, a line a frame."""

    def __init__(self, channel: Channel, out: BinaryIO | None = None) -> None:
        self._channel = channel
        self._out = out or sys.stdout.buffer
        self._obeys = self._out.isatty()
        self._unfinished = b""  # of what the agent sent
        self._receiver: Receiver | None = None

    @property
    def about(self) -> ChannelInfo:
        return self._channel.about

    def show(self, line: bytes) -> None:
        if self._obeys:
            line = harmless_json(line.decode("utf-8", "backslashreplace")).encode()
        self._out.write(line.rstrip(b"\n") + b"\n")
        self._out.flush()

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        self._receiver = receiver
        await self._channel.open(_Tap(self, receiver), write_high=write_high)

    def received(self, data: bytes) -> None:
        *whole, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in whole:
            self._show_frame(line)

    def _show_frame(self, line: bytes) -> None:
        """Show a frame. Other lines that the agent prints would break readers of JSON; stderr has them."""
        try:
            _object(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        self.show(line)

    def write(self, data: bytes | bytearray) -> None:
        for line in bytes(data).splitlines():
            self.show(line)
        self._channel.write(data)

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    async def close(self) -> None:
        await self._channel.close()
        self._show_frame(self._unfinished)
        self._unfinished = b""


class _Tap:
    """Between the channel and its receiver."""

    def __init__(self, mirror: Mirror, receiver: Receiver) -> None:
        self._mirror = mirror
        self._receiver = receiver
        self.pause_writing = receiver.pause_writing
        self.resume_writing = receiver.resume_writing
        self.ended = receiver.ended

    def received(self, data: bytes) -> None:
        self._mirror.received(data)
        self._receiver.received(data)
