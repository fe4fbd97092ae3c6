"""One opened store among those on the same database: its heartbeat, and when it must stop by its own clock.

The database's clock decides for others whether a node is alive; a node's own clock only decides when it stops
believing that it is, which is earlier. So no two clocks are ever compared.
"""

import asyncio
import logging
import secrets
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._postgres_errors import explain, is_passing
from ._postgres_pool import FIRST_PAUSE, LONGEST_PAUSE, ConnectionPool, hang_up, time_limit
from .store import StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresNode", "now"]

log: logging.Logger = logging.getLogger(__name__)

SHORTEST_LEASE = 0.5
"""Seconds; below that, a busy machine loses its lease for nothing."""

FORGET_AFTER = "1 day"
"""How long a dead node is remembered, for people who look for it."""

_REGISTER = """INSERT INTO nodes (name, lease_until)
    VALUES ($1, clock_timestamp() + make_interval(secs => $2)) RETURNING incarnation"""

# A node from which others took something has its lease set to 1970: it has to register again.
_BEAT = """UPDATE nodes SET seen_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => $2)
    WHERE incarnation = $1 AND lease_until > to_timestamp(0)
    RETURNING (
        SELECT count(*) FROM nodes n WHERE n.lease_until > clock_timestamp() AND n.incarnation <> $1
    )"""

_NAMED = """SELECT incarnation, seen_at,
        extract(epoch FROM lease_until - clock_timestamp())::float8 AS remaining
    FROM nodes WHERE name = $1"""


def now() -> float:
    """Seconds on a clock that also counts while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class PostgresNode:
    """Registers, beats, listens for hints; tells when the lease was not renewed in time."""

    def __init__(
        self, connections: ConnectionPool, *, name: str | None, seconds: float, hint: Callable[[str], None]
    ) -> None:
        if not SHORTEST_LEASE <= seconds <= 3600:
            raise ValueError(f"lease_seconds must be between {SHORTEST_LEASE} and 3600, not {seconds}")
        self.name = name or f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self.seconds = seconds
        self.margin = min(2.0, seconds / 5)
        """Seconds before the others may take over, in which whatever runs here is to be stopped."""
        self.incarnation = 0
        self.deadline = 0.0
        self.is_alone = True
        """No other node was alive at the last heartbeat, so nobody needs to be told of changes."""
        self.connects = 0
        """How often it had to connect again, perhaps to another server than before."""
        self.on_lost: list[Callable[[], None]] = []
        """Called once for each lease that is lost: its deadline has passed without a heartbeat, or another
        node took it away before."""
        self._connections = connections
        self._hint = hint
        self._connection: AnyConnection | None = None
        self._beating: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False
        self._is_lost = False

    @property
    def channel(self) -> str:
        """Where hints are sent."""
        return f"acpella_{self._connections.address.schema}"

    def remaining(self) -> float:
        """Seconds until this node must count itself as dead."""
        return self.deadline - now()

    async def enter(self, connection: "AnyConnection") -> None:
        """Become alive on this connection, which is the node's own from now on. Raises `StoreError`."""
        await self._register(connection, patient=True)
        await connection.add_listener(self.channel, self._heard)
        self._connection = connection
        self._beating = asyncio.get_running_loop().create_task(self._beat_for_ever())

    async def leave(self) -> None:
        """Give back all sessions and stop being alive. Safe to call twice."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            self._beating = None
        connection, self._connection = self._connection, None
        try:
            connection = connection if connection and not connection.is_closed() else None
            connection = connection or await self._connections.connect()
            with time_limit(connection, self.seconds):
                for table in ("sessions", "streams"):
                    await connection.execute(
                        f"UPDATE {table} SET owner = NULL WHERE owner = $1", self.incarnation
                    )
                await connection.execute("DELETE FROM nodes WHERE incarnation = $1", self.incarnation)
        except Exception as exc:
            # Not needed for the next owner: without a heartbeat we count as dead soon.
            reason = explain(self._connections.address, exc)
            log.warning("could not give back the sessions of node %s: %s", self.name, reason)
        if connection is not None:
            await hang_up(connection)

    async def beat(self, connection: "AnyConnection") -> None:
        """Renew the lease, or register again if another node has declared this one dead."""
        before = now()  # the answer may take its time, and the lease runs meanwhile
        with time_limit(connection, self.seconds / 3):
            others = await connection.fetchval(_BEAT, self.incarnation, self.seconds)
            if others is None:
                log.warning("another node declared node %s dead; it has lost its sessions", self.name)
                self._tell_lost()
                await self._register(connection, patient=False)
                return
        self.is_alone = not others
        self._renewed(before)

    def _renewed(self, before: float) -> None:
        self.deadline = before + self.seconds - self.margin
        self._is_lost = False
        if self._alarm is None and not self._closed:
            self._alarm = asyncio.get_running_loop().call_later(self.remaining(), self._look_at_clock)

    def _look_at_clock(self) -> None:
        """One timer for all heartbeats: it is set again as long as there were any."""
        self._alarm = None
        if (remaining := self.remaining()) > 0:
            self._alarm = asyncio.get_running_loop().call_later(remaining, self._look_at_clock)
            return
        log.error("node %s could not renew its lease in time; it must stop what it runs", self.name)
        self._tell_lost()

    def _tell_lost(self) -> None:
        """Once for each lease: after a suspend, the heartbeat may notice before the timer does."""
        if not self._is_lost:
            self._is_lost = True
            for call in self.on_lost:
                call()

    async def _register(self, connection: "AnyConnection", *, patient: bool) -> None:
        """Get an incarnation. A name that a crashed process had is free when its lease is over."""
        await connection.execute(
            "DELETE FROM nodes WHERE greatest(seen_at, lease_until)"
            f" < clock_timestamp() - interval '{FORGET_AFTER}'"
        )
        seen: Any = None
        while True:
            row = await connection.fetchrow(_NAMED, self.name)
            if row is not None and row["remaining"] > 0:
                if not patient or (seen is not None and seen != row["seen_at"]):
                    raise StoreError(
                        f"another process is node {self.name!r} already; give this one a name of its own"
                    )
                seen = row["seen_at"]
                log.info("waiting for the lease of the last node %s to end", self.name)
                await asyncio.sleep(min(row["remaining"] + 0.01, self.seconds / 3))
                continue
            before = now()
            try:
                async with connection.transaction():
                    if row is not None:
                        delete_expired = (
                            "DELETE FROM nodes WHERE incarnation = $1 AND lease_until <= clock_timestamp()"
                        )
                        await connection.execute(delete_expired, row["incarnation"])
                    self.incarnation = await connection.fetchval(_REGISTER, self.name, self.seconds)
            except asyncpg.UniqueViolationError:
                continue  # another was faster, or the last one is alive after all
            self._renewed(before)
            return

    async def _beat_for_ever(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                if self._connection is None:
                    self._connection = await self._connections.connect()
                    self.connects += 1
                    await self._connection.add_listener(self.channel, self._heard)
                    await self.beat(self._connection)
                    self._hint("")  # whatever was told meanwhile was missed
                pause = FIRST_PAUSE
                await self._until_next_beat(self._connection)
                await self.beat(self._connection)
            except Exception as exc:
                if self._connection is not None:
                    self._connection.terminate()
                    self._connection = None
                reason = explain(self._connections.address, exc)
                log.log(
                    logging.INFO if is_passing(exc) else logging.WARNING,
                    "no heartbeat of node %s, trying again: %s", self.name, reason,
                )  # fmt: skip
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE, self.seconds / 10)

    async def _until_next_beat(self, connection: "AnyConnection") -> None:
        """Sleep, but wake up when the connection is cut, because hints are missed from then on."""
        cut = asyncio.get_running_loop().create_future()

        def on_cut(_: object) -> None:
            if not cut.done():
                cut.set_result(None)

        connection.add_termination_listener(on_cut)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.seconds / 3):
                    await cut
        finally:
            connection.remove_termination_listener(on_cut)

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        self._hint(str(payload))
