"""Locks by name: only one task at a time works with a name, whatever others do with other names."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

__all__ = ["NamedLocks"]


class NamedLocks:
    """A lock for each name that somebody is busy with."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()

    @asynccontextmanager
    async def held(self, name: str) -> AsyncGenerator[None]:
        """Wait until nobody else is busy with this name."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._users[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[name] -= 1
            # Not when the lock is free: it is, for a moment, while the next waiter wakes up.
            if not self._users[name]:
                del self._users[name], self._locks[name]

    def __len__(self) -> int:
        """How many names somebody is busy with."""
        return len(self._locks)
