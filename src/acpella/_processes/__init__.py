"""Starting programs and ending them with everything they started: once for Unix, once for Windows.

Who starts a process and ends it through this need not ask which system it is on. What else differs is asked
where it matters: whether commands have process groups, whether there is a /proc, how a program is named.
"""

import sys

if sys.platform == "win32":
    from .windows import ProcessTree, kill_tree, start
else:
    from .unix import ProcessTree, kill_tree, start

from .detached import end_detached
from .environment import inherited_environment, is_own_secret
from .exits import ExitWatch
from .guard import Guard
from .signals import HANGUP, on_signals, signal_name
from .words import has_directory, join_command, split_command

__all__ = [
    "HANGUP",
    "ExitWatch",
    "Guard",
    "ProcessTree",
    "end_detached",
    "has_directory",
    "inherited_environment",
    "is_own_secret",
    "join_command",
    "kill_tree",
    "on_signals",
    "signal_name",
    "split_command",
    "start",
]
