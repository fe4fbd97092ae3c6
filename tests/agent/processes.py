"""Looks for processes by their command line."""

import asyncio
import os
import time
from pathlib import Path


def _runs(command: str) -> bool:
    words = command.replace(" ", "\0").encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if words in Path(f"/proc/{pid}/cmdline").read_bytes() and _state(pid) != "Z":
                return True
        except OSError:
            continue
    return False


def _state(pid: str) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


async def nobody_runs(command: str) -> None:
    """Wait until no process with this command line is left."""
    await _until(command, running=False)


async def somebody_runs(command: str) -> None:
    """Wait until there is a process with this command line."""
    await _until(command, running=True)


async def _until(command: str, *, running: bool) -> None:
    deadline = time.monotonic() + 5
    while await asyncio.to_thread(_runs, command) != running:
        assert time.monotonic() < deadline, f"{command} still runs" if not running else f"{command} never ran"
        await asyncio.sleep(0.02)
