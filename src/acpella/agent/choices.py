"""The modes and options of a session, with what is chosen right now."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from acpella.schema import SessionConfigOption, SessionConfigSelect, SessionConfigSelectOption

from .declare import Mode, Option, Toggle

__all__ = ["MODE_OPTION", "Choices"]

MODE_OPTION = "mode"
"""Id of the config option that mirrors the modes (R-301)."""


class Choices:
    """What an agent declared to choose from, and what the user chose. Changes nothing but itself."""

    def __init__(self, modes: Sequence[Mode], options: Sequence[Option], saved: Mapping[str, Any]) -> None:
        self.modes = modes
        self._options = options
        self._mode = saved.get("mode")
        chosen = saved.get("options")
        values = cast("dict[str, Any]", chosen) if isinstance(chosen, dict) else {}  # imported, perhaps
        self._values: dict[str, Any] = {
            option.id: value
            for option in options
            if option.allows(value := values.get(option.id, option.initial))
        }

    @property
    def mode(self) -> str | None:
        """The id of the current mode; None if none was declared."""
        if not self.modes:
            return None
        return self._mode if any(mode.id == self._mode for mode in self.modes) else self.modes[0].id

    def value(self, option_id: str) -> Any:
        """The current value of an option. Raises `KeyError` for one that was not declared."""
        for option in self._options:
            if option.id == option_id:
                return self._values.get(option_id, option.initial)
        raise KeyError(f"the agent declared no option {option_id!r}")

    def choose_mode(self, mode_id: str) -> None:
        """Raises `ValueError` for a mode that was not declared."""
        if not any(mode.id == mode_id for mode in self.modes):
            mode_ids = ", ".join(mode.id for mode in self.modes) or "none"
            raise ValueError(f"no mode {mode_id!r}; there are: {mode_ids}")
        self._mode = mode_id

    def choose(self, option_id: str, value: Any) -> Any:
        """Set an option; returns the value as it is kept. Raises `ValueError` for what was not declared."""
        option = next((option for option in self._options if option.id == option_id), None)
        if option is None:
            option_ids = ", ".join(option.id for option in self._options) or "none"
            raise ValueError(f"no option {option_id!r}; there are: {option_ids}")
        if isinstance(option, Toggle):
            value = option.parsed(value)
        if not option.allows(value):
            allowed = "true or false" if isinstance(option, Toggle) else ", ".join(option.values)
            raise ValueError(f"{option_id} cannot be {value!r}; it can be: {allowed}")
        self._values[option_id] = value
        return value

    def to_settings(self) -> dict[str, Any]:
        """What is kept with the session; `restore` and the constructor read it."""
        return {"mode": self.mode, "options": dict(self._values)}

    def restore(self, settings: Mapping[str, Any]) -> None:
        """Go back to what `to_settings` gave."""
        self._mode, self._values = settings["mode"], dict(settings["options"])

    def to_config_options(self, *, toggles: bool) -> list[SessionConfigOption]:
        """Every option with its value, the mode among them (R-302); on/off options only with `toggles`."""
        config_options: list[SessionConfigOption] = []
        if self.modes:
            assert self.mode is not None
            config_options.append(
                SessionConfigSelect(
                    id=MODE_OPTION,
                    name="Mode",
                    category="mode",
                    current_value=self.mode,
                    options=[
                        SessionConfigSelectOption(value=m.id, name=m.name, description=m.description)
                        for m in self.modes
                    ],
                )
            )
        config_options += [
            option.to_wire(self._values.get(option.id, option.initial))
            for option in self._options
            if toggles or not isinstance(option, Toggle)
        ]
        return config_options
