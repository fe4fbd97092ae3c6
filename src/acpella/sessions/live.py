"""The sessions that are in memory right now: not too many, and none that nobody uses."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["LiveSessions"]

log: logging.Logger = logging.getLogger(__name__)

LOOKS = 8
"""Busy sessions that one `add` passes over in search of an idle one. Without it, adding gets slower the more
sessions are busy."""

SHORTEST_PAUSE = 0.01
"""Seconds that the reaper rests at least, so that it cannot spin."""

T = TypeVar("T")


class LiveSessions(Generic[T]):
    """Live session objects by id, the least recently used first.

    Beyond `max_sessions`, adding one unloads the least recently used that are not busy, two at most; if all
    those looked at are busy, there may be more for a while. `reap` unloads those not used for
    `idle_seconds`. Unloading is the callback's work; the object is gone from here when it begins.
    """

    def __init__(
        self,
        unload: Callable[[T], Awaitable[None]],
        is_busy: Callable[[T], bool],
        *,
        max_sessions: int = 1000,
        idle_seconds: float | None = 1800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_sessions < 1:
            raise ValueError(f"max_sessions must be at least 1, not {max_sessions}")
        if idle_seconds is not None and not idle_seconds > 0:
            raise ValueError(f"idle_seconds must be more than 0, not {idle_seconds}; None never unloads")
        self.max_sessions = max_sessions
        self.idle_seconds = idle_seconds
        self._unload = unload
        self._is_busy = is_busy
        self._clock = clock
        self._live: OrderedDict[str, tuple[T, float]] = OrderedDict()  # with the time of last use, so sorted
        self._unloading: dict[str, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._live

    def __iter__(self) -> Iterator[str]:
        """The ids, least recently used first; a copy, so that they may change meanwhile."""
        return iter(list(self._live))

    def values(self) -> list[T]:
        """The objects, least recently used first. To look at them is no use of them."""
        return [session for session, _ in self._live.values()]

    def get(self, session_id: str) -> T | None:
        """The live object, which counts as used now; None if it must be loaded (after `settle`)."""
        entry = self._live.get(session_id)
        if entry is None:
            return None
        self._touch(session_id, entry[0])
        return entry[0]

    async def add(self, session_id: str, session: T) -> None:
        """Keep a new object, and unload another if there are too many. Raises `ValueError` for a known id."""
        if session_id in self._live:
            raise ValueError(f"session {session_id!r} is live already")
        self._touch(session_id, session)
        # two at most: a surplus from busier times goes away bit by bit
        for _ in range(2):
            if len(self._live) <= self.max_sessions:
                return
            victim = self._least_used(session_id)
            if victim is None:
                return
            await self._drop(victim)

    def remove(self, session_id: str) -> T | None:
        """Forget an object without unloading it."""
        entry = self._live.pop(session_id, None)
        return None if entry is None else entry[0]

    async def settle(self, session_id: str) -> None:
        """Wait until a session that is being unloaded is gone; to be called before it is loaded again."""
        while (pending := self._unloading.get(session_id)) is not None:
            await asyncio.shield(pending)

    async def reap(self, now: float | None = None) -> int:
        """Unload what has been idle for too long; tells how many."""
        if self.idle_seconds is None:
            return 0
        if now is None:
            now = self._clock()
        count = 0
        for _ in range(len(self._live)):  # each at most once
            if not self._live:
                break
            session_id, (session, used) = next(iter(self._live.items()))
            if now - used < self.idle_seconds:
                break
            if self._is_busy(session):
                self._touch(session_id, session)
            else:
                await self._drop(session_id)
                count += 1
        return count

    async def run_reaper(self) -> None:
        """Reap for ever, waking only when something may be due; to be cancelled."""
        if self.idle_seconds is None:
            return
        while True:
            _, used = next(iter(self._live.values()), (None, self._clock()))
            # what is used or added later is due later, so nothing can be missed while asleep
            await asyncio.sleep(max(used + self.idle_seconds - self._clock(), SHORTEST_PAUSE))
            await self.reap()

    def _touch(self, session_id: str, session: T) -> None:
        self._live[session_id] = (session, self._clock())
        self._live.move_to_end(session_id)

    def _least_used(self, newest: str) -> str | None:
        for _ in range(LOOKS):
            session_id = next(iter(self._live))
            if session_id == newest:
                return None
            session, _ = self._live[session_id]
            if not self._is_busy(session):
                return session_id
            self._touch(session_id, session)  # being busy is being used
        return None

    async def _drop(self, session_id: str) -> None:
        session, _ = self._live.pop(session_id)
        await self.settle(session_id)
        done = self._unloading[session_id] = asyncio.get_running_loop().create_future()
        try:
            await self._unload(session)
        except Exception:
            log.exception("unloading session %s failed", session_id)
        finally:
            del self._unloading[session_id]
            done.set_result(None)
