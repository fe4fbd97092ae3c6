"""Slash commands that the agent offers."""

from typing import TypeAlias

from ._wire import Lenient, Meta, Wire, field

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "UnstructuredCommandInput"]


class UnstructuredCommandInput(Wire, frozen=True, kw_only=True):
    """The command takes whatever is typed after its name."""

    hint: str
    """What to show in place of the input while nothing has been typed yet."""
    meta: Meta | None = field(default=None, name="_meta")


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(Wire, frozen=True, kw_only=True):
    """A command; its name comes without the slash."""

    name: str
    """The command's name without the slash; a prompt that starts with `/name` runs it."""
    description: str
    """What the command does, for the user."""
    input: AvailableCommandInput | None = None
    """What the command expects after its name. Absent means that it expects nothing."""
    meta: Meta | None = field(default=None, name="_meta")


class AvailableCommandsUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """All commands; they replace those before."""

    available_commands: Lenient[list[AvailableCommand]]
    """Every command that the session has now; any other is gone."""
    meta: Meta | None = field(default=None, name="_meta")
