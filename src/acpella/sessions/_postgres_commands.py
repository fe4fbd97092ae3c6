"""Commands on a PostgreSQL database: rows that any node adds, and the home of their stream runs."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ._hints import Hints, topic_of
from ._postgres_node import PostgresNode
from ._postgres_part import ClusterPart, table_of
from ._postgres_pool import ConnectionPool
from ._postgres_rows import checked, is_text
from ._postgres_writer import SESSIONS
from .cluster import SESSION_COMMANDS, ClusterCommand
from .store import Lease, SessionNotFound

if TYPE_CHECKING:
    import asyncpg

    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresCommands", "inbox_of"]

_SUBMIT = """
WITH target AS (
    SELECT id FROM {table} WHERE id = $1 AND principal = $2 FOR KEY SHARE
), submitted AS (
    INSERT INTO commands (target, id, kind, body, trace) SELECT id, $3, $4, $5, $6 FROM target
    ON CONFLICT DO NOTHING RETURNING target
), told AS (
    SELECT pg_notify($7, $8) FROM submitted
)
SELECT (SELECT count(*) FROM target), (SELECT count(*) FROM submitted), (SELECT count(*) FROM told)
"""

_PENDING = """SELECT c.id, c.n, c.kind, c.body, c.trace, c.state FROM commands c
    WHERE c.target = $1 AND c.state <> 'done' ORDER BY c.n"""

_BEGIN = """UPDATE commands SET state = 'running', epoch = $3
    WHERE target = $1 AND id = $2 AND state = 'new' RETURNING id"""

_BEGUN = "SELECT id FROM commands WHERE target = $1 AND id = $2 AND state = 'running' AND epoch = $3"

_START = """INSERT INTO commands (target, id, kind, body, trace, state, epoch)
    SELECT id, $2, $3, $4, $5, 'running', $6 FROM streams WHERE id = $1 AND epoch = $6 AND owner = $7
    ON CONFLICT DO NOTHING RETURNING id"""

_ORPHANS = """
SELECT target FROM (SELECT DISTINCT target FROM commands WHERE state <> 'done') AS open
WHERE NOT EXISTS (
    SELECT FROM (
        SELECT owner FROM sessions WHERE id = target
        UNION ALL SELECT owner FROM streams WHERE id = target
    ) AS home JOIN nodes n ON n.incarnation = home.owner
    WHERE n.lease_until > clock_timestamp() AND n.incarnation <> $1
) ORDER BY left(target, 2) <> 'c:' LIMIT $2
"""

_TO_SESSIONS = """SELECT c.target, c.id, c.n, c.kind, c.body, c.trace
    FROM commands c JOIN sessions s ON s.id = c.target
    WHERE s.owner = $1 AND c.state = 'new' AND c.target NOT LIKE 'c:%' ORDER BY c.n"""

_FORGET = """DELETE FROM commands c USING unnest($1::text[], $2::text[]) AS d (target, id)
    WHERE c.target = d.target AND c.id = d.id"""


class PostgresCommands(ClusterPart):
    """The commands of a `Cluster`."""

    def __init__(self, *, connections: ConnectionPool, node: PostgresNode, hints: Hints) -> None:
        super().__init__(connections=connections, node=node, hints=hints)
        self._inboxes: Counter[str] = Counter()
        self._listeners = 0  # to the commands of all sessions

    async def submit(self, stream: str, command: ClusterCommand, *, principal: str = "") -> bool:
        query = _SUBMIT.format(table=table_of(stream).heads)
        topics = [inbox_of(stream), *([SESSION_COMMANDS] if table_of(stream) is SESSIONS else [])]

        async def submit(connection: "AnyConnection", again: bool) -> bool:
            if not is_text(stream, principal):
                raise SessionNotFound(stream)
            values = (checked(stream, command.id), checked(stream, command.kind), command.body, command.trace)
            hint = (self._me.channel, " ".join([topic_of(topic) for topic in topics]))
            there, added, _ = await connection.fetchrow(query, stream, principal, *values, *hint) or (0, 0, 0)
            if not there:
                raise SessionNotFound(stream)
            # One that an attempt of ours left there is ours, not a repetition.
            return bool(added) or again

        added = await self._run(submit)
        for topic in topics:
            self._hints.wake(topic)
        return added

    async def pending(self, lease: Lease) -> list[ClusterCommand]:
        async def pending(connection: "AnyConnection", again: bool) -> list[ClusterCommand]:
            await self._held(connection, lease)
            rows = await connection.fetch(_PENDING, lease.session_id)
            return [
                ClusterCommand(id=name, number=number, kind=kind, body=body, trace=trace, state=state)
                for name, number, kind, body, trace, state in rows
            ]

        return await self._run(pending)

    async def begin(self, lease: Lease, command_id: str) -> bool:
        async def begin(connection: "AnyConnection", again: bool) -> bool:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                begun = await connection.fetchval(_BEGIN, lease.session_id, command_id, lease.epoch)
                if begun is None and again:  # perhaps by the attempt whose answer was lost
                    begun = await connection.fetchval(_BEGUN, lease.session_id, command_id, lease.epoch)
            return begun is not None

        return await self._run(begin)

    async def start(self, lease: Lease, command: ClusterCommand) -> bool:
        stream = lease.session_id

        async def start(connection: "AnyConnection", again: bool) -> bool:
            values = (checked(stream, command.id), checked(stream, command.kind), command.body, command.trace)
            if await connection.fetchval(_START, stream, *values, lease.epoch, self._me.incarnation):
                return True
            await self._held(connection, lease)
            # One that an attempt of ours left there is ours, not a repetition.
            return again and bool(await connection.fetchval(_BEGUN, stream, command.id, lease.epoch))

        return await self._run(start)

    async def put_back(self, lease: Lease, command_id: str) -> None:
        async def put_back(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                query = (
                    "UPDATE commands SET state = 'new' WHERE target = $1 AND id = $2 AND state = 'running'"
                )
                await connection.execute(query, lease.session_id, command_id)

        await self._run(put_back)

    async def settle(self, lease: Lease, command_id: str, *, forget: bool = False) -> None:
        change = "DELETE FROM commands" if forget else "UPDATE commands SET state = 'done', body = ''"

        async def settle(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                query = f"{change} WHERE target = $1 AND id = $2"
                await connection.execute(query, lease.session_id, command_id)

        await self._run(settle)

    async def command_ids(self, lease: Lease) -> list[str]:
        async def ids(connection: "AnyConnection", again: bool) -> list[str]:
            await self._held(connection, lease)
            query = "SELECT id FROM commands WHERE target = $1"
            return [row[0] for row in await connection.fetch(query, lease.session_id)]

        return await self._run(ids)

    async def commands(self, lease: Lease) -> AsyncIterator[ClusterCommand]:
        seen: set[str] = set()
        stream = lease.session_id
        with self._hints.watch(inbox_of(stream)) as changed, self._watching(self._inboxes, stream):
            while True:
                changed.clear()
                waiting = await self.pending(lease)
                seen &= {command.id for command in waiting}
                for command in waiting:
                    if command.state == "new" and command.id not in seen:
                        seen.add(command.id)
                        yield command
                await changed.wait()

    async def session_commands(self) -> AsyncIterator[tuple[str, ClusterCommand]]:
        done: list[tuple[str, str]] = []

        async def look(connection: "AnyConnection", again: bool) -> list[Any]:
            if done:
                await connection.execute(_FORGET, [each[0] for each in done], [each[1] for each in done])
            return await connection.fetch(_TO_SESSIONS, self._me.incarnation)

        self._listeners += 1
        try:
            with self._hints.watch(SESSION_COMMANDS) as changed:
                while True:
                    changed.clear()
                    rows = await self._run(look)
                    finished, done = set(done), []
                    for target, name, number, kind, body, trace in rows:
                        done.append((target, name))
                        if (target, name) not in finished:
                            yield (
                                target,
                                ClusterCommand(id=name, number=number, kind=kind, body=body, trace=trace),
                            )
                    if not done:
                        await changed.wait()
        finally:
            self._listeners -= 1

    async def orphans(self, limit: int = 100) -> list[str]:
        async def orphans(connection: "AnyConnection", again: bool) -> list[str]:
            return [row[0] for row in await connection.fetch(_ORPHANS, self._me.incarnation, limit)]

        return await self._run(orphans)

    async def waiting(self) -> int:
        async def waiting(connection: "AnyConnection", again: bool) -> int:
            return await connection.fetchval("SELECT count(*) FROM commands WHERE state = 'new'")

        return await self._run(waiting)


def inbox_of(stream: str) -> str:
    """The topic of hints about new commands, apart from the far more frequent ones about entries."""
    return f"{stream}!"
