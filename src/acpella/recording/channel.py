"""A channel that records what passes through another channel."""

import os
from collections.abc import Callable
from typing import Any

from acpella.errors import ConnectionClosed
from acpella.rpc import Channel, ChannelInfo, Receiver

from .background import BackgroundWriter
from .format import Point
from .writer import Filters

__all__ = ["RecordedChannel", "Tap", "describe"]


class RecordedChannel:
    """Records a connection to a file. An existing file is appended to, so it can hold restarts of agents."""

    def __init__(
        self, channel: Channel, path: str | os.PathLike[str], *, agent: str, point: Point = "client"
    ) -> None:
        self._channel = channel
        self._path = path
        self._agent = agent
        self._point: Point = point
        self._writer: BackgroundWriter | None = None

    @property
    def about(self) -> ChannelInfo:
        return self._channel.about

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Open the file (for the user alone), then the channel.

        Raises:
            OSError: the file cannot be opened, or others can read it and its mode cannot be changed.
        """
        self._writer = BackgroundWriter(
            self._path, point=self._point, agent=describe(self._agent, self._channel), filters=Filters()
        )
        try:
            await self._channel.open(Tap(self._writer, receiver), write_high=write_high)
        except BaseException:
            await self._writer.close()
            raise

    def write(self, data: bytes | bytearray) -> None:
        if self._writer is not None:
            self._writer.put("out", bytes(data))
        self._channel.write(data)

    def stderr(self, data: bytes) -> None:
        """The agent wrote this to its stderr."""
        if self._writer is not None:
            self._writer.put("err", data)

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    async def close(self) -> None:
        try:
            await self._channel.close()
        finally:
            if self._writer is not None:
                await self._writer.close()


class Tap:
    """Stands between a channel and its receiver and records what comes in."""

    def __init__(self, writer: BackgroundWriter, receiver: Receiver) -> None:
        self._writer = writer
        self._receiver = receiver
        self.pause_writing: Callable[[], None] = receiver.pause_writing
        self.resume_writing: Callable[[], None] = receiver.resume_writing

    def ended(self, reason: ConnectionClosed) -> None:
        self._receiver.ended(reason)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._receiver, name)

    def stderr(self, data: bytes) -> None:
        """The agent wrote this to its stderr."""
        self._writer.put("err", data)

    def received(self, data: bytes) -> None:
        self._writer.put("in", data)
        self._receiver.received(data)


def describe(name: str, channel: Channel) -> dict[str, Any]:
    """What the first line says about the agent."""
    agent: dict[str, Any] = {"name": name}
    if (process := channel.about.process) is not None:
        agent["command"] = list(process.command)
        agent["cwd"] = process.cwd or os.getcwd()
    return agent
