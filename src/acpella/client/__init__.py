"""The client SDK: drive any ACP agent from Python."""

from .agent import ConnectedAgent, Timeouts
from .connect import connect
from .elicitation import check_form, defaults_of
from .login import TerminalCommand
from .permissions import Permissions, Remembered, Rule
from .record import Frame, read_recording
from .remote import RemoteAgent, RemoteState
from .restarts import Restarts
from .result import Result, ToolCallState
from .session import ClientSession
from .settings import AgentServer, ClientSettings, SettingsError
from .supervisor import SupervisedAgent, SupervisedSession, Supervisor
from .turn import PromptTurn, UpdatesDropped
from .workspace import Terminals, Workspace

__all__ = [
    "AgentServer",
    "ClientSession",
    "ClientSettings",
    "ConnectedAgent",
    "Frame",
    "Permissions",
    "PromptTurn",
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
    "UpdatesDropped",
    "Workspace",
    "check_form",
    "connect",
    "defaults_of",
    "read_recording",
]
