"""What is behind a connected agent: its channel, its connection, the sessions that are open at it."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

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
    Implementation,
    InitializeResponse,
    SessionNotification,
    SessionUpdate,
)

from .codec import CODECS, Greeting, UnknownVersion, newest
from .login import methods_in
from .permissions import Permissions
from .services import Services
from .session_core import ClientSessionCore
from .settings import ClientSettings
from .targets import Target, open_target
from .timeouts import Timeouts

if TYPE_CHECKING:
    from acpella.local import LocalTerminal
    from acpella.recording.channel import RecordedChannel

__all__ = ["ConnectedAgentCore"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

MAX_EARLY = 64
"""Most sessions, and most updates of each, whose updates are kept until the answer that opens the session has
been read. Without a limit, updates for sessions that nobody opens would fill the memory."""

SHOWN_LINES = 3
"""How many lines the error quotes when an agent printed something else instead of an answer."""


class ConnectedAgentCore:
    """The connection to one agent and its state; `ConnectedAgent` is the public face of it."""

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
    ) -> None:
        self.timeouts = timeouts
        self.identity = identity
        self.find_remembered_as: Callable[[], str | None] = lambda: None
        """Under which name the user's answers are kept, if it is not the agent's own."""
        self.env: dict[str, str] = dict(env or {})
        self.hello: InitializeResponse | None = None
        self.sessions: dict[str, ClientSessionCore] = {}
        self._services = services
        self._info = info
        self._early: dict[str, list[SessionUpdate]] = {}  # updates of sessions whose answer is on its way
        self._more_requests, self._more_notifications = requests or {}, notifications or {}
        self._on_noise = on_noise
        self._printed_first: list[str] = []  # lines that are not messages, before the first answer
        self._record = record
        self._given_channel = isinstance(target, Channel)  # which cannot be opened a second time
        self._recorded: RecordedChannel | None = None  # as it is recorded
        self._on_stderr = on_stderr
        stderr_listener = on_stderr if record is None else self._heard_stderr
        self._open_target = lambda: open_target(
            target, settings=settings, cwd=cwd, env=self.env or None, on_stderr=stderr_listener
        )
        self.name: str
        self.channel: Channel
        self.connection: Connection
        self.name, self.channel, self.connection = self._prepare()

    def _prepare(self) -> tuple[str, Channel, Connection]:
        name, channel = self._open_target()
        return name, *self.new_connection(channel, name)

    def new_connection(self, channel: Channel, name: str) -> tuple[Channel, Connection]:
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
            newest(CODECS).vocabulary,
            requests={**requests, **self._more_requests},
            notifications={**notifications, **self._more_notifications},
            on_noise=self._heard_noise,
            framing="lines",
            answer_noise=False,  # agents print banners; answering those would confuse them
        )
        return channel, connection

    # -- life ----------------------------------------------------------------------------

    async def open(self) -> None:
        await self.connection.open()
        try:
            self.hello = await self._greet(self.connection)
        except BaseException:
            await self.connection.close(grace=0)
            raise

    async def use(self, channel: Channel, connection: Connection) -> None:
        """Greet the agent over another connection, and go on with that one."""
        self.channel = channel
        self.hello = await self._greet(connection)
        self.connection = connection

    async def close(self) -> None:
        try:
            await self.connection.close(grace=0)
        finally:
            await self._services.close()

    async def _greet(self, connection: Connection) -> InitializeResponse:
        offered = self._services.capabilities(terminal_logins=self.channel.about.process is not None)
        greeting = Greeting(CODECS, on_choice=lambda codec: connection.speak(codec.vocabulary))
        request = greeting.request(offered, self._info)
        try:
            hello = await connection.call(greeting, request, timeout=self.timeouts.startup or None)
        except MethodNotFound:
            raise TransportError(f"{self.name} does not know `initialize`; is it an ACP agent?") from None
        except ConnectionClosed as error:
            if (failure := self.channel.about.failure) is not None:
                raise failure from None  # there was never a connection
            # what it wrote to stderr says more than a guess
            guess = "" if error.stderr_tail.strip() else "; is it an ACP agent?"
            if guess and self.name.endswith(".py") and error.exit_code == 0:
                guess += f" An agent of a framework is named with its object: {self.name}:agent"
            error.reason += f" before it answered{self._printed()}{guess}"
            error.answered = False
            raise
        except TimeoutError:
            raise TransportError(
                f"{self.name} did not answer within {self.timeouts.startup:g} s{self._printed()}; "
                "is it an ACP agent?",
                stderr_tail=self.channel.about.stderr_tail,
            ) from None
        if isinstance(hello, UnknownVersion):
            raise Unsupported(
                f"{self.name} speaks ACP version {hello.version}; this client speaks {greeting.spoken}"
            )
        return hello

    async def ready(self) -> None:
        """Wait until the agent can be reached; returns at once for a local agent."""

    def note_stderr(self, data: bytes) -> None:
        """Add what the agent wrote to its stderr to the recording, if there is one."""
        if self._recorded is not None:
            self._recorded.stderr(data)

    def _heard_stderr(self, data: bytes) -> None:
        self.note_stderr(data)
        if self._on_stderr is not None:
            self._on_stderr(data)

    def _heard_noise(self, noise: Noise) -> None:
        if self.hello is None and len(self._printed_first) < SHOWN_LINES:
            self._printed_first.append(noise.excerpt)
        if self._on_noise is not None:
            self._on_noise(noise)

    def _printed(self) -> str:
        """What it wrote instead of an answer, which often says why."""
        return f", but printed {' / '.join(self._printed_first)!r}" if self._printed_first else ""

    async def start_again(self) -> None:
        """Start the agent again, for it to see a login (R-123). Earlier sessions have to be opened again."""
        if self._given_channel or self.channel.about.process is None:
            raise Unsupported(f"{self.name} cannot be started again from here; connect to it again")
        await self.connection.close(grace=0)
        await self._services.close()
        self.hello = None
        for stale in (self.sessions, self._early, self._printed_first):
            stale.clear()
        self.name: str
        self.channel: Channel
        self.connection: Connection
        self.name, self.channel, self.connection = self._prepare()
        await self.open()

    async def kill(self, why: str) -> None:
        """Give up on the agent."""
        log.info("%s: %s", self.name, why)  # whoever gives up raises an error with the same words
        await self.connection.close(grace=0)

    def note_descendants(self) -> None:
        """Remember which processes it has started, for them to end with it."""
        if (process := self.channel.about.process) is not None:
            process.note_descendants()

    # -- what it is ------------------------------------------------------------------------

    @property
    def permissions(self) -> Permissions:
        return self._services.permissions

    @property
    def remembered_as(self) -> str:
        """The name under which "always" answers are stored; the short name only if nothing else is known."""
        return self.find_remembered_as() or self.identity or self.name

    @property
    def greeted(self) -> InitializeResponse:
        """Its answer to `initialize`. Raises `LocalProtocolError` before there is one."""
        if self.hello is None:
            raise LocalProtocolError("the agent is not connected; use `async with acpella.connect(...)`")
        return self.hello

    @property
    def capabilities(self) -> AgentCapabilities:
        return self.greeted.agent_capabilities

    # -- calling it --------------------------------------------------------------------------

    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        seconds = self.timeouts.request if timeout is None else timeout
        return await self.connection.call(method, params, timeout=seconds or None, in_order=in_order)

    async def call_extension(self, method: str, params: Any, *, timeout: float | None) -> Any:
        seconds = self.timeouts.request if timeout is None else timeout
        return await self.connection.call(method, params, timeout=seconds or None)

    async def call_gated(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R:
        """The answer to a call that may need a login first."""
        try:
            return await self.call(method, params, timeout=timeout, in_order=in_order)
        except AuthRequired as error:
            raise self.explain_login(error) from None

    async def call_opening(self, method: Method[P, R], params: P) -> R:
        """The answer, after the updates before it were handled; a handler of those cannot wait for itself."""
        return await self.call_gated(method, params, in_order=not self.connection.in_handler)

    def need(self, offered: object, what: str) -> None:
        """Raises `Unsupported` unless the agent has advertised something (R-141)."""
        if offered is None or offered is False:
            raise Unsupported(f"{self.name} does not {what}")

    def explain_login(self, error: AuthRequired) -> AuthRequired:
        """The same error, in words that say what to do."""
        methods = self.greeted.auth_methods
        if new_methods := methods_in(error.data):  # some agents name the ways to log in only now
            methods[:] = [*new_methods, *(m for m in methods if m.id not in {n.id for n in new_methods})]
        names = ", ".join(f"{method.id} ({method.name})" for method in methods)
        text = f"{self.name} wants you to log in first" + (f" with one of: {names}" if names else "")
        message = error.message.strip().rstrip(".")
        if message and message.lower() != AuthRequired.default_message.lower():
            text += f"; it says: {message}"
        return AuthRequired(text, data=error.data)

    # -- its sessions ------------------------------------------------------------------------

    def adopt(self, session: ClientSessionCore, answer: Any) -> None:
        """Keep a session that the agent has opened; updates that came before the answer are its, too."""
        self.sessions[session.id] = session
        session.describe(answer)
        for update in self._early.pop(session.id, []):
            session.deliver(update)

    def forget(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)

    def terminal(self, session_id: str, terminal_id: str) -> "LocalTerminal | None":
        return self._services.terminal(session_id, terminal_id)

    # -- what the agent asks and tells ---------------------------------------------------------------

    def _session(self, session_id: str) -> ClientSessionCore:
        session = self.sessions.get(session_id)
        if session is None:
            raise ResourceNotFound(f"no session {session_id!r}", data={"sessionId": session_id})
        return session

    def _calls_itself(self) -> str | None:
        info = None if self.hello is None else self.hello.agent_info
        return None if info is None else info.name

    def _update(self, params: SessionNotification) -> Awaitable[None] | None:
        session = self.sessions.get(params.session_id)
        if session is not None:
            return session.deliver(params.update)
        if params.session_id not in self._early and len(self._early) >= MAX_EARLY:
            del self._early[next(iter(self._early))]
        early = self._early.setdefault(params.session_id, [])
        if len(early) >= MAX_EARLY:  # of commands and the like, the newest are true
            del early[0]
        early.append(params.update)
        return None
