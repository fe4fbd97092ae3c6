"""Notes that all nodes on a PostgreSQL database know: rows, numbered as they change."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ._hints import Hints, topic_of
from ._postgres_node import PostgresNode
from ._postgres_part import ClusterPart
from ._postgres_pool import ConnectionPool
from ._postgres_rows import checked
from .cluster import NOTES

if TYPE_CHECKING:
    import asyncpg

    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresNotes", "sweep_notes"]

PIECE_NOTES = 1000
"""Notes that are read at once. Without it, a node that starts reads all of them into one answer."""

REMEMBERED = "1 day"
"""How long a removal is remembered: a node that has not read it by then must start anew."""

# Only one writer at a time gets numbers, so that a reader who has seen one has seen all below it.
_LOCK = "LOCK TABLE notes IN SHARE ROW EXCLUSIVE MODE"

_KEEP = """
WITH kept AS (
    INSERT INTO notes (name, body, valid_until)
    SELECT name, body, clock_timestamp() + make_interval(secs => $3)
    FROM unnest($1::text[], $2::bytea[]) AS w (name, body)
    ON CONFLICT (name) DO UPDATE SET
        n = DEFAULT, body = excluded.body, kept_at = clock_timestamp(), valid_until = excluded.valid_until
    RETURNING name
)
SELECT pg_notify($4, $5) FROM kept LIMIT 1
"""

_READ = "SELECT n, name, body FROM notes WHERE n > $1 ORDER BY n LIMIT $2"

_OVER = """UPDATE notes SET n = DEFAULT, body = '', kept_at = clock_timestamp(), valid_until = NULL
    WHERE valid_until < clock_timestamp()"""

_GONE = f"DELETE FROM notes WHERE body = '' AND kept_at < clock_timestamp() - interval '{REMEMBERED}'"


class PostgresNotes(ClusterPart):
    """The notes of a `Cluster`."""

    def __init__(self, *, connections: ConnectionPool, node: PostgresNode, hints: Hints) -> None:
        super().__init__(connections=connections, node=node, hints=hints)
        self._note_readers = 0

    async def keep_notes(self, notes: Mapping[str, bytes], *, seconds: float | None = None) -> None:
        async def keep(connection: "AnyConnection", again: bool) -> None:
            names = [checked(name, name) for name in notes]
            async with connection.transaction():
                await connection.execute(_LOCK)
                hint = (self._me.channel, topic_of(NOTES))
                await connection.execute(_KEEP, names, list(notes.values()), seconds, *hint)

        await self._run(keep)
        self._hints.wake(NOTES)

    async def notes(self) -> AsyncIterator[dict[str, bytes]]:
        last, is_first = 0, True

        async def read(connection: "AnyConnection", again: bool) -> list[Any]:
            return await connection.fetch(_READ, last, PIECE_NOTES)

        self._note_readers += 1
        try:
            with self._hints.watch(NOTES) as changed:
                while True:
                    changed.clear()
                    rows = await self._run(read)
                    if rows or is_first:
                        last = rows[-1][0] if rows else last
                        is_first = False
                        yield {name: body for _, name, body in rows}
                    if len(rows) < PIECE_NOTES:
                        await changed.wait()
        finally:
            self._note_readers -= 1


async def sweep_notes(connection: "AnyConnection") -> None:
    """Take away what is over, and forget what was taken away long ago."""
    async with connection.transaction():
        await connection.execute(_LOCK)
        await connection.execute(_OVER)
        await connection.execute(_GONE)
