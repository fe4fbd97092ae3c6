"""An agent that was started and greeted: its sessions, its logins, and any other call."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from acpella.errors import AuthRequired, MethodNotFound, ResourceNotFound
from acpella.rpc import Connection, Method
from acpella.schema import (
    AgentCapabilities,
    AuthenticateRequest,
    AuthMethod,
    AuthMethodEnvVar,
    DeleteSessionRequest,
    ForkSessionRequest,
    Implementation,
    InitializeResponse,
    ListSessionsRequest,
    LoadSessionRequest,
    LogoutRequest,
    McpServer,
    NewSessionRequest,
    ResumeSessionRequest,
    SessionInfo,
    SessionUpdate,
    methods,
)

from .agent_core import ConnectedAgentCore
from .login import RunLogin, missing_variables, run_here, terminal_command
from .permissions import Permissions
from .session import ClientSession
from .session_core import ClientSessionCore
from .timeouts import Timeouts

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["ConnectedAgent"]

P = TypeVar("P")
R = TypeVar("R")

MAX_PAGES = 1000
"""Most pages of a list that are read. Without it, an agent that always names a next page is read for ever."""


class ConnectedAgent:
    """An agent that was greeted. Use `connect` to get one, as an async context manager."""

    def __init__(
        self,
        core: ConnectedAgentCore,
        *,
        remembered_as: "str | Callable[[ConnectedAgent], str] | None" = None,
    ) -> None:
        """Use `connect`."""
        self._core = core
        core.find_remembered_as = lambda: remembered_as(self) if callable(remembered_as) else remembered_as

    # -- life ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self._core.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._core.close()

    def note_stderr(self, data: bytes) -> None:
        """Add what the agent wrote to its stderr to the recording, if there is one.

        Only needed with a channel of your own, whose stderr cannot be seen here. The stderr of agents that
        `connect` starts itself is recorded without this call.
        """
        self._core.note_stderr(data)

    def __await__(self) -> Any:
        raise TypeError("use `async with acpella.connect(...) as agent:`")

    def __enter__(self) -> Any:
        raise TypeError("use `async with`, or `with acpella.sync.connect(...)` without an event loop")

    def __exit__(self, *error: object) -> None: ...

    async def ready(self) -> None:
        """Wait until the agent can be reached; returns at once for a local agent.

        Raises:
            ConnectionClosed: the connection to a URL was lost and did not come back.
        """
        await self._core.ready()

    async def kill(self, why: str) -> None:
        """Give up on the agent."""
        await self._core.kill(why)

    # -- what it is ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What it is called in messages to the user."""
        return self._core.name

    @name.setter
    def name(self, name: str) -> None:
        self._core.name = name

    @property
    def identity(self) -> str:
        """Identifies the agent among all others: its name in the settings, its path, its command or its URL.

        Empty if the agent was reached through a channel that does not know its identity.
        """
        return self._core.identity

    @property
    def remembered_as(self) -> str:
        """The name under which "always" answers are stored; the short name only if nothing else is known."""
        return self._core.remembered_as

    @property
    def connection(self) -> Connection:
        """The connection to it; another one after it was lost or the agent was started again."""
        return self._core.connection

    @property
    def permissions(self) -> Permissions:
        """Who answers its permission requests."""
        return self._core.permissions

    @property
    def timeouts(self) -> Timeouts:
        """How long it may take."""
        return self._core.timeouts

    @property
    def hello(self) -> InitializeResponse:
        """The agent's answer to `initialize`."""
        return self._core.greeted

    @property
    def pid(self) -> int | None:
        """The agent's process, which leads a group of its own; None if it is not a child of this one."""
        process = self._core.channel.about.process
        return None if process is None else process.pid

    @property
    def info(self) -> Implementation | None:
        """The name and version that the agent reports, if any."""
        return self.hello.agent_info

    @property
    def capabilities(self) -> AgentCapabilities:
        """The capabilities that the agent reports."""
        return self.hello.agent_capabilities

    @property
    def auth_methods(self) -> list[AuthMethod]:
        """The ways to log in."""
        return self.hello.auth_methods

    # -- sessions ----------------------------------------------------------------------------

    async def new_session(
        self,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> ClientSession:
        """Begin a conversation about a directory.

        Raises:
            AuthRequired: log in first; the message says how.
        """
        root, more = self._places(cwd, directories)
        request = NewSessionRequest(**_opening(root, more, mcp_servers))
        answer = await self._core.call_opening(methods.NEW_SESSION, request)
        return self._adopt(self._new(answer.session_id, root, more, mcp_servers), answer)

    async def load_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
        on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None,
    ) -> ClientSession:
        """Open an earlier session; the agent replays the whole conversation to `on_update`."""
        self._core.need(self.capabilities.load_session, "load sessions")
        root, more = self._places(cwd, directories)
        core = self._core
        before = core.sessions.get(session_id)
        session = core.sessions[session_id] = self._new(session_id, root, more, mcp_servers)
        session.on_update = on_update
        request = LoadSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        try:
            answer = await core.call_gated(methods.LOAD_SESSION, request, timeout=0, in_order=True)
            session.describe(answer)
            if not session.turn_elsewhere:  # a turn elsewhere keeps sending updates
                await session.until_replayed()
        except BaseException:
            core.forget(session_id)
            if before is not None:
                core.sessions[session_id] = before
            raise
        return ClientSession(session)

    async def resume_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> ClientSession:
        """Open an earlier session without replaying it."""
        self._core.need(self.capabilities.session_capabilities.resume, "resume sessions")
        root, more = self._places(cwd, directories)
        request = ResumeSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        answer = await self._core.call_opening(methods.RESUME_SESSION, request)
        return self._adopt(self._new(session_id, root, more, mcp_servers), answer)

    async def fork_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> ClientSession:
        """Fork a session: the new one starts from the current state of the other."""
        self._core.need(self.capabilities.session_capabilities.fork, "fork sessions")
        root, more = self._places(cwd, directories)
        request = ForkSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        answer = await self._core.call_opening(methods.FORK_SESSION, request)
        return self._adopt(self._new(answer.session_id, root, more, mcp_servers), answer)

    async def list_sessions(self, *, cwd: str | os.PathLike[str] | None = None) -> list[SessionInfo]:
        """All sessions that the agent knows, in its order."""
        self._core.need(self.capabilities.session_capabilities.list, "list sessions")
        sessions: list[SessionInfo] = []
        cursor: str | None = None
        where = None if cwd is None else str(self._places(cwd, ())[0])
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await self._core.call_gated(
                methods.LIST_SESSIONS, ListSessionsRequest(cwd=where, cursor=cursor)
            )
            sessions += page.sessions
            cursor = page.next_cursor
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
        return sessions

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good; deleting one that does not exist succeeds."""
        self._core.need(self.capabilities.session_capabilities.delete, "delete sessions")
        try:
            await self._core.call_gated(methods.DELETE_SESSION, DeleteSessionRequest(session_id=session_id))
        except ResourceNotFound:
            pass

    # -- logging in --------------------------------------------------------------------------

    async def authenticate(
        self,
        method_id: str,
        *,
        env: Mapping[str, str] | None = None,
        run: RunLogin = run_here,
        replace_args: bool = False,
    ) -> None:
        """Log in with one of `auth_methods`, whatever its kind.

        An agent that handles the login itself is asked to do so. For a login in a terminal, `run` shows the
        program to the user, by default in this program's own terminal; with `replace_args` it gets only the
        arguments of the login, not those of the agent as well. `env` sets the variables that a login by
        environment needs. After a login in a terminal, or with `env`, the agent is restarted, so sessions
        must be opened again.

        Raises:
            ValueError: there is no such login, or variables are missing.
            AuthRequired: the login failed.
            Unsupported: it cannot be done from here.
        """
        by_id = {method.id: method for method in self.auth_methods}
        if method_id not in by_id:
            raise ValueError(f"no login {method_id!r}; there are: {', '.join(by_id) or 'none'}")
        method = by_id[method_id]
        command = terminal_command(method, self._core.channel.about.process, replace_args=replace_args)
        if command is not None:
            code = await run(command)
            if code != 0:
                how = "was given up" if code is None else f"ended with code {code}"
                raise AuthRequired(f"the login {method.name!r} {how}")
            await self._core.start_again()
            return
        if missing := missing_variables(method, {**self._core.env, **(env or {})}):
            raise ValueError(f"the login {method.name!r} needs {', '.join(missing)}; give them with env=")
        if env:
            self._core.env.update(env)
            await self._core.start_again()
        request = AuthenticateRequest(method_id=method_id)
        try:
            await self.call(methods.AUTHENTICATE, request, timeout=0)
        except MethodNotFound:
            if not isinstance(method, AuthMethodEnvVar):
                raise  # with variables, the start alone may be the login

    async def logout(self) -> None:
        """Forget the login (R-120)."""
        self._core.need(self.capabilities.auth.logout, "log out")
        await self.call(methods.LOGOUT, LogoutRequest())

    # -- anything else -------------------------------------------------------------------------

    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        """Call any method of the agent; behind a URL, this waits while the connection is made again."""
        return await self._core.call(method, params, timeout=timeout, in_order=in_order)

    async def extension(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call an extension method, `_vendor/name`, with plain JSON."""
        return await self._core.call_extension(method, params, timeout=timeout)

    def terminal(self, session_id: str, terminal_id: str) -> "LocalTerminal | None":
        """A terminal that runs here for the agent, to show its output; None if there is no such one."""
        return self._core.terminal(session_id, terminal_id)

    def _new(
        self, session_id: str, cwd: Path, directories: Sequence[Path], mcp_servers: Sequence[McpServer]
    ) -> ClientSessionCore:
        return ClientSessionCore(
            self._core, session_id, cwd=cwd, directories=directories, mcp_servers=mcp_servers
        )

    def _adopt(self, session: ClientSessionCore, answer: Any) -> ClientSession:
        self._core.adopt(session, answer)
        return ClientSession(session)

    def _places(
        self, cwd: str | os.PathLike[str], directories: Sequence[str | os.PathLike[str]]
    ) -> tuple[Path, list[Path]]:
        root = Path(os.path.abspath(cwd))
        if not root.is_dir():
            raise NotADirectoryError(f"no directory {root}")
        more = [Path(os.path.abspath(directory)) for directory in directories]
        if more:
            self._core.need(
                self.capabilities.session_capabilities.additional_directories, "take more directories"
            )
        return root, [d for i, d in enumerate(more) if d != root and d not in more[:i]]


def _opening(cwd: Path, directories: Sequence[Path], mcp_servers: Sequence[McpServer]) -> dict[str, Any]:
    """What every request that opens a session says."""
    return {
        "cwd": str(cwd),
        "mcp_servers": list(mcp_servers),
        "additional_directories": [str(directory) for directory in directories],
    }
