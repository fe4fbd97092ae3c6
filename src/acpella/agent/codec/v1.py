"""ACP version 1: its capabilities, its requests, and how a turn's doings look on its wire."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from acpella.rpc import Method, Vocabulary
from acpella.schema import (
    AgentAuthCapabilities,
    AgentCapabilities,
    AuthenticateRequest,
    AuthenticateResponse,
    AuthMethod,
    AuthMethodAgent,
    AvailableCommand,
    AvailableCommandsUpdate,
    CancelNotification,
    ClientCapabilities,
    CloseSessionRequest,
    CloseSessionResponse,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    LoadSessionRequest,
    LoadSessionResponse,
    LogoutCapabilities,
    LogoutRequest,
    LogoutResponse,
    McpCapabilities,
    NewSessionRequest,
    NewSessionResponse,
    Notice,
    PermissionOption,
    PlanRemoved,
    PlanUpdate,
    PromptCapabilities,
    PromptRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SelectedPermissionOutcome,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionMessage,
    SessionMessageChunk,
    SessionModeState,
    SessionNotification,
    SessionResumeCapabilities,
    SessionUpdate,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModelRequest,
    SetSessionModelResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SubagentUpdate,
    ToolCallUpdate,
    methods,
)

from ..choices import Choices
from ..declare import EnvLogin, TerminalLogin
from ..definition import AnyLogin, Definition
from ..operations import (
    CancelPrompt,
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    LogIn,
    LogOut,
    NewSession,
    OpenedSession,
    Prompt,
    ReopenSession,
    SetMode,
    SetOption,
    Workplace,
)
from .base import EditorCapabilities, Route

__all__ = ["CodecV1", "capabilities", "editor_capabilities", "hidden_updates", "shown_login"]

VERSION = 1

_Opening: TypeAlias = NewSessionRequest | LoadSessionRequest | ResumeSessionRequest | ForkSessionRequest


class CodecV1:
    """Protocol version 1 on one connection."""

    vocabulary: Vocabulary = methods.AGENT
    update_method: Method[Any, Any] = methods.UPDATE

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._client = ClientCapabilities()
        self._set_editor()

    def _set_editor(self) -> None:
        self.editor: EditorCapabilities = editor_capabilities(
            self._client, unstable=self._definition.settings.unstable
        )
        self._hidden = self.editor.hidden
        self._hidden_bodies = tuple(
            f'{{"sessionUpdate":"{_tag(kind)}"'.encode() for kind in self.editor.hidden
        )

    # -- initialize and login ------------------------------------------------------------

    def initialize(self, params: InitializeRequest) -> InitializeResponse:
        definition = self._definition
        self._client = params.client_capabilities
        self._set_editor()
        logins = self._offered_logins()
        hint = {"auth_hint": "log in with one of: " + ", ".join(login.name for login in logins)}
        return InitializeResponse(
            protocol_version=VERSION,
            agent_capabilities=capabilities(definition),
            agent_info=Implementation(
                name=definition.name, version=definition.version, title=definition.title
            ),
            auth_methods=self.auth_methods(),
            meta=hint if logins else None,
        )

    def auth_methods(self) -> list[AuthMethod]:
        unstable = self._definition.settings.unstable
        return [shown_login(login, unstable=unstable) for login in self._offered_logins()]

    def _offered_logins(self) -> list[AnyLogin]:
        return [
            login
            for login in self._definition.logins
            if not isinstance(login, TerminalLogin) or self._opens_terminals
        ]

    @property
    def _opens_terminals(self) -> bool:
        """Whether the editor can show a login (R-121); older ones say so in `_meta`, as the registry does."""
        return self._client.auth.terminal or (self._client.meta or {}).get("terminal-auth") is True

    # -- what the editor asks for --------------------------------------------------------

    def requests(self) -> Mapping[str, Route]:
        definition = self._definition
        table: dict[str, Route] = {
            "session/new": Route(_read_new, self._write_new),
            "session/close": Route(_read_close, _always(CloseSessionResponse())),
            "session/prompt": Route(_read_prompt, _as_it_is),
        }
        if definition.logins:
            table["authenticate"] = Route(_read_authenticate, _always(AuthenticateResponse()))
            table["logout"] = Route(_read_logout, _always(LogoutResponse()))
        if definition.modes:
            table["session/set_mode"] = Route(_read_set_mode, _always(SetSessionModeResponse()))
        if definition.modes or definition.options:
            table["session/set_config_option"] = Route(_read_set_option, self._write_options)
        if definition.model_option is not None and definition.settings.unstable:
            table["session/set_model"] = Route(self._read_set_model, _always(SetSessionModelResponse()))
        if definition.keeps_sessions:
            table |= {
                "session/load": Route(_read_load, self._write_load),
                "session/resume": Route(_read_resume, self._write_resume),
                "session/list": Route(_read_list, _as_it_is),
                "session/delete": Route(_read_delete, _always(DeleteSessionResponse())),
            }
            if definition.settings.unstable:
                table["session/fork"] = Route(_read_fork, self._write_fork)
        return table

    def cancellations(self) -> Mapping[str, Callable[[Any], CancelPrompt]]:
        return {"session/cancel": _read_cancel}

    def _read_set_model(self, params: SetSessionModelRequest) -> SetOption:
        assert self._definition.model_option is not None
        return SetOption(params.session_id, self._definition.model_option, params.model_id)

    def _write_new(self, opened: OpenedSession) -> NewSessionResponse:
        return NewSessionResponse(
            session_id=opened.id, modes=_mode_state(opened.choices), config_options=self._options(opened)
        )

    def _write_fork(self, opened: OpenedSession) -> ForkSessionResponse:
        return ForkSessionResponse(
            session_id=opened.id, modes=_mode_state(opened.choices), config_options=self._options(opened)
        )

    def _write_load(self, opened: OpenedSession) -> LoadSessionResponse:
        return LoadSessionResponse(
            modes=_mode_state(opened.choices), config_options=self._options(opened), meta=_running(opened)
        )

    def _write_resume(self, opened: OpenedSession) -> ResumeSessionResponse:
        return ResumeSessionResponse(
            modes=_mode_state(opened.choices), config_options=self._options(opened), meta=_running(opened)
        )

    def _write_options(self, opened: OpenedSession) -> SetSessionConfigOptionResponse:
        return SetSessionConfigOptionResponse(config_options=self._options(opened) or [])

    def _options(self, opened: OpenedSession) -> Any:
        return opened.choices.to_config_options(toggles=self.editor.toggles) or None

    # -- what sessions and turns do ------------------------------------------------------

    def update(self, session_id: str, update: SessionUpdate) -> SessionNotification | None:
        if update.__class__ in self._hidden:
            return None
        return SessionNotification(session_id=session_id, update=update)

    def stored_update(self, session_id: str, body: bytes) -> Any:
        if body.startswith(self._hidden_bodies):
            return None
        return {"sessionId": session_id, "update": msgspec.Raw(body)}

    def choices_changed(self, choices: Choices, *, mode: bool) -> list[SessionUpdate]:
        options = ConfigOptionUpdate(config_options=choices.to_config_options(toggles=self.editor.toggles))
        if not mode:
            return [options]
        assert choices.mode is not None
        return [CurrentModeUpdate(current_mode_id=choices.mode), options]

    def commands(self, commands: Sequence[AvailableCommand]) -> AvailableCommandsUpdate:
        return AvailableCommandsUpdate(available_commands=list(commands))

    def permission(
        self, session_id: str, call: ToolCallUpdate, options: Sequence[PermissionOption]
    ) -> tuple[Method[Any, Any], RequestPermissionRequest]:
        request = RequestPermissionRequest(session_id=session_id, tool_call=call, options=list(options))
        return methods.REQUEST_PERMISSION, request

    def chosen(self, answer: RequestPermissionResponse) -> str | None:
        outcome = answer.outcome
        return outcome.option_id if isinstance(outcome, SelectedPermissionOutcome) else None

    def hears_cancel(self, method: str, params: Any, is_cancelled: Callable[[str], bool]) -> bool:
        """False for files and terminals, which answer soon anyway, and for permission requests of a turn that
        the editor has cancelled, which it closes itself (R-208)."""
        if method == methods.REQUEST_PERMISSION.name:
            return not is_cancelled(params.session_id)
        return not method.startswith(("fs/", "terminal/"))


# -- capabilities ------------------------------------------------------------------------


def capabilities(definition: Definition) -> AgentCapabilities:
    """What an agent advertises: exactly what it serves."""
    stored, unstable = definition.keeps_sessions, definition.settings.unstable
    return AgentCapabilities(
        load_session=stored,
        prompt_capabilities=PromptCapabilities(
            image=definition.images, audio=definition.audio, embedded_context=True
        ),
        mcp_capabilities=McpCapabilities(http="http" in definition.mcp, sse="sse" in definition.mcp),
        session_capabilities=SessionCapabilities(
            close=SessionCloseCapabilities(),
            additional_directories=SessionAdditionalDirectoriesCapabilities(),
            list=SessionListCapabilities() if stored else None,
            delete=SessionDeleteCapabilities() if stored else None,
            resume=SessionResumeCapabilities() if stored else None,
            fork=SessionForkCapabilities() if stored and unstable else None,
        ),
        auth=AgentAuthCapabilities(logout=LogoutCapabilities() if definition.logins else None),
        meta=definition.meta or None,
    )


def editor_capabilities(client: ClientCapabilities, *, unstable: bool) -> EditorCapabilities:
    """What an editor's capabilities mean here; without `unstable`, as if it knew nothing of that kind."""
    if not unstable:
        client = msgspec.structs.replace(client, plan=None, subagents=None)
    meta = client.meta or {}
    session, forms = client.session, client.elicitation
    return EditorCapabilities(
        reads_files=client.fs.read_text_file,
        writes_files=client.fs.write_text_file,
        terminals=client.terminal,
        terminal_output=bool(meta.get("terminal_output")),
        forms=forms is not None and forms.form is not None,
        pages=forms is not None and forms.url is not None,
        toggles=session is not None
        and session.config_options is not None
        and session.config_options.boolean is not None,
        # the stable schema does not know `usage` in the answer to a prompt
        tokens=unstable
        and (bool(meta.get("prompt_usage")) or client.plan is not None or client.subagents is not None),
        hidden=hidden_updates(client),
    )


def hidden_updates(client: ClientCapabilities) -> frozenset[type]:
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


def shown_login(login: AnyLogin, *, unstable: bool) -> AuthMethod:
    """A login as the editor gets it. The stable schema has no type for `EnvLogin`: a text describes it."""
    if isinstance(login, EnvLogin) and not unstable:
        description = login.description or f"Start the agent with {', '.join(login.variables)} set"
        return AuthMethodAgent(id=login.id, name=login.name, description=description)
    return login.to_wire()


# -- requests ----------------------------------------------------------------------------


def _workplace(params: _Opening) -> Workplace:
    return Workplace(params.cwd, params.additional_directories, params.mcp_servers)


def _read_new(params: NewSessionRequest) -> NewSession:
    return NewSession(_workplace(params))


def _read_load(params: LoadSessionRequest) -> ReopenSession:
    return ReopenSession(params.session_id, _workplace(params), replay=True)


def _read_resume(params: ResumeSessionRequest) -> ReopenSession:
    return ReopenSession(params.session_id, _workplace(params), replay=False)


def _read_fork(params: ForkSessionRequest) -> ForkSession:
    return ForkSession(params.session_id, _workplace(params))


def _read_list(params: ListSessionsRequest) -> ListSessions:
    return ListSessions(params.cwd, params.cursor)


def _read_close(params: CloseSessionRequest) -> CloseSession:
    return CloseSession(params.session_id)


def _read_delete(params: DeleteSessionRequest) -> DeleteSession:
    return DeleteSession(params.session_id)


def _read_set_mode(params: SetSessionModeRequest) -> SetMode:
    return SetMode(params.session_id, params.mode_id)


def _read_set_option(params: SetSessionConfigOptionRequest) -> SetOption:
    return SetOption(params.session_id, params.config_id, params.value)


def _read_prompt(params: PromptRequest) -> Prompt:
    return Prompt(params.session_id, params.prompt)


def _read_cancel(params: CancelNotification) -> CancelPrompt:
    return CancelPrompt(params.session_id)


def _read_authenticate(params: AuthenticateRequest) -> LogIn:
    return LogIn(params.method_id)


def _read_logout(params: LogoutRequest) -> LogOut:
    return LogOut()


# -- results -----------------------------------------------------------------------------


def _as_it_is(result: Any) -> Any:
    return result


def _always(response: Any) -> Callable[[Any], Any]:
    """Ignores the outcome: the response only confirms the request."""
    return lambda result: response


def _mode_state(choices: Choices) -> SessionModeState | None:
    if choices.mode is None:
        return None
    return SessionModeState(
        current_mode_id=choices.mode, available_modes=[mode.to_wire() for mode in choices.modes]
    )


def _running(opened: OpenedSession) -> dict[str, Any] | None:
    """Tells an editor that takes over a session in the middle of a turn."""
    return {"acpella": {"turnRunning": True}} if opened.is_prompting else None


def _tag(kind: Any) -> str:
    return kind.__struct_config__.tag
