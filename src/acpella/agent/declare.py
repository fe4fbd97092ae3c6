"""What an agent declares as data: modes, options, commands, logins, tools."""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from acpella.schema import (
    AuthEnvVar,
    AuthMethod,
    AuthMethodAgent,
    AuthMethodEnvVar,
    AuthMethodTerminal,
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionMode,
    ToolKind,
)

__all__ = ["Choice", "EnvLogin", "Login", "Mode", "Option", "Select", "TerminalLogin", "Toggle", "Tool"]


@dataclass(frozen=True, slots=True)
class Mode:
    """A way for the agent to work, which the user can switch to."""

    id: str
    name: str
    description: str | None = None

    def to_wire(self) -> SessionMode:
        return SessionMode(id=self.id, name=self.name, description=self.description)


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a `Select`."""

    value: str
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """An option with one of several values. The first is the default unless another is named.

    Editors group by `category`: `model`, `thought_level`, `model_config`, or your own beginning with `_`.
    """

    id: str
    name: str
    choices: Sequence[Choice | str]
    default: str | None = None
    category: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        if not self.choices:
            raise ValueError(f"the option {self.id!r} needs at least one choice")
        if self.default is not None and self.default not in self.values:
            raise ValueError(
                f"the default {self.default!r} of the option {self.id!r} is not one of its choices"
            )

    @property
    def values(self) -> list[str]:
        return [choice if isinstance(choice, str) else choice.value for choice in self.choices]

    @property
    def initial(self) -> str:
        return self.values[0] if self.default is None else self.default

    def allows(self, value: object) -> bool:
        return isinstance(value, str) and value in self.values

    def to_wire(self, current: Any) -> SessionConfigOption:
        choices = [choice if isinstance(choice, Choice) else Choice(choice) for choice in self.choices]
        return SessionConfigSelect(
            id=self.id,
            name=self.name,
            description=self.description,
            category=self.category,
            current_value=current,
            options=[
                SessionConfigSelectOption(value=c.value, name=c.name or c.value, description=c.description)
                for c in choices
            ],
        )


@dataclass(frozen=True, slots=True)
class Toggle:
    """An option that is on or off. Editors that know no such options do not see it."""

    id: str
    name: str
    default: bool = False
    category: str | None = None
    description: str | None = None

    @property
    def initial(self) -> bool:
        return self.default

    def parsed(self, value: object) -> object:
        """The value, where an editor that knows only words sends one."""
        words = {"true": True, "false": False}
        return words.get(value.lower(), value) if isinstance(value, str) else value

    def allows(self, value: object) -> bool:
        return isinstance(value, bool)

    def to_wire(self, current: Any) -> SessionConfigOption:
        return SessionConfigBoolean(
            id=self.id,
            name=self.name,
            description=self.description,
            category=self.category,
            current_value=current,
        )


Option: TypeAlias = Select | Toggle


@dataclass(frozen=True, slots=True)
class Login:
    """A login that the agent carries out itself when the editor asks for it.

    `run` returns when the user is logged in and raises `AuthRequired` when that failed.
    """

    id: str
    name: str
    run: Callable[[], Awaitable[None]]
    description: str | None = None

    def to_wire(self) -> AuthMethod:
        return AuthMethodAgent(id=self.id, name=self.name, description=self.description)


@dataclass(frozen=True, slots=True)
class EnvLogin:
    """A login by environment variables: done when all of them are set."""

    id: str
    name: str
    variables: Sequence[str]
    description: str | None = None
    link: str | None = None

    @property
    def missing(self) -> list[str]:
        return [name for name in self.variables if not os.environ.get(name)]

    def to_wire(self) -> AuthMethod:
        return AuthMethodEnvVar(
            id=self.id,
            name=self.name,
            description=self.description,
            link=self.link,
            vars=[AuthEnvVar(name=name) for name in self.variables],
        )


@dataclass(frozen=True, slots=True)
class TerminalLogin:
    """A login in a terminal: the editor starts this same program with `args` added and shows it."""

    id: str
    name: str
    args: Sequence[str] = ()
    env: dict[str, str] | None = None
    description: str | None = None

    def to_wire(self) -> AuthMethod:
        return AuthMethodTerminal(
            id=self.id,
            name=self.name,
            description=self.description,
            args=list(self.args),
            env=dict(self.env or {}),
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the agent can use, for those who ask what it can do (`_agent/tools`)."""

    name: str
    description: str
    kind: ToolKind = "other"
