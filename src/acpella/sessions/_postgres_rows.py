"""The statements of a PostgreSQL store, and what its rows mean."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ._order import decode_cursor, json_bytes, normal_stamp, stamp
from .store import (
    Event,
    Events,
    SessionBusy,
    SessionChanges,
    SessionNotFound,
    SessionRecord,
    StoreError,
    StoreUnavailable,
)

if TYPE_CHECKING:
    import asyncpg

    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = [
    "COLUMNS",
    "CREATE",
    "FORK",
    "changed",
    "check_owner",
    "checked",
    "clean",
    "find",
    "is_text",
    "list_query",
    "moment",
    "naming",
    "piece",
    "to_record",
]

PIECE_EVENTS = 500
"""Events in one piece of a log. Without it, a long replay holds a connection and the memory."""

PIECE_BYTES = 1024 * 1024
"""The same in bytes; an event that is longer comes alone."""

_JSON = msgspec.json.Decoder(dict[str, Any])

COLUMNS = "id, principal, cwd, title, created_at, updated_at, last_seq, state, settings"

CREATE = """
WITH made AS (
    INSERT INTO sessions
        (id, principal, cwd, title, created_at, updated_at, last_seq, state, settings, epoch, owner)
    VALUES ($1, $2, $3, $4, coalesce($5, statement_timestamp()), coalesce($6, statement_timestamp()),
        cardinality($9::text[]), $7, $8, nextval('epochs'), $11)
    RETURNING k, epoch
), logged AS (
    INSERT INTO events (sid, seq, epoch, kind, body)
    SELECT made.k, e.seq, made.epoch, e.kind, e.body
    FROM made, unnest($9::text[], $10::bytea[]) WITH ORDINALITY AS e (kind, body, seq)
)
SELECT epoch FROM made
"""

FORK = """
WITH source AS (
    SELECT k, title, last_seq, state, settings FROM sessions WHERE id = $7 AND principal = $8
), made AS (
    INSERT INTO sessions
        (id, principal, cwd, title, created_at, updated_at, last_seq, state, settings, epoch, owner)
    SELECT $1, $2, $3, title, coalesce($4, statement_timestamp()), coalesce($5, statement_timestamp()),
        last_seq, state, settings, nextval('epochs'), $6 FROM source
    RETURNING k, epoch
), logged AS (
    INSERT INTO events (sid, seq, epoch, kind, body)
    SELECT made.k, e.seq, made.epoch, e.kind, e.body
    FROM made, source JOIN events e ON e.sid = source.k AND e.seq <= source.last_seq
)
SELECT epoch FROM made
"""

OWNER = """SELECT s.owner, n.name, extract(epoch FROM clock_timestamp() - n.seen_at)::float8 AS silent,
        EXISTS (SELECT FROM nodes me WHERE me.incarnation = $2 AND me.lease_until > clock_timestamp())
    FROM {table} s LEFT JOIN nodes n ON n.incarnation = s.owner AND n.lease_until > clock_timestamp()
    WHERE s.k = $1"""

END_NODE = """UPDATE nodes SET lease_until = to_timestamp(0)
    WHERE incarnation = $1 AND lease_until <= clock_timestamp() AND lease_until > to_timestamp(0)"""

_PIECE = f"""
SELECT seq, kind, body FROM (
    SELECT seq, kind, body, sum(octet_length(body)) OVER (ORDER BY seq) AS total FROM (
        SELECT seq, kind, body FROM {{table}} WHERE sid = $1 AND seq > $2 AND seq <= $3
        ORDER BY seq LIMIT {PIECE_EVENTS}
    ) AS next
) AS measured WHERE total <= {PIECE_BYTES} OR total = octet_length(body) ORDER BY seq
"""


def is_text(*texts: str) -> bool:
    """Whether PostgreSQL can have such texts: it takes no NUL and no half of a surrogate pair."""
    try:
        return not any(b"\0" in text.encode() for text in texts)
    except UnicodeEncodeError:
        return False


def clean(text: str) -> str:
    """The same text without what PostgreSQL does not take."""
    return text.replace("\0", "").encode(errors="replace").decode()


def checked(session_id: str, value: str) -> str:
    if not is_text(value):
        raise StoreError(f"session {session_id!r} cannot be kept: {value!r} has characters that are not text")
    return value


def naming(record: SessionRecord) -> tuple[str, str, str]:
    name = record.id
    return checked(name, name), checked(name, record.principal), checked(name, record.cwd)


def changed(session_id: str, changes: SessionChanges | None) -> dict[str, object]:
    """The columns that an append changes, encoded now: the caller's dictionaries may change meanwhile."""
    if changes is None:
        return {}
    new: dict[str, object] = {}
    if changes.title is not None:
        new["title"] = clean(changes.title)
    if changes.cwd is not None:
        new["cwd"] = checked(session_id, changes.cwd)
    if changes.state is not None:
        new["state"] = json_bytes(session_id, "state", changes.state)
    if changes.settings is not None:
        new["settings"] = json_bytes(session_id, "settings", changes.settings)
    return new


def moment(text: str) -> datetime | None:
    return datetime.fromisoformat(normal_stamp(text)) if text else None


async def check_owner(connection: "AnyConnection", table: str, name: str, key: int, incarnation: int) -> None:
    """To be called in the transaction that takes something. A dead node that it is taken from stays dead.

    Raises `SessionBusy` if another living node has it, `StoreUnavailable` if this one is not alive.
    """
    query = OWNER.format(table=table)
    row = await connection.fetchrow(query, key, incarnation)
    if row and row[0] not in (None, incarnation) and row[1] is None:
        # Its next heartbeat must not give it back the rest of what it held: turns of a connection that is
        # taken would go on, and be seen. The heartbeat may have come just now, so look again.
        await connection.execute(END_NODE, row[0])
        row = await connection.fetchrow(query, key, incarnation)
    owner, node, silent, alive = row or (None, None, None, False)
    if owner is None or node is None or owner == incarnation:
        if alive:
            return
        raise StoreUnavailable("this node could not renew its lease in time; try again in a moment")
    busy = SessionBusy(
        f"session {name!r} is open on node {node} (heard {silent:.0f} s ago); close it there, then try again"
    )
    busy.node = node
    raise busy


async def find(
    connection: "AnyConnection",
    session_id: str,
    principal: str,
    columns: str,
    *,
    table: str = "sessions",
    lock: bool = False,
) -> Any:
    query = f"SELECT {columns} FROM {table} WHERE id = $1 AND principal = $2" + " FOR UPDATE" * lock
    plain = is_text(session_id, principal)
    row = await connection.fetchrow(query, session_id, principal) if plain else None
    if row is None:
        raise SessionNotFound(session_id)
    return row


def to_record(row: Any) -> SessionRecord:
    session_id, principal, cwd, title, created_at, updated_at, last_seq, state, settings = row
    return SessionRecord(
        id=session_id,
        principal=principal,
        cwd=cwd,
        title=title,
        created_at=stamp(created_at),
        updated_at=stamp(updated_at),
        last_seq=last_seq,
        state=_JSON.decode(state),
        settings=_JSON.decode(settings),
    )


def list_query(
    principal: str, cwd: str | None, cursor: str | None, limit: int
) -> tuple[str, tuple[object, ...]]:
    """Each combination walks an index from the cursor on, and reads one row more than the page."""
    where, values = "principal = $1", [principal]
    if cwd is not None:
        values.append(cwd)
        where += f" AND cwd = ${len(values)}"
    if cursor is not None:
        updated_at, session_id = decode_cursor(cursor)
        values += [datetime.fromisoformat(updated_at), clean(session_id)]
        where += f" AND (updated_at, id) < (${len(values) - 1}, ${len(values)})"
    query = (
        f"SELECT {COLUMNS} FROM sessions WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT {limit + 1}"
    )
    return query, tuple(values)


async def piece(
    connection: "AnyConnection", key: int, after: int, last: int, *, table: str = "events"
) -> Events:
    """The next entries of a log, not too many and not too large."""
    if after >= last:
        return []
    return [Event(*row) for row in await connection.fetch(_PIECE.format(table=table), key, after, last)]
