"""Modes, models and options of a session, whichever way the agent tells of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acpella.client import ClientSession
from acpella.errors import Unsupported
from acpella.schema import SessionConfigBoolean, SessionConfigSelect, SessionConfigSelectGroup

from ..terminal.clean import one_line

__all__ = [
    "SessionChoice",
    "SessionChoices",
    "choose_mode",
    "choose_model",
    "choose_option",
    "models_of",
    "modes_of",
    "option_of",
    "options_of",
    "prepare",
]


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """One value."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SessionChoices:
    """What can be chosen, and what is."""

    current: str
    values: list[SessionChoice]
    option: str | None = None
    """The config option behind it, None for modes and models of the older kind."""

    @property
    def name(self) -> str:
        """The current value for people."""
        return next((value.name for value in self.values if value.id == self.current), self.current)

    def after(self) -> SessionChoice | None:
        """The next one in the round."""
        ids = [value.id for value in self.values]
        if not ids:
            return None
        return self.values[(ids.index(self.current) + 1) % len(ids) if self.current in ids else 0]

    def find(self, what: str, text: str) -> SessionChoice:
        """The one value that a word means: its id, its name, the end of an id that is a URL, or a part.

        Raises:
            ValueError: none fits, or several do; says which there are.
        """
        word = text.casefold()
        for fits in _WAYS:
            matches = [value for value in self.values if fits(value, text, word)]
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise ValueError(f"{what} {text!r} may be any of: {_listed(matches)}")
        raise ValueError(f"no {what} {text!r}; there are: {_listed(self.values)}")


def _fragment(name: str) -> str:
    return re.split("[#/]", name.rstrip("#/"))[-1].casefold()


def _short(name: str) -> str:
    return _fragment(name) if "://" in name else name.casefold()


_WAYS: tuple[Callable[[SessionChoice, str, str], bool], ...] = (
    lambda value, text, word: value.id == text,
    lambda value, text, word: word in (value.id.casefold(), value.name.casefold()),
    lambda value, text, word: word == _fragment(value.id),
    lambda value, text, word: bool(word) and (word in _short(value.id) or word in value.name.casefold()),
)
"""How a word may mean a value, the surest first."""


def _listed(values: list[SessionChoice]) -> str:
    return ", ".join(one_line(value.id) for value in values)


def modes_of(session: ClientSession) -> SessionChoices | None:
    if session.modes is not None and session.modes.available_modes:
        values = [SessionChoice(m.id, m.name, m.description or "") for m in session.modes.available_modes]
        return SessionChoices(session.modes.current_mode_id, values)
    return _by_category(session, "mode")


def models_of(session: ClientSession) -> SessionChoices | None:
    if (models := _by_category(session, "model")) is not None:
        return models
    if session.models is None:
        return None
    values = [SessionChoice(m.model_id, m.name, m.description or "") for m in session.models.available_models]
    return SessionChoices(session.models.current_model_id, values)


def _by_category(session: ClientSession, category: str) -> SessionChoices | None:
    for option in session.options:
        if isinstance(option, SessionConfigSelect) and option.category == category:
            return option_of(option)
    return None


def options_of(session: ClientSession) -> dict[str, tuple[str, SessionChoices]]:
    """Every option by id, with its name."""
    return {
        option.id: (option.name, option_of(option))
        for option in session.options
        if isinstance(option, SessionConfigSelect | SessionConfigBoolean)
    }


def option_of(option: SessionConfigSelect | SessionConfigBoolean) -> SessionChoices:
    if isinstance(option, SessionConfigBoolean):
        values = [SessionChoice("true", "on"), SessionChoice("false", "off")]
        return SessionChoices("true" if option.current_value else "false", values, option.id)
    values: list[SessionChoice] = []
    for entry in option.options:
        group = entry.options if isinstance(entry, SessionConfigSelectGroup) else [entry]
        values += [SessionChoice(one.value, one.name, one.description or "") for one in group]
    return SessionChoices(option.current_value, values, option.id)


async def prepare(
    session: ClientSession, *, mode: str | None, model: str | None, options: Sequence[str]
) -> None:
    """Set what the command line names."""
    if mode:
        await choose_mode(session, mode)
    if model:
        await choose_model(session, model)
    for pair in options:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--option wants ID=VALUE, not {pair!r}")
        await choose_option(session, name, value)


async def choose_mode(session: ClientSession, word: str) -> None:
    """Switch the mode, whichever way the agent's modes work."""
    if (choices := modes_of(session)) is None:
        raise Unsupported("this agent has no modes")
    value = choices.find("mode", word).id
    if choices.option is not None:
        await session.set_option(choices.option, value)
    else:
        await session.set_mode(value)


async def choose_model(session: ClientSession, word: str) -> None:
    """Choose the model, whichever way the agent tells of them."""
    if (choices := models_of(session)) is None:
        raise Unsupported("this agent offers no choice of models")
    await session.set_model(choices.find("model", word).id)


async def choose_option(session: ClientSession, name: str, word: str) -> None:
    """Set an option to one of its values."""
    if (option := options_of(session).get(name)) is None:
        await session.set_option(name, word)  # says what there is
        return
    word = {"on": "true", "yes": "true", "off": "false", "no": "false"}.get(word.lower(), word)
    switch = any(isinstance(o, SessionConfigBoolean) and o.id == name for o in session.options)
    if switch and word.lower() not in ("true", "false"):
        raise ValueError(f"the option {name!r} is true or false, not {word!r}")
    if switch:
        await session.set_option(name, word.lower() == "true")
    else:
        await session.set_option(name, option[1].find(name, word).id)
