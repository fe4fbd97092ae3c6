"""An agent behind a URL: when its connection is lost, a new one is made and the sessions are opened again."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from acpella.errors import AcpellaError, ConnectionClosed, RpcError, TransportError, Unsupported
from acpella.rpc import Connection, Method
from acpella.schema import LoadSessionRequest, ResumeSessionRequest, methods

from .agent import ConnectedAgent
from .agent_core import ConnectedAgentCore
from .restarts import Restarts
from .session_core import ClientSessionCore
from .targets import open_endpoint

if TYPE_CHECKING:
    from acpella.transport.endpoint import Endpoint

__all__ = ["RemoteAgent", "RemoteAgentCore", "RemoteState"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

RemoteState: TypeAlias = Literal["connecting", "connected", "interrupted", "reconnecting", "failed", "closed"]
"""`interrupted`: the line was cut and is being picked up, nothing is lost. `reconnecting`: the server does
not know the connection any more; running calls have failed, a new connection is made. `failed`: given up."""

RECONNECT = Restarts(budget=10, window=300.0)
"""About a minute of tries."""


class RemoteAgentCore(ConnectedAgentCore):
    """The way to an agent behind a URL, made again when it is lost."""

    def __init__(
        self, name: str, endpoint: "Endpoint", *, reconnect: Restarts | None, **options: Any
    ) -> None:
        self.state: RemoteState = "connecting"
        self.error: AcpellaError | None = None
        self.reconnects: int = 0
        self.on_state: Callable[[], None] | None = None
        self._endpoint = endpoint
        self._budget = reconnect
        self._losses: deque[float] = deque()
        self._changed = asyncio.Event()
        self._leaving = False
        self._keeper: asyncio.Task[None] | None = None
        super().__init__(open_endpoint(endpoint, on_link=self._link), **options)
        self.name = name

    # -- life ----------------------------------------------------------------------------------

    async def open(self) -> None:
        self._set("connecting")
        try:
            await super().open()
        except BaseException:
            self._leaving = True
            self._set("failed")
            raise
        self._set("connected")
        self._keeper = asyncio.get_running_loop().create_task(self._keep(), name=f"keep {self.name}")

    async def close(self) -> None:
        self._leaving = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        await super().close()
        self._set("closed")

    async def kill(self, why: str) -> None:
        """Give up on the agent for good."""
        self._leaving = True
        self.error = TransportError(why)
        await super().kill(why)
        self._set("failed")

    # -- talking -------------------------------------------------------------------------------

    async def ready(self) -> None:
        """Wait until there is a connection.

        Raises:
            ConnectionClosed: the connection was lost and did not come back.
        """
        while self.state in ("interrupted", "reconnecting") or (
            self.state == "connected" and self.connection.closed is not None and not self._leaving
        ):
            await self._changed.wait()
        if self.state == "failed" and self.hello is not None:
            raise ConnectionClosed(f"the connection to {self.name} is lost: {self.error}")

    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        """Call any method of the agent; waits while the connection is being made again."""
        await self.ready()
        return await super().call(method, params, timeout=timeout, in_order=in_order)

    async def call_extension(self, method: str, params: Any, *, timeout: float | None) -> Any:
        await self.ready()
        return await super().call_extension(method, params, timeout=timeout)

    # -- keeping it ------------------------------------------------------------------------------

    def _set(self, state: RemoteState) -> None:
        if state == self.state and state != "connecting":
            return
        self.state = state
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if self.on_state is not None:
            try:
                self.on_state()
            except Exception:
                log.exception("on_state failed")

    def _link(self, up: bool) -> None:
        if self.state == ("interrupted" if up else "connected"):
            self._set("connected" if up else "interrupted")

    async def _keep(self) -> None:
        while True:
            self.error = await self.connection.wait_closed()
            if self._leaving:
                return
            log.warning("the connection to %s was lost: %s", self.name, self.error)
            self._set("reconnecting")
            while not await self._try_again():
                if self.state == "failed":
                    return
            self.reconnects += 1
            self._set("connected")

    async def _try_again(self) -> bool:
        from acpella.transport.endpoint import Denied

        now = asyncio.get_running_loop().time()
        limits = self._budget
        if limits is not None:
            while self._losses and self._losses[0] < now - limits.window:
                self._losses.popleft()
            self._losses.append(now)
        if limits is None or len(self._losses) > limits.budget:
            self._set("failed")
            return False
        await asyncio.sleep(limits.delay(len(self._losses) - 1))
        try:
            await self._connect_again()
            return True
        except (Denied, Unsupported) as error:
            self.error = error
            self._set("failed")  # trying again will not change it
        except (AcpellaError, TimeoutError, OSError) as error:
            self.error = error if isinstance(error, AcpellaError) else TransportError(str(error))
        return False

    async def _connect_again(self) -> None:
        channel = open_endpoint(self._endpoint, on_link=self._link)
        recorded, connection = self.new_connection(channel, self.name)
        await connection.open()
        try:
            await self.use(recorded, connection)
            for session in list(self.sessions.values()):
                await self._open_again(connection, session)
        except BaseException:
            await connection.close(grace=0)
            raise

    async def _open_again(self, connection: Connection, session: ClientSessionCore) -> None:
        """Open a session on the new connection; if the agent replays it, the replay is not passed on."""
        about: dict[str, Any] = {
            "session_id": session.id,
            "cwd": str(session.cwd),
            "mcp_servers": list(session.mcp_servers),
            "additional_directories": [str(place) for place in session.roots[1:]],
        }
        limit = self.timeouts.request or None
        try:
            if self.capabilities.session_capabilities.resume is not None:
                request = ResumeSessionRequest(**about)
                await connection.call(methods.RESUME_SESSION, request, timeout=limit, in_order=True)
            elif self.capabilities.load_session:
                session.replaying = True
                await connection.call(methods.LOAD_SESSION, LoadSessionRequest(**about), in_order=True)
                await session.until_replayed()
            else:
                raise Unsupported(f"{self.name} keeps no sessions; this one ended with its connection")
            session.lost = None
        except (RpcError, Unsupported) as error:
            log.warning("session %s is lost: %s", session.id, error)
            session.lost = error
        finally:
            session.replaying = False


class RemoteAgent(ConnectedAgent):
    """An agent behind a URL. Sessions stay usable over lost connections; running prompts fail with them."""

    def __init__(
        self,
        core: RemoteAgentCore,
        *,
        on_state: Callable[["RemoteAgent"], None] | None = None,
        remembered_as: str | Callable[[ConnectedAgent], str] | None = None,
    ) -> None:
        """Use `connect`."""
        super().__init__(core, remembered_as=remembered_as)
        self._remote = core
        if on_state is not None:
            core.on_state = lambda: on_state(self)

    @property
    def state(self) -> RemoteState:
        """How the connection is."""
        return self._remote.state

    @property
    def error(self) -> AcpellaError | None:
        """Why the connection was last lost, or could not be made again."""
        return self._remote.error

    @property
    def reconnects(self) -> int:
        """How often a lost connection was made again."""
        return self._remote.reconnects
