"""Records every connection of a server, each in a file of its own."""

import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acpella.recording.background import BackgroundWriter
from acpella.recording.channel import Tap
from acpella.recording.writer import Filters
from acpella.rpc import Channel, ChannelInfo, Receiver

from .agent_factories import AgentFactory, RunningAgent, WrappedFactory

__all__ = ["RecordedFactory"]


class RecordedFactory(WrappedFactory):
    """A factory whose conversations are written down: `DIRECTORY/20261116T060000-USER-1a2b3c.jsonl`."""

    def __init__(
        self, factory: AgentFactory, directory: str | os.PathLike[str], *, agent: dict[str, Any]
    ) -> None:
        """Make the directory, for the user alone.

        Raises:
            OSError: that is not possible.
        """
        super().__init__(factory)
        self._agent = agent
        self._directory = Path(directory)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(self._directory, os.W_OK):
            raise PermissionError(f"recordings cannot be written to {self._directory}")

    async def start(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        who = re.sub(r"[^\w.-]", "_", principal)[:40] or "anyone"
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{who}-{secrets.token_hex(3)}.jsonl"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # who cleans up may remove it
        writer = BackgroundWriter(
            self._directory / name, point="server", agent=self._agent, filters=Filters()
        )
        try:
            started = await self._factory.start(Tap(writer, receiver), principal, is_detached)
        except BaseException:
            await writer.close()
            raise
        return _Recorded(started, writer)


class _Recorded:
    def __init__(self, agent: RunningAgent, writer: BackgroundWriter) -> None:
        self._agent = agent
        self._writer = writer
        self.channel: Channel = _Written(agent.channel, writer)

    async def close(self) -> None:
        try:
            await self._agent.close()
        finally:
            await self._writer.close()


class _Written:
    """The agent's channel; what is written to it is written down."""

    def __init__(self, channel: Channel, writer: BackgroundWriter) -> None:
        self._channel = channel
        self._writer = writer
        self.open = channel.open
        self.pause_reading = channel.pause_reading
        self.resume_reading = channel.resume_reading
        self.close = channel.close

    @property
    def about(self) -> ChannelInfo:
        return self._channel.about

    def write(self, data: bytes | bytearray) -> None:
        self._writer.put("out", bytes(data))
        self._channel.write(data)
