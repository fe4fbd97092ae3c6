"""How often somebody may do something."""

import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["RateLimit"]

REMEMBERED = 10_000
"""Addresses and users whose requests are counted. Without it, a flood from many of them fills the memory."""


class RateLimit:
    """Lets so many through at once, and so many a second in the long run; for each key by itself."""

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str) -> bool:
        """Take one; False if there was none."""
        if self._rate <= 0:
            return True
        level, now = self._level(key)
        if level < 1:
            return False
        self._levels[key] = (level - 1, now)
        self._levels.move_to_end(key)
        if len(self._levels) > REMEMBERED:
            self._levels.popitem(last=False)
        return True

    def _level(self, key: str) -> tuple[float, float]:
        now = self._clock()
        level, then = self._levels.get(key, (self._burst, now))
        return min(self._burst, level + (now - then) * self._rate), now
