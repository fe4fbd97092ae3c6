"""A recorded conversation as exchanges: a request of the client, and everything the agent did in response."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from ..format import RecordedFrame
from ..shape import Difference, differences, kind_of, session_of, shape, without_volatile
from .mapping import name_home

__all__ = [
    "Answer",
    "CancelPoint",
    "Exchange",
    "Match",
    "NoMatch",
    "RecordedScript",
    "Say",
    "Step",
    "Steps",
    "digest",
]

Match: TypeAlias = Literal["exact", "shape", "order"]
"""How a request is found: by all its parameters; by those that do not change from run to run, else by its
method; or by its method alone."""


@dataclass(frozen=True, slots=True)
class Say:
    """The agent sends this."""

    frame: RecordedFrame


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent waits for the client's answer to one of its own requests; this is the recorded answer."""

    id: str
    frame: RecordedFrame


@dataclass(frozen=True, slots=True)
class CancelPoint:
    """The client cancelled the turn here."""

    frame: RecordedFrame


Step: TypeAlias = Say | Answer | CancelPoint


class Steps:
    """What happened in an exchange, as positions in the conversation; a step is built when it is needed."""

    def __init__(self, frames: Sequence[RecordedFrame]) -> None:
        self._frames = frames
        self._runs: list[range] = []  # as ranges, because most steps follow one another

    def add(self, place: int) -> None:
        if self._runs and self._runs[-1].stop == place:
            self._runs[-1] = range(self._runs[-1].start, place + 1)
        else:
            self._runs.append(range(place, place + 1))

    def __iter__(self) -> Iterator[Step]:
        return self.after(-1)

    def after(self, place: int) -> Iterator[Step]:
        """The steps after a position in the conversation."""
        for run in self._runs:
            for each in range(max(run.start, place + 1), run.stop):
                yield self._step(self._frames[each])

    def places(self) -> Iterator[tuple[int, Step]]:
        """The steps, each with its position in the conversation."""
        for run in self._runs:
            for each in run:
                yield each, self._step(self._frames[each])

    @staticmethod
    def _step(frame: RecordedFrame) -> Step:
        if frame.direction == "in":
            return Say(frame)
        if kind_of(frame.message) in ("response", "error"):
            return Answer(repr(frame.message["id"]), frame)
        return CancelPoint(frame)


class Exchange:
    """A request of the client, and what followed from it in the order in which it happened."""

    def __init__(self, frames: Sequence[RecordedFrame], place: int, request: RecordedFrame) -> None:
        self._frames = frames
        self._place = place
        self._digest: bytes | None = None
        self.method: str = str(request.message["method"])
        self.asked_session: str | None = session_of(request.message)
        """The session that the request names."""
        self.session: str | None = self.asked_session
        """The session that the exchange is about; for one that it creates, the id comes from the answer."""
        self.steps: Steps = Steps(frames)
        self.cancelled = False
        self.answered = False
        self.used = False

    @property
    def request(self) -> RecordedFrame:
        return self._frames[self._place]

    @property
    def params(self) -> Any:
        return self.request.message.get("params", {})

    @property
    def digest(self) -> bytes:
        """The digest of the shape of the parameters."""
        if self._digest is None:
            self._digest = digest(self.params)
        return self._digest


def digest(params: Any) -> bytes:
    """A few bytes that are equal for parameters with the same meaning."""
    return sha256(shape(name_home(params))).digest()


class NoMatch(Exception):
    """A request was not recorded, or not with these parameters."""

    def __init__(self, text: str, nearest: "Exchange | None" = None) -> None:
        super().__init__(text)
        self.nearest = nearest


class RecordedScript:
    """The exchanges of a recording, to be found by the requests of another client."""

    def __init__(self, conversation: Sequence[RecordedFrame]) -> None:
        self.prelude: Steps = Steps(conversation)
        """What the agent wrote before it was asked for anything."""
        self.exchanges: list[Exchange] = []
        self._frames = conversation
        self._open: dict[str, Exchange] = {}
        self._owners: dict[str, Exchange] = {}  # by the ids of the agent's requests
        for place, frame in enumerate(conversation):
            if frame.direction == "out":
                self._client_said(place, frame)
            elif frame.direction == "in":
                self._agent_said(place, frame)

    # -- building ----------------------------------------------------------------------------

    def _client_said(self, place: int, frame: RecordedFrame) -> None:
        kind = kind_of(frame.message)
        if kind == "request":
            exchange = Exchange(self._frames, place, frame)
            self.exchanges.append(exchange)
            self._open[repr(frame.message["id"])] = exchange
        elif kind in ("response", "error"):
            if (owner := self._owners.pop(repr(frame.message["id"]), None)) is not None:
                owner.steps.add(place)
        elif kind == "notification" and frame.message["method"] == "session/cancel":
            session = session_of(frame.message)
            for exchange in self._open.values():
                if exchange.method == "session/prompt" and exchange.session == session:
                    exchange.cancelled = True
                    exchange.steps.add(place)

    def _agent_said(self, place: int, frame: RecordedFrame) -> None:
        kind = kind_of(frame.message)
        if kind in ("response", "error"):
            exchange = self._open.pop(repr(frame.message["id"]), None)
            if exchange is not None:
                exchange.answered = True
                exchange.session = exchange.session or session_of(frame.message)
                exchange.steps.add(place)
                return
        exchange = self._cause(session_of(frame.message))
        if exchange is None:
            self.prelude.add(place)
            return
        exchange.steps.add(place)
        if kind == "request":
            self._owners[repr(frame.message["id"])] = exchange

    def _cause(self, session: str | None) -> Exchange | None:
        """The request that the agent was busy with: one of the same session, if there is one."""
        pending = list(self._open.values())
        for among in (pending, self.exchanges):
            for exchange in reversed(among):
                if session is not None and exchange.session == session:
                    return exchange
        return (pending or self.exchanges or [None])[-1]

    # -- finding -----------------------------------------------------------------------------

    def find(self, method: str, params: Any, session: str | None, how: Match) -> Exchange:
        """The exchange for a new request, whose session and parameters are given in terms of the recording.

        Raises:
            NoMatch: there is none; the message says which one is nearest and where it differs.
        """
        same = [e for e in self.exchanges if e.method == method and _fits(e, session)]
        free = [e for e in same if not e.used]
        if how == "exact":
            exchange = next(
                (e for e in free if not differences(name_home(e.params), name_home(params))), None
            )
        else:
            params_digest = digest(params)
            exchange = next((e for e in free if e.digest == params_digest), None) if how == "shape" else None
            exchange = exchange or next(iter(free), None)
        if exchange is None:
            raise self._no_match(method, params, same, free, how)
        exchange.used = True
        return exchange

    def _no_match(
        self, method: str, params: Any, same: list[Exchange], free: list[Exchange], how: Match
    ) -> NoMatch:
        if not same:
            method_names = ", ".join(dict.fromkeys(e.method for e in self.exchanges)) or "nothing"
            return NoMatch(f"the recording has no `{method}` in this session; it has {method_names}")
        if not free:
            times = "once" if len(same) == 1 else f"{len(same)} times"
            return NoMatch(f"the recording has `{method}` {times}, and this is one more", same[-1])

        def compare(exchange: Exchange) -> list[Difference]:
            if how == "exact":
                return differences(name_home(exchange.params), name_home(params))
            return differences(without_volatile(exchange.params), without_volatile(params))

        nearest = min(free, key=lambda exchange: len(compare(exchange)))
        fields = compare(nearest)[:20]
        listed = "".join(f"\n  {difference}" for difference in fields)
        return NoMatch(
            f"the recording has no `{method}` with these parameters; the nearest is "
            f"line {nearest.request.line} (recorded ≠ now):{listed}",
            nearest,
        )


def _fits(exchange: Exchange, session: str | None) -> bool:
    """Whether an exchange is for this session. Requests that open a stored session fit any session id."""
    return exchange.asked_session in (None, session) or exchange.method in (
        "session/load",
        "session/resume",
        "session/fork",
    )
