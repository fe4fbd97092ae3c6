"""Keeps agents running: restarts those that die, and opens their sessions again."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from acpella.errors import AcpellaError, ConnectionClosed, RpcError, TransportError

from .agent import ConnectedAgent
from .connect import connect
from .restarts import Restarts
from .session import ClientSession, Prompt
from .targets import Target
from .turn import PromptTurn

__all__ = ["Restarts", "SupervisedAgent", "SupervisedSession", "Supervisor"]

log: logging.Logger = logging.getLogger(__name__)

State: TypeAlias = Literal["starting", "running", "waiting", "stopped", "failed"]
"""`waiting`: it died and will be started again; `failed`: the restart budget is spent."""


class SupervisedSession:
    """A session that outlives its agent's process: after a restart it is resumed, or loaded."""

    def __init__(
        self, supervised: "SupervisedAgent", session: ClientSession, options: dict[str, Any]
    ) -> None:
        self._supervised = supervised
        self._session = session
        self._options = options  # MCP servers and directories, which an agent does not keep
        self.id: str = session.id
        self.cwd: Path = session.cwd
        self.lost: AcpellaError | None = None
        """Why it could not be opened again."""

    async def prompt(self, prompt: Prompt, *more: Prompt) -> PromptTurn:
        """A turn in the session as it is now; waits while the agent is being restarted.

        A turn that was running when the agent died fails; it is not sent again.
        """
        await self._supervised.ready()
        if self.lost is not None:
            raise self.lost
        return self._session.prompt(prompt, *more)

    @property
    def current(self) -> ClientSession:
        """The session at the process that runs now."""
        return self._session

    async def reopen(self, agent: ConnectedAgent) -> None:
        """Open it at a new process."""
        capabilities = agent.capabilities
        on_update = self._session.on_update
        try:
            if capabilities.session_capabilities.resume is not None:
                self._session = await agent.resume_session(self.id, self.cwd, **self._options)
            elif capabilities.load_session:
                self._session = await agent.load_session(self.id, self.cwd, **self._options)
            else:
                raise TransportError(f"{agent.name} was restarted and keeps no sessions")
            self._session.on_update = on_update  # not before: a replay brings nothing new
            self.lost = None
        except (RpcError, TransportError, TimeoutError) as error:
            log.warning("session %s is lost: %s", self.id, error)
            self.lost = error if isinstance(error, AcpellaError) else TransportError(str(error))


class SupervisedAgent:
    """One agent that is kept running. Made by `Supervisor.start`."""

    def __init__(
        self, name: str, target: Target, restarts: Restarts, on_change: Any, options: dict[str, Any]
    ) -> None:
        self.name = name
        self.state: State = "starting"
        self.error: AcpellaError | None = None
        """What it died of last."""
        self.restarts: int = 0
        self._target = target
        self._limits = restarts
        self._on_change = on_change
        self._options: dict[str, Any] = {"reconnect": False, **options}  # restarts do this instead
        self._agent: ConnectedAgent | None = None
        self._sessions: dict[str, SupervisedSession] = {}
        self._deaths: deque[float] = deque()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def ready(self) -> ConnectedAgent:
        """The connected agent, when there is one.

        Raises:
            TransportError: the restart budget is spent, or the agent was stopped.
        """
        while self.state in ("starting", "waiting") or self._just_died():
            await self._changed.wait()
        if self.state == "failed":
            died = f"died {len(self._deaths)} times within {self._limits.window:g} s and is not started again"
            why = f"{died}; the last time: {self.error}" if self._deaths else str(self.error)
            raise TransportError(f"{self.name} {why}" if self._deaths else why)
        if self.state == "stopped" or self._agent is None:
            raise TransportError(f"{self.name} was stopped")
        return self._agent

    def _just_died(self) -> bool:
        """Its connection is over, but that was not acted on yet."""
        return (
            self.state == "running" and self._agent is not None and self._agent.connection.closed is not None
        )

    async def new_session(self, cwd: str | Path = ".", **options: Any) -> SupervisedSession:
        """Begin a session that is kept over restarts."""
        agent = await self.ready()
        session = SupervisedSession(self, await agent.new_session(cwd, **options), options)
        self._sessions[session.id] = session
        return session

    def run(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep_running(), name=f"agent {self.name}")

    async def stop(self) -> None:
        """End the agent for good."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    def _set(self, state: State) -> None:
        self.state = state
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if self._on_change is not None:
            try:
                self._on_change(self)
            except Exception:
                log.exception("on_change failed")

    async def _keep_running(self) -> None:
        while True:
            try:
                async with connect(self._target, **self._options) as agent:
                    for session in self._sessions.values():
                        await session.reopen(agent)
                    self._agent = agent
                    self._set("running")
                    self.error = await self._until_over(agent)
            except (AcpellaError, TimeoutError, OSError) as error:
                self.error = error if isinstance(error, AcpellaError) else TransportError(str(error))
                if isinstance(error.__cause__, FileNotFoundError | PermissionError):
                    self._set("failed")  # trying again will not make it appear
                    return
            self._agent = None
            if self._stopping.is_set():
                self._set("stopped")
                return
            if not await self._wait_for_restart():
                return

    async def _until_over(self, agent: ConnectedAgent) -> ConnectionClosed | None:
        ending = asyncio.ensure_future(agent.connection.wait_closed())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return ending.result() if ending.done() else None
        finally:
            ending.cancel()
            stopping.cancel()

    async def _wait_for_restart(self) -> bool:
        now = asyncio.get_running_loop().time()
        while self._deaths and self._deaths[0] < now - self._limits.window:
            self._deaths.popleft()
        self._deaths.append(now)
        if len(self._deaths) > self._limits.budget:
            self._set("failed")
            return False
        log.warning("%s is restarted: %s", self.name, self.error)
        self._set("waiting")
        try:
            async with asyncio.timeout(self._limits.delay(len(self._deaths) - 1)):
                await self._stopping.wait()
            self._set("stopped")
            return False
        except TimeoutError:
            self.restarts += 1
            return True


class Supervisor:
    """Several agents by name, each restarted when it dies: `async with Supervisor() as agents:`."""

    def __init__(
        self,
        *,
        restarts: Restarts = Restarts(),
        on_change: Callable[[SupervisedAgent], None] | None = None,
    ) -> None:
        """`on_change` hears of every change of an agent's `state`."""
        self._restarts = restarts
        self._on_change = on_change
        self._agents: dict[str, SupervisedAgent] = {}

    def start(self, name: str, target: Target, **options: Any) -> SupervisedAgent:
        """Start an agent and keep it running; the options are those of `connect`."""
        if name in self._agents:
            raise ValueError(f"there is an agent {name!r} already")
        agent = self._agents[name] = SupervisedAgent(name, target, self._restarts, self._on_change, options)
        agent.run()
        return agent

    def __getitem__(self, name: str) -> SupervisedAgent:
        return self._agents[name]

    def __iter__(self) -> Any:
        return iter(list(self._agents.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(agent.stop() for agent in self._agents.values()))
