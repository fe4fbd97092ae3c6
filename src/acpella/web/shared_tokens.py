"""Tokens that a node made up for its own links: the other nodes take them, too."""

import asyncio
import hashlib
import logging
from collections.abc import Iterable
from contextlib import suppress

from acpella.server.access.tokens import Tokens
from acpella.sessions import Cluster, StoreError

__all__ = ["SharedTokens"]

log: logging.Logger = logging.getLogger(__name__)

PREFIX = "token:"
"""How the names of these notes begin; the hash of a token follows."""

KEPT_SECONDS = 24 * 3600.0
"""Seconds that other nodes accept a token after the node that made it up is gone."""

RENEW_SECONDS = 3600.0
"""How often a node says that it is there."""

NEWS_SECONDS = 3.0
"""Seconds until every node knows a token: it is told at once, or polls if that hint was lost."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to reach a database that is away."""


class SharedTokens:
    """Tells the other nodes of tokens by their hash, and takes theirs."""

    def __init__(self, cluster: Cluster, auth: Tokens, own: Iterable[str]) -> None:
        """`own` are those of `auth` that this node made up."""
        self._cluster = cluster
        self._auth = auth
        self._notes: dict[str, bytes] = {}
        for token in own:
            if (user := auth.user_of(token)) is not None:
                self._notes[PREFIX + hashlib.sha256(token.encode()).hexdigest()] = user.encode()
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()

    async def open(self) -> None:
        """Raises `StoreError`."""
        await self._cluster.keep_notes(self._notes, seconds=KEPT_SECONDS)
        create = asyncio.get_running_loop().create_task
        self._tasks = [create(self._read()), create(self._renew())]

    async def close(self) -> None:
        """Safe to call twice."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def until_known(self, token: str) -> None:
        """Wait a moment for a token whose code another node issued just now."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NEWS_SECONDS):
                while self._auth.user_of(token) is None:
                    self._news.clear()
                    await self._news.wait()

    async def _renew(self) -> None:
        pause = RENEW_SECONDS
        while True:
            await asyncio.sleep(pause)
            try:
                await self._cluster.keep_notes(self._notes, seconds=KEPT_SECONDS)
                pause = RENEW_SECONDS
            except StoreError as error:
                log.info("could not tell other nodes of this one's links: %s", error)
                pause = RETRY_SECONDS

    async def _read(self) -> None:
        while True:
            try:
                async for notes in self._cluster.notes():
                    for name, user in notes.items():
                        if name.startswith(PREFIX) and name not in self._notes:
                            self._auth.learn(bytes.fromhex(name.removeprefix(PREFIX)), user.decode())
                    self._news.set()
            except StoreError as error:
                log.info("could not look for links of other nodes: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
