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
    name: str
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionModeState(Wire, frozen=True, kw_only=True):
    """The modes of a session and the one in use."""

    current_mode_id: SessionModeId
    available_modes: Lenient[list[SessionMode]]
    meta: Meta | None = field(default=None, name="_meta")


class CurrentModeUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="current_mode_update"
):
    """The session works in another mode now."""

    current_mode_id: SessionModeId
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModeRequest(Wire, frozen=True, kw_only=True):
    """Change a session's mode."""

    session_id: SessionId
    mode_id: SessionModeId
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModeResponse(Wire, frozen=True, kw_only=True):
    """The mode was changed."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigSelectOption(Wire, frozen=True, kw_only=True):
    """One value to select."""

    value: SessionConfigValueId
    name: str
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigSelectGroup(Wire, frozen=True, kw_only=True):
    """Values that are shown together under a heading."""

    group: SessionConfigGroupId
    name: str
    options: Lenient[list[SessionConfigSelectOption]]
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
    name: str
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions
    description: str | None = None
    category: SessionConfigOptionCategory | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigBoolean(Wire, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A setting that is on or off."""

    id: SessionConfigId
    name: str
    current_value: bool
    description: str | None = None
    category: SessionConfigOptionCategory | None = None
    meta: Meta | None = field(default=None, name="_meta")


SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | Unknown


class ConfigOptionUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="config_option_update"
):
    """All settings with their values; they replace those before."""

    config_options: Lenient[list[SessionConfigOption]]
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionConfigOptionRequest(Wire, frozen=True, kw_only=True):
    """Change a setting: a value's id, or True or False for a boolean one."""

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId | bool
    type: Strict[Literal["boolean"] | str | None] = None
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if isinstance(self.value, bool):
            force_setattr(self, "type", "boolean")
        elif self.type == "boolean":
            raise ValueError("A config option of type boolean takes true or false")


class SetSessionConfigOptionResponse(Wire, frozen=True, kw_only=True):
    """All settings with their values after the change."""

    config_options: Lenient[list[SessionConfigOption]]
    meta: Meta | None = field(default=None, name="_meta")
