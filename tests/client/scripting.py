"""What tests say to start agents of their own, and to see that nothing is left of them."""

import os
import select
from collections.abc import Callable

__all__ = ["Script", "ends"]

Script = Callable[..., list[str]]
"""Makes a program of a script for `scripted_agent`; gives its command."""


def ends(pid: str) -> bool:
    """Whether a process that was killed is over soon; a signal does not wait for its effect."""
    try:
        handle = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)
