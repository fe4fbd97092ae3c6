"""Writes what a connection says to its stream, many messages to a commit, and shows them afterwards."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acpella.server.metrics import Metrics
from acpella.sessions import Cluster, Fenced, Lease, SessionNotFound, StoreError, StoreUnavailable

from .kept_outbox import KeptOutbox
from .records import Facts, Frames, encode

__all__ = ["FrameLog"]

log: logging.Logger = logging.getLogger(__name__)

BATCH_BYTES = 512 * 1024
"""Bytes of messages in one commit."""

DROP_ENTRIES = 256
DROP_BYTES = 1024 * 1024
"""Entries and bytes that gather before those that their readers have are deleted, many at once."""

NOTE_AFTER = 1.0
"""Seconds after which the next commit notes how far streams were read."""

CONTROL_SECONDS = 60.0
"""Seconds for gateways to see an entry that is meant for one of them."""


@dataclass(slots=True)
class _Waiting:
    """Something to be written."""

    outbox: KeptOutbox | None = None
    first: int = 0
    messages: list[bytes] = field(default_factory=list[bytes])
    entry: tuple[str, bytes] | None = None
    then: Callable[[], None] | None = None
    settles: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    said_at: float = 0.0


@dataclass(slots=True)
class _Entry:
    """Something that was written and is kept."""

    seq: int
    size: int
    outbox: KeptOutbox | None
    last: int
    written_at: float


class FrameLog:
    """The writing end of one connection's stream."""

    def __init__(
        self, cluster: Cluster, facts: Facts, metrics: Metrics, *, on_lost: Callable[[str], None]
    ) -> None:
        """`on_lost` is called with the reason when the stream is not ours any more."""
        self._cluster = cluster
        self._metrics = metrics
        self._on_lost = on_lost
        self.facts = facts
        self.lease: Lease | None = None
        """Before there is one, nothing is written, and everything is shown at once."""
        self.seq: int = 0
        self.changed: bool = False
        """The facts are to be written."""
        self._waiting: deque[_Waiting] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._kept: deque[_Entry] = deque()
        self._outboxes: dict[str | None, KeptOutbox] = {}
        self._noted = 0.0
        self._over = False

    # -- what is to be written -------------------------------------------------------------------

    def keep(self, outbox: KeptOutbox, messages: Sequence[bytes]) -> None:
        """Write messages, then show them."""
        first = outbox.numbered - len(messages) + 1
        self._add(_Waiting(outbox, first, list(messages), said_at=time.time()))

    def settle(self, command_id: str, *, forget: bool) -> None:
        """Mark a command as done, in the same commit as what `keep` got last if that is not written yet."""
        if self.lease is None or self._over:
            return  # the next home decides what becomes of it
        if not self._waiting:
            self._add(_Waiting())
        self._waiting[-1].settles.append((command_id, forget))

    def control(self, kind: str, body: object) -> None:
        """An entry for gateways."""
        self._add(_Waiting(entry=(kind, encode(body))))

    def write_facts(self) -> None:
        """The facts have changed."""
        self.changed = True
        self._add(_Waiting())

    def afterwards(self, then: Callable[[], None]) -> None:
        """Call this when everything that waits now was shown."""
        self._add(_Waiting(then=then))

    def _add(self, waiting: _Waiting) -> None:
        if self.lease is None or self._over:
            if waiting.outbox is not None and not self._over:
                waiting.outbox.deliver(waiting.messages)
            if waiting.then is not None:
                waiting.then()
            return
        self._waiting.append(waiting)
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._run())

    async def settled(self) -> None:
        """Wait until everything was written."""
        while self._pump is not None:
            await asyncio.wait([self._pump])

    def stop(self) -> None:
        """Write and show nothing more."""
        self._over = True
        self._waiting.clear()

    # -- what was written --------------------------------------------------------------------------

    def new_outbox(self, outbox: KeptOutbox) -> None:
        """Its messages are written here."""
        self._outboxes[outbox.session] = outbox

    def restored(self, seq: int, size: int, outbox: KeptOutbox | None, last: int) -> None:
        """An entry of an earlier home."""
        self._kept.append(_Entry(seq, size, outbox, last, asyncio.get_running_loop().time()))

    def before(self, outbox: KeptOutbox, number: int) -> int:
        """The entry after which the messages after this number are found."""
        for entry in self._kept:
            if entry.outbox is outbox and entry.last > number:
                return entry.seq - 1
        return self.seq

    # -- writing -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while self._waiting and not self._over:
                batch = self._gather()
                try:
                    await self._write(batch)
                except StoreUnavailable:
                    raise
                except (Fenced, SessionNotFound):
                    raise
                except StoreError as error:
                    # The client must hear of what it waits for. Should this node die now, it must load anew.
                    log.error(
                        "what a connection said could not be kept, and is shown nevertheless: %s", error
                    )
                if self._over:
                    return
                self._show(batch)
                await self._clear_away()
        except (Fenced, SessionNotFound, StoreUnavailable) as error:
            self.stop()
            self._on_lost(str(error))
        except Exception:
            log.exception("what a connection says cannot be written")
            self.stop()
            self._on_lost("its messages could not be written; the server's log says why")
        finally:
            self._pump = None

    def _gather(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and size < BATCH_BYTES:
            waiting = self._waiting.popleft()
            batch.append(waiting)
            size += sum(map(len, waiting.messages))
        return batch

    async def _write(self, batch: list[_Waiting]) -> None:
        assert self.lease is not None
        entries: list[tuple[str, bytes]] = []
        written: list[_Entry] = []
        loop = asyncio.get_running_loop()
        now = loop.time()

        def add(kind: str, body: bytes, outbox: KeptOutbox | None, last: int) -> None:
            entries.append((kind, body))
            written.append(_Entry(self.seq + len(entries), len(body), outbox, last, now))

        frames: Frames | None = None
        outbox: KeptOutbox | None = None

        def add_frames() -> None:
            nonlocal frames
            if frames is not None:
                add("frames", frames.pack(), outbox, frames.first + len(frames.messages) - 1)
                frames = None

        for waiting in batch:
            if waiting.entry or waiting.outbox not in (None, outbox):
                add_frames()
            if waiting.outbox is not None:
                if frames is None:
                    outbox = waiting.outbox
                    frames = Frames(outbox.session, waiting.first, [], waiting.said_at)
                frames.messages += waiting.messages
            if waiting.entry is not None:
                add(*waiting.entry, None, 0)
        add_frames()
        settles = [settle for waiting in batch for settle in waiting.settles]
        one = next((command for command, forget in settles if not forget), None)
        facts = self._facts_now(now)
        if entries or facts is not None:
            self.seq = await self._cluster.put(self.lease, self.seq, entries, settle=one, facts=facts)
            self._kept.extend(written)
            self._metrics.add("acpella_cluster_appends_total")
            self._metrics.add("acpella_cluster_append_seconds_total", amount=loop.time() - now)
        elif one is not None:
            await self._cluster.settle(self.lease, one)
        for command, forget in settles:
            if command != one:
                await self._cluster.settle(self.lease, command, forget=forget)

    def _facts_now(self, now: float) -> bytes | None:
        """The facts, if they are to be written."""
        if now - self._noted >= NOTE_AFTER:
            for session, outbox in self._outboxes.items():
                if not outbox.lossless and self.facts.taken.get(session or "", 0) != outbox.taken:
                    self.facts.taken[session or ""] = outbox.taken
                    self.changed = True
        if not self.changed:
            return None
        self._noted = now
        self.changed = False
        return encode(self.facts)

    def _show(self, batch: list[_Waiting]) -> None:
        for waiting in batch:
            if waiting.outbox is not None:
                waiting.outbox.deliver(waiting.messages)
            if waiting.then is not None:
                waiting.then()

    async def _clear_away(self) -> None:
        """Forget what readers have, now and then."""
        if len(self._kept) < DROP_ENTRIES and sum(entry.size for entry in self._kept) < DROP_BYTES:
            return
        now = asyncio.get_running_loop().time()
        finished = [entry for entry in self._kept if _is_done(entry, now)]
        if len(finished) < DROP_ENTRIES / 2 and sum(entry.size for entry in finished) < DROP_BYTES / 2:
            return
        assert self.lease is not None
        for entry in finished:
            if entry.outbox is not None:
                self.facts.numbers[entry.outbox.session or ""] = entry.outbox.base
        self.seq = await self._cluster.put(self.lease, self.seq, (), facts=encode(self.facts))
        await self._cluster.drop(self.lease, 0, others=[entry.seq for entry in finished])
        self._kept = deque(entry for entry in self._kept if not _is_done(entry, now))


def _is_done(entry: _Entry, now: float) -> bool:
    if entry.outbox is None:
        return now - entry.written_at > CONTROL_SECONDS
    return entry.outbox.base >= entry.last
