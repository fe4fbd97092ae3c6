"""An agent that was started and greeted: its sessions, its logins, and any other call."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from acpella.errors import (
    AuthRequired,
    ConnectionClosed,
    LocalProtocolError,
    MethodNotFound,
    ResourceNotFound,
    TransportError,
    Unsupported,
)
from acpella.rpc import Channel, Connection, Method, Noise
from acpella.schema import (
    AgentCapabilities,
    AuthenticateRequest,
    AuthMethod,
    AuthMethodEnvVar,
    DeleteSessionRequest,
    ForkSessionRequest,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    LoadSessionRequest,
    LogoutRequest,
    McpServer,
    NewSessionRequest,
    ResumeSessionRequest,
    SessionInfo,
    SessionNotification,
    SessionUpdate,
    methods,
)

from .login import RunLogin, methods_in, missing_variables, run_here, terminal_command
from .services import Services
from .session import ClientSession
from .settings import ClientSettings
from .targets import Target, open_target
from .workspace import check_seconds

if TYPE_CHECKING:
    from acpella.local import Terminal
    from acpella.recording.channel import RecordedChannel

__all__ = ["ConnectedAgent", "Timeouts"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

PROTOCOL_VERSION = 1

MAX_EARLY = 64
"""Sessions, and updates of each, kept for a session whose answer was not read yet. Without it, updates for
sessions that nobody opened fill the memory."""

SHOWN_LINES = 3
"""Lines of what an agent printed instead of an answer that the error shows."""

MAX_PAGES = 1000
"""Pages of a list that are read. Without it, an agent that always names another one is read for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; 0 for no limit."""

    startup: float = 30.0
    """From the start of the agent to its first answer; some need 12 s on a cold machine."""

    request: float = 60.0
    """For everything but prompts, loads and logins, which take as long as they take."""

    idle_turn: float = 0.0
    """Without any update in a turn: then it is cancelled, and the agent killed if that does not help."""

    cancel: float = 10.0
    """For a cancelled turn to be answered, before the agent counts as hung."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check_seconds(f"Timeouts.{each.name}", getattr(self, each.name))


class ConnectedAgent:
    """An agent that was greeted. Use `connect` to get one, as an async context manager."""

    def __init__(
        self,
        target: Target,
        *,
        services: Services,
        timeouts: Timeouts,
        settings: ClientSettings | None,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        on_stderr: Callable[[bytes], None] | None,
        on_noise: Callable[[Noise], None] | None,
        requests: Mapping[str, Any] | None,
        notifications: Mapping[str, Any] | None,
        record: str | os.PathLike[str] | None,
        info: Implementation,
        identity: str = "",
        remembered_as: "str | Callable[[ConnectedAgent], str] | None" = None,
    ) -> None:
        self.permissions = services.permissions
        self.identity = identity
        """What tells it from all other agents: its name in the settings, its path, its command or its URL.
        Empty if it was reached by a channel that does not know."""
        self._remembered_as = remembered_as
        self.timeouts = timeouts
        self._services = services
        self._info = info
        self._sessions: dict[str, ClientSession] = {}
        self._early: dict[str, list[SessionUpdate]] = {}  # updates of sessions whose answer is on its way
        self._hello: InitializeResponse | None = None
        self._env = dict(env or {})
        self._more_requests, self._more_notifications = requests or {}, notifications or {}
        self._on_noise = on_noise
        self._printed_first: list[str] = []  # lines that are not messages, before the first answer
        self._record = record
        self._given_channel = isinstance(target, Channel)  # which cannot be opened a second time
        self._recorded: RecordedChannel | None = None  # as it is recorded
        self._on_stderr = on_stderr
        heard = on_stderr if record is None else self._heard_stderr
        self._open_target = lambda: open_target(
            target, settings=settings, cwd=cwd, env=self._env or None, on_stderr=heard
        )
        self.name, self._channel, self.connection = self._prepare()

    def _prepare(self) -> tuple[str, Channel, Connection]:
        name, channel = self._open_target()
        return name, *self._new_connection(channel, name)

    def _new_connection(self, channel: Channel, name: str) -> tuple[Channel, Connection]:
        """A connection over a channel that is not open yet, and that channel as it is recorded."""
        if self._record is not None:
            from acpella.recording.channel import RecordedChannel

            channel = self._recorded = RecordedChannel(channel, self._record, agent=name)
        services = self._services
        requests = services.requests(
            self._session, agent_name=self._calls_itself, drain=lambda: connection.drain()
        )
        notifications = {"session/update": self._update, **services.notifications()}
        connection = Connection(
            channel,
            methods.CLIENT,
            requests={**requests, **self._more_requests},
            notifications={**notifications, **self._more_notifications},
            on_noise=self._heard_noise,
            framing="lines",
            answer_noise=False,  # agents print banners; answering those would confuse them
        )
        return channel, connection

    # -- life ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.connection.open()
        try:
            self._hello = await self._greet(self.connection)
        except BaseException:
            await self.connection.close(grace=0)
            raise
        return self

    async def _greet(self, connection: Connection) -> InitializeResponse:
        offered = self._services.capabilities(terminal_logins=self._channel.about.process is not None)
        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION, client_capabilities=offered, client_info=self._info
        )
        try:
            hello = await connection.call(methods.INITIALIZE, request, timeout=self.timeouts.startup or None)
        except MethodNotFound:
            raise TransportError(f"{self.name} does not know `initialize`; is it an ACP agent?") from None
        except ConnectionClosed as error:
            if (failure := self._channel.about.failure) is not None:
                raise failure from None  # there was never a connection
            error.reason += f" before it answered{self._printed()}; is it an ACP agent?"
            raise
        except TimeoutError:
            raise TransportError(
                f"{self.name} did not answer within {self.timeouts.startup:g} s{self._printed()}; "
                "is it an ACP agent?",
                stderr_tail=self._channel.about.stderr_tail,
            ) from None
        if hello.protocol_version != PROTOCOL_VERSION:
            theirs = hello.protocol_version
            raise Unsupported(f"{self.name} speaks ACP version {theirs}; this is {PROTOCOL_VERSION}")
        return hello

    async def ready(self) -> None:
        """Wait until the agent can be talked to; at once, for an agent of this machine."""

    def _heard_stderr(self, data: bytes) -> None:
        if self._recorded is not None:
            self._recorded.stderr(data)
        if self._on_stderr is not None:
            self._on_stderr(data)

    def _heard_noise(self, noise: Noise) -> None:
        if self._hello is None and len(self._printed_first) < SHOWN_LINES:
            self._printed_first.append(noise.excerpt)
        if self._on_noise is not None:
            self._on_noise(noise)

    def _printed(self) -> str:
        """What it wrote instead of an answer, which often says why."""
        return f", but printed {' / '.join(self._printed_first)!r}" if self._printed_first else ""

    async def _start_again(self) -> None:
        """Start the agent again, for it to see a login (R-123). Earlier sessions have to be opened again."""
        if self._given_channel or self._channel.about.process is None:
            raise Unsupported(f"{self.name} cannot be started again from here; connect to it again")
        await self.connection.close(grace=0)
        await self._services.close()
        self._hello = None
        for kept in (self._sessions, self._early, self._printed_first):
            kept.clear()
        self.name, self._channel, self.connection = self._prepare()
        await self.__aenter__()

    def __await__(self) -> Any:
        raise TypeError("use `async with acpella.connect(...) as agent:`")

    def __enter__(self) -> Any:
        raise TypeError("use `async with`, or `with acpella.sync.connect(...)` without an event loop")

    def __exit__(self, *error: object) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.connection.close(grace=0)
        finally:
            await self._services.close()

    async def kill(self, why: str) -> None:
        """Give up on the agent."""
        log.info("%s: %s", self.name, why)  # whoever gives up raises an error with the same words
        await self.connection.close(grace=0)

    def note_descendants(self) -> None:
        """Remember which processes it has started, for them to end with it."""
        if (process := self._channel.about.process) is not None:
            process.note_descendants()

    # -- what it is ------------------------------------------------------------------------

    @property
    def hello(self) -> InitializeResponse:
        """The agent's answer to `initialize`."""
        if self._hello is None:
            raise LocalProtocolError("the agent is not connected; use `async with acpella.connect(...)`")
        return self._hello

    @property
    def remembered_as(self) -> str:
        """The name under which answers for always are kept; never the short one, which others have too."""
        given = self._remembered_as
        return (given(self) if callable(given) else given) or self.identity or self.name

    @property
    def pid(self) -> int | None:
        """The agent's process, which leads a group of its own; None if it is not a child of this one."""
        process = self._channel.about.process
        return None if process is None else process.pid

    @property
    def info(self) -> Implementation | None:
        return self.hello.agent_info

    @property
    def capabilities(self) -> AgentCapabilities:
        return self.hello.agent_capabilities

    @property
    def auth_methods(self) -> list[AuthMethod]:
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
        answer = await self._opened(methods.NEW_SESSION, request)
        return self._adopt(answer.session_id, root, more, answer, mcp_servers)

    async def load_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
        on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None,
    ) -> ClientSession:
        """Open a earlier session; `on_update` hears the whole conversation again."""
        self.need(self.capabilities.load_session, "load sessions")
        root, more = self._places(cwd, directories)
        before = self._sessions.get(session_id)
        session = self._sessions[session_id] = ClientSession(self, session_id, cwd=root, directories=more)
        session.on_update = on_update
        session.mcp_servers = mcp_servers
        request = LoadSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        try:
            answer = await self._gated(methods.LOAD_SESSION, request, timeout=0, in_order=True)
            self._describe(session, answer)
            await session.until_replayed()
        except BaseException:
            self.forget(session)
            if before is not None:
                self._sessions[session_id] = before
            raise
        return session

    async def resume_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> ClientSession:
        """Open a earlier session without hearing it again."""
        self.need(self.capabilities.session_capabilities.resume, "resume sessions")
        root, more = self._places(cwd, directories)
        request = ResumeSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        answer = await self._opened(methods.RESUME_SESSION, request)
        return self._adopt(session_id, root, more, answer, mcp_servers)

    async def fork_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        mcp_servers: Sequence[McpServer] = (),
        directories: Sequence[str | os.PathLike[str]] = (),
    ) -> ClientSession:
        """A new session that begins where another one is."""
        self.need(self.capabilities.session_capabilities.fork, "fork sessions")
        root, more = self._places(cwd, directories)
        request = ForkSessionRequest(session_id=session_id, **_opening(root, more, mcp_servers))
        answer = await self._opened(methods.FORK_SESSION, request)
        return self._adopt(answer.session_id, root, more, answer, mcp_servers)

    async def list_sessions(self, *, cwd: str | os.PathLike[str] | None = None) -> list[SessionInfo]:
        """All sessions that the agent knows, in its order."""
        self.need(self.capabilities.session_capabilities.list, "list sessions")
        found: list[SessionInfo] = []
        cursor: str | None = None
        where = None if cwd is None else str(self._places(cwd, ())[0])
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await self._gated(methods.LIST_SESSIONS, ListSessionsRequest(cwd=where, cursor=cursor))
            found += page.sessions
            cursor = page.next_cursor
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
        return found

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good; deleting one that does not exist succeeds."""
        self.need(self.capabilities.session_capabilities.delete, "delete sessions")
        try:
            await self._gated(methods.DELETE_SESSION, DeleteSessionRequest(session_id=session_id))
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

        An agent that logs in by itself is told to. For a login in a terminal `run` shows the program to the
        user, by default in this program's own terminal; `replace_args` is for agents that want their login's
        arguments alone. `env` gives the variables that a login by environment needs. After the latter two the
        agent is started again, so sessions must be opened again.

        Raises:
            ValueError: there is no such login, or variables are missing.
            AuthRequired: the login failed.
            Unsupported: it cannot be done from here.
        """
        known = {method.id: method for method in self.auth_methods}
        if method_id not in known:
            raise ValueError(f"no login {method_id!r}; there are: {', '.join(known) or 'none'}")
        method = known[method_id]
        command = terminal_command(method, self._channel.about.process, replace_args=replace_args)
        if command is not None:
            code = await run(command)
            if code != 0:
                how = "was given up" if code is None else f"ended with code {code}"
                raise AuthRequired(f"the login {method.name!r} {how}")
            await self._start_again()
            return
        if missing := missing_variables(method, {**self._env, **(env or {})}):
            raise ValueError(f"the login {method.name!r} needs {', '.join(missing)}; give them with env=")
        if env:
            self._env.update(env)
            await self._start_again()
        request = AuthenticateRequest(method_id=method_id)
        try:
            await self.call(methods.AUTHENTICATE, request, timeout=0)
        except MethodNotFound:
            if not isinstance(method, AuthMethodEnvVar):
                raise  # with variables, the start alone may be the login

    async def logout(self) -> None:
        """Forget the login (R-120)."""
        self.need(self.capabilities.auth.logout, "log out")
        await self.call(methods.LOGOUT, LogoutRequest())

    # -- anything else -------------------------------------------------------------------------

    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        """Call any method of the agent."""
        seconds = self.timeouts.request if timeout is None else timeout
        return await self.connection.call(method, params, timeout=seconds or None, in_order=in_order)

    async def extension(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call an extension method, `_vendor/name`, with plain JSON."""
        seconds = self.timeouts.request if timeout is None else timeout
        return await self.connection.call(method, params, timeout=seconds or None)

    def need(self, offered: object, what: str) -> None:
        """Raises `Unsupported` unless the agent has advertised something (R-141)."""
        if offered is None or offered is False:
            raise Unsupported(f"{self.name} does not {what}")

    def terminal(self, session_id: str, terminal_id: str) -> "Terminal | None":
        """A terminal that runs here for the agent, to show its output; None if there is no such one."""
        return self._services.terminal(session_id, terminal_id)

    def forget(self, session: ClientSession) -> None:
        self._sessions.pop(session.id, None)

    async def _gated(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        try:
            return await self.call(method, params, timeout=timeout, in_order=in_order)
        except AuthRequired as error:
            raise self.explain_login(error) from None

    async def _opened(self, method: Method[P, R], params: P) -> R:
        """The answer, behind the updates that came before it; a handler of those cannot wait for itself."""
        return await self._gated(method, params, in_order=not self.connection.in_handler)

    def explain_login(self, error: AuthRequired) -> AuthRequired:
        """The same error, in words that say what to do."""
        told = methods_in(error.data)
        if told:  # some agents name the ways to log in only now
            self.hello.auth_methods[:] = [
                *told,
                *(m for m in self.auth_methods if m.id not in {t.id for t in told}),
            ]
        names = ", ".join(f"{method.id} ({method.name})" for method in self.auth_methods)
        text = f"{self.name} wants you to log in first" + (f" with one of: {names}" if names else "")
        said = error.message.strip().rstrip(".")
        if said and said.lower() != AuthRequired.default_message.lower():
            text += f"; it says: {said}"
        return AuthRequired(text, data=error.data)

    def _places(
        self, cwd: str | os.PathLike[str], directories: Sequence[str | os.PathLike[str]]
    ) -> tuple[Path, list[Path]]:
        root = Path(os.path.abspath(cwd))
        if not root.is_dir():
            raise NotADirectoryError(f"no directory {root}")
        more = [Path(os.path.abspath(directory)) for directory in directories]
        if more:
            self.need(self.capabilities.session_capabilities.additional_directories, "take more directories")
        return root, [d for i, d in enumerate(more) if d != root and d not in more[:i]]

    def _adopt(
        self,
        session_id: str,
        cwd: Path,
        directories: Sequence[Path],
        answer: Any,
        mcp_servers: Sequence[McpServer],
    ) -> ClientSession:
        session = self._sessions[session_id] = ClientSession(
            self, session_id, cwd=cwd, directories=directories
        )
        session.mcp_servers = mcp_servers
        self._describe(session, answer)
        for update in self._early.pop(session_id, []):
            session.deliver(update)
        return session

    @staticmethod
    def _describe(session: ClientSession, answer: Any) -> None:
        session.modes = answer.modes
        session.models = answer.models
        session.options = list(answer.config_options or [])

    # -- what the agent asks and tells ---------------------------------------------------------------

    def _session(self, session_id: str) -> ClientSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise ResourceNotFound(f"no session {session_id!r}", data={"sessionId": session_id})
        return session

    def _calls_itself(self) -> str | None:
        info = None if self._hello is None else self._hello.agent_info
        return None if info is None else info.name

    def _update(self, params: SessionNotification) -> Awaitable[None] | None:
        session = self._sessions.get(params.session_id)
        if session is not None:
            return session.deliver(params.update)
        if params.session_id not in self._early and len(self._early) >= MAX_EARLY:
            del self._early[next(iter(self._early))]
        early = self._early.setdefault(params.session_id, [])
        if len(early) < MAX_EARLY:  # commands and the like, before the answer was read
            early.append(params.update)
        return None


def _opening(cwd: Path, directories: Sequence[Path], mcp_servers: Sequence[McpServer]) -> dict[str, Any]:
    """What every request that opens a session says."""
    return {
        "cwd": str(cwd),
        "mcp_servers": list(mcp_servers),
        "additional_directories": [str(directory) for directory in directories],
    }
