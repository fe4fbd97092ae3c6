"""What streams, commands and notes on a PostgreSQL database share: who holds what, and who waits for it."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from ._hints import Hints
from ._postgres_node import PostgresNode
from ._postgres_pool import ConnectionPool
from ._postgres_rows import is_text
from ._postgres_writer import SESSIONS, STREAMS, PostgresTable
from .cluster import CONNECTION
from .store import Fenced, Lease, SessionNotFound, StoreError

if TYPE_CHECKING:
    import asyncpg

    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["ClusterPart", "table_of"]


class ClusterPart:
    """The node's way to the database, and the checks that come before everything."""

    def __init__(self, *, connections: ConnectionPool, node: PostgresNode, hints: Hints) -> None:
        self._connections = connections
        self._me = node
        self._hints = hints
        self._seen: dict[str, int] = {}  # how far the streams were read that somebody tails
        self._opened = self._closed = False

    def _check(self) -> None:
        if self._closed or not self._opened:
            raise StoreError("the cluster is closed" if self._closed else "the cluster is not open yet")

    async def _run(self, operation: "Callable[[AnyConnection, bool], Any]") -> Any:
        self._check()
        return await self._connections.run(operation)

    async def _held(self, connection: "AnyConnection", lease: Lease, *, lock: bool = False) -> int:
        """The key of a stream that this node holds. Raises `Fenced`, `SessionNotFound`."""
        name = lease.session_id
        query = f"SELECT k, epoch, owner FROM {table_of(name).heads} WHERE id = $1" + " FOR SHARE" * lock
        row = await connection.fetchrow(query, name) if is_text(name) else None
        if row is None:
            raise SessionNotFound(name)
        key, epoch, owner = row
        if epoch != lease.epoch or owner != self._me.incarnation:
            raise Fenced(f"the stream {name!r} was given back or taken by somebody else")
        return key

    @contextmanager
    def _watching(self, watched: Counter[str], stream: str) -> Generator[None]:
        watched[stream] += 1
        try:
            yield
        finally:
            watched[stream] -= 1
            if not watched[stream]:
                del watched[stream]
                self._seen.pop(stream, None)


def table_of(stream: str) -> PostgresTable:
    """Where a stream is kept."""
    return STREAMS if stream.startswith(CONNECTION) else SESSIONS
