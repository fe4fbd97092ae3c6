"""Modes, models and options of a session, whichever way the agent tells of them."""

from dataclasses import dataclass

from acpella.client import ClientSession
from acpella.schema import SessionConfigBoolean, SessionConfigSelect, SessionConfigSelectGroup

__all__ = ["Choice", "Choices", "models_of", "modes_of", "option_of", "options_of"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One value."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen, and what is."""

    current: str
    values: list[Choice]
    option: str | None = None
    """The config option behind it, None for modes and models of the older kind."""

    @property
    def name(self) -> str:
        """The current value for people."""
        return next((value.name for value in self.values if value.id == self.current), self.current)

    def after(self) -> Choice | None:
        """The next one in the round."""
        ids = [value.id for value in self.values]
        if not ids:
            return None
        return self.values[(ids.index(self.current) + 1) % len(ids) if self.current in ids else 0]

    def find(self, text: str) -> Choice | None:
        """By id, or by name in any case."""
        for value in self.values:
            if value.id == text:
                return value
        return next((value for value in self.values if value.name.lower() == text.lower()), None)


def modes_of(session: ClientSession) -> Choices | None:
    if session.modes is not None and session.modes.available_modes:
        values = [Choice(m.id, m.name, m.description or "") for m in session.modes.available_modes]
        return Choices(session.modes.current_mode_id, values)
    return _by_category(session, "mode")


def models_of(session: ClientSession) -> Choices | None:
    if (found := _by_category(session, "model")) is not None:
        return found
    if session.models is None:
        return None
    values = [Choice(m.model_id, m.name, m.description or "") for m in session.models.available_models]
    return Choices(session.models.current_model_id, values)


def _by_category(session: ClientSession, category: str) -> Choices | None:
    for option in session.options:
        if isinstance(option, SessionConfigSelect) and option.category == category:
            return option_of(option)
    return None


def options_of(session: ClientSession) -> dict[str, tuple[str, Choices]]:
    """Every option by id, with its name."""
    return {
        option.id: (option.name, option_of(option))
        for option in session.options
        if isinstance(option, SessionConfigSelect | SessionConfigBoolean)
    }


def option_of(option: SessionConfigSelect | SessionConfigBoolean) -> Choices:
    if isinstance(option, SessionConfigBoolean):
        values = [Choice("true", "on"), Choice("false", "off")]
        return Choices("true" if option.current_value else "false", values, option.id)
    values: list[Choice] = []
    for entry in option.options:
        group = entry.options if isinstance(entry, SessionConfigSelectGroup) else [entry]
        values += [Choice(one.value, one.name, one.description or "") for one in group]
    return Choices(option.current_value, values, option.id)


async def choose_option(session: ClientSession, option: str, value: str) -> None:
    """Set an option to one of its values."""
    toggles = [o.id for o in session.options if isinstance(o, SessionConfigBoolean)]
    await session.set_option(option, value == "true" if option in toggles else value)
