"""A cluster of one node: everything but the logs of sessions lives in this process."""

import asyncio
import secrets
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ._hints import Hints
from .cluster import (
    CONNECTION,
    NOTES,
    SESSION_COMMANDS,
    ClusterCommand,
    Cursor,
    NodeStatus,
    Resync,
    StreamRecord,
)
from .store import Event, Events, Fenced, Lease, SessionExists, SessionNotFound, Store, StoreError

__all__ = ["LocalCluster", "check_name"]

POLL_SECONDS = 1.0
"""How often a tail looks without a hint: another process may write to the same SQLite file."""

MAX_DONE = 1024
"""Commands of a stream that are known after they are done. A repeated one comes soon, or never."""

PIECE_EVENTS = 500
"""Entries in one piece of a connection's stream."""


@dataclass(slots=True)
class _Stream:
    principal: str
    facts: bytes
    epoch: int
    held: bool = True
    last_seq: int = 0
    entries: list[Event] = field(default_factory=list[Event])


class LocalCluster:
    """The cluster of a server that is one process.

    Its methods are those of `Cluster`. Commands are handed over in memory and never written.
    """

    def __init__(self, store: Store, *, node: str = "local", hints: Hints | None = None) -> None:
        """`hints` are the store's own: who appends to it wakes the tails here."""
        self._store = store
        self._node = node
        self._gen = secrets.token_hex(4)
        self._streams: dict[str, _Stream] = {}
        self._leases: dict[str, tuple[int, bool]] = {}  # of sessions: the newest epoch, and whether it lasts
        self._commands: dict[str, dict[str, ClusterCommand]] = {}
        self._numbers = 0
        self._epochs = 0
        self._tickets: dict[bytes, tuple[float, str, bytes]] = {}
        self._notes: dict[str, tuple[int, bytes]] = {}
        self._hints = Hints() if hints is None else hints
        self._opened = self._closed = False

    @property
    def node(self) -> str:
        return self._node

    @property
    def life(self) -> str:
        return self._gen

    @property
    def gen(self) -> str:
        return self._gen

    def seconds_left(self) -> float:
        """There is nobody to lose anything to."""
        return float("inf")

    async def open(self) -> None:
        self._opened = True

    async def close(self) -> None:
        if self._closed or not self._opened:
            self._closed = True
            return
        self._closed = True
        for name, (epoch, lasts) in list(self._leases.items()):
            if lasts:
                await self._store.release(Lease(name, epoch))
        self._leases.clear()
        self._streams.clear()
        self._hints.heard("")

    def on_lost(self, call: Callable[[], None]) -> None:
        """Never: there is nobody to lose anything to."""

    async def nodes(self) -> list[NodeStatus]:
        self._check()
        running = [c for inbox in self._commands.values() for c in inbox.values() if c.state == "running"]
        held_count = sum(1 for stream in self._streams.values() if stream.held)
        return [
            NodeStatus(
                name=self._node,
                alive=True,
                silent_seconds=0.0,
                sessions=sum(1 for _, lasts in self._leases.values() if lasts),
                connections=held_count,
                running=len(running),
                life=self.life,
            )
        ]

    # -- streams -------------------------------------------------------------------------------

    async def open_stream(self, stream: str, facts: bytes, *, principal: str = "") -> Lease:
        self._check()
        check_name(stream)
        if stream in self._streams:
            raise SessionExists(f"there is a connection {stream!r} already")
        self._epochs += 1
        self._streams[stream] = _Stream(principal, facts, self._epochs)
        return Lease(stream, self._epochs)

    async def stream(self, stream: str, *, principal: str = "") -> StreamRecord:
        self._check()
        if not stream.startswith(CONNECTION):
            record = await self._store.get(stream, principal=principal)
            node = self._node if self._leases.get(stream, (0, False))[1] else None
            return StreamRecord(
                id=stream, principal=principal, facts=b"", last_seq=record.last_seq, node=node
            )
        entry = self._find(stream, principal)
        return StreamRecord(
            id=stream,
            principal=entry.principal,
            facts=entry.facts,
            last_seq=entry.last_seq,
            node=self._node if entry.held else None,
        )

    async def principal_of(self, stream: str) -> str:
        self._check()
        entry = self._streams.get(stream)
        if entry is None:
            raise SessionNotFound(stream)
        return entry.principal

    async def take(self, stream: str, *, principal: str = "") -> Lease:
        self._check()
        if not stream.startswith(CONNECTION):
            lease = await self._store.acquire(stream, principal=principal)
            self._leases[stream] = (lease.epoch, True)
            self._hints.wake(stream)
            return lease
        entry = self._find(stream, principal)
        self._epochs += 1
        entry.epoch, entry.held = self._epochs, True
        self._hints.wake(stream)
        return Lease(stream, entry.epoch)

    async def give_back(self, lease: Lease) -> None:
        self._check()
        name = lease.session_id
        if name.startswith(CONNECTION):
            stream = self._streams.get(name)
            if stream is not None and stream.epoch == lease.epoch:
                stream.held = False
        else:
            if self._leases.get(name, (lease.epoch, True))[0] <= lease.epoch:
                self._leases[name] = (lease.epoch, False)
            await self._store.release(lease)
        self._hints.wake(name)

    async def put(
        self,
        lease: Lease,
        expected_seq: int,
        entries: Sequence[tuple[str, bytes]],
        *,
        settle: str | None = None,
        facts: bytes | None = None,
    ) -> int:
        self._check()
        name = lease.session_id
        if name.startswith(CONNECTION):
            last = self._put(self._held(lease), name, expected_seq, entries)
            if facts is not None:
                self._streams[name].facts = facts
        else:
            last = await self._store.append(lease, expected_seq, cast("Any", entries))
        if settle is not None:
            self._settle(name, settle)
        self._hints.wake(name)
        return last

    @staticmethod
    def _put(stream: _Stream, name: str, expected: int, entries: Sequence[tuple[str, bytes]]) -> int:
        last = stream.last_seq
        if last != expected:
            wrote = [(event.kind, event.body) for event in stream.entries if event.seq > expected]
            if entries and last == expected + len(entries) and wrote == [tuple(each) for each in entries]:
                return last
            raise Fenced(f"the stream {name!r} is at {last}, not at {expected}")
        numbered = enumerate(entries, last + 1)
        stream.entries.extend(Event(seq, cast("Any", kind), bytes(body)) for seq, (kind, body) in numbered)
        stream.last_seq += len(entries)
        return stream.last_seq

    async def drop(self, lease: Lease, through: int, *, others: Sequence[int] = ()) -> None:
        self._check()
        stream = self._held(lease)
        del stream.entries[: bisect_right(stream.entries, through, key=lambda event: event.seq)]
        if others:
            names = set(others)
            stream.entries[:] = [event for event in stream.entries if event.seq not in names]

    async def kept(self, lease: Lease) -> AsyncIterator[Events]:
        self._check()
        if entries := list(self._held(lease).entries):
            yield entries

    async def remove_stream(self, lease: Lease) -> None:
        self._check()
        self._held(lease)
        del self._streams[lease.session_id]
        self._commands.pop(lease.session_id, None)
        self._hints.wake(lease.session_id)

    async def remove_abandoned(self, seconds: float, *, limit: int = 100) -> int:
        self._check()
        return 0  # they end with the process

    async def head(self, stream: str, *, principal: str = "") -> Cursor:
        return Cursor(self._gen, (await self.stream(stream, principal=principal)).last_seq)

    async def tail(
        self, stream: str, after: Cursor, *, principal: str = "", gaps: bool = False
    ) -> AsyncGenerator[Events]:
        self._check()
        if after.gen != self._gen:
            raise Resync(f"the cursor {str(after)[:60]!r} is of another generation; load the session again")
        with self._hints.watch(stream) as changed:
            seq = after.seq
            while True:
                changed.clear()
                pieces = self._pieces(stream, seq, principal, gaps=gaps)
                async for piece in pieces:
                    seq = piece[-1].seq
                    yield piece
                await _wait(changed)
                self._check()

    async def _pieces(self, stream: str, after: int, principal: str, *, gaps: bool) -> AsyncIterator[Events]:
        last = (await self.stream(stream, principal=principal)).last_seq
        if after > last:
            raise Resync(f"the stream {stream!r} ends before the cursor; load the session again")
        if not stream.startswith(CONNECTION):
            async for piece in self._store.read(stream, after=after, principal=principal):
                yield piece
            return
        while after < last:
            entries = self._find(stream, principal).entries
            start = bisect_right(entries, after, key=lambda event: event.seq)
            piece = entries[start : start + PIECE_EVENTS]
            if gaps and not piece:
                return
            if not gaps and (not piece or piece[0].seq != after + 1):
                raise Resync(f"what the cursor points to in {stream!r} was dropped; load the session again")
            yield piece
            after = piece[-1].seq

    # -- commands ------------------------------------------------------------------------------

    async def submit(self, stream: str, command: ClusterCommand, *, principal: str = "") -> bool:
        self._check()
        await self.stream(stream, principal=principal)
        inbox = self._commands.setdefault(stream, {})
        if command.id in inbox:
            return False
        self._numbers += 1
        inbox[command.id] = replace(command, number=self._numbers, state="new")
        self._hints.wake(stream)
        if not stream.startswith(CONNECTION):
            self._hints.wake(SESSION_COMMANDS)
        return True

    async def pending(self, lease: Lease) -> list[ClusterCommand]:
        self._check()
        self._held(lease)
        return [c for c in self._commands.get(lease.session_id, {}).values() if c.state != "done"]

    async def begin(self, lease: Lease, command_id: str) -> bool:
        self._check()
        self._held(lease)
        inbox = self._commands.get(lease.session_id, {})
        command = inbox.get(command_id)
        if command is None or command.state != "new":
            return False
        inbox[command_id] = replace(command, state="running")
        return True

    async def start(self, lease: Lease, command: ClusterCommand) -> bool:
        self._check()
        self._held(lease)
        inbox = self._commands.setdefault(lease.session_id, {})
        if command.id in inbox:
            return False
        self._numbers += 1
        inbox[command.id] = replace(command, number=self._numbers, state="running")
        return True

    async def put_back(self, lease: Lease, command_id: str) -> None:
        self._check()
        self._held(lease)
        inbox = self._commands.get(lease.session_id, {})
        begun = inbox.get(command_id)
        if begun is not None and begun.state == "running":
            inbox[command_id] = replace(begun, state="new")

    async def settle(self, lease: Lease, command_id: str, *, forget: bool = False) -> None:
        self._check()
        self._held(lease)
        self._settle(lease.session_id, command_id)
        if forget:
            self._commands.get(lease.session_id, {}).pop(command_id, None)

    async def command_ids(self, lease: Lease) -> list[str]:
        self._check()
        self._held(lease)
        return list(self._commands.get(lease.session_id, {}))

    async def commands(self, lease: Lease) -> AsyncIterator[ClusterCommand]:
        seen: set[str] = set()
        with self._hints.watch(lease.session_id) as changed:
            while True:
                changed.clear()
                for command in await self.pending(lease):
                    if command.state == "new" and command.id not in seen:
                        seen.add(command.id)
                        yield command
                await _wait(changed)

    async def session_commands(self) -> AsyncIterator[tuple[str, ClusterCommand]]:
        with self._hints.watch(SESSION_COMMANDS) as changed:
            while True:
                self._check()
                changed.clear()
                for stream in [name for name in self._commands if not name.startswith(CONNECTION)]:
                    inbox = self._commands[stream]
                    for command in [each for each in inbox.values() if each.state == "new"]:
                        del inbox[command.id]
                        yield stream, command
                    if not inbox:
                        self._commands.pop(stream, None)
                await changed.wait()

    async def orphans(self, limit: int = 100) -> list[str]:
        self._check()
        waiting = [
            name
            for name, inbox in self._commands.items()
            if any(command.state != "done" for command in inbox.values())
        ]
        return waiting[:limit]

    async def waiting(self) -> int:
        self._check()
        return sum(command.state == "new" for inbox in self._commands.values() for command in inbox.values())

    # -- tickets -------------------------------------------------------------------------------

    async def keep_ticket(
        self, digest: bytes, body: bytes, *, seconds: float, limit: int, principal: str = ""
    ) -> bool:
        self._check()
        now = asyncio.get_running_loop().time()
        self._tickets = {key: ticket for key, ticket in self._tickets.items() if ticket[0] > now}
        if sum(ticket[1] == principal for ticket in self._tickets.values()) >= limit:
            return False
        self._tickets[digest] = (now + seconds, principal, body)
        return True

    async def take_ticket(self, digest: bytes) -> bytes | None:
        self._check()
        until, _, body = self._tickets.pop(digest, (0.0, "", b""))
        return body if until > asyncio.get_running_loop().time() else None

    # -- notes ---------------------------------------------------------------------------------

    async def keep_notes(self, notes: Mapping[str, bytes], *, seconds: float | None = None) -> None:
        """They last as long as this process, like everything here, whatever `seconds` says."""
        self._check()
        for name, body in notes.items():
            self._numbers += 1
            self._notes[name] = (self._numbers, body)
        self._hints.wake(NOTES)

    async def notes(self) -> AsyncIterator[dict[str, bytes]]:
        last = 0
        with self._hints.watch(NOTES) as changed:
            while True:
                changed.clear()
                self._check()
                news = {name: body for name, (number, body) in self._notes.items() if number > last}
                if news or not last:
                    last = max(last, self._numbers)
                    yield news
                await changed.wait()

    # -- inside --------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._closed or not self._opened:
            raise StoreError("the cluster is closed" if self._closed else "the cluster is not open yet")

    def _find(self, stream: str, principal: str) -> _Stream:
        entry = self._streams.get(stream)
        if entry is None or entry.principal != principal:
            raise SessionNotFound(stream)
        return entry

    def _held(self, lease: Lease) -> _Stream:
        """Raises `Fenced` unless the lease lasts."""
        name = lease.session_id
        stream = self._streams.get(name)
        if not name.startswith(CONNECTION):
            # The agent has leases from the store itself, so one that is newer than all others is believed.
            epoch, lasts = self._leases.get(name, (0, False))
            if lease.epoch > epoch or (lease.epoch == epoch and lasts):
                self._leases[name] = (lease.epoch, True)
                return _Stream("", b"", lease.epoch)
        elif stream is None:
            raise SessionNotFound(name)
        elif stream.held and stream.epoch == lease.epoch:
            return stream
        raise Fenced(f"the stream {name!r} was given back or taken by somebody else")

    def _settle(self, stream: str, command_id: str) -> None:
        inbox = self._commands.get(stream, {})
        if (entry := inbox.get(command_id)) is not None:
            # without what it carried: only its id is needed from now on
            del inbox[command_id]
            inbox[command_id] = replace(entry, state="done", body=b"", trace=b"")
            done = [name for name, command in inbox.items() if command.state == "done"]
            for name in done[:-MAX_DONE]:
                del inbox[name]


def check_name(stream: str) -> None:
    """Raises `ValueError` for what cannot be a connection's stream."""
    if not stream.startswith(CONNECTION) or len(stream) <= len(CONNECTION):
        raise ValueError(f"the stream of a connection is called {CONNECTION}ID, not {stream!r}")


async def _wait(changed: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await changed.wait()
    except TimeoutError:
        pass
