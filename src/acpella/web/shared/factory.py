"""The seam to the server: a page joins the agent that its user has, any other client gets its own."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc import Channel, ChannelInfo, Receiver
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import read_frame
from acpella.server.access.credentials import SCOPES, Scope
from acpella.server.agent_factories import AgentFactory, RunningAgent, WrappedFactory

from .about import About
from .agents import SharedAgents
from .records import SessionRecords
from .requests import ViewerRequests
from .viewer import Viewer

if TYPE_CHECKING:
    from acpella.sessions import Cluster

__all__ = ["SharedAgentFactory"]

log: logging.Logger = logging.getLogger(__name__)


class SharedAgentFactory(WrappedFactory):
    """A factory around another one. Clients that are not pages do not notice it."""

    def __init__(self, factory: AgentFactory, about: About, records: SessionRecords) -> None:
        super().__init__(factory)
        self.agents: SharedAgents = SharedAgents(factory, about, records)

    def is_shared_with(self, session_id: str, principal: str) -> bool:
        """Whether a user was invited to a session of somebody else's."""
        return any(session.id == session_id for session in self.agents.shared_with(principal))

    @property
    def known_owners(self) -> list[tuple[str, str]]:
        """Sessions that were made on pages before this server started, each with its user."""
        return [(record.session, record.owner) for record in self.agents.records]

    def stays_here(self, greeting: bytes) -> bool:
        """True for pages: only this node knows which of them watches which session."""
        return _is_page(greeting)

    async def join(self, cluster: "Cluster") -> None:
        """Share the names and guests of sessions with other nodes. Raises `StoreError`."""
        await self.agents.join(cluster)
        await super().join(cluster)

    async def start(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        return _Link(self, receiver, principal, is_detached)

    async def start_own(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        """An agent of its own, for a client that is not a page."""
        return await self._factory.start(receiver, principal, is_detached)

    async def close(self) -> None:
        await self.agents.close()
        await super().close()


class _PageMark(msgspec.Struct, frozen=True):
    page: bool = False


class _Meta(msgspec.Struct, frozen=True):
    acpella: _PageMark = _PageMark()


class _ClientInfo(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta", default=_Meta())


def _is_page(line: bytes) -> bool:
    """Whether an `initialize` says that its sender is a page."""
    try:
        return msgspec.json.decode(
            read_frame(line).envelope.params or b"{}", type=_ClientInfo
        ).meta.acpella.page
    except UNREADABLE:
        return False


class _Link:
    """The agent of one connection, as the server sees it: the first message decides whether it is shared."""

    def __init__(
        self, shared: SharedAgentFactory, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> None:
        self.channel: Channel = _LinkChannel(self)
        self._shared = shared
        self._receiver = receiver
        self._principal = principal
        self._is_detached = is_detached
        self._requests: ViewerRequests | None = None
        self._viewer: Viewer | None = None
        self._own: RunningAgent | None = None
        self._starting: asyncio.Task[None] | None = None
        self._unsent: list[bytes] = []
        self._paused = False

    def write(self, data: bytes) -> None:
        if self._requests is None and self._starting is None:
            self._decide(data)
        if self._requests is not None:
            self._requests.take(read_frame(data.strip()))
        elif self._own is not None:
            self._own.channel.write(data)
        else:
            self._unsent.append(data)

    def _decide(self, first: bytes) -> None:
        if _is_page(first):
            scopes: frozenset[Scope] = getattr(self._receiver, "scopes", SCOPES)
            self._viewer = Viewer(self._receiver, self._principal, scopes)
            self._shared.agents.viewers.add(self._viewer)
            self._requests = ViewerRequests(self._shared.agents, self._viewer)
        else:
            self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        try:
            own = await self._shared.start_own(self._receiver, self._principal, self._is_detached)
        except AcpellaError as error:
            log.error("the agent could not be started: %s", error)
            self._receiver.ended(
                ConnectionClosed("the agent could not be started; the server's log says why")
            )
            return
        self._own = own
        if self._paused:
            own.channel.pause_reading()
        for data in self._unsent:
            own.channel.write(data)
        self._unsent.clear()

    def pause_reading(self) -> None:
        self._paused = True
        if self._viewer is not None:
            self._viewer.pause()
        if self._own is not None:
            self._own.channel.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._viewer is not None:
            self._viewer.resume()
        if self._own is not None:
            self._own.channel.resume_reading()

    async def close(self) -> None:
        if self._viewer is not None:
            self._shared.agents.leave(self._viewer)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
        if self._own is not None:
            await self._own.close()


class _LinkChannel:
    """The channel that the server writes to."""

    def __init__(self, link: _Link) -> None:
        self._link = link
        self.pause_reading = link.pause_reading
        self.resume_reading = link.resume_reading
        self.close = link.close

    @property
    def about(self) -> ChannelInfo:
        own = self._link._own  # pyright: ignore[reportPrivateUsage]: two halves of one thing
        return ChannelInfo() if own is None else own.channel.about

    async def open(self, receiver: Receiver, *, write_high: int) -> None: ...

    def write(self, data: bytes | bytearray) -> None:
        self._link.write(bytes(data))
