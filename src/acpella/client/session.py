"""A conversation with an agent, as a client holds it."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import msgspec

from acpella.errors import AcpellaError, Unsupported
from acpella.schema import (
    AudioContent,
    AvailableCommand,
    CancelNotification,
    CloseSessionRequest,
    ContentBlock,
    CurrentModeUpdate,
    EmbeddedResource,
    ImageContent,
    McpServer,
    PromptCapabilities,
    ResourceLink,
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelect,
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

from .session_core import ClientSessionCore
from .turn import PromptTurn
from .turn_core import Overflow, PromptTurnCore

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["ClientSession", "Prompt", "to_blocks"]

T = TypeVar("T")

Prompt: TypeAlias = "str | Path | ContentBlock | Sequence[str | Path | ContentBlock]"
"""Text, files (images and sounds as such, others as links), content blocks, or several of them."""


class ClientSession:
    """One session of an agent. Made by `new_session`, `load_session` and their like."""

    def __init__(self, core: ClientSessionCore) -> None:
        """Use `ConnectedAgent.new_session` and its like."""
        self._core = core

    def __repr__(self) -> str:
        return f"ClientSession({self.id!r}, cwd={str(self.cwd)!r})"

    # -- what it is ------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """What the agent calls it."""
        return self._core.id

    @property
    def cwd(self) -> Path:
        """The directory that it is about."""
        return self._core.cwd

    @property
    def roots(self) -> list[Path]:
        """`cwd` and the further directories that it is about."""
        return self._core.roots

    @property
    def mcp_servers(self) -> Sequence[McpServer]:
        """What it was opened with."""
        return self._core.mcp_servers

    @property
    def title(self) -> str | None:
        """Its title, if the agent gave it one."""
        return self._core.title

    @property
    def modes(self) -> SessionModeState | None:
        """The modes to choose from, if the agent has modes."""
        return self._core.modes

    @property
    def models(self) -> SessionModelState | None:
        """The models to choose from, of agents that tell them the older way; others have an option."""
        return self._core.models

    @property
    def options(self) -> list[SessionConfigOption]:
        """The agent's options and their values."""
        return self._core.options

    @property
    def commands(self) -> list[AvailableCommand]:
        """The slash commands that the agent knows now."""
        return self._core.commands

    @property
    def lost(self) -> AcpellaError | None:
        """Why it could not be opened again after the connection was lost."""
        return self._core.lost

    @property
    def on_update(self) -> Callable[[SessionUpdate], Awaitable[None] | None] | None:
        """Hears of updates outside a turn, and of those that a load replays."""
        return self._core.on_update

    @on_update.setter
    def on_update(self, function: Callable[[SessionUpdate], Awaitable[None] | None] | None) -> None:
        self._core.on_update = function

    def terminal(self, terminal_id: str) -> "LocalTerminal | None":
        """A terminal that runs here for the agent, to show its output; None if there is no such one."""
        return self._core.agent.terminal(self.id, terminal_id)

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

    # -- talking ---------------------------------------------------------------------------

    def prompt(self, prompt: Prompt, *more: Prompt, overflow: Overflow = "block") -> PromptTurn:
        """Send a prompt. Iterate what comes back for updates, await it for the result.

        Raises:
            Unsupported: the agent takes no such content.
        """
        if overflow not in ("block", "drop_oldest"):
            raise ValueError(f"overflow is 'block' or 'drop_oldest', not {overflow!r}")
        blocks = to_blocks([prompt, *more], self._core.agent.capabilities.prompt_capabilities)
        return PromptTurn(PromptTurnCore(self._core, blocks, overflow))

    async def cancel(self) -> None:
        """Cancel the running turn, if there is one; also one that another client of yours began."""
        if self._core.turn is not None:
            await self._core.turn.cancel()
        elif self._core.turn_elsewhere:
            self._core.cancel_questions()
            await self._core.agent.connection.notify(methods.CANCEL, CancelNotification(session_id=self.id))

    async def set_mode(self, mode_id: str) -> None:
        """Switch the mode. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        if self.modes is None:
            if (option := self._option_of("mode")) is None:
                raise Unsupported("this agent has no modes")
            await self.set_option(option.id, mode_id)
            return
        mode_ids = [mode.id for mode in self.modes.available_modes]
        if mode_id not in mode_ids:
            raise ValueError(f"no mode {mode_id!r}; there are: {', '.join(mode_ids)}")
        await self._core.agent.call(
            methods.SET_MODE, SetSessionModeRequest(session_id=self.id, mode_id=mode_id)
        )
        self._core.note(CurrentModeUpdate(current_mode_id=mode_id))

    async def set_option(self, option_id: str, value: str | bool) -> None:
        """Set a config option. Raises `Unsupported` for agents without, `ValueError` for unknown ones."""
        if not self.options:
            raise Unsupported("this agent has no options")
        option = next((o for o in self.options if not isinstance(o, Unknown) and o.id == option_id), None)
        if option is None:
            option_ids = ", ".join(o.id for o in self.options if not isinstance(o, Unknown))
            raise ValueError(f"no option {option_id!r}; there are: {option_ids}")
        if isinstance(option, SessionConfigBoolean) and not isinstance(value, bool):
            raise ValueError(f"the option {option_id!r} is true or false, not {value!r}")
        if isinstance(option, SessionConfigSelect) and value not in (values := _values(option)):
            raise ValueError(f"{option_id} cannot be {value!r}; it can be: {', '.join(values)}")
        request = SetSessionConfigOptionRequest(session_id=self.id, config_id=option_id, value=value)
        answer = await self._core.agent.call(methods.SET_CONFIG_OPTION, request)
        self._core.options = list(answer.config_options)

    async def set_model(self, model_id: str) -> None:
        """Choose the model: by the option of that category, or the older method.

        Raises `Unsupported` for agents that offer no choice, `ValueError` for unknown models.
        """
        if (option := self._option_of("model")) is not None:
            await self.set_option(option.id, model_id)
            return
        if self.models is None:
            raise Unsupported("this agent lets nobody choose its model")
        model_ids = [model.model_id for model in self.models.available_models]
        if model_id not in model_ids:
            raise ValueError(f"no model {model_id!r}; there are: {', '.join(model_ids)}")
        await self._core.agent.call(
            methods.SET_MODEL, SetSessionModelRequest(session_id=self.id, model_id=model_id)
        )
        self._core.models = msgspec.structs.replace(self.models, current_model_id=model_id)

    def _option_of(self, category: str) -> SessionConfigSelect | None:
        """The option that agents without a method of its own offer for something."""
        for option in self.options:
            if isinstance(option, SessionConfigSelect) and option.category == category:
                return option
        return None

    async def close(self) -> None:
        """End the session's work at the agent; its history stays there."""
        agent = self._core.agent
        agent.need(agent.capabilities.session_capabilities.close, "close sessions")
        await agent.call(methods.CLOSE_SESSION, CloseSessionRequest(session_id=self.id))
        agent.forget(self.id)


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
