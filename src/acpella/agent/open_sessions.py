"""The sessions of an agent that are in memory, on all its connections."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from acpella.sessions import Lease, LiveSessions, Store, StoreError, StoreUnavailable

from .definition import Definition
from .session import SessionCore

__all__ = ["OpenSessions"]

log: logging.Logger = logging.getLogger(__name__)

CLOSE_GRACE = 1.0
"""Seconds for the author's `on_close`. Without it, one that hangs keeps sessions and the process alive."""

RETRY_SECONDS = 0.5
"""Until the next try to give a session back, when the store is away."""


class _Door:
    """Lets one request at a time open or remove a session; gone with the last who uses it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class OpenSessions:
    """Limits the sessions in memory: unused ones are unloaded to the store until they are needed."""

    def __init__(self, definition: Definition, store: Store | None) -> None:
        self._definition = definition
        self._store = store
        self._live: LiveSessions[SessionCore] = LiveSessions(
            self._unload,
            lambda session: session.busy,
            max_sessions=definition.settings.max_sessions,
            idle_seconds=definition.settings.session_idle_timeout or None,
        )
        self._doors: dict[str, _Door] = {}
        self._giving_back: set[asyncio.Task[None]] = set()

    def get(self, session_id: str) -> SessionCore | None:
        return self._live.get(session_id)

    def of_user(self, session_id: str, principal: str) -> SessionCore | None:
        """A session of this user's, on any connection."""
        session = self._live.get(session_id)
        return session if session is not None and session.editor.principal == principal else None

    def all(self) -> list[SessionCore]:
        return self._live.values()

    async def settled(self, session_id: str) -> None:
        """Wait for a session that is being unloaded."""
        await self._live.settle(session_id)

    async def run_reaper(self) -> None:
        """Unload what is idle, for ever."""
        await self._live.run_reaper()

    @asynccontextmanager
    async def alone(self, session_id: str) -> AsyncGenerator[None]:
        """Open or remove a session while nobody else does, on any connection."""
        door = self._doors.setdefault(session_id, _Door())
        door.users += 1
        try:
            async with door.lock:
                yield
        finally:
            door.users -= 1
            if not door.users:
                del self._doors[session_id]

    async def admit(self, session: SessionCore) -> None:
        """Keep a session in memory; one that the author's hook refuses is let go again."""
        session.users += 1  # not unloaded before it was of any use
        try:
            await self._live.add(session.id, session)
            await self._definition.call_hook("session", session.session)
        except BaseException:
            self._live.remove(session.id)
            await self._let_go(session, save=False)
            raise
        finally:
            session.users -= 1

    async def forget(self, session: SessionCore, *, save: bool = True) -> None:
        """Let a session go: nothing of it stays in memory."""
        self._live.remove(session.id)
        await session.stop_background()
        try:
            async with asyncio.timeout(CLOSE_GRACE):
                await self._definition.call_hook("close", session.session)
        except Exception:
            log.exception("on_close failed for session %s", session.id)
        await self._let_go(session, save=save)

    async def _let_go(self, session: SessionCore, *, save: bool) -> None:
        if session.log_writer is None or self._store is None:
            return
        session.log_writer.close()
        try:
            if save:
                await session.save()
        except StoreError as error:
            log.error("session %s was not saved: %s", session.id, error)
        except asyncio.CancelledError:  # its connection did not wait for this
            self._give_back_later(self._store, session.log_writer.lease)
            raise
        await self.give_back(session.log_writer.lease)

    async def give_back(self, lease: Lease) -> None:
        """Release a session, so that others can have it; if the store is away, once it is back."""
        assert self._store is not None
        try:
            await self._store.release(lease)
        except StoreUnavailable as error:
            log.warning("session %s is not given back yet: %s", lease.session_id, error)
            self._give_back_later(self._store, lease)
        except StoreError as error:
            log.warning("session %s was not given back: %s", lease.session_id, error)
        except asyncio.CancelledError:
            self._give_back_later(self._store, lease)
            raise

    def _give_back_later(self, store: Store, lease: Lease) -> None:
        """This process may live on, and nobody else could have the session for as long as it does."""
        task = asyncio.get_running_loop().create_task(_give_back(store, lease))
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def give(self, session: SessionCore) -> None:
        """Release a session to whoever wants to work with it next; its editor watches from now on."""
        editor = session.editor
        await self._unload(session)
        if editor.look_on is not None and not editor.is_away:
            editor.look_on(session.id, editor.parked.pop(session.id))

    async def _unload(self, session: SessionCore) -> None:
        session.park()  # before it is gone from here: it may be wanted again meanwhile
        await self.forget(session)
        if session.id in session.editor.parked:  # or it was closed
            session.park()


async def _give_back(store: Store, lease: Lease) -> None:
    """Try until the store is there."""
    while True:
        try:
            await store.release(lease)
            return
        except StoreUnavailable as error:
            log.info("session %s is not given back yet: %s", lease.session_id, error)
        except StoreError as error:
            log.info("session %s was not given back: %s", lease.session_id, error)
            return
        await asyncio.sleep(RETRY_SECONDS)
