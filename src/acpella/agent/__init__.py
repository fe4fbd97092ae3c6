"""The agent SDK: put a Python agent into any ACP editor.

Each module imports only what stands below it:

    app                                     `Agent`: what authors declare, and how it is run
    program                                 as a process: stdin and stdout, signals, exit code
    connection                              one editor: each method goes to the service that answers it
    extensions  prompting                   our own extension methods · runs prompts
    service  handlers                       new, load, resume, fork, list, close, delete · runs a handler
    current                                 the turn of this task, for code that it was not passed to
    open_sessions  blocking                 sessions in memory · a turn for plain functions
    turn                                    `Turn`, as authors drive it
    plan  files  questions  shell           what a turn offers
    tool_call                               a tool call while it runs
    turn_core                               what is behind a turn
    session                                 `Session`, and its core
    log_first  logins  stored_sessions      order of log and editor · who is logged in · what the store holds
    editor                                  the way to one editor
    codec                                   protocol versions: messages to operations, actions to messages
    operations                              what an editor can ask for
    definition                              what the author declared
    choices                                 modes and options, and what is chosen
    daemon_threads  declare  guards  log_writer  logs  running  settings

A second protocol version is a module in `codec`.
"""

from .app import Agent, run
from .current import current_turn
from .declare import Choice, EnvLogin, Login, Mode, Option, Select, TerminalLogin, Toggle, Tool
from .definition import Command
from .files import Files
from .plan import PlanInHand
from .questions import Elicited, Permission
from .session import Session
from .settings import Settings
from .shell import Shell, ShellResult
from .tool_call import ToolRun
from .turn import Turn

__all__ = [
    "Agent",
    "Choice",
    "Command",
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
    "current_turn",
    "run",
]
