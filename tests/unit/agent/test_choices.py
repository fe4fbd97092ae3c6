"""Modes and options: what may be chosen, what is kept, what is shown."""

from typing import Any

import msgspec
import pytest

from acpella.agent import Mode, Select, Toggle
from acpella.agent.choices import Choices
from acpella.schema import encode

MODES = [Mode("ask", "Ask"), Mode("code", "Code")]
OPTIONS = [Select("model", "Model", ["small", "large"], default="large"), Toggle("fast", "Fast")]


def choices(**saved: Any) -> Choices:
    return Choices(MODES, OPTIONS, saved)


def test_the_first_mode_and_the_defaults_hold_at_first() -> None:
    chosen = choices()
    assert (chosen.mode, chosen.value("model"), chosen.value("fast")) == ("ask", "large", False)


def test_what_was_chosen_comes_back_from_what_was_kept() -> None:
    chosen = choices()
    chosen.choose_mode("code")
    assert chosen.choose("model", "small") == "small"
    assert chosen.choose("fast", "TRUE") is True, "editors that know only words send one"
    again = choices(**chosen.to_settings())
    assert (again.mode, again.value("model"), again.value("fast")) == ("code", "small", True)


@pytest.mark.parametrize(
    "saved", [{"mode": "gone"}, {"mode": 7}, {"options": {"model": "gone", "fast": "yes"}}, {"options": []}]
)
def test_what_was_kept_and_does_not_exist_any_more_is_the_default(saved: dict[str, Any]) -> None:
    chosen = choices(**saved)
    assert (chosen.mode, chosen.value("model"), chosen.value("fast")) == ("ask", "large", False)


@pytest.mark.parametrize(
    "option, value, says",
    [
        ("model", "huge", "model cannot be 'huge'; it can be: small, large"),
        ("fast", "perhaps", "fast cannot be 'perhaps'; it can be: true or false"),
        ("color", "red", "no option 'color'; there are: model, fast"),
    ],
)
def test_what_was_not_declared_is_refused_and_changes_nothing(option: str, value: str, says: str) -> None:
    chosen = choices()
    before = chosen.to_settings()
    with pytest.raises(ValueError, match=says):
        chosen.choose(option, value)
    with pytest.raises(ValueError, match="no mode 'gone'; there are: ask, code"):
        chosen.choose_mode("gone")
    assert chosen.to_settings() == before


def test_choices_can_be_taken_back() -> None:
    chosen = choices()
    before = chosen.to_settings()
    chosen.choose_mode("code")
    chosen.choose("model", "small")
    chosen.restore(before)
    assert chosen.to_settings() == before


def test_the_mode_is_an_option_too() -> None:
    """R-301, R-302."""
    shown = [msgspec.json.decode(encode(option)) for option in choices().to_config_options(toggles=False)]
    assert [(option["id"], option["currentValue"]) for option in shown] == [
        ("mode", "ask"),
        ("model", "large"),
    ]
    options: list[Any] = choices().to_config_options(toggles=True)
    assert [option.id for option in options] == ["mode", "model", "fast"]
    assert Choices([], [], {}).to_config_options(toggles=True) == []


def test_without_modes_there_is_no_mode() -> None:
    assert Choices([], OPTIONS, {"mode": "code"}).mode is None
    with pytest.raises(KeyError, match="no option 'color'"):
        Choices([], OPTIONS, {}).value("color")
