"""Recordings that are being written now, so that somebody can look at them: a small file for each."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

__all__ = ["TappedProgram", "live_taps", "registered"]


class TappedProgram(msgspec.Struct):
    """A program that an editor started, and that is recorded."""

    pid: int
    command: list[str]
    path: str
    started: float
    control: str = ""
    """The socket where its messages can be held; empty where there is none."""


@contextmanager
def registered(directory: Path, tap: TappedProgram) -> Generator[None]:
    """Let others find a tap while it runs."""
    file = directory / f"{tap.pid}.json"
    with suppress(OSError):  # looking is a convenience; the conversation must not fail for it
        file.write_bytes(msgspec.json.encode(tap))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink()


def live_taps(directory: Path) -> list[TappedProgram]:
    """The taps whose process runs, oldest first. Files that killed processes left behind are deleted."""
    taps: list[TappedProgram] = []
    for file in directory.glob("*.json"):
        try:
            tap = msgspec.json.decode(file.read_bytes(), type=TappedProgram)
        except (OSError, msgspec.MsgspecError):
            continue
        if _runs(tap.pid):
            taps.append(tap)
        else:
            with suppress(OSError):
                file.unlink()
    return sorted(taps, key=lambda tap: tap.started)


def _runs(pid: int) -> bool:
    if sys.platform == "win32":  # Windows has no taps, and signal 0 would end the process there
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
