"""Runs package managers: with a deadline, without a terminal, and ended together with all they started."""

import collections
import io
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from acpella._processes import kill_tree, start
from acpella._redact import redact

from .download import Progress
from .errors import InstallError

__all__ = ["ProgramFailed", "run_tool"]

TOOL_WITHIN = 900.0
"""Seconds; a package manager that hangs is the usual reason for an agent that never starts."""

TAIL = 30
"""How many of the last lines of output are kept."""


class ProgramFailed(InstallError):
    """A package manager did not do what it was asked; `output` is the end of what it wrote."""

    def __init__(self, message: str, output: str = "") -> None:
        self.output = output
        lines = "\n".join(f"  {line}" for line in output.splitlines()[-10:])
        super().__init__(f"{message}\n{lines}" if lines else message)


def run_tool(
    command: Sequence[str], *, cwd: Path, progress: Progress, env: dict[str, str], within: float = TOOL_WITHIN
) -> None:
    """Run a command to its end.

    Raises:
        ProgramFailed: the command failed or took too long; `output` is what it wrote last.
    """
    name = f"{Path(command[0]).stem} {command[1]}"
    tail: collections.deque[str] = collections.deque(maxlen=TAIL)
    try:
        process = start(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
        )
    except (OSError, ValueError) as error:
        raise ProgramFailed(f"{name} cannot be started: {error}") from None
    assert process.stdout is not None
    output = io.BufferedReader(cast("io.RawIOBase", process.stdout))  # else it is read byte by byte

    def read() -> None:
        while line := output.readline(64 * 1024):
            text = redact(line.decode("utf-8", "replace").strip())
            if text:
                tail.append(text)

    reader = threading.Thread(target=read, name=name, daemon=True)
    reader.start()
    try:
        code = process.wait(within)
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{name} was not done within {within:g} s", "\n".join(tail)) from None
    finally:
        kill_tree(process.pid)
        process.wait()
        reader.join(5)
        output.close()
    if code != 0:
        raise ProgramFailed(f"{name} failed with code {code}", "\n".join(tail))
