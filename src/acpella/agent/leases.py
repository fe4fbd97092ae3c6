"""How one editor's connection becomes the writer of a stored session. There is one writer at a time."""

import asyncio
import secrets

from acpella.errors import InvalidRequest
from acpella.sessions import ClusterCommand, Lease, SessionBusy, Store

from .editor import Editor
from .open_sessions import OpenSessions
from .running import RunningPrompts
from .session import SessionCore
from .watching import Watching

__all__ = ["Leases", "still_running"]

RELEASE_SECONDS = 10.0
"""For another node to give up an idle session."""

SHORTEST_PAUSE = 0.02
LONGEST_PAUSE = 0.25
"""Seconds between looks whether it did."""


class Leases:
    """Takes a session from wherever it is idle: another connection of this agent, or another node."""

    def __init__(
        self,
        editor: Editor,
        store: Store,
        open_sessions: OpenSessions,
        running: RunningPrompts,
        watching: Watching,
    ) -> None:
        self._editor = editor
        self._store = store
        self._open_sessions = open_sessions
        self._running = running
        self._watching = watching

    async def acquire(self, session_id: str) -> Lease:
        """Become the writer, unless another process is it. Raises `SessionBusy`."""
        return await self._store.acquire(session_id, principal=self._editor.principal)

    async def acquire_idle(self, session_id: str) -> Lease:
        """Become the writer. A session that is open and idle on a connection of this agent is closed there.

        Raises `SessionBusy` if another process has it, `InvalidRequest` if it is in use here.
        """
        await self._open_sessions.settled(session_id)
        session = self._open_sessions.of_user(session_id, self._editor.principal)
        if session is not None:
            self.check_idle(session)
            if session.editor is self._editor:
                await self._open_sessions.forget(session)
            else:
                await self._open_sessions.give(session)
        return await self.acquire(session_id)

    async def acquire_from_node(self, session_id: str) -> Lease:
        """Become the writer; if another node has the session, ask that node to release it and wait.

        Raises `SessionBusy` if it is not released in time, `InvalidRequest` as soon as a prompt runs there.
        """
        holder: str | None = None
        pause = SHORTEST_PAUSE
        deadline = asyncio.get_running_loop().time() + RELEASE_SECONDS
        while True:
            try:
                return await self.acquire(session_id)
            except SessionBusy as busy:
                if self._watching.is_prompting(session_id):
                    raise still_running() from None
                if busy.node is None or asyncio.get_running_loop().time() > deadline:
                    raise
                if holder != busy.node:
                    holder = busy.node
                    await self._ask_for_release(session_id)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _ask_for_release(self, session_id: str) -> None:
        cluster = self._watching.cluster
        name = f"release-{secrets.token_hex(8)}"
        command = ClusterCommand(id=name, kind="release", body=cluster.life.encode())
        await cluster.submit(session_id, command, principal=self._editor.principal)

    def check_idle(self, session: SessionCore) -> None:
        """Raises `InvalidRequest` while a prompt or another request runs in it."""
        if session.prompt is not None or session.id in self._running:
            raise still_running()
        if session.in_use:
            raise InvalidRequest("another request of this session is not answered yet; wait for that")


def still_running() -> InvalidRequest:
    """The error for a request that needs a session in which a prompt is running."""
    return InvalidRequest("a prompt is running in this session; cancel it or wait for its end")
