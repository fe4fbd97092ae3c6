"""A conversation with an agent, as a client holds it."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import msgspec

from acpella.errors import AcpellaError, LocalProtocolError, Unsupported
from acpella.schema import (
    AudioContent,
    AvailableCommand,
    AvailableCommandsUpdate,
    CloseSessionRequest,
    ConfigOptionUpdate,
    ContentBlock,
    CurrentModeUpdate,
    EmbeddedResource,
    ImageContent,
    McpServer,
    PromptCapabilities,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResourceLink,
    SelectedPermissionOutcome,
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelect,
    SessionInfoUpdate,
    SessionModelState,
    SessionModeState,
    SessionUpdate,
    SetSessionConfigOptionRequest,
    SetSessionModelRequest,
    SetSessionModeRequest,
    TextContent,
    Unknown,
    methods,
)
from acpella.schema import CancelledPermissionOutcome as Cancelled

from .replay import until_quiet
from .turn import Overflow, PromptTurn

if TYPE_CHECKING:
    from .agent import ConnectedAgent, Timeouts

__all__ = ["ClientSession", "Prompt", "to_blocks"]

T = TypeVar("T")

Prompt: TypeAlias = "str | Path | ContentBlock | Sequence[str | Path | ContentBlock]"
"""Text, files (images and sounds as such, others as links), content blocks, or several of them."""


class ClientSession:
    """One session of an agent. Made by `new_session`, `load_session` and their like."""

    def __init__(
        self, agent: "ConnectedAgent", session_id: str, *, cwd: Path, directories: Sequence[Path] = ()
    ) -> None:
        self.agent = agent
        self.id = session_id
        self.cwd = cwd
        self.roots = [cwd, *directories]
        self.title: str | None = None
        self.modes: SessionModeState | None = None
        self.options: list[SessionConfigOption] = []
        self.commands: list[AvailableCommand] = []
        self.on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None
        """Hears of updates outside a turn, and of those that a load replays."""
        self.models: SessionModelState | None = None
        """The models to choose from, of agents that tell them the older way; others have an option."""
        self.mcp_servers: Sequence[McpServer] = ()
        """What it was opened with."""
        self.lost: AcpellaError | None = None
        """Why it could not be opened again after the connection was lost."""
        self.replaying = False
        """What arrives was told before and only brings the state up to date."""
        self.last_sign = 0.0
        self._replayed = 0  # updates outside turns that tell of the conversation
        self._serving = 0  # requests of the agent that this side works on
        self._notes_signs = bool(agent.timeouts.idle_turn)
        self._turn: PromptTurn | None = None
        self._questions: set[asyncio.Future[None]] = set()  # to the user, not answered yet

    def __repr__(self) -> str:
        return f"ClientSession({self.id!r}, cwd={str(self.cwd)!r})"

    @property
    def timeouts(self) -> "Timeouts":
        return self.agent.timeouts

    @property
    def mode(self) -> str | None:
        """The mode in use, if the agent has modes."""
        if self.modes is not None:
            return self.modes.current_mode_id
        option = self._option_of("mode")
        return None if option is None else option.current_value

    @property
    def model(self) -> str | None:
        """The model in use, if the agent tells."""
        option = self._option_of("model")
        if option is not None:
            return option.current_value
        return None if self.models is None else self.models.current_model_id

    @property
    def is_serving(self) -> bool:
        """Whether the agent waits for this side: for a permission, a file, a command."""
        return self._serving > 0

    # -- talking ---------------------------------------------------------------------------

    def prompt(self, prompt: Prompt, *more: Prompt, overflow: Overflow = "block") -> PromptTurn:
        """Send a prompt. Iterate what comes back for updates, await it for the result.

        Raises:
            Unsupported: the agent takes no such content.
        """
        blocks = to_blocks([prompt, *more], self.agent.capabilities.prompt_capabilities)
        return PromptTurn(self, blocks, overflow=overflow)

    async def cancel(self) -> None:
        """Cancel the running turn, if there is one."""
        if self._turn is not None:
            await self._turn.cancel()

    async def set_mode(self, mode_id: str) -> None:
        """Switch the mode. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        if self.modes is None:
            if (option := self._option_of("mode")) is None:
                raise Unsupported("this agent has no modes")
            await self.set_option(option.id, mode_id)
            return
        known = [mode.id for mode in self.modes.available_modes]
        if mode_id not in known:
            raise ValueError(f"no mode {mode_id!r}; there are: {', '.join(known)}")
        await self.agent.call(methods.SET_MODE, SetSessionModeRequest(session_id=self.id, mode_id=mode_id))
        self._note(CurrentModeUpdate(current_mode_id=mode_id))

    async def set_option(self, option_id: str, value: str | bool) -> None:
        """Set a config option. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        if not self.options:
            raise Unsupported("this agent has no options")
        option = next((o for o in self.options if not isinstance(o, Unknown) and o.id == option_id), None)
        if option is None:
            known = ", ".join(o.id for o in self.options if not isinstance(o, Unknown))
            raise ValueError(f"no option {option_id!r}; there are: {known}")
        if isinstance(option, SessionConfigBoolean) and not isinstance(value, bool):
            raise ValueError(f"the option {option_id!r} is true or false, not {value!r}")
        if isinstance(option, SessionConfigSelect) and value not in (values := _values(option)):
            raise ValueError(f"{option_id} cannot be {value!r}; it can be: {', '.join(values)}")
        request = SetSessionConfigOptionRequest(session_id=self.id, config_id=option_id, value=value)
        answer = await self.agent.call(methods.SET_CONFIG_OPTION, request)
        self.options = list(answer.config_options)

    async def set_model(self, model_id: str) -> None:
        """Choose the model: by the option of that category, or the older method.

        Raises `Unsupported` for agents that offer no choice, `ValueError` for unknown models.
        """
        if (option := self._option_of("model")) is not None:
            await self.set_option(option.id, model_id)
            return
        if self.models is None:
            raise Unsupported("this agent lets nobody choose its model")
        known = [model.model_id for model in self.models.available_models]
        if model_id not in known:
            raise ValueError(f"no model {model_id!r}; there are: {', '.join(known)}")
        await self.agent.call(
            methods.SET_MODEL, SetSessionModelRequest(session_id=self.id, model_id=model_id)
        )
        self.models = msgspec.structs.replace(self.models, current_model_id=model_id)

    def _option_of(self, category: str) -> SessionConfigSelect | None:
        """The option that agents without a method of its own offer for something."""
        for option in self.options:
            if isinstance(option, SessionConfigSelect) and option.category == category:
                return option
        return None

    async def close(self) -> None:
        """End the session's work at the agent; its history stays there."""
        self.agent.need(self.agent.capabilities.session_capabilities.close, "close sessions")
        await self.agent.call(methods.CLOSE_SESSION, CloseSessionRequest(session_id=self.id))
        self.agent.forget(self)

    # -- for the rest of the package -----------------------------------------------------------

    def begin(self, turn: PromptTurn) -> None:
        if self._turn is not None:
            raise LocalProtocolError("a prompt is running in this session; await or cancel it first")
        self._turn = turn
        self.sign_of_life()

    def end(self, turn: PromptTurn) -> None:
        if self._turn is turn:
            self._turn = None

    def sign_of_life(self) -> None:
        self.last_sign = asyncio.get_running_loop().time()

    def deliver(self, update: SessionUpdate) -> Awaitable[None] | None:
        """An update arrived."""
        turn = self._turn
        if turn is not None:
            if self._notes_signs:
                self.sign_of_life()
            if update.__class__ in _NOTED:
                self._note(update)
            return turn.deliver(update)
        if update.__class__ in _NOTED:
            self._note(update)
        else:
            self._replayed += 1
        return self.on_update(update) if self.on_update is not None and not self.replaying else None

    async def until_replayed(self) -> None:
        """Wait for what a load still tells after its answer, since it does not belong to the next turn."""
        await until_quiet(lambda: self._replayed, busy=lambda: self.agent.connection.handling)

    def _note(self, update: SessionUpdate) -> None:
        """Keep what is true of the session from now on."""
        if isinstance(update, CurrentModeUpdate) and self.modes is not None:
            self.modes = SessionModeState(
                current_mode_id=update.current_mode_id, available_modes=self.modes.available_modes
            )
        elif isinstance(update, ConfigOptionUpdate):
            self.options = list(update.config_options)
        elif isinstance(update, AvailableCommandsUpdate):
            self.commands = list(update.available_commands)
        elif isinstance(update, SessionInfoUpdate) and not isinstance(update.title, type(_UNSET)):
            self.title = cast("str | None", update.title)

    async def permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        """Answer a permission request; `cancelled` as soon as the turn is (R-208)."""
        if self._turn is not None:
            known = self._turn.result.asked_about(request.tool_call)
            request = msgspec.structs.replace(request, tool_call=known)
        deciding = self.agent.permissions.decide(self.agent.remembered_as, request, roots=self.roots)
        option = await self.unless_cancelled(deciding)
        if self._turn is not None and (option is None or option.kind.startswith("reject")):
            # some agents never say that a rejected call is over; those that do are heard later
            if not self._turn.is_cancelling:
                self._turn.result.reject_tool_call(request.tool_call.tool_call_id)
        if option is None:
            return RequestPermissionResponse(outcome=Cancelled())
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=option.option_id))

    async def unless_cancelled(self, question: Coroutine[Any, Any, T]) -> T | None:
        """What the user answers; None as soon as the turn is cancelled."""
        if self._turn is not None and self._turn.is_cancelling:
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

    def answer_questions(self) -> None:
        """The turn is cancelled: nobody waits for the user any more."""
        for pending in self._questions:
            if not pending.done():
                pending.set_result(None)

    @contextmanager
    def serving(self) -> Generator[None, None, None]:
        """While this runs the agent waits for us, so its silence does not count."""
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            self.sign_of_life()


_UNSET = SessionInfoUpdate().title
_NOTED = frozenset({CurrentModeUpdate, ConfigOptionUpdate, AvailableCommandsUpdate, SessionInfoUpdate})


def _values(option: SessionConfigSelect) -> list[str]:
    values: list[str] = []
    for choice in option.options:
        group = getattr(choice, "options", None)
        values += [one.value for one in group] if group is not None else [choice.value]  # type: ignore[union-attr]
    return values


def to_blocks(prompt: Any, accepts: PromptCapabilities) -> list[ContentBlock]:
    """The content blocks of a prompt, checked against what the agent takes (R-201)."""
    if isinstance(prompt, list | tuple):
        return [block for part in cast("Sequence[Any]", prompt) for block in to_blocks(part, accepts)]
    block: ContentBlock
    if isinstance(prompt, str):
        block = TextContent(text=prompt)
    elif isinstance(prompt, Path):
        block = _file_block(prompt)
    elif hasattr(prompt, "__struct_config__"):
        block = prompt
    else:
        raise TypeError(f"a prompt is text, paths and content blocks, not {type(prompt).__name__}")
    for kind, takes, what in (
        (ImageContent, accepts.image, "images"),
        (AudioContent, accepts.audio, "audio"),
        (EmbeddedResource, accepts.embedded_context, "embedded files"),
    ):
        if isinstance(block, kind) and not takes:
            raise Unsupported(f"this agent takes no {what}")
    return [block]


def _file_block(path: Path) -> ContentBlock:
    """A file as the content it is: images and sounds with their bytes, others as links."""
    if not path.exists():
        raise FileNotFoundError(f"no file {path}")
    from mimetypes import guess_type

    mime, _ = guess_type(path.name)
    if mime and mime.startswith(("image/", "audio/")):
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        return (ImageContent if mime.startswith("image/") else AudioContent)(data=data, mime_type=mime)
    full = path.absolute()
    return ResourceLink(uri=full.as_uri(), name=path.name, mime_type=mime, size=full.stat().st_size)
