"""Finds out whether a program in a directory is running."""

import os
import subprocess
import sys
from pathlib import Path

from acpella._processes import inherited_environment

__all__ = ["runs_below"]


def runs_below(directory: Path) -> bool:
    """Whether the command line or program of any visible process names a file in a directory."""
    if sys.platform == "win32":
        return False  # a running program cannot be deleted there
    prefix = os.fspath(directory) + os.sep
    real = os.path.realpath(directory) + os.sep
    return any(prefix in line or real in line for line in _command_lines())


def _command_lines() -> list[str]:
    lines: list[str] = []
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        listed = subprocess.run(
            ["ps", "-axo", "command="],
            env=inherited_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return listed.stdout.splitlines()
    for number in numbers:
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().decode(errors="surrogateescape").replace("\0", " ")
            lines.append(f"{words} {os.readlink(f'/proc/{number}/exe')}")
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return lines
