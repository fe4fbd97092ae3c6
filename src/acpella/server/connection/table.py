"""The table of connections of one server: found by id and user, looked after, ended in good order."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from acpella.server.access.credentials import Credential
from acpella.server.access.gate import Gate, Refusal
from acpella.server.access.policy import AccessPolicy, Owners
from acpella.server.access.rate_limit import RateLimit
from acpella.server.metrics import Metrics
from acpella.server.settings import ServerSettings

from .close_codes import CloseCode
from .home import ConnectionHome, Node
from .hosted import HostedConnection
from .local import LocalConnection
from .profile import Profile
from .services import ConnectionServices

if TYPE_CHECKING:
    from acpella.server.agent_factories import AgentFactory

__all__ = ["Connections"]

log: logging.Logger = logging.getLogger(__name__)

CHECK_EVERY = 0.25
"""Seconds between checks of all connections."""

ENDED_WITHIN = 15.0
"""Seconds for agents to end. Without it, one that does not would hold up the server or its client."""

HAND_OVER_EVERY = 0.05
"""Seconds between looks for connections that another node can go on with."""

CHECK_CREDENTIALS_EVERY = 1.0
"""Seconds between checks of what their clients were let in with."""


class Connections:
    """All connections of a server."""

    def __init__(self, factory: "AgentFactory", settings: ServerSettings, gate: Gate) -> None:
        self.settings = settings
        self.metrics: Metrics = Metrics()
        self.generation: str = secrets.token_hex(6)
        """Changes with every start, so that earlier numbers are not taken for current ones."""
        self.rate: RateLimit = RateLimit(settings.requests_per_second, settings.request_burst)
        """Messages and requests, by user."""
        owners = getattr(factory, "known_owners", ())  # of a factory that shares sessions, as is_shared_with
        policy = AccessPolicy(
            settings,
            one_user=lambda: gate.one_user,
            asks_for_credentials=gate.asks_for_credentials,
            owners=None if factory.checks_owners else Owners(settings.session_owners, owners=owners),
            is_shared=getattr(factory, "is_shared_with", None),
        )
        self._factory = factory
        self._services = ConnectionServices(
            factory, settings, policy, self.rate, self.metrics, self.generation
        )
        self.draining: bool = False
        self.node: Node | None = None
        """This node among others; None for a server of one process."""
        self._connections: dict[str, LocalConnection] = {}
        self._by_user: dict[str, int] = {}
        self._ending: dict[asyncio.Task[None], str] = {}  # with the id of the connection
        self._checking: asyncio.Task[None] | None = None
        self._turns_ended: asyncio.Event | None = None
        self._tell_gauges()

    def _tell_gauges(self) -> None:
        gauge = self.metrics.gauge
        every = self._connections.values
        gauge("acpella_connections", lambda: sum(1 for c in every() if c.readers), 'client="there"')
        gauge("acpella_connections", lambda: sum(1 for c in every() if not c.readers), 'client="away"')
        gauge("acpella_turns", lambda: self.turns)
        gauge("acpella_streams", lambda: sum(c.readers for c in every()))
        gauge("acpella_buffered_bytes", lambda: sum(c.flow.buffered for c in every()))

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def turns(self) -> int:
        """Turns that are running."""
        return sum(connection.pending.turns for connection in self._connections.values())

    def new(
        self,
        credential: Credential,
        profile: Profile,
        *,
        resumable: bool = False,
        connection_id: str | None = None,
        address: str = "",
    ) -> HostedConnection:
        """A connection whose agent is not started yet; `address` is that of its client.

        It gets an id that nobody can guess, unless one is given. Raises `Refusal` when there are too many.
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
        connection_id = connection_id or secrets.token_hex(16)
        home = None
        if self.node is not None:
            self.node.check_ready()
            home = self.node.new_home(connection_id, credential, profile, resumable=resumable)
        connection = LocalConnection(
            self._services,
            self,
            credential,
            profile,
            connection_id=connection_id,
            resumable=resumable,
            address=address,
            home=home,
        )
        self.admit(connection)
        return connection

    def adopt(
        self,
        credential: Credential,
        profile: Profile,
        *,
        connection_id: str,
        resumable: bool,
        home: ConnectionHome,
    ) -> LocalConnection:
        """A connection that was at another node; nobody finds it before it is given to `admit`."""
        return LocalConnection(
            self._services,
            self,
            credential,
            profile,
            connection_id=connection_id,
            resumable=resumable,
            home=home,
        )

    def admit(self, connection: LocalConnection) -> None:
        """Let it be found."""
        self._connections[connection.id] = connection
        self._by_user[connection.principal] = self._by_user.get(connection.principal, 0) + 1
        if self._checking is None:
            self._checking = asyncio.get_running_loop().create_task(self._check_all())

    def _make_room(self, principal: str) -> None:
        """Close the user's least useful connection; never one whose client is connected."""
        away = [c for c in self._connections.values() if not c.readers and c.principal == principal]
        if away:
            away.sort(key=lambda c: (not c.is_gone_for_good, c.pending.turns > 0, c.last_seen))
            away[0].close("its client was away, and another connection needed the room")

    def __iter__(self) -> Iterator[LocalConnection]:
        return iter(self._connections.values())

    def find(self, connection_id: str, principal: str) -> LocalConnection | None:
        """A connection of this user's."""
        connection = self._connections.get(connection_id)
        return connection if connection is not None and connection.principal == principal else None

    def has(self, connection_id: str) -> bool:
        """Whether there is a connection of this id here, whosever it is."""
        return connection_id in self._connections

    async def reach(self, connection_id: str, credential: Credential) -> HostedConnection | None:
        """The user's connection of that id. The credential needs at least the scopes of the connection's own.

        With fewer, it could take over its streams, or end its turns. Raises `Refusal`, and `StoreError` if
        it cannot be told where the connection is.
        """
        connection = self.find(connection_id, credential.principal)
        if connection is None and self.node is not None and not self.has(connection_id):
            return await self.node.reach(connection_id, credential)
        if connection is not None and (missing := connection.scopes - credential.scopes):
            raise Refusal(403, f"this connection needs a token with the scope {min(missing)!r}, as it began")
        return connection

    def has_turn(self, session_id: str, principal: str) -> bool:
        """Whether a turn of this user's runs in that session."""
        every = self._connections.values()
        return any(c.principal == principal and c.pending.has_turn(session_id) for c in every)

    def forget(self, connection_id: str) -> None:
        """Forget a connection and let its agent go. Safe to call twice."""
        connection = self._connections.pop(connection_id, None)
        if connection is None:
            return
        self._let_go(connection)
        left = self._by_user[connection.principal] = self._by_user[connection.principal] - 1
        if not left:
            del self._by_user[connection.principal]

    async def until_ended(self, connection_id: str) -> None:
        """Wait until the agent of a connection that was forgotten is gone, with all that ran in it.

        Raises `Refusal` when it does not end.
        """
        if ending := [task for task, each in self._ending.items() if each == connection_id]:
            _, still = await asyncio.wait(ending, timeout=ENDED_WITHIN)
            if still:
                raise Refusal(503, "what ran before has not ended yet", headers=[(b"retry-after", b"1")])

    def _let_go(self, connection: LocalConnection) -> None:
        task = asyncio.get_running_loop().create_task(self._stop(connection))
        self._ending[task] = connection.id
        task.add_done_callback(self._ending.pop)

    async def _stop(self, connection: LocalConnection) -> None:
        try:
            await connection.release_agent()
        except Exception:
            log.exception("connection %s did not end well", connection.label)

    def turn_ended(self) -> None:
        """A turn has ended."""
        if self._turns_ended is not None and not self.turns:
            self._turns_ended.set()

    def check_soon(self, check: Callable[[], None]) -> None:
        """Something has changed for a connection whose client may be away."""
        asyncio.get_running_loop().call_soon(check)

    async def _check_all(self) -> None:
        clock = asyncio.get_running_loop().time
        checked = clock()
        while True:
            await asyncio.sleep(CHECK_EVERY)
            if is_time := clock() - checked >= CHECK_CREDENTIALS_EVERY:
                checked = clock()
            for connection in list(self._connections.values()):
                try:
                    connection.check()
                    if is_time:
                        connection.check_credentials()
                except Exception:
                    log.exception("connection %s could not be looked after", connection.label)

    # -- a node among others -----------------------------------------------------------------------

    def set_generation(self, generation: str) -> None:
        """Numbers mean the same at all nodes."""
        if generation != self.generation:
            self.generation = generation
            self._services = replace(self._services, generation=generation)

    # -- the end ---------------------------------------------------------------------------------

    async def drain(self, seconds: float | None = None) -> None:
        """Take no new connections and wait for running turns."""
        self.draining = True
        if self.node is not None:
            await self._hand_over(self.settings.drain_seconds if seconds is None else seconds)
        if not self.turns:
            return
        seconds = self.settings.drain_seconds if seconds is None else seconds
        running = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        log.warning("waiting up to %g s for %s to end; a second Ctrl-C or signal stops now", seconds, running)
        self._turns_ended = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._turns_ended.wait()
        except TimeoutError:
            log.warning("%d turns did not end in time and are cancelled", self.turns)

    async def _hand_over(self, seconds: float) -> None:
        """Leave each connection that another node can go on with, as soon as nothing is under way in it."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        while waiting := [c for c in self._connections.values() if c.home is not None]:
            for connection in waiting:
                is_idle = not connection.pending.requests and not connection.flow.buffered
                if is_idle or clock() > deadline:
                    connection.move_away("this node is stopping")
            await asyncio.sleep(HAND_OVER_EVERY)
        if self._ending:
            await asyncio.wait(self._ending.copy(), timeout=ENDED_WITHIN)

    async def end_all(self) -> None:
        """End all connections."""
        self.draining = True
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None
        for connection in list(self._connections.values()):
            connection.close("the server is stopping", code=CloseCode.STOPPING)
        if self._ending:
            await asyncio.wait(self._ending.copy(), timeout=ENDED_WITHIN)

    async def close(self) -> None:
        """End all connections, and let go of what their agents share."""
        await self.end_all()
        await self._factory.close()
