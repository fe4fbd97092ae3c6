"""What an author has declared: an agent's data, its handlers and its hooks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from acpella.schema import AvailableCommand, ContentBlock, Meta, TextContent, UnstructuredCommandInput
from acpella.sessions import RememberedPermissions

from .choices import MODE_OPTION
from .declare import EnvLogin, Login, Mode, Option, Select, TerminalLogin, Tool
from .settings import Settings

__all__ = ["AnyLogin", "Command", "Definition", "PromptHandler"]

PromptHandler: TypeAlias = Callable[[Any], Any]
"""A coroutine function, an async generator, or a plain function or generator, which runs in a thread."""

AnyLogin: TypeAlias = Login | EnvLogin | TerminalLogin


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command and the handler of its prompts."""

    name: str
    description: str
    hint: str | None
    handler: PromptHandler

    def to_wire(self) -> AvailableCommand:
        hint = None if self.hint is None else UnstructuredCommandInput(hint=self.hint)
        return AvailableCommand(name=self.name, description=self.description, input=hint)


class Definition:
    """The private half of `Agent`: what everything below it reads."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        modes: Sequence[Mode | str] = (),
        options: Sequence[Option] = (),
        logins: Sequence[AnyLogin] = (),
        tools: Sequence[Tool] = (),
        images: bool = False,
        audio: bool = False,
        mcp: Sequence[str] = (),
        local: bool = False,
        meta: Meta | None = None,
        settings: Mapping[str, Any] | None = None,
        keeps_sessions: bool = False,
    ) -> None:
        self.name = name
        self.version = version
        self.title = title
        self.modes: list[Mode] = [Mode(m, m.capitalize()) if isinstance(m, str) else m for m in modes]
        self.options: list[Option] = list(options)
        self.logins: list[AnyLogin] = list(logins)
        self.tools: list[Tool] = list(tools)
        self.images = images
        self.audio = audio
        self.mcp: frozenset[str] = frozenset(mcp)
        self.local = local
        self.meta: dict[str, Any] = dict(meta or {})
        self.settings: Settings = Settings.from_environment(**(settings or {}))
        self.keeps_sessions = keeps_sessions
        """Whether there is a store, and with it load, resume, fork, list and delete."""
        self.remembered: RememberedPermissions = RememberedPermissions(self.settings.remembered_in())
        self.commands: dict[str, Command] = {}
        self.prompt_handler: PromptHandler | None = None
        self.request_handlers: dict[str, Any] = {}
        self.notification_handlers: dict[str, Any] = {}
        self.hooks: dict[str, list[Callable[..., Any]]] = {}
        self.log_file: Path | None = None
        """Where `Agent.run` logs to, if it is a file."""
        self._check_names()

    def _check_names(self) -> None:
        for what, names in (
            ("mode", [mode.id for mode in self.modes]),
            ("option", [option.id for option in self.options] + [MODE_OPTION] * bool(self.modes)),
            ("login", [login.id for login in self.logins]),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"declared twice: {what} {', '.join(sorted(twice))}")

    @property
    def model_option(self) -> str | None:
        """The id of the option that chooses the model."""
        models = (o.id for o in self.options if isinstance(o, Select) and o.category == "model")
        return next(models, None)

    def handler_for(self, prompt: list[ContentBlock]) -> tuple[PromptHandler, str | None, str]:
        """The handler of a prompt, with the slash command that it calls, if it does, and its argument."""
        typed = next((block.text for block in prompt if isinstance(block, TextContent)), "").lstrip()
        if typed.startswith("/") and not typed[1:2].isspace():
            words = typed[1:].split(maxsplit=1)
            command = self.commands.get(words[0]) if words else None
            if command is not None:
                return command.handler, command.name, words[1].strip() if len(words) > 1 else ""
        if self.prompt_handler is None:
            raise ValueError("the agent has no prompt handler")
        return self.prompt_handler, None, ""

    async def call_hook(self, name: str, *args: Any) -> Any:
        """Call the author's hooks of this name; returns what the last one says, None if there is none."""
        result: Any = None
        for hook in self.hooks.get(name, ()):
            result = hook(*args)
            if inspect.isawaitable(result):
                result = await result
        return result
