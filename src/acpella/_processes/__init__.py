"""Starting programs and ending them with everything they started: once for Unix, once for Windows.

The rest of the package asks nothing about the system when it deals with processes.
"""

import sys

if sys.platform == "win32":
    from .windows import ProcessTree, start
else:
    from .unix import ProcessTree, start

from .exits import ExitWatch
from .words import has_directory, join_command, split_command

__all__ = ["ExitWatch", "ProcessTree", "has_directory", "join_command", "split_command", "start"]
