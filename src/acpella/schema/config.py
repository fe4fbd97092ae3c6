"""Session modes, and the config options that supersede them."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec.structs import force_setattr

from ._wire import Lenient, Meta, Pick, Strict, Unknown, Wire, field
from .protocol import SessionId

__all__ = [
    "ConfigOptionUpdate",
    "CurrentModeUpdate",
    "SessionConfigBoolean",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigOption",
    "SessionConfigOptionCategory",
    "SessionConfigSelect",
    "SessionConfigSelectGroup",
    "SessionConfigSelectOption",
    "SessionConfigSelectOptions",
    "SessionConfigValueId",
    "SessionMode",
    "SessionModeId",
    "SessionModeState",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
]

SessionModeId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionConfigOptionCategory: TypeAlias = Literal["mode", "model", "model_config", "thought_level"] | str


class SessionMode(Wire, frozen=True, kw_only=True):
    """A way of working that the agent offers."""

    id: SessionModeId
    """The agent's id for the mode; `session/set_mode` names it."""
    name: str
    """What the user sees when choosing a mode."""
    description: str | None = None
    """What the agent does differently in this mode, for the user."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionModeState(Wire, frozen=True, kw_only=True):
    """The modes of a session and the one in use."""

    current_mode_id: SessionModeId
    """The mode that the session works in now."""
    available_modes: Lenient[list[SessionMode]]
    """Every mode that the session can work in."""
    meta: Meta | None = field(default=None, name="_meta")


class CurrentModeUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="current_mode_update"
):
    """The session works in another mode now."""

    current_mode_id: SessionModeId
    """The mode that the session works in from now on."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModeRequest(Wire, frozen=True, kw_only=True):
    """Change a session's mode."""

    session_id: SessionId
    """The session whose mode should change."""
    mode_id: SessionModeId
    """The mode to work in, by its id from the session's list of modes."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModeResponse(Wire, frozen=True, kw_only=True):
    """The mode was changed."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigSelectOption(Wire, frozen=True, kw_only=True):
    """One value to select."""

    value: SessionConfigValueId
    """The agent's id for this value; `session/set_config_option` names it."""
    name: str
    """What the user sees when choosing a value."""
    description: str | None = None
    """More about this value, to show beside its name."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigSelectGroup(Wire, frozen=True, kw_only=True):
    """Values that are shown together under a heading."""

    group: SessionConfigGroupId
    """The agent's id for this group of values."""
    name: str
    """The heading above the values of this group."""
    options: Lenient[list[SessionConfigSelectOption]]
    """The values under this heading, in the order to show them."""
    meta: Meta | None = field(default=None, name="_meta")


def _option_or_group(value: dict[str, Any]) -> type:
    return SessionConfigSelectGroup if "group" in value else SessionConfigSelectOption


SessionConfigSelectOptions: TypeAlias = list[
    Annotated[SessionConfigSelectOption | SessionConfigSelectGroup, Pick(_option_or_group)]
]
"""Values, or groups of values; a list never mixes the two."""


class SessionConfigSelect(Wire, frozen=True, kw_only=True, tag_field="type", tag="select"):
    """A setting with a list of values."""

    id: SessionConfigId
    """The agent's id for the setting; `session/set_config_option` names it."""
    name: str
    """What to call the setting when it is shown."""
    current_value: SessionConfigValueId
    """The id of the value that is chosen now."""
    options: SessionConfigSelectOptions
    """The values to choose from, or groups of them, in the order to show them."""
    description: str | None = None
    """More about the setting, to show beside its name."""
    category: SessionConfigOptionCategory | None = None
    """What the setting is about, so that a client can choose its place or icon; it changes nothing else."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigBoolean(Wire, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A setting that is on or off."""

    id: SessionConfigId
    """The agent's id for the setting; `session/set_config_option` names it."""
    name: str
    """What to call the setting when it is shown."""
    current_value: bool
    """Whether the setting is on now."""
    description: str | None = None
    """More about the setting, to show beside its name."""
    category: SessionConfigOptionCategory | None = None
    """What the setting is about, so that a client can choose its place or icon; it changes nothing else."""
    meta: Meta | None = field(default=None, name="_meta")


SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | Unknown


class ConfigOptionUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="config_option_update"
):
    """All settings with their values; they replace those before."""

    config_options: Lenient[list[SessionConfigOption]]
    """Every setting of the session, also those that did not change."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionConfigOptionRequest(Wire, frozen=True, kw_only=True):
    """Change a setting: a value's id, or True or False for a boolean one."""

    session_id: SessionId
    """The session whose setting should change."""
    config_id: SessionConfigId
    """The setting to change, by its id from the session's list of settings."""
    value: SessionConfigValueId | bool
    """The id of the value to choose, or true or false for a setting that is on or off."""
    type: Strict[Literal["boolean"] | str | None] = None
    """`boolean` if the value is true or false. Absent means that it is the id of a value."""
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if isinstance(self.value, bool):
            force_setattr(self, "type", "boolean")
        elif self.type == "boolean":
            raise ValueError("A config option of type boolean takes true or false")


class SetSessionConfigOptionResponse(Wire, frozen=True, kw_only=True):
    """All settings with their values after the change."""

    config_options: Lenient[list[SessionConfigOption]]
    """Every setting of the session, as one change may cause others."""
    meta: Meta | None = field(default=None, name="_meta")
