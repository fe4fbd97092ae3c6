"""The time of events: as the clock on the wall had it at the start, and then only forwards."""

import time

__all__ = ["now"]

_START = time.time() - time.monotonic()


def now() -> float:
    """Seconds since 1970. A clock that is set meanwhile changes nothing, so differences are true."""
    return _START + time.monotonic()
