"""One editor connection in ACP v1: what the editor asks for, and how a turn's doings reach it."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from acpella.errors import AuthRequired, InternalError, InvalidParams, InvalidRequest, ResourceNotFound
from acpella.rpc import Channel, Connection, Limits
from acpella.schema import (
    AgentAuthCapabilities,
    AgentCapabilities,
    AuthenticateRequest,
    AuthenticateResponse,
    AuthMethod,
    AuthMethodAgent,
    AvailableCommandsUpdate,
    ClientCapabilities,
    CloseSessionRequest,
    CloseSessionResponse,
    CompactionSummaryChunk,
    CompactionUpdate,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    LogoutCapabilities,
    LogoutRequest,
    LogoutResponse,
    McpCapabilities,
    McpServer,
    NewSessionRequest,
    NewSessionResponse,
    Notice,
    PlanRemoved,
    PlanUpdate,
    PromptCapabilities,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMessage,
    SessionMessageChunk,
    SessionResumeCapabilities,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModelRequest,
    SetSessionModelResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SubagentUpdate,
    methods,
)
from acpella.sessions import (
    InvalidCursor,
    InvalidDocument,
    Lease,
    SessionBusy,
    SessionNotFound,
    SessionRecord,
    Store,
    StoreError,
)

from .declare import EnvLogin, Login, TerminalLogin
from .extensions import Extensions
from .guards import check_absolute, check_places, checked_id, new_session_id, no_session
from .prompting import Prompting
from .recorder import Recorder
from .session import Session

if TYPE_CHECKING:
    from .app import Agent

__all__ = ["ASKING", "PROTOCOL_VERSION", "WireV1"]

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1

SHUTDOWN_GRACE = 1.2
"""Seconds for running turns to end when the agent is told to stop. All in all it has two."""

GOODBYE_GRACE = 0.25
"""Seconds for running turns to end by themselves when the editor has closed the connection."""

LOOKS = 20
"""Pages of the store that one answer to `session/list` reads at most, to leave out unused sessions."""

Handler = Callable[[Any], Awaitable[Any]]

ASKING: ContextVar["WireV1"] = ContextVar("acpella_asking")
"""The connection whose request is being answered, for handlers of extension methods."""


class _Parked(NamedTuple):
    """What the editor said of a session that was unloaded."""

    cwd: str
    directories: list[str]
    mcp_servers: list[McpServer]


class WireV1:
    """The agent's end of one connection. Made by `Agent.serve_on`."""

    def __init__(
        self,
        agent: "Agent",
        channel: Channel,
        *,
        principal: str = "",
        log_first: bool = False,
        is_detached: Callable[[], bool] | None = None,
        roots: Sequence[str] = (),
    ) -> None:
        self.agent = agent
        self._fence = [os.path.realpath(os.path.expanduser(root)) for root in roots]
        self.log_first = log_first
        self.may_detach = is_detached is not None
        self._is_detached = is_detached
        self.client = ClientCapabilities()
        """What the editor offers."""
        self.hidden = _hidden_from(self.client)
        """Updates that the editor must not be sent."""
        self.principal = principal
        self._initialized = False
        self._parked: dict[str, _Parked] = {}  # unloaded, open for the editor
        self.prompting = Prompting(self)
        self.connection = Connection(
            channel,
            methods.AGENT,
            requests=self._requests(),
            notifications={"session/cancel": self.prompting.cancel, **agent.notification_handlers},
            limits=Limits(close_grace=GOODBYE_GRACE),
            is_cancel_useful=self._is_cancel_useful,
        )

    # -- life ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until the editor goes away."""
        try:
            async with self.connection:
                await self.connection.wait_closed()
        finally:
            await self._leave()

    async def shutdown(self) -> None:
        """End turns while the editor can still be told, then the connection."""
        await self.prompting.stop_all(SHUTDOWN_GRACE)
        await self.connection.close(grace=0.1)

    async def _leave(self) -> None:
        await self.prompting.stop_all(0.05)  # they have been cancelled before
        mine = [session for session in self.agent.live_sessions() if session.wire is self]
        await asyncio.gather(*(self.agent.forget(session) for session in mine))

    def park(self, session: Session) -> None:
        """The session was unloaded; it comes back on use."""
        directories = [str(directory) for directory in session.directories]
        self._parked[session.id] = _Parked(str(session.cwd), directories, session.mcp_servers)

    @property
    def shows_toggles(self) -> bool:
        session = self.client.session
        return (
            session is not None
            and session.config_options is not None
            and session.config_options.boolean is not None
        )

    @property
    def shows_notices(self) -> bool:
        return self.client.session is not None and self.client.session.notices is not None

    @property
    def shows_tokens(self) -> bool:
        """Whether the answer to a prompt may carry `usage`, which the stable schema does not know."""
        if not self.agent.settings.unstable:
            return False
        asked = self.client.meta or {}
        return (
            bool(asked.get("prompt_usage"))
            or self.client.plan is not None
            or self.client.subagents is not None
        )

    def _is_cancel_useful(self, method: str, params: Any) -> bool:
        """Whether the editor should hear that a request of ours is void.

        Files and terminals answer by themselves, and soon. Open questions of a turn that the editor has
        cancelled are its own to close (R-208).
        """
        if method == methods.REQUEST_PERMISSION.name:
            return not self.prompting.is_cancelled(params.session_id)
        return not method.startswith(("fs/", "terminal/"))

    # -- the table -----------------------------------------------------------------------

    def _requests(self) -> dict[str, Handler]:
        """What this agent can be asked; everything else answers -32601."""
        agent = self.agent
        table: dict[str, Handler] = {
            "session/new": self._new,
            "session/close": self._close,
            **Extensions(self).requests(),
        }
        if agent.modes:
            table["session/set_mode"] = self._set_mode
        if agent.modes or agent.options:
            table["session/set_config_option"] = self._set_option
        if agent.model_option is not None and agent.settings.unstable:
            table["session/set_model"] = self._set_model
        if agent.store is not None:
            table |= {
                "session/load": self._load,
                "session/resume": self._resume,
                "session/list": self.list_sessions,
                "session/delete": self.delete_session,
            }
            if agent.settings.unstable:
                table["session/fork"] = self._fork
        table |= agent.request_handlers
        gated = {name: self._gated(handler) for name, handler in table.items()}
        gated["initialize"] = self._initialize
        gated["session/prompt"] = self._told(self.prompting.prompt)  # gated where it can be cancelled
        if agent.logins:
            gated["authenticate"] = self._told(self._authenticate)
            gated["logout"] = self._told(self._logout)
        return gated

    def _told(self, handler: Handler) -> Handler:
        """Errors of the store become answers that the user understands."""

        async def told(params: Any) -> Any:
            try:
                if not self._initialized:
                    raise InvalidRequest(
                        "this connection is new: send initialize first, then create or load the session; "
                        "if the agent was restarted, the editor has to do that again"
                    )
                ASKING.set(self)  # a request has a task, and so a context, of its own
                return await handler(params)
            except SessionNotFound as error:
                raise ResourceNotFound(str(error), data={"sessionId": error.session_id}) from None
            except SessionBusy as error:
                raise InvalidRequest(str(error)) from None
            except (InvalidCursor, InvalidDocument) as error:
                raise InvalidParams(str(error)) from None
            except StoreError as error:
                raise InternalError(str(error)) from error

        return told

    def _gated(self, handler: Handler) -> Handler:
        """Answers `auth_required` until the user is logged in (R-051)."""
        if not self.agent.logins:
            return self._told(handler)

        async def gated(params: Any) -> Any:
            await self.check_login()
            return await handler(params)

        return self._told(gated)

    async def check_login(self) -> None:
        if self.agent.logins and not await self.agent.logged_in(self.principal):
            ways = [msgspec.to_builtins(self._shown(login)) for login in self._offered_logins()]
            raise AuthRequired(data={"authMethods": ways})

    # -- initialize and login --------------------------------------------------------------

    async def _initialize(self, params: InitializeRequest) -> InitializeResponse:
        self._initialized = True
        self.client = params.client_capabilities
        if not self.agent.settings.unstable:  # as if the editor did not know of them
            self.client = msgspec.structs.replace(self.client, plan=None, subagents=None)
        self.hidden = _hidden_from(self.client)
        agent = self.agent
        logins = self._offered_logins()
        hint = {"auth_hint": "log in with one of: " + ", ".join(login.name for login in logins)}
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,  # the only one there is
            agent_capabilities=self._capabilities(),
            agent_info=Implementation(name=agent.name, version=agent.version, title=agent.title),
            auth_methods=[self._shown(login) for login in logins],
            meta=hint if logins else None,
        )

    def _offered_logins(self) -> list[Login | EnvLogin | TerminalLogin]:
        return [
            login
            for login in self.agent.logins
            if not isinstance(login, TerminalLogin) or self.client.auth.terminal
        ]

    def _shown(self, login: Login | EnvLogin | TerminalLogin) -> AuthMethod:
        if isinstance(login, EnvLogin) and not self.agent.settings.unstable:
            wanted = login.description or f"Start the agent with {', '.join(login.variables)} set"
            return AuthMethodAgent(id=login.id, name=login.name, description=wanted)
        return login.to_wire()

    def _capabilities(self) -> AgentCapabilities:
        agent = self.agent
        stored = agent.store is not None
        return AgentCapabilities(
            load_session=stored,
            prompt_capabilities=PromptCapabilities(
                image=agent.images, audio=agent.audio, embedded_context=True
            ),
            mcp_capabilities=McpCapabilities(http="http" in agent.mcp, sse="sse" in agent.mcp),
            session_capabilities=SessionCapabilities(
                close=SessionCloseCapabilities(),
                additional_directories=SessionAdditionalDirectoriesCapabilities(),
                list=SessionListCapabilities() if stored else None,
                delete=SessionDeleteCapabilities() if stored else None,
                resume=SessionResumeCapabilities() if stored else None,
                fork=SessionForkCapabilities() if stored and agent.settings.unstable else None,
            ),
            auth=AgentAuthCapabilities(logout=LogoutCapabilities() if agent.logins else None),
            meta=agent.meta or None,
        )

    async def _authenticate(self, params: AuthenticateRequest) -> AuthenticateResponse:
        login = next((login for login in self.agent.logins if login.id == params.method_id), None)
        if login is None:
            known = ", ".join(login.id for login in self.agent.logins)
            raise InvalidParams(f"no login {params.method_id!r}; there are: {known}")
        if isinstance(login, TerminalLogin):
            raise InvalidParams(f"the login {login.id!r} happens in a terminal")
        if await self.agent.logged_in(self.principal):
            return AuthenticateResponse()
        if isinstance(login, EnvLogin):
            missing = login.missing
            if missing:
                raise AuthRequired(f"start the agent with {', '.join(missing)} set")
        else:
            await login.run()
        self.agent.set_logged_in(True, self.principal)
        return AuthenticateResponse()

    async def _logout(self, params: LogoutRequest) -> LogoutResponse:
        await self.agent.log_out(self.principal)
        return LogoutResponse()

    def check_inside(self, places: list[str]) -> None:
        """Sessions work in no directory that this connection may not reach; `places` hold no links."""
        for place in places if self._fence else ():
            if not any(place == root or Path(root) in Path(place).parents for root in self._fence):
                raise InvalidParams(f"sessions may not work in {place!r}")

    # -- opening sessions --------------------------------------------------------------------

    async def _new(self, params: NewSessionRequest) -> NewSessionResponse:
        self._check(params)
        await self.agent.check_room(self.principal)
        record = SessionRecord(
            id=new_session_id(),
            cwd=params.cwd,
            principal=self.principal,
            created_at=_now(),
            updated_at=_now(),
        )
        recorder = None
        if self.agent.store is not None:
            recorder = Recorder(self.agent.store, await self.agent.store.create(record), 0)
        session = await self._admit_made(record, recorder, params)
        self._announce_later(session)
        return NewSessionResponse(
            session_id=session.id, modes=session.mode_state(), config_options=session.config_options() or None
        )

    async def _load(self, params: LoadSessionRequest) -> LoadSessionResponse:
        session = await self._reopen(params, replay=True)
        if self.agent.commands:  # here before the answer: with it, everything of the session was told
            await self._announce(session)
            await session.shown()
        return LoadSessionResponse(
            modes=session.mode_state(),
            config_options=session.config_options() or None,
            meta=_running(session),
        )

    async def _resume(self, params: ResumeSessionRequest) -> ResumeSessionResponse:
        session = await self._reopen(params, replay=False)
        self._announce_later(session)
        return ResumeSessionResponse(
            modes=session.mode_state(),
            config_options=session.config_options() or None,
            meta=_running(session),
        )

    async def _fork(self, params: ForkSessionRequest) -> ForkSessionResponse:
        store = self._store()
        source_id = checked_id(params.session_id)
        self._check(params)
        await self.agent.check_room(self.principal)
        await self.agent.settled(source_id)
        source = self._live(source_id)
        if source is not None:
            await source.save()
        record = SessionRecord(
            id=new_session_id(),
            cwd=params.cwd,
            principal=self.principal,
            created_at=_now(),
            updated_at=_now(),
        )
        lease = await store.fork(source_id, record, principal=self.principal)
        record = await store.get(record.id, principal=self.principal)
        session = await self._admit_made(record, Recorder(store, lease, record.last_seq), params)
        self._announce_later(session)
        return ForkSessionResponse(
            session_id=session.id, modes=session.mode_state(), config_options=session.config_options() or None
        )

    async def _reopen(self, params: LoadSessionRequest | ResumeSessionRequest, *, replay: bool) -> Session:
        store = self._store()
        session_id = checked_id(params.session_id)
        self._check(params)
        async with self.agent.alone(session_id):  # two loads at once take turns
            await self.agent.settled(session_id)
            live = self._live(session_id)
            if live is not None and live.turn is not None and live.wire.is_left_for(self):
                await self._take_over(live, replay=replay)
                return live
            lease = await self._take(session_id)
            try:
                record = await store.get(session_id, principal=self.principal)
                record = msgspec.structs.replace(record, cwd=params.cwd)
                if replay:
                    await self._replay(session_id)
                recorder = Recorder(store, lease, record.last_seq)
                return await self._admit(record, recorder, params.additional_directories, params.mcp_servers)
            except BaseException:
                await store.release(lease)
                raise

    def is_left_for(self, other: "WireV1") -> bool:
        """Whether another connection may take over what runs here, because the editor is away."""
        return other is not self and self._is_detached is not None and self._is_detached()

    async def _take_over(self, session: Session, *, replay: bool) -> None:
        """Go on with a session whose turn runs on a connection that its editor has left.

        The editor gets the history so far, then what the turn does from now on. The turn's answer goes to
        whoever asked; that it ended is in the log.
        """
        async with session.moving():
            await session.save()
            if replay:
                await self._replay(session.id)
            before = session.wire
            session.move_to(self)
            before.prompting.hand_over(session.id, self.prompting)

    async def _take(self, session_id: str) -> Lease:
        """Become the session's writer; from another connection of this agent if it is idle there."""
        await self.agent.settled(session_id)
        live = self._live(session_id)
        if live is not None:
            self._check_idle(live)
            await self.agent.forget(live)
        return await self._store().acquire(session_id, principal=self.principal)

    def _live(self, session_id: str) -> Session | None:
        """A session in memory, on any connection of this user's."""
        live = self.agent.live(session_id)
        return live if live is not None and live.wire.principal == self.principal else None

    def _check_idle(self, session: Session) -> None:
        if session.turn is not None or self.prompting.running(session.id):
            raise InvalidRequest("a prompt is running in this session; cancel it or wait for its end")

    async def _replay(self, session_id: str) -> None:
        """Send the whole conversation again, in order (R-142)."""
        notify = self.connection.notify
        hidden = tuple(f'{{"sessionUpdate":"{_tag(kind)}"'.encode() for kind in self.hidden)
        async for events in self._store().read(session_id, principal=self.principal):
            for event in events:
                if event.kind == "update" and not event.body.startswith(hidden):
                    update: Any = {"sessionId": session_id, "update": msgspec.Raw(event.body)}
                    await notify(methods.UPDATE, update)

    async def _admit(
        self,
        record: SessionRecord,
        recorder: Recorder | None,
        directories: list[str],
        mcp_servers: list[McpServer],
    ) -> Session:
        session = Session(
            self.agent, self, record, recorder=recorder, directories=directories, mcp_servers=mcp_servers
        )
        self._parked.pop(session.id, None)
        await self.agent.admit(session)
        return session

    async def _admit_made(
        self, record: SessionRecord, recorder: Recorder | None, params: NewSessionRequest | ForkSessionRequest
    ) -> Session:
        """The same for a session that nobody knows of yet, so that none is left when it fails."""
        try:
            return await self._admit(record, recorder, params.additional_directories, params.mcp_servers)
        except BaseException:
            if self.agent.store is not None:
                await self.agent.store.delete(record.id, principal=self.principal)
            raise

    def _announce_later(self, session: Session) -> None:
        """Tell the commands once the editor knows the session."""
        if self.agent.commands:
            self.connection.after_answer(lambda: session.start(lambda: self._announce(session)))

    async def _announce(self, session: Session) -> None:
        commands = [command.to_wire() for command in self.agent.commands.values()]
        await session.update(AvailableCommandsUpdate(available_commands=commands))

    @asynccontextmanager
    async def using(self, session_id: str) -> AsyncGenerator[Session]:
        """A session that the editor has opened on this connection; it stays in memory meanwhile."""
        session = await self._find(checked_id(session_id))
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1

    async def _find(self, session_id: str) -> Session:
        session = self.agent.live(session_id)
        if session is not None and session.wire is self:
            return session
        if session_id not in self._parked:
            raise no_session(session_id)
        async with self.agent.alone(session_id):
            return await self._bring_back(session_id)

    async def _bring_back(self, session_id: str) -> Session:
        await self.agent.settled(session_id)
        session = self.agent.live(session_id)
        if session is not None and session.wire is self:
            return session  # somebody was faster
        parked = self._parked.get(session_id)
        if parked is None or session is not None or self.agent.store is None:
            self._parked.pop(session_id, None)
            raise no_session(session_id)  # closed meanwhile, or open on another connection
        store = self.agent.store
        lease = await store.acquire(session_id, principal=self.principal)
        try:
            record = await store.get(session_id, principal=self.principal)
            session = Session(
                self.agent,
                self,
                msgspec.structs.replace(record, cwd=parked.cwd),
                recorder=Recorder(store, lease, record.last_seq),
                directories=parked.directories,
                mcp_servers=parked.mcp_servers,
            )
            await self.agent.admit(session)
        except BaseException:
            await store.release(lease)
            raise
        self._parked.pop(session_id, None)
        return session

    # -- the catalogue -----------------------------------------------------------------------

    async def list_sessions(self, params: ListSessionsRequest) -> ListSessionsResponse:
        if params.cwd is not None:
            check_absolute(params.cwd)
        sessions: list[SessionInfo] = []
        cursor = params.cursor
        for _ in range(LOOKS):
            page = await self._store().list(
                principal=self.principal,
                cwd=params.cwd,
                cursor=cursor,
                limit=self.agent.settings.page_size - len(sessions),
            )
            sessions += [
                SessionInfo(session_id=r.id, cwd=r.cwd, title=r.title, updated_at=r.updated_at)
                for r in page.sessions
                if self._was_used(r)
            ]
            cursor = page.next_cursor
            if cursor is None or len(sessions) >= self.agent.settings.page_size:
                break
        return ListSessionsResponse(sessions=sessions, next_cursor=cursor)

    def _was_used(self, record: SessionRecord) -> bool:
        """Editors open a session with every window; one without a prompt is nothing to come back to."""
        if record.last_seq or record.title is not None:
            return True
        live = self._live(record.id)
        return live is not None and live.turn is not None

    async def _close(self, params: CloseSessionRequest) -> CloseSessionResponse:
        session_id = checked_id(params.session_id)
        await self.prompting.stop(session_id)
        async with self.agent.alone(session_id):
            live = self.agent.live(session_id)
            if live is not None and live.wire is self:
                await self.agent.forget(live)
            elif self._parked.pop(session_id, None) is None:
                raise no_session(session_id)
        return CloseSessionResponse()

    async def delete_session(self, params: DeleteSessionRequest) -> DeleteSessionResponse:
        session_id = checked_id(params.session_id)
        await self.prompting.stop(session_id)
        async with self.agent.alone(session_id):
            await self.agent.settled(session_id)
            live = self._live(session_id)
            if live is not None:
                self._check_idle(live)
                await self.agent.forget(live, save=False)
            self._parked.pop(session_id, None)
            try:
                await self._store().delete(session_id, principal=self.principal)
            except SessionNotFound:
                pass  # deleting what is not there succeeds
        return DeleteSessionResponse()

    # -- modes and options -----------------------------------------------------------------------

    async def _set_mode(self, params: SetSessionModeRequest) -> SetSessionModeResponse:
        async with self.using(params.session_id) as session:
            try:
                await session.set_mode(params.mode_id)
            except ValueError as error:
                raise InvalidParams(str(error)) from None
            await session.shown()
        return SetSessionModeResponse()

    async def _set_option(self, params: SetSessionConfigOptionRequest) -> SetSessionConfigOptionResponse:
        async with self.using(params.session_id) as session:
            try:
                await session.set_option(params.config_id, params.value)
            except ValueError as error:
                raise InvalidParams(str(error)) from None
            await session.shown()
            return SetSessionConfigOptionResponse(config_options=session.config_options())

    async def _set_model(self, params: SetSessionModelRequest) -> SetSessionModelResponse:
        assert self.agent.model_option is not None
        async with self.using(params.session_id) as session:
            try:
                await session.set_option(self.agent.model_option, params.model_id)
            except ValueError as error:
                raise InvalidParams(str(error)) from None
            await session.shown()
        return SetSessionModelResponse()

    # -- guards ------------------------------------------------------------------------------------

    def _store(self) -> Store:
        assert self.agent.store is not None, "only in the table with a store"
        return self.agent.store

    def _check(
        self, params: NewSessionRequest | LoadSessionRequest | ResumeSessionRequest | ForkSessionRequest
    ) -> None:
        check_places(params.cwd, params.additional_directories, params.mcp_servers, self.agent.mcp)


def _hidden_from(client: ClientCapabilities) -> frozenset[type]:
    """The updates that need a capability which the editor did not advertise (R-244)."""
    session = client.session
    gates: list[tuple[bool, tuple[type, ...]]] = [
        (session is not None and session.notices is not None, (Notice,)),
        (
            session is not None and session.compaction is not None,
            (CompactionUpdate, CompactionSummaryChunk),
        ),
        (client.plan is not None, (PlanUpdate, PlanRemoved)),
        (client.subagents is not None, (SubagentUpdate, SessionMessage, SessionMessageChunk)),
    ]
    return frozenset(kind for is_open, kinds in gates if not is_open for kind in kinds)


def _running(session: Session) -> dict[str, Any] | None:
    """Tells an editor that takes over a session in the middle of a turn."""
    return {"acpella": {"turnRunning": True}} if session.turn is not None else None


def _tag(kind: Any) -> str:
    return kind.__struct_config__.tag


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
