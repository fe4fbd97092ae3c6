"""Tickets of web pages as rows: any node finds each of them once."""

from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._postgres_pool import ConnectionPool
from ._postgres_rows import checked

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["keep_ticket", "take_ticket"]

_KEEP_TICKET = """
WITH over AS (
    DELETE FROM tickets WHERE valid_until <= clock_timestamp()
)
INSERT INTO tickets (digest, principal, body, valid_until)
SELECT $1, $2, $3, clock_timestamp() + make_interval(secs => $4)
WHERE (SELECT count(*) FROM tickets WHERE principal = $2 AND valid_until > clock_timestamp()) < $5
ON CONFLICT DO NOTHING RETURNING digest
"""

_TAKE_TICKET = "DELETE FROM tickets WHERE digest = $1 RETURNING valid_until > clock_timestamp(), body"


async def keep_ticket(
    connections: ConnectionPool, digest: bytes, body: bytes, *, seconds: float, limit: int, principal: str
) -> bool:
    """False if the principal has so many already."""

    async def keep(connection: "AnyConnection", again: bool) -> bool:
        whose = checked(principal, principal)
        if await connection.fetchval(_KEEP_TICKET, digest, whose, body, seconds, limit):
            return True
        query = "SELECT TRUE FROM tickets WHERE digest = $1"
        return again and bool(await connection.fetchval(query, digest))

    return await connections.run(keep)


async def take_ticket(connections: ConnectionPool, digest: bytes) -> bytes | None:
    """What was kept; from now on nobody finds it."""

    async def take(connection: "AnyConnection", again: bool) -> bytes | None:
        is_valid, body = await connection.fetchrow(_TAKE_TICKET, digest) or (False, b"")
        return body if is_valid else None

    return await connections.run(take)
