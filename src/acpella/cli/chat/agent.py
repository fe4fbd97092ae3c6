"""The agent of a chat, its own or that of a daemon: started, watched and let go."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from acpella.client import ClientSettings, ConnectedAgent
from acpella.errors import ConnectionClosed

from ..options import ConversationOptions
from ..session.mcp_servers import all_servers
from ..state.catalogue import SessionEntry
from ..terminal.questions import Asker
from . import kept_session
from .opening import open_agent

__all__ = ["ChatAgent"]


class ChatAgent:
    """One agent after the other: it can be started again when it has ended."""

    def __init__(
        self,
        options: ConversationOptions,
        settings: ClientSettings,
        target: str,
        asker: Asker,
        *,
        on_queued: Callable[[int], None],
        on_stderr: Callable[[bytes], None] | None,
        on_end: Callable[[], None],
    ) -> None:
        self.env: dict[str, str] = {}
        """Variables that a login asked the user for."""
        self.connected: ConnectedAgent | None = None
        self.ended: ConnectionClosed | None = None
        """Why the agent ended, if `close` or `forget` was not called."""
        self._options = options
        self._settings = settings
        self._target = target
        self._asker = asker
        self._on_queued = on_queued
        self._on_stderr = on_stderr
        self._on_end = on_end
        self._open = AsyncExitStack()
        self._watch: asyncio.Task[None] | None = None

    async def start(self, entry: SessionEntry | None) -> None:
        """Start the agent, or reach the one that the daemon of a session has."""
        await self.close()
        if entry is not None:
            self.connected = await kept_session.attach(
                self._options,
                self._settings,
                entry,
                self._asker,
                self._open,
                env=self.env,
                mcp_servers=all_servers(self._options.mcp, self._settings),
                on_queued=self._on_queued,
                on_stderr=self._on_stderr,
            )
        else:
            agent = open_agent(
                self._options,
                self._settings,
                self._target,
                self._asker,
                env=self.env,
                on_stderr=self._on_stderr,
            )
            self.connected = await self._open.enter_async_context(agent)
        self._watch = asyncio.ensure_future(self._wait_for_end(self.connected))

    async def close(self) -> None:
        """Close the connection to the agent, which ends it if it is the chat's own."""
        self.forget()
        await self._open.aclose()

    def forget(self) -> None:
        """Stop watching the agent that was started last."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self.connected = self.ended = None

    async def _wait_for_end(self, agent: ConnectedAgent) -> None:
        self.ended = await agent.connection.wait_closed()
        self._on_end()
