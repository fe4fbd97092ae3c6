"""The time of events: the system clock at the start, and from then on a clock that only goes forwards."""

import time

__all__ = ["now"]

_START = time.time() - time.monotonic()


def now() -> float:
    """Seconds since 1970. A clock that is set meanwhile changes nothing, so differences are true."""
    return _START + time.monotonic()
