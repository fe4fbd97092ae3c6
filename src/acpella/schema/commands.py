"""Slash commands that the agent offers."""

from typing import TypeAlias

from ._wire import Lenient, Meta, Wire, field

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "UnstructuredCommandInput"]


class UnstructuredCommandInput(Wire, frozen=True, kw_only=True):
    """The command takes whatever is typed after its name."""

    hint: str
    meta: Meta | None = field(default=None, name="_meta")


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(Wire, frozen=True, kw_only=True):
    """A command; its name comes without the slash."""

    name: str
    description: str
    input: AvailableCommandInput | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AvailableCommandsUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """All commands; they replace those before."""

    available_commands: Lenient[list[AvailableCommand]]
    meta: Meta | None = field(default=None, name="_meta")
