"""The connections of one server: found by id and user, looked after, ended in good order."""

import asyncio
import logging
import secrets
from typing import TYPE_CHECKING

from acpella.server.access.credentials import Credential
from acpella.server.access.gate import Bucket, Gate, Refusal
from acpella.server.access.policy import Owners, Policy
from acpella.server.metrics import Metrics
from acpella.server.settings import ServerSettings

from .hosted import HostedConnection
from .routing import Kind

if TYPE_CHECKING:
    from acpella.server.targets import Target

__all__ = ["Host"]

log = logging.getLogger(__name__)

LOOK_EVERY = 0.25
"""Seconds between looks at all connections."""

CREDENTIALS_EVERY = 1.0
"""Seconds between looks at what their clients were let in with."""


class Host:
    """What all connections of a server share."""

    def __init__(self, target: "Target", settings: ServerSettings, gate: Gate) -> None:
        self.target = target
        self.settings = settings
        self.metrics = Metrics()
        self.gen = secrets.token_hex(6)
        """Changes with every start, so that numbers of before are not taken for those of now."""
        self.requests = Bucket(settings.requests_per_second, settings.request_burst)
        owners = None if target.checks_owners else Owners(settings.session_owners)
        self.policy = Policy(
            settings,
            one_user=lambda: gate.one_user,
            asks_for_credentials=gate.asks_for_credentials,
            owners=owners,
        )
        self.draining = False
        self._connections: dict[str, HostedConnection] = {}
        self._by_user: dict[str, int] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._turns_over: asyncio.Event | None = None
        self._tell_gauges()

    def _tell_gauges(self) -> None:
        gauge = self.metrics.gauge
        every = self._connections.values
        gauge("acpella_connections", lambda: sum(1 for c in every() if c.readers), 'client="there"')
        gauge("acpella_connections", lambda: sum(1 for c in every() if not c.readers), 'client="away"')
        gauge("acpella_turns", lambda: self.turns)
        gauge("acpella_streams", lambda: sum(c.readers for c in every()))
        gauge("acpella_buffered_bytes", lambda: sum(c.buffered for c in every()))

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def turns(self) -> int:
        """Turns that are running."""
        return sum(connection.turns for connection in self._connections.values())

    def new(
        self,
        credential: Credential,
        *,
        kind: Kind,
        multiplexed: bool,
        resumable: bool = False,
        key: str | None = None,
        address: str = "",
    ) -> HostedConnection:
        """A connection whose agent is not started yet; `address` is that of its client.

        Raises `Refusal` when there are too many.
        """
        principal = credential.principal
        if "read" not in credential.scopes:
            raise Refusal(403, "this needs a token with the scope 'read'")
        if self.draining:
            raise Refusal(503, "the server is stopping", headers=[(b"retry-after", b"5")])
        if self._by_user.get(principal, 0) >= self.settings.max_connections_per_user:
            self._make_room(principal)
        elif len(self._connections) >= self.settings.max_connections:
            self._make_room(max(self._by_user, key=self._by_user.__getitem__))
        if len(self._connections) >= self.settings.max_connections:
            self.metrics.add("acpella_refused_total", 'reason="connections"')
            raise Refusal(503, "the server has too many connections", headers=[(b"retry-after", b"30")])
        if self._by_user.get(principal, 0) >= self.settings.max_connections_per_user:
            self.metrics.add("acpella_refused_total", 'reason="connections"')
            raise Refusal(429, "you have too many connections", headers=[(b"retry-after", b"30")])
        connection = HostedConnection(
            self, credential, kind=kind, multiplexed=multiplexed, resumable=resumable
        )
        connection.address = address
        if key is not None:
            connection.id = key
        self._connections[connection.id] = connection
        self._by_user[principal] = self._by_user.get(principal, 0) + 1
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return connection

    def _make_room(self, principal: str) -> None:
        """End the connection of this user's that is missed least: those of clients that are there stay."""
        away = [c for c in self._connections.values() if not c.readers and c.principal == principal]
        if away:
            away.sort(key=lambda c: (not c.is_gone_for_good, bool(c.turns), c.last_seen))
            away[0].close("its client was away, and another connection needed the room")

    def find(self, connection_id: str, principal: str) -> HostedConnection | None:
        """A connection of this user's."""
        found = self._connections.get(connection_id)
        return found if found is not None and found.principal == principal else None

    def reach(self, connection_id: str, credential: Credential) -> HostedConnection | None:
        """A connection of this user's, with a credential that may do what it may.

        One that may less would take over its streams, or end its turns. Raises `Refusal`.
        """
        found = self.find(connection_id, credential.principal)
        if found is not None and (missing := found.scopes - credential.scopes):
            raise Refusal(403, f"this connection needs a token with the scope {min(missing)!r}, as it began")
        return found

    def has_turn(self, session_id: str, principal: str) -> bool:
        """Whether a turn of this user's runs in that session."""
        every = self._connections.values()
        return any(c.principal == principal and c.has_turn(session_id) for c in every)

    def end(self, connection: HostedConnection) -> None:
        """Forget a connection and let its agent go."""
        if self._connections.pop(connection.id, None) is None:
            return
        left = self._by_user[connection.principal] = self._by_user[connection.principal] - 1
        if not left:
            del self._by_user[connection.principal]
        task = asyncio.get_running_loop().create_task(self._stop(connection))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _stop(self, connection: HostedConnection) -> None:
        try:
            await connection.stop()
        except Exception:
            log.exception("connection %s did not end well", connection.label)

    def turn_over(self) -> None:
        """A turn has ended."""
        if self._turns_over is not None and not self.turns:
            self._turns_over.set()

    def look_soon(self, connection: HostedConnection) -> None:
        """Something has changed for a connection whose client may be away."""
        asyncio.get_running_loop().call_soon(connection.check_end)

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        checked = clock()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if is_time := clock() - checked >= CREDENTIALS_EVERY:
                checked = clock()
            for connection in list(self._connections.values()):
                try:
                    connection.check_end()
                    if is_time:
                        connection.check_credentials()
                except Exception:
                    log.exception("connection %s could not be looked after", connection.label)

    # -- the end ---------------------------------------------------------------------------------

    async def drain(self, seconds: float | None = None) -> None:
        """Take no new connections and wait for running turns."""
        self.draining = True
        if not self.turns:
            return
        log.info("waiting for %d turns to end", self.turns)
        self._turns_over = asyncio.Event()
        try:
            async with asyncio.timeout(self.settings.drain_seconds if seconds is None else seconds):
                await self._turns_over.wait()
        except TimeoutError:
            log.warning("%d turns did not end in time and are cancelled", self.turns)

    async def close(self) -> None:
        """End all connections."""
        self.draining = True
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        for connection in list(self._connections.values()):
            connection.close("the server is stopping", code=1001)
        if self._ending:
            await asyncio.wait(list(self._ending), timeout=15)
        await self.target.close()
