"""How often something may be tried again, and how soon."""

from dataclasses import dataclass

__all__ = ["Restarts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """How often an agent may die, and how long to wait before it is started again."""

    budget: int = 5
    """Restarts within `window` seconds; one more, and the agent counts as failed."""

    window: float = 60.0

    first_delay: float = 0.2
    """Seconds before the first restart; doubles with each one in the window, with some chance."""

    longest_delay: float = 15.0

    def delay(self, count: int) -> float:
        full = min(self.first_delay * 2**count, self.longest_delay)
        import random  # 5 ms that only a restart needs

        return full * random.uniform(0.5, 1.0)
