"""The nodes on a PostgreSQL database: streams and commands as rows; notifications, and a poll behind them."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._hints import Hints
from ._postgres_commands import PostgresCommands, inbox_of
from ._postgres_node import PostgresNode
from ._postgres_notes import PostgresNotes, sweep_notes
from ._postgres_pool import ConnectionPool
from ._postgres_status import nodes_of
from ._postgres_streams import PostgresStreams
from ._postgres_tickets import keep_ticket, take_ticket
from ._postgres_writer import STREAMS, PostgresWriter
from .cluster import NOTES, SESSION_COMMANDS, NodeStatus
from .store import Store, StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresCluster"]

log: logging.Logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How often a node looks at what it watches, all in one statement. A hint that was lost costs that much."""

SWEEP_SECONDS = 3600.0
"""How often what nobody needs any more is cleared away."""

SWEPT_AT_ONCE = 10_000
"""Rows that one statement deletes, so that it does not take long."""

KEPT = "1 day"
"""How long commands are remembered: those that are done, and all that are for sessions."""

_TIMELINE = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"

_CHANGED = """
SELECT id FROM unnest($1::text[], $2::bigint[]) AS w (name, seq)
JOIN (SELECT id, last_seq FROM sessions UNION ALL SELECT id, last_seq FROM streams) AS s
ON s.id = w.name AND s.last_seq > w.seq
"""

_WAITING = "SELECT DISTINCT target FROM commands WHERE target = ANY($1) AND state = 'new'"


class PostgresCluster(PostgresStreams, PostgresCommands, PostgresNotes):
    """All nodes that have the same database and schema."""

    def __init__(
        self,
        store: Store,
        *,
        connections: ConnectionPool,
        node: PostgresNode,
        hints: Hints,
        sessions: PostgresWriter,
    ) -> None:
        super().__init__(store, connections=connections, node=node, hints=hints, sessions=sessions)
        self._connects = 0  # of the node when the generation was read
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def node(self) -> str:
        return self._me.name

    @property
    def life(self) -> str:
        return str(self._me.incarnation)

    @property
    def gen(self) -> str:
        return self._gen

    def seconds_left(self) -> float:
        return self._me.remaining()

    async def open(self) -> None:
        await self._read_generation()
        self._writers[STREAMS].start()
        create = asyncio.get_running_loop().create_task
        self._tasks = [create(self._poll()), create(self._sweep())]
        self._opened = True

    async def close(self) -> None:
        if self._closed or not self._opened:
            self._closed = True
            return
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._writers[STREAMS].stop()
        self._hints.heard("")

        async def give_back(connection: "AnyConnection", again: bool) -> None:
            await connection.execute("UPDATE streams SET owner = NULL WHERE owner = $1", self._me.incarnation)

        try:
            await self._connections.run(give_back)
        except StoreError as exc:
            log.info("could not give back the connections of node %s: %s", self.node, exc)

    def on_lost(self, call: Callable[[], None]) -> None:
        self._me.on_lost.append(call)

    async def nodes(self) -> list[NodeStatus]:
        async def nodes(connection: "AnyConnection", again: bool) -> list[NodeStatus]:
            return await nodes_of(connection)

        return await self._run(nodes)

    # -- tickets -------------------------------------------------------------------------------

    async def keep_ticket(
        self, digest: bytes, body: bytes, *, seconds: float, limit: int, principal: str = ""
    ) -> bool:
        self._check()
        return await keep_ticket(
            self._connections, digest, body, seconds=seconds, limit=limit, principal=principal
        )

    async def take_ticket(self, digest: bytes) -> bytes | None:
        self._check()
        return await take_ticket(self._connections, digest)

    # -- inside --------------------------------------------------------------------------------

    async def _read_generation(self) -> None:
        """It includes the database's timeline, which grows with a failover, when entries may get lost."""

        async def generation(connection: "AnyConnection", again: bool) -> str:
            gen = await connection.fetchval("SELECT gen FROM meta")
            try:
                line = await connection.fetchval(_TIMELINE)
            except asyncpg.InsufficientPrivilegeError:
                line = "0"
            return f"{gen}{line.lstrip('0')}"

        connects = self._me.connects
        self._gen = await self._connections.run(generation)
        self._connects = connects

    async def _poll(self) -> None:
        """Look at all that is watched, for hints that did not come."""

        async def look(connection: "AnyConnection", again: bool) -> tuple[list[str], list[str]]:
            seen = {name: seq for name, seq in self._seen.items() if name in self._tails}
            changed = await connection.fetch(_CHANGED, list(seen), list(seen.values())) if seen else []
            inboxes = list(self._inboxes)
            waiting = await connection.fetch(_WAITING, inboxes) if inboxes else []
            return [row[0] for row in changed], [row[0] for row in waiting]

        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._listeners:
                self._hints.wake(SESSION_COMMANDS)
            if self._note_readers:
                self._hints.wake(NOTES)
            if self._connects == self._me.connects and not self._tails and not self._inboxes:
                continue
            try:
                if self._connects != self._me.connects:
                    await self._read_generation()
                changed, waiting = await self._connections.run(look)
                for stream in changed:
                    self._seen.pop(stream, None)
                    self._hints.wake(stream)
                for stream in waiting:
                    self._hints.wake(inbox_of(stream))
            except StoreError as exc:
                log.info("could not look for changes: %s", exc)
                self._hints.heard("")  # those who wait will find out

    async def _sweep(self) -> None:
        """Clear away what nobody can want any more, a little at a time."""

        async def sweep(connection: "AnyConnection", again: bool) -> None:
            # Those of sessions are for whoever runs a turn right now; later they mean nothing.
            for over in ("state = 'done'", "state <> 'done' AND target NOT LIKE 'c:%'"):
                batch = (
                    f"DELETE FROM commands WHERE ctid IN (SELECT ctid FROM commands WHERE {over}"
                    f" AND submitted_at < clock_timestamp() - interval '{KEPT}' LIMIT {SWEPT_AT_ONCE})"
                )
                while await connection.execute(batch) == f"DELETE {SWEPT_AT_ONCE}":
                    pass
            await sweep_notes(connection)

        while True:
            try:
                await self._connections.run(sweep)
            except StoreError as exc:
                log.info("could not clear away what is over: %s", exc)
            await asyncio.sleep(SWEEP_SECONDS)
