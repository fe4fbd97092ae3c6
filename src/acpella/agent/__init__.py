"""The agent SDK: put a Python agent into any ACP editor."""

from .app import Agent, run
from .declare import Choice, EnvLogin, Login, Mode, Option, Select, TerminalLogin, Toggle, Tool
from .editor import Files, Shell, ShellResult
from .session import Session
from .settings import Settings
from .tool_call import ToolRun
from .turn import Elicited, Permission, PlanInHand, Turn

__all__ = [
    "Agent",
    "Choice",
    "Elicited",
    "EnvLogin",
    "Files",
    "Login",
    "Mode",
    "Option",
    "Permission",
    "PlanInHand",
    "Select",
    "Session",
    "Settings",
    "Shell",
    "ShellResult",
    "TerminalLogin",
    "Toggle",
    "Tool",
    "ToolRun",
    "Turn",
    "run",
]
