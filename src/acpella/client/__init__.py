"""The client SDK: drive any ACP agent from Python."""

from .connect import ConnectedAgent, Timeouts, connect
from .permissions import Permissions, Rule
from .remote import RemoteAgent, RemoteState
from .restarts import Restarts
from .result import Result, ToolCallState
from .session import ClientSession
from .settings import AgentServer, ClientSettings, SettingsError
from .supervisor import SupervisedAgent, SupervisedSession, Supervisor
from .turn import PromptTurn
from .workspace import Terminals, Workspace

__all__ = [
    "AgentServer",
    "ClientSession",
    "ClientSettings",
    "ConnectedAgent",
    "Permissions",
    "PromptTurn",
    "RemoteAgent",
    "RemoteState",
    "Restarts",
    "Result",
    "Rule",
    "SettingsError",
    "SupervisedAgent",
    "SupervisedSession",
    "Supervisor",
    "Terminals",
    "Timeouts",
    "ToolCallState",
    "Workspace",
    "connect",
]
