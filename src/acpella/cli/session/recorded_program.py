"""Runs an agent in this program's place, for the editor that started it, and records the conversation."""

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .. import exits
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.recording.interceptor import Interceptor
    from acpella.recording.writer import Filters

__all__ = ["place_for", "run_recorded", "started_as"]


def run_recorded(
    command: list[str],
    path: Path,
    *,
    anonymize: bool = False,
    media: bool = True,
    raw: bool = False,
    interceptor: "Interceptor | None" = None,
) -> int:
    """Run the agent; returns its exit code. On a terminal, the file is named at the end.

    `interceptor` may hold and change what passes.
    """
    if sys.platform == "win32":
        say("recording an agent in its place needs Unix; use `acpella run --record FILE`, or WSL")
        return exits.REFUSED
    from acpella.errors import TransportError
    from acpella.recording.tap import record_program

    def filters() -> "Filters":
        from acpella.recording.anonymizing import Anonymizer
        from acpella.recording.writer import Filters

        anonymizer = Anonymizer(cwd=os.getcwd()) if anonymize else None
        return Filters(raw=raw, media=media, anonymizer=anonymizer)

    on_terminal = sys.stderr.isatty()  # editors show each line of stderr as an error
    stderr = os.dup(2)
    try:
        if raw:
            say(f"--raw: secrets are written to {path} as they are; do not share it")
        status, problem = record_program(command, path, filters=filters, interceptor=interceptor)
    except TransportError as error:
        say(str(error))
        return exits.NOT_FOUND
    except OSError as error:
        say(f"the recording cannot be written: {error}")
        return exits.USAGE
    os.dup2(stderr, 2)
    if problem:
        say(f"{path}: {problem}")
    elif on_terminal:
        say(f"recorded to {path}")
    return _end_like(status)


def started_as(words: list[str]) -> list[str]:
    """The command of an agent. A Python file that is not executable is run with this Python."""
    if words and words[0].endswith(".py") and os.path.isfile(words[0]) and not os.access(words[0], os.X_OK):
        return [sys.executable, *words]
    return words


def place_for(command: list[str]) -> Path:
    """A new file in the state directory."""
    from ..state.paths import private, state

    name = re.sub(r"[^\w.-]", "_", os.path.basename(command[0]))[:40]
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return private(state() / "recordings") / f"{stamp}-{name}-{os.getpid()}.jsonl"


def _end_like(status: int) -> int:
    """End as the agent did: by the same signal, if it was one."""
    if status >= 0 or sys.platform == "win32":
        return status
    sys.stderr.flush()
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    except (ImportError, OSError, ValueError):
        pass
    return 128 - status
