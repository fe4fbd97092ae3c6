"""Counts and times of a conversation, by method."""

from collections import Counter, defaultdict

import msgspec

from .rows import Row

__all__ = ["MethodTimes", "Stats", "Summary"]

MAX_SESSIONS = 100_000
"""Sessions that are counted."""

MAX_NAMES = 1000
"""Methods and kinds that are counted apart. A peer can make up as many as it likes."""

KEPT_TIMES = 100_000
"""Answers of a method whose times are kept; later ones change neither the percentiles nor the slowest."""


class MethodTimes(msgspec.Struct):
    """The requests of a method. Times are in seconds."""

    method: str
    requests: int
    errors: int
    unanswered: int
    p50: float | None
    p95: float | None
    slowest: float | None


class Summary(msgspec.Struct):
    """All of it."""

    frames: int
    bytes: int
    seconds: float
    connections: int
    sessions: int
    kinds: dict[str, int]
    updates: dict[str, int]
    methods: list[MethodTimes]
    dropped: int = 0
    hidden: int = 0


class Stats:
    """Counts rows as they come."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._updates: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._times: defaultdict[str, list[float]] = defaultdict(list)
        self._sessions: set[str] = set()
        self._bytes = 0
        self._seconds = 0.0
        self._connections = 0
        self.dropped = 0
        self.hidden = 0

    def take(self, row: Row) -> None:
        """The next row."""
        self._connections = max(self._connections, row.c)
        self._seconds = max(self._seconds, row.t)
        if row.kind == "event":
            return
        self._kinds[row.kind] += 1
        self._bytes += row.size
        if row.session and len(self._sessions) < MAX_SESSIONS:
            self._sessions.add(row.session)
        if row.update:
            self._updates[_known(row.update, self._updates)] += 1
        method = _known(row.method, self._requests)
        if row.kind == "req":
            self._requests[method] += 1
        elif row.pair:
            self._answers[method] += 1
            self._errors[method] += row.kind == "err"
            if len(self._times[method]) < KEPT_TIMES:
                self._times[method].append(row.took)

    def summary(self) -> Summary:
        """What was counted so far."""
        methods = [self._method(method) for method in sorted(self._requests)]
        return Summary(
            sum(self._kinds.values()),
            self._bytes,
            self._seconds,
            self._connections,
            len(self._sessions),
            dict(self._kinds),
            dict(self._updates.most_common()),
            methods,
            self.dropped,
            self.hidden,
        )

    def _method(self, method: str) -> MethodTimes:
        times = sorted(self._times[method])
        requests, answers = self._requests[method], self._answers[method]
        return MethodTimes(
            method,
            requests,
            self._errors[method],
            requests - answers,
            times[len(times) // 2] if times else None,
            times[min(len(times) - 1, len(times) * 95 // 100)] if times else None,
            times[-1] if times else None,
        )


def _known(name: str, counted: Counter[str]) -> str:
    return name if name in counted or len(counted) < MAX_NAMES else "others"
