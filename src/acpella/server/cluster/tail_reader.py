"""Reads a stream of a connection whose home is another node."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import aclosing

from acpella.server.access.credentials import Credential
from acpella.server.metrics import Metrics
from acpella.sessions import Cluster, Cursor, SessionNotFound, StoreError, StoreUnavailable

from .records import Closed, Frames, Left, decode

__all__ = ["TailReader"]

log: logging.Logger = logging.getLogger(__name__)

AHEAD_BYTES = 1024 * 1024
"""Bytes that are read from the database before the client has taken them."""

RETRY_SECONDS = 0.5
"""Seconds between tries to go on while the database is away."""


class TailReader:
    """An `OutboxReader` on the messages that the home wrote."""

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        stream: str,
        *,
        credential: Credential,
        session: str | None,
        on_taken: Callable[[int], None],
        on_closed: Callable[[str, int], None],
        abort: Callable[[], None] | None,
        metrics: Metrics,
    ) -> None:
        """`on_taken` hears the number of the last message that was taken, `on_closed` why all is over."""
        self.name = name
        self.session = session
        self.credential = credential
        self._cluster = cluster
        self._stream = stream
        self._on_taken = on_taken
        self._on_closed = on_closed
        self._abort = abort
        self._metrics = metrics
        self._began = time.time()
        self._taken = 0
        self._read = 0  # the number of the last message that is here
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._room = asyncio.Event()
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._complete = False  # nothing more will come
        self.ended: bool = False
        self.taken_over: bool = False
        self.why: str = ""

    def start(self, *, after: int, seq: int) -> None:
        """Read the messages after this number, which are found after that entry."""
        self._taken = self._read = after
        self._task = asyncio.get_running_loop().create_task(self._follow(seq))

    # -- the client's side -------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return self.ended or (self._complete and not self._frames)

    def take(self, limit: int) -> tuple[int, list[bytes]]:
        if self.ended:
            return 0, []
        first = self._taken + 1
        batch: list[bytes] = []
        size = 0
        while self._frames and size < limit:
            batch.append(self._frames.popleft())
            size += len(batch[-1])
        self._size -= size
        self._taken += len(batch)
        if batch:
            self._on_taken(self._taken)
        if self._size < AHEAD_BYTES:
            self._room.set()
        return first, batch

    async def wait(self, seconds: float) -> bool:
        if self._frames or self.over:
            return True
        self._arrived.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    def end(self, *, taken_over: bool = False, why: str = "") -> None:
        if not self.ended:
            self.ended = True
            self.taken_over = taken_over
            self.why = why
            self._arrived.set()
            self._room.set()

    def abort(self, *, why: str = "") -> None:
        self.end(why=why)
        if self._abort is not None:
            self._abort()

    def release(self) -> None:
        self.ended = True
        if self._task is not None:
            self._task.cancel()

    def check_credential(self) -> None:
        """End when the credential of its client is not valid any more."""
        why = self.credential.why_over()
        if why is not None:
            if self.why:
                self.abort()  # ended before, but the client does not read
            else:
                self.end(why=why)

    # -- the home's side ---------------------------------------------------------------------------

    async def _follow(self, seq: int) -> None:
        while not self.ended:
            cursor = Cursor(self._cluster.gen, seq)
            try:
                async for events in self._cluster.tail(
                    self._stream, cursor, principal=self.credential.principal, gaps=True
                ):
                    for event in events:
                        self._on_entry(event.kind, event.body)
                        seq = event.seq
                    if self._size >= AHEAD_BYTES and not self.ended:
                        await self._until_room(seq)
                    if self.ended:
                        return
            except StoreUnavailable as error:
                log.info("a stream waits for the database: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            except SessionNotFound:
                self._finish()
                return
            except StoreError as error:  # of another generation, or beyond the end: the client must know
                log.warning("a stream cannot go on: %s", error)
                self.end()
                return
            except Exception:
                log.exception("a stream cannot be read")
                self.end()
                return

    async def _until_room(self, seq: int) -> None:
        """Wait for the client to take something, and hear meanwhile whether the home gives up on it."""
        self._room.clear()
        listening = asyncio.get_running_loop().create_task(self._listen(seq))
        try:
            await self._room.wait()
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def _listen(self, seq: int) -> None:
        """End when the home says so; its entry comes after messages that there is no room for yet."""
        while True:
            cursor = Cursor(self._cluster.gen, seq)
            tail = self._cluster.tail(self._stream, cursor, principal=self.credential.principal, gaps=True)
            try:
                async with aclosing(tail):
                    async for events in tail:
                        for event in events:
                            if str(event.kind) == "left":
                                self._on_entry(event.kind, event.body)
                        seq = events[-1].seq
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except StoreError as error:  # what it did not read is gone
                log.info("a client that does not read is hung up on: %s", error)
                self.abort()
                return

    def _on_entry(self, kind: str, body: bytes) -> None:
        if kind == "frames":
            frames = Frames.unpack(body)
            if frames.session == self.session:
                self._add(frames)
        elif kind == "left":
            left = decode(body, Left)
            if left.reader != self.name:
                return
            if left.abort:
                self.abort(why=left.why)
            else:
                self.end(taken_over=left.taken_over, why=left.why)
        elif kind == "closed":
            closed = decode(body, Closed)
            self._on_closed(closed.reason, closed.code)
            self._finish()

    def _add(self, frames: Frames) -> None:
        new = frames.messages[max(0, self._read + 1 - frames.first) :]
        if not new:
            return
        if frames.first > self._read + 1:  # what is between was never kept
            log.warning("a stream has a gap after %d", self._read)
            self.end()
            return
        self._read = frames.first + len(frames.messages) - 1
        if frames.said_at > self._began:  # the rest was there before anybody read it here
            self._metrics.add("acpella_cluster_fanout_total")
            delay = max(0.0, time.time() - frames.said_at)
            self._metrics.add("acpella_cluster_fanout_seconds_total", amount=delay)
        self._frames.extend(new)
        self._size += sum(map(len, new))
        self._arrived.set()

    def _finish(self) -> None:
        self._complete = True
        self._arrived.set()
