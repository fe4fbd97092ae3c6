"""Processes on Windows: no signal ends one or its group, but `taskkill` ends it with its children.

Nothing here needs Windows to be imported, so that the choices can be tested anywhere.
"""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO

__all__ = ["ProcessTree", "command_line", "kill_tree", "start"]

CREATE_NEW_PROCESS_GROUP = 0x00000200
"""Ctrl-C in this console is not for the child."""

CREATE_NO_WINDOW = 0x08000000
"""A program with windows, such as an editor, would otherwise show an empty console for each child."""

TASKKILL_WITHIN = 5.0
"""Seconds for `taskkill`; without it, a system that is shutting down blocks the event loop."""

_UNSAFE_IN_BATCH = frozenset('"%!\r\n\0')
"""What cmd.exe reads as more than a character, even between quotes."""


def start(
    command: Sequence[str],
    *,
    stdin: int | IO[bytes],
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
) -> "subprocess.Popen[bytes]":
    """Start a command that Ctrl-C in this console does not reach.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    from shutil import which

    path = (env or os.environ).get("PATH")
    return subprocess.Popen(
        command_line(command, lambda program: which(program, path=path)),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        bufsize=0,
        creationflags=CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW,
    )


def command_line(command: Sequence[str], find: Callable[[str], str | None]) -> list[str] | str:
    """What to give to the system for a command; `find` is `shutil.which`.

    Programs of npm such as `npx` are batch files, which the system does not find by their short name and
    cmd.exe executes. It interprets some characters even between quotes: those are refused.

    Raises:
        ValueError: a word cannot be given to a batch file.
    """
    program = find(command[0]) or command[0]
    if not program.lower().endswith((".cmd", ".bat")):
        return [program, *command[1:]]
    words = [program, *command[1:]]
    for word in words:
        if not _UNSAFE_IN_BATCH.isdisjoint(word):
            raise ValueError(
                f"{program} is a batch file, which cannot be given {word!r} safely; "
                "name the program that it starts (such as node and a script) instead"
            )
    return f'cmd.exe /d /s /c "{" ".join(map(_quoted, words))}"'


def _quoted(word: str) -> str:
    """Backslashes before the closing quote are doubled, as the started program's own parser wants."""
    trailing = len(word) - len(word.rstrip("\\"))
    return '"' + word + "\\" * trailing + '"'


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def kill_tree(pid: int, run: Run = subprocess.run) -> bool:
    """End a process and its children at once; False if that did not work."""
    words = ["taskkill", "/T", "/F", "/PID", str(pid)]
    try:
        return run(words, capture_output=True, timeout=TASKKILL_WITHIN).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class ProcessTree:
    """A process and its children, as long as it lives: the system forgets who started an orphan."""

    def __init__(self, process: "subprocess.Popen[bytes]", run: Run = subprocess.run) -> None:
        self._process = process
        self._run = run

    def note_descendants(self) -> None:
        """Nothing to remember: `taskkill` finds the children."""

    def terminate(self) -> bool:
        """End it and its children at once: a console program hears of no gentler way."""
        return self.kill()

    def kill(self) -> bool:
        """End it and its children at once; False if it has ended."""
        if not self.runs():
            return False
        if not kill_tree(self._process.pid, self._run) and self.runs():
            try:
                self._process.kill()  # it alone is better than nothing
            except OSError:
                pass  # it has ended meanwhile
        return True

    def runs(self) -> bool:
        """Whether the process itself runs."""
        return self._process.poll() is None

    def terminate_detached(self) -> bool:
        """False: nothing is known of those; `taskkill` finds them only while their parents run."""
        return False

    def kill_detached(self) -> bool:
        """False: nothing is known of those; `taskkill` finds them only while their parents run."""
        return False

    def detached_run(self) -> bool:
        """False: nothing is known of those; `taskkill` finds them only while their parents run."""
        return False
