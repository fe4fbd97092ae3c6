"""This node as a member of the cluster: which connections it has, and those that dead nodes left."""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from acpella.errors import AcpellaError
from acpella.server.access.credentials import Credential, scopes_of
from acpella.server.access.gate import Refusal
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.hosted import HostedConnection
from acpella.server.connection.local import LocalConnection
from acpella.server.connection.profile import Profile
from acpella.server.connection.table import Connections
from acpella.sessions import Cluster, Fenced, SessionBusy, SessionNotFound, StoreError, StoreUnavailable
from acpella.sessions.cluster import CONNECTION

from .gateway import GatewayConnection
from .home import ClusterHome
from .named_locks import NamedLocks
from .records import PROFILES, Facts, decode
from .tail_reader import TailReader
from .takeover import recover

__all__ = ["Member"]

log: logging.Logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
"""How often a node looks for what dead ones left."""

ABANDONED_EVERY = 60.0
"""How often connections are cleared away whose clients did not come back."""

ABANDONED = 100
"""Connections that are cleared away in one transaction. Without it, many of them lock rows for long."""

ANSWER_SECONDS = 5.0
"""Seconds for the home of a connection to answer, beyond the time that it takes to replace a dead one."""


class Member:
    """One node of the cluster, while it is open."""

    def __init__(
        self,
        cluster: Cluster,
        table: Connections,
        *,
        lease_seconds: float,
        stays_here: Callable[[bytes], bool],
    ) -> None:
        """`stays_here`: see `SharedFactory.stays_here`."""
        self.cluster = cluster
        self._table = table
        self._metrics = table.metrics
        self._lease_seconds = lease_seconds
        self._stays_here = stays_here
        self._takeovers = NamedLocks()
        self._readers: set[TailReader] = set()
        self._recovering: set[ClusterHome] = set()  # of connections that nobody finds yet
        self._waiting = 0  # commands, when somebody looked last
        self._sweeping: asyncio.Task[None] | None = None
        self._tell_gauges()

    def _tell_gauges(self) -> None:
        gauge = self._metrics.gauge
        gauge("acpella_cluster_connections", lambda: sum(c.home is not None for c in self._table))
        gauge("acpella_cluster_gateway_streams", lambda: len(self._readers))
        gauge("acpella_cluster_commands_waiting", lambda: self._waiting)
        gauge("acpella_cluster_lease_seconds", lambda: round(self.cluster.seconds_left(), 3))

    async def open(self) -> None:
        """Join. Raises `StoreError`."""
        await self.cluster.open()
        self._table.set_generation(self.cluster.gen)
        self._table.node = self
        self.cluster.on_lost(self._on_lost)
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep())

    async def close(self) -> None:
        """Leave. What the others may go on with was given back before."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        for reader in list(self._readers):
            reader.end()
        await self.cluster.close()

    def why_not_ready(self) -> str | None:
        """Why this node cannot serve just now."""
        if self.cluster.seconds_left() <= 0:
            return "the database cannot be reached"
        return None

    def check_ready(self) -> None:
        """Raises `Refusal`."""
        if (why := self.why_not_ready()) is not None:
            raise Refusal(503, f"{why}; try again in a moment", headers=[(b"retry-after", b"2")])

    # -- connections -------------------------------------------------------------------------------

    def new_home(
        self, connection_id: str, credential: Credential, profile: Profile, *, resumable: bool
    ) -> ClusterHome | None:
        """The home of a new connection; None for one that stays at this node."""
        if profile.name not in PROFILES:
            return None
        facts = Facts(profile=profile.name, scopes=sorted(credential.scopes - {"admin"}), resumable=resumable)
        stream = CONNECTION + connection_id
        return ClusterHome(
            self.cluster,
            stream,
            credential.principal,
            facts,
            self._metrics,
            stays_here=self._stays_here,
        )

    async def reach(self, connection_id: str, credential: Credential) -> HostedConnection | None:
        """A connection of this user's that is not at this node, or not yet.

        Raises `Refusal`, `StoreError`.
        """
        stream = CONNECTION + connection_id
        try:
            record = await self.cluster.stream(stream, principal=credential.principal)
            facts = decode(record.facts, Facts)
            if missing := scopes_of(facts.scopes) - credential.scopes:
                raise Refusal(
                    403, f"this connection needs a token with the scope {min(missing)!r}, as it began"
                )
            if record.node is None or record.node == self.cluster.node:
                connection = await self.take_over(connection_id, credential.principal)
                if connection is not None:
                    return connection
        except SessionNotFound:
            return None
        return GatewayConnection(
            self.cluster,
            connection_id,
            stream,
            credential.principal,
            facts,
            patience=self._lease_seconds + ANSWER_SECONDS,
            readers=self._readers,
            metrics=self._metrics,
        )

    async def take_over(self, connection_id: str, principal: str) -> LocalConnection | None:
        """Become the home of a connection; None if another living node is.

        Raises `Refusal`, `SessionNotFound`, `StoreError`.
        """
        async with self._takeovers.held(connection_id):
            connection = self._table.find(connection_id, principal)
            return connection or await self._take_over(connection_id, principal)

    async def _take_over(self, connection_id: str, principal: str) -> LocalConnection | None:
        if self._table.draining:
            raise Refusal(503, "this node is stopping", headers=[(b"retry-after", b"1")])
        self.check_ready()
        # we may have lost it just now: its sessions are free only when their turns have ended
        await self._table.until_ended(connection_id)
        stream = CONNECTION + connection_id
        try:
            lease = await self.cluster.take(stream, principal=principal)
        except SessionBusy:
            return None
        record = await self.cluster.stream(stream, principal=principal)
        facts = decode(record.facts, Facts)
        home = ClusterHome(self.cluster, stream, principal, facts, self._metrics)
        connection = self._table.adopt(
            Credential(principal, scopes_of(facts.scopes)),
            PROFILES[facts.profile],
            connection_id=connection_id,
            resumable=facts.resumable,
            home=home,
        )
        log.info("connection %s is taken over", connection.label)
        self._recovering.add(home)
        try:
            await recover(self.cluster, home, lease, record.last_seq)
        except StoreError:
            home.lose("it could not be taken over")
            raise
        except (AcpellaError, msgspec.MsgspecError) as error:
            if not home.is_lost:
                log.error("connection %s cannot be taken over: %s", connection.label, error)
                connection.close("it could not be taken over by another node", code=CloseCode.AGENT)
        except BaseException:
            home.lose("it could not be taken over")
            raise
        finally:
            self._recovering.discard(home)
            self._table.admit(connection)
            if connection.closed is not None:
                self._table.forget(connection.id)  # it is ended as others are
        if home.is_lost:
            raise StoreUnavailable("this node lost its lease meanwhile; try again in a moment")
        self._metrics.add("acpella_cluster_takeovers_total")
        return connection

    # -- dead nodes --------------------------------------------------------------------------------

    def _on_lost(self) -> None:
        """Our lease is over by our own clock: others may take our connections, so none may go on here."""
        self._metrics.add("acpella_cluster_leases_lost_total")
        for home in list(self._recovering):
            home.lose("the database could not be reached in time")
        for connection in list(self._table):
            if isinstance(connection.home, ClusterHome):
                connection.home.lose("the database could not be reached in time")
            else:
                connection.close("this node could not reach the database in time", code=CloseCode.DATABASE)

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        cleared = clock()
        while True:
            await asyncio.sleep(min(SWEEP_SECONDS, self._lease_seconds / 3))
            try:
                self._table.set_generation(self.cluster.gen)
                for reader in list(self._readers):
                    reader.check_credential()
                await self._forget_gateways()
                self._waiting = await self.cluster.waiting()
                if not self._table.draining:
                    await self._take_orphans()
                    if clock() - cleared > ABANDONED_EVERY:
                        cleared = clock()
                        await self._remove_abandoned()
            except (StoreUnavailable, Refusal) as error:
                log.info("could not look for what dead nodes left: %s", error)
            except Exception:
                log.exception("could not look for what dead nodes left")

    async def _remove_abandoned(self) -> None:
        """Clear away what clients of dead nodes left and did not come back for, however much it is."""
        seconds = self._table.settings.detach_seconds
        while not self._table.draining and await self.cluster.remove_abandoned(seconds, limit=ABANDONED):
            pass

    async def _forget_gateways(self) -> None:
        relayed = [c.home for c in self._table if isinstance(c.home, ClusterHome) and c.home.has_gateways]
        if relayed:
            alive = {node.life for node in await self.cluster.nodes() if node.alive}
            for home in relayed:
                home.forget_gateways(alive)

    async def _take_orphans(self) -> None:
        for stream in await self.cluster.orphans():
            if not stream.startswith(CONNECTION):
                continue
            connection_id = stream.removeprefix(CONNECTION)
            if self._table.has(connection_id):
                continue
            try:
                principal = await self.cluster.principal_of(stream)
                await self.take_over(connection_id, principal)
            except (Fenced, SessionNotFound):  # it is somebody else's now, or nobody's
                continue
            except (msgspec.MsgspecError, KeyError) as error:  # of another version: others may know better
                log.warning("connection %s cannot be taken over here: %s", connection_id, error)
