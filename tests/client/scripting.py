"""Helpers to start scripted agents, and to check that they have ended."""

import os
import select
from collections.abc import Callable

__all__ = ["Script", "ends"]

Script = Callable[..., list[str]]
"""Makes a program from a script for `scripted_agent`; returns its command."""


def ends(pid: str) -> bool:
    """Whether a killed process ends soon: sending a signal does not wait for its effect."""
    try:
        handle = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)
