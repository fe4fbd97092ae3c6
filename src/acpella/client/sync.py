"""The client for programs without an event loop: the same objects, whose methods wait.

with acpella.sync.connect("agent.py") as agent:
    session = agent.new_session(".")
    print(session.prompt("hi").text)
    for update in session.prompt("and now?"):
        print(update)
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from acpella.errors import AcpellaError
from acpella.rpc import Method
from acpella.schema import (
    AgentCapabilities,
    AuthMethod,
    AvailableCommand,
    Implementation,
    InitializeResponse,
    McpServer,
    PlanEntry,
    SessionConfigOption,
    SessionInfo,
    SessionModelState,
    SessionModeState,
    SessionUpdate,
    Usage,
    UsageUpdate,
)

from .agent import ConnectedAgent
from .connect import AskOptions, ConnectOptions
from .connect import connect as connect_async
from .login import RunLogin, run_here
from .permissions import Permissions
from .result import Result, ToolCallState
from .session import ClientSession, Prompt
from .targets import Target
from .timeouts import Timeouts
from .turn import PromptTurn
from .turn_core import Overflow, UpdatesDropped

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["SyncAgent", "SyncSession", "SyncTurn", "ask", "connect", "run_in_loop"]

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    """The one loop of all blocking clients, in a thread of its own."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="acpella.sync", daemon=True).start()
        return _loop


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run something in the loop of all blocking clients and wait for it."""
    future = asyncio.run_coroutine_threadsafe(work, _running_loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


class SyncTurn:
    """A prompt: iterate it for updates, or call `wait()` for the result.

    `.text`, `.stop_reason`, `.tool_calls` and the rest of a result are here too: they wait for the end of the
    turn, and while it is iterated they tell what is known so far. Leaving a `with` block or a loop early
    cancels it.
    """

    def __init__(self, turn: PromptTurn, session: "SyncSession") -> None:
        """Use `SyncSession.prompt`."""
        self._turn = turn
        self.session = session

    def __iter__(self) -> Iterator[SessionUpdate | UpdatesDropped]:
        updates = self._turn.__aiter__()

        async def following() -> SessionUpdate | UpdatesDropped:
            return await updates.__anext__()

        try:
            while True:
                try:
                    yield run_in_loop(following())
                except StopAsyncIteration:
                    return
        finally:
            run_in_loop(updates.aclose())

    def __enter__(self) -> Self:
        run_in_loop(self._turn.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_in_loop(self._turn.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return repr(self._turn)

    def wait(self) -> Result:
        """The result, when the turn has ended."""

        async def finish() -> Result:
            return await self._turn

        return run_in_loop(finish())

    def cancel(self, *, within: float | None = None) -> Result:
        """Stop the turn: pending permission requests are answered, the agent is told, its answer awaited.

        Raises:
            TimeoutError: the agent did not stop within so many seconds (`Timeouts.cancel` by default) and
                was ended.
        """
        return run_in_loop(self._turn.cancel(within=within))

    @property
    def is_sent(self) -> bool:
        """Whether the agent got the prompt, or never will as it was cancelled before."""
        return self._turn.is_sent

    @property
    def is_cancelling(self) -> bool:
        """Whether the agent was told to stop."""
        return self._turn.is_cancelling

    @property
    def dropped(self) -> int:
        """Updates that were lost to `drop_oldest`."""
        return self._turn.dropped

    @property
    def result(self) -> Result:
        """What the turn gave, when it has ended; while it is iterated, what is known so far."""
        return self._turn.result if self._turn.is_sent else self.wait()

    @property
    def text(self) -> str:
        """What the agent said."""
        return self.result.text

    @property
    def thoughts(self) -> str:
        """What the agent thought aloud."""
        return self.result.thoughts

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended."""
        return self.result.stop_reason

    @property
    def tool_calls(self) -> dict[str, ToolCallState]:
        """The tool calls of the turn by their ids."""
        return self.result.tool_calls

    @property
    def plan(self) -> list[PlanEntry]:
        """The agent's plan as it is now."""
        return self.result.plan

    @property
    def usage(self) -> Usage | None:
        """The tokens of the turn, if the agent tells."""
        return self.result.usage

    @property
    def context(self) -> UsageUpdate | None:
        """How full the model's context is, if the agent tells."""
        return self.result.context

    @property
    def commands(self) -> list[AvailableCommand] | None:
        """The slash commands, if they changed in this turn."""
        return self.result.commands


class SyncSession:
    """One session of an agent. Made by `SyncAgent.new_session`, `load_session` and their like."""

    def __init__(self, session: ClientSession, agent: "SyncAgent") -> None:
        """Use `SyncAgent.new_session` and its like."""
        self._session = session
        self.agent = agent

    def __repr__(self) -> str:
        return repr(self._session)

    # -- what it is --------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """What the agent calls it."""
        return self._session.id

    @property
    def cwd(self) -> Path:
        """The directory that it is about."""
        return self._session.cwd

    @property
    def roots(self) -> list[Path]:
        """`cwd` and the further directories that it is about."""
        return self._session.roots

    @property
    def title(self) -> str | None:
        """Its title, if the agent gave it one."""
        return self._session.title

    @property
    def modes(self) -> SessionModeState | None:
        """The modes to choose from, if the agent has modes."""
        return self._session.modes

    @property
    def mode(self) -> str | None:
        """The mode in use, if the agent has modes."""
        return self._session.mode

    @property
    def models(self) -> SessionModelState | None:
        """The models to choose from, of agents that tell them the older way; others have an option."""
        return self._session.models

    @property
    def model(self) -> str | None:
        """The model in use, if the agent tells."""
        return self._session.model

    @property
    def options(self) -> list[SessionConfigOption]:
        """The agent's options and their values."""
        return self._session.options

    @property
    def commands(self) -> list[AvailableCommand]:
        """The slash commands that the agent knows now."""
        return self._session.commands

    @property
    def mcp_servers(self) -> Sequence[McpServer]:
        """What it was opened with."""
        return self._session.mcp_servers

    @property
    def lost(self) -> AcpellaError | None:
        """Why it could not be opened again after the connection was lost."""
        return self._session.lost

    @property
    def on_update(self) -> Callable[[SessionUpdate], Awaitable[None] | None] | None:
        """Hears of updates outside a turn, in the thread of the event loop: it must not wait."""
        return self._session.on_update

    @on_update.setter
    def on_update(self, function: Callable[[SessionUpdate], Awaitable[None] | None] | None) -> None:
        self._session.on_update = function

    def terminal(self, terminal_id: str) -> "LocalTerminal | None":
        """A terminal that runs here for the agent, to show its output; None if there is no such one."""
        return self._session.terminal(terminal_id)

    # -- talking -----------------------------------------------------------------------------

    def prompt(self, prompt: Prompt, *more: Prompt, overflow: Overflow = "block") -> SyncTurn:
        """Send a prompt. Iterate what comes back for updates, `wait()` for the result.

        Raises:
            Unsupported: the agent takes no such content.
        """

        async def make() -> PromptTurn:
            return self._session.prompt(prompt, *more, overflow=overflow)

        return SyncTurn(run_in_loop(make()), self)

    def cancel(self) -> None:
        """Cancel the running turn, if there is one."""
        run_in_loop(self._session.cancel())

    def set_mode(self, mode_id: str) -> None:
        """Switch the mode. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        run_in_loop(self._session.set_mode(mode_id))

    def set_option(self, option_id: str, value: str | bool) -> None:
        """Set a config option. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        run_in_loop(self._session.set_option(option_id, value))

    def set_model(self, model_id: str) -> None:
        """Choose the model: by the option of that category, or the older method.

        Raises `Unsupported` for agents that offer no choice, `ValueError` for unknown models.
        """
        run_in_loop(self._session.set_model(model_id))

    def close(self) -> None:
        """End the session's work at the agent; its history stays there."""
        run_in_loop(self._session.close())


class SyncAgent:
    """An agent that was greeted. Use `connect` to get one, in a `with` block."""

    def __init__(self, agent: ConnectedAgent) -> None:
        """Use `connect`."""
        self._agent = agent

    def __repr__(self) -> str:
        return repr(self._agent)

    # -- what it is --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """A short name for people."""
        return self._agent.name

    @property
    def identity(self) -> str:
        """Identifies the agent among all others: its name in the settings, its path, command or URL."""
        return self._agent.identity

    @property
    def permissions(self) -> Permissions:
        """Who answers its questions."""
        return self._agent.permissions

    @property
    def timeouts(self) -> Timeouts:
        """How long it may take for what."""
        return self._agent.timeouts

    @property
    def hello(self) -> InitializeResponse:
        """The agent's answer to `initialize`."""
        return self._agent.hello

    @property
    def pid(self) -> int | None:
        """The agent's process; None if it is not a child of this one."""
        return self._agent.pid

    @property
    def info(self) -> Implementation | None:
        """The agent's own name and version, if it tells."""
        return self._agent.info

    @property
    def capabilities(self) -> AgentCapabilities:
        """What the agent can do."""
        return self._agent.capabilities

    @property
    def auth_methods(self) -> list[AuthMethod]:
        """The ways to log in."""
        return self._agent.auth_methods

    # -- sessions ----------------------------------------------------------------------------

    def new_session(
        self,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> SyncSession:
        """Begin a conversation about a directory.

        Raises:
            AuthRequired: log in first; the message says how.
        """
        work = self._agent.new_session(cwd, mcp_servers=mcp_servers, directories=directories)
        return SyncSession(run_in_loop(work), self)

    def load_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
        on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None,
    ) -> SyncSession:
        """Open an earlier session; the agent replays it to `on_update`, in the thread of the event loop."""
        work = self._agent.load_session(
            session_id, cwd, mcp_servers=mcp_servers, directories=directories, on_update=on_update
        )
        return SyncSession(run_in_loop(work), self)

    def resume_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> SyncSession:
        """Open an earlier session without replaying it."""
        work = self._agent.resume_session(session_id, cwd, mcp_servers=mcp_servers, directories=directories)
        return SyncSession(run_in_loop(work), self)

    def fork_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> SyncSession:
        """Fork a session: the new one starts from the current state of the other."""
        work = self._agent.fork_session(session_id, cwd, mcp_servers=mcp_servers, directories=directories)
        return SyncSession(run_in_loop(work), self)

    def list_sessions(self, *, cwd: str | os.PathLike[str] | None = None) -> list[SessionInfo]:
        """All sessions that the agent knows, in its order."""
        return run_in_loop(self._agent.list_sessions(cwd=cwd))

    def delete_session(self, session_id: str) -> None:
        """Remove a session for good; it is not an error if there is none."""
        run_in_loop(self._agent.delete_session(session_id))

    # -- logging in --------------------------------------------------------------------------

    def authenticate(
        self,
        method_id: str,
        *,
        env: Mapping[str, str] | None = None,
        run: RunLogin = run_here,
        replace_args: bool = False,
    ) -> None:
        """Log in with one of `auth_methods`, whatever its kind; see `ConnectedAgent.authenticate`.

        Raises:
            ValueError: there is no such login, or variables are missing.
            AuthRequired: the login failed.
            Unsupported: it cannot be done from here.
        """
        run_in_loop(self._agent.authenticate(method_id, env=env, run=run, replace_args=replace_args))

    def logout(self) -> None:
        """Forget the login (R-120)."""
        run_in_loop(self._agent.logout())

    # -- anything else -----------------------------------------------------------------------

    def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        """Call any method of the agent."""
        return run_in_loop(self._agent.call(method, params, timeout=timeout, in_order=in_order))

    def extension(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call an extension method, `_vendor/name`, with plain JSON."""
        return run_in_loop(self._agent.extension(method, params, timeout=timeout))

    def terminal(self, session_id: str, terminal_id: str) -> "LocalTerminal | None":
        """A terminal that runs here for the agent, to show its output; None if there is no such one."""
        return self._agent.terminal(session_id, terminal_id)

    def ready(self) -> None:
        """Wait until the agent can be reached; returns at once for a local agent."""
        run_in_loop(self._agent.ready())

    def kill(self, why: str) -> None:
        """Give up on the agent."""
        run_in_loop(self._agent.kill(why))


@contextmanager
def connect(target: Target, **options: Unpack[ConnectOptions]) -> Generator[SyncAgent, None, None]:
    """`acpella.connect` for plain `with`. Takes the same options.

    What it calls back (`on_stderr`, `on_elicit` and the like) runs in the thread of the event loop.
    """

    async def make() -> ConnectedAgent:
        return await connect_async(target, **options).__aenter__()

    agent = run_in_loop(make())
    try:
        yield SyncAgent(agent)
    finally:
        run_in_loop(agent.__aexit__(None, None, None))


def ask(
    target: Target, prompt: Prompt, *, cwd: str | os.PathLike[str] = ".", **options: Unpack[AskOptions]
) -> Result:
    """Ask an agent one thing and wait for the answer: `acpella.ask("agent.py", "hi").text`.

    `cwd` is the directory that the session is about; the other options are those of `connect`.
    """
    with connect(target, **options) as agent:
        return agent.new_session(cwd=cwd).prompt(prompt).wait()
