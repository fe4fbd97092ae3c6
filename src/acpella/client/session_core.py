"""What is behind a session of a client: its state, the prompt that runs, and who waits for the user."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec

from acpella.errors import AcpellaError, AuthRequired, LocalProtocolError
from acpella.rpc import Connection, Method
from acpella.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    McpServer,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionConfigOption,
    SessionInfoUpdate,
    SessionModelState,
    SessionModeState,
    SessionUpdate,
    UserMessageChunk,
)
from acpella.schema import CancelledPermissionOutcome as Cancelled

from .permissions import Permissions
from .replay import until_quiet
from .result import Result
from .timeouts import Timeouts

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["ClientSessionCore", "RunningTurn", "SessionAgent"]

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")


class RunningTurn(Protocol):
    """What a session needs of the turn that runs in it."""

    @property
    def result(self) -> Result: ...
    @property
    def is_cancelling(self) -> bool: ...
    def deliver(self, update: SessionUpdate) -> Awaitable[None] | None: ...
    async def cancel(self, *, within: float | None = None) -> Result: ...


class SessionAgent(Protocol):
    """What a session and its turns need of their agent."""

    name: str
    timeouts: Timeouts
    connection: Connection

    @property
    def permissions(self) -> Permissions: ...
    @property
    def remembered_as(self) -> str: ...
    @property
    def capabilities(self) -> AgentCapabilities: ...
    async def ready(self) -> None: ...
    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R: ...
    def need(self, offered: object, what: str) -> None: ...
    def explain_login(self, error: AuthRequired) -> AuthRequired: ...
    def note_descendants(self) -> None: ...
    async def kill(self, why: str) -> None: ...
    def forget(self, session_id: str) -> None: ...
    def terminal(self, session_id: str, terminal_id: str) -> "LocalTerminal | None": ...


class ClientSessionCore:
    """What a session is and does; `ClientSession` shows the user's part of it."""

    def __init__(
        self,
        agent: SessionAgent,
        session_id: str,
        *,
        cwd: Path,
        directories: Sequence[Path],
        mcp_servers: Sequence[McpServer],
    ) -> None:
        self.agent = agent
        self.id = session_id
        self.roots: list[Path] = [cwd, *directories]
        self.mcp_servers = mcp_servers
        self.title: str | None = None
        self.modes: SessionModeState | None = None
        self.models: SessionModelState | None = None
        self.options: list[SessionConfigOption] = []
        self.commands: list[AvailableCommand] = []
        self.on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None
        self.lost: AcpellaError | None = None
        self.replaying = False
        """What arrives was told before and only brings the state up to date."""
        self.turn: RunningTurn | None = None
        self.turn_elsewhere: bool = False
        """Whether a turn runs that another client of the same user began, as far as the agent tells."""
        self.last_sign: float = 0.0
        """When the agent was last heard of, by the clock of the loop."""
        self._replayed = 0  # updates outside turns that tell of the conversation
        self._serving = 0  # requests of the agent that this side works on
        self._notes_signs = bool(agent.timeouts.idle_turn)
        self._questions: set[asyncio.Future[None]] = set()  # to the user, not answered yet

    @property
    def cwd(self) -> Path:
        return self.roots[0]

    def describe(self, answer: Any) -> None:
        """Take what the answer that opened the session says of it."""
        self.modes = answer.modes
        self.models = answer.models
        self.options = list(answer.config_options or [])
        self._note_turn(answer.meta, default=False)

    def _note_turn(self, meta: "Mapping[str, Any] | None", *, default: bool) -> None:
        """acpella's agents say in `_meta` whether a turn runs that was not begun here."""
        note: Any = (meta or {}).get("acpella")
        running = cast("dict[str, Any]", note).get("turnRunning") if isinstance(note, dict) else None
        self.turn_elsewhere = running if isinstance(running, bool) else default

    # -- the turn ------------------------------------------------------------------------

    def begin(self, turn: RunningTurn) -> None:
        if self.turn is not None:
            raise LocalProtocolError("a prompt is running in this session; await or cancel it first")
        self.turn = turn
        self._sign_of_life()

    def end(self, turn: RunningTurn) -> None:
        if self.turn is turn:
            self.turn = None

    def _sign_of_life(self) -> None:
        self.last_sign = asyncio.get_running_loop().time()

    # -- what arrives ----------------------------------------------------------------------

    def deliver(self, update: SessionUpdate) -> Awaitable[None] | None:
        """An update arrived."""
        turn = self.turn
        if turn is not None:
            if self._notes_signs:
                self._sign_of_life()
            if update.__class__ in _NOTED:
                self.note(update)
            return turn.deliver(update)
        if update.__class__ in _NOTED:
            self.note(update)
        else:
            self.turn_elsewhere = self.turn_elsewhere or isinstance(update, UserMessageChunk)
            self._replayed += 1
        return self.on_update(update) if self.on_update is not None and not self.replaying else None

    async def until_replayed(self) -> None:
        """Wait for updates that a load sends after its answer, since they do not belong to the next turn."""
        await until_quiet(lambda: self._replayed, busy=lambda: self.agent.connection.handling)

    def note(self, update: SessionUpdate) -> None:
        """Keep what is true of the session from now on."""
        if isinstance(update, CurrentModeUpdate) and self.modes is not None:
            self.modes = SessionModeState(
                current_mode_id=update.current_mode_id, available_modes=self.modes.available_modes
            )
        elif isinstance(update, ConfigOptionUpdate):
            self.options = list(update.config_options)
        elif isinstance(update, AvailableCommandsUpdate):
            self.commands = list(update.available_commands)
        elif isinstance(update, SessionInfoUpdate):
            self._note_turn(update.meta, default=self.turn_elsewhere)
            if not isinstance(update.title, type(_UNSET)):
                self.title = cast("str | None", update.title)

    # -- what the agent asks for ------------------------------------------------------------

    async def permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        """Answer a permission request; `cancelled` as soon as the turn is (R-208)."""
        if self.turn is not None:
            call = self.turn.result.asked_about(request.tool_call)
            request = msgspec.structs.replace(request, tool_call=call)
        agent = self.agent
        option = await self.unless_cancelled(
            agent.permissions.decide(agent.remembered_as, request, roots=self.roots)
        )
        if self.turn is not None and (option is None or option.kind.startswith("reject")):
            # some agents never say that a rejected call is over; those that do are heard later
            if not self.turn.is_cancelling:
                self.turn.result.reject_tool_call(request.tool_call.tool_call_id)
        if option is None:
            return RequestPermissionResponse(outcome=Cancelled())
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=option.option_id))

    async def unless_cancelled(self, question: Coroutine[Any, Any, T]) -> T | None:
        """What the user answers; None as soon as the turn is cancelled."""
        if self.turn is not None and self.turn.is_cancelling:
            question.close()
            return None
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._questions.add(cancelled)
        asking = asyncio.ensure_future(question)
        try:
            with self.serving():
                await asyncio.wait({cancelled, asking}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()
            self._questions.discard(cancelled)

    def cancel_questions(self) -> None:
        """The turn is cancelled: nobody waits for the user any more."""
        for pending in self._questions:
            if not pending.done():
                pending.set_result(None)

    @property
    def is_serving(self) -> bool:
        """Whether the agent waits for this side: for a permission, a file, a command."""
        return self._serving > 0

    @contextmanager
    def serving(self) -> Generator[None, None, None]:
        """While this runs the agent waits for us, so its silence does not count."""
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            self._sign_of_life()


_UNSET = SessionInfoUpdate().title
_NOTED = frozenset({CurrentModeUpdate, ConfigOptionUpdate, AvailableCommandsUpdate, SessionInfoUpdate})
