"""The client SDK: drive any ACP agent from Python."""

from typing import TYPE_CHECKING

from .agent import ConnectedAgent
from .connect import connect
from .elicitation import check_form, defaults_of
from .login import TerminalCommand
from .permissions import Permissions, Remembered, Rule
from .result import Result, ToolCallState
from .session import ClientSession
from .settings import AgentServer, ClientSettings
from .settings_source import SettingsError, UntrustedSettings
from .timeouts import Timeouts
from .turn import PromptTurn
from .turn_core import UpdatesDropped
from .workspace import Terminals, Workspace

if TYPE_CHECKING:
    from acpella.recording import RecordedFrame, read_recording

    from .remote import RemoteAgent, RemoteState
    from .restarts import Restarts
    from .supervisor import SupervisedAgent, SupervisedSession, Supervisor

__all__ = [
    "AgentServer",
    "ClientSession",
    "ClientSettings",
    "ConnectedAgent",
    "Permissions",
    "PromptTurn",
    "RecordedFrame",
    "Remembered",
    "RemoteAgent",
    "RemoteState",
    "Restarts",
    "Result",
    "Rule",
    "SettingsError",
    "SupervisedAgent",
    "SupervisedSession",
    "Supervisor",
    "TerminalCommand",
    "Terminals",
    "Timeouts",
    "ToolCallState",
    "UntrustedSettings",
    "UpdatesDropped",
    "Workspace",
    "check_form",
    "connect",
    "defaults_of",
    "read_recording",
]

_HOMES = {
    "RecordedFrame": "acpella.recording",
    "RemoteAgent": ".remote",
    "RemoteState": ".remote",
    "Restarts": ".restarts",
    "SupervisedAgent": ".supervisor",
    "SupervisedSession": ".supervisor",
    "Supervisor": ".supervisor",
    "read_recording": "acpella.recording",
}
"""Names that few programs need, imported on first use so that they do not slow down every `acpella run`."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
