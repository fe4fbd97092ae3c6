"""Which nodes a database has, for people who look after them."""

from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._postgres_address import PostgresAddress
from ._postgres_errors import explain
from ._postgres_pool import ConnectionPool, hang_up
from ._postgres_schema import is_prepared
from .cluster import NodeStatus
from .store import StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["nodes_of", "read_nodes"]

_NODES = """
SELECT n.name, n.lease_until > clock_timestamp(),
    extract(epoch FROM clock_timestamp() - n.seen_at)::float8,
    (SELECT count(*) FROM sessions s WHERE s.owner = n.incarnation),
    (SELECT count(*) FROM streams s WHERE s.owner = n.incarnation),
    (SELECT count(*) FROM commands c WHERE c.state = 'running' AND EXISTS (
        SELECT FROM sessions s WHERE s.id = c.target AND s.owner = n.incarnation UNION ALL
        SELECT FROM streams s WHERE s.id = c.target AND s.owner = n.incarnation)),
    n.incarnation
FROM nodes n ORDER BY n.name
"""


async def read_nodes(address: PostgresAddress) -> list[NodeStatus]:
    """All nodes of a database, read without becoming one. Raises `StoreError`."""
    connections = ConnectionPool(address, limit=1, patience=lambda: 0.0)
    connection = None
    try:
        connection = await connections.connect()
        if not await is_prepared(connection, address):
            raise StoreError(f"no node has used {address.where} yet, in the schema {address.schema}")
        return await nodes_of(connection)
    except StoreError:
        raise
    except Exception as exc:
        raise explain(address, exc) from None
    finally:
        if connection is not None:
            await hang_up(connection)


async def nodes_of(connection: "AnyConnection") -> list[NodeStatus]:
    return [
        NodeStatus(
            name=name,
            alive=alive,
            silent_seconds=silent,
            sessions=sessions,
            connections=streams,
            running=running,
            life=str(life),
        )
        for name, alive, silent, sessions, streams, running, life in await connection.fetch(_NODES)
    ]
