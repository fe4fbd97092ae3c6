"""A recorded conversation as exchanges: what the client asked for, and all that the agent did about it."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..format import Frame
from ..shape import Difference, differences, kind_of, session_of, shape, without_volatile

__all__ = ["Answer", "CancelPoint", "Exchange", "Match", "NoMatch", "Say", "Script", "Step"]

Match: TypeAlias = Literal["exact", "shape", "order"]
"""How a request is found: by all its parameters, by those that mean something, or by its method alone."""


@dataclass(frozen=True, slots=True)
class Say:
    """The agent sends this."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent waits for the client's answer to a request of its own, and got this one."""

    id: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class CancelPoint:
    """The client cancelled the turn here."""

    frame: Frame


Step: TypeAlias = Say | Answer | CancelPoint


@dataclass(eq=False, slots=True)
class Exchange:
    """A request of the client, and what followed from it in the order in which it happened."""

    request: Frame
    session: str | None
    steps: list[Step] = field(default_factory=list["Step"])
    answered: bool = False
    used: bool = False

    @property
    def method(self) -> str:
        return str(self.request.message["method"])

    @property
    def params(self) -> Any:
        return self.request.message.get("params", {})


class NoMatch(Exception):
    """A request that was not recorded, or not in this way."""

    def __init__(self, text: str, nearest: "Exchange | None" = None) -> None:
        super().__init__(text)
        self.nearest = nearest


class Script:
    """The exchanges of a recording, to be found by the requests of another client."""

    def __init__(self, conversation: list[Frame]) -> None:
        self.prelude: list[Frame] = []
        """What the agent wrote before it was asked for anything."""
        self.exchanges: list[Exchange] = []
        self._open: dict[str, Exchange] = {}
        self._owners: dict[str, Exchange] = {}  # of the agent's requests
        for frame in conversation:
            if frame.direction == "out":
                self._client_said(frame)
            elif frame.direction == "in":
                self._agent_said(frame)

    # -- building ----------------------------------------------------------------------------

    def _client_said(self, frame: Frame) -> None:
        kind = kind_of(frame.message)
        if kind == "request":
            exchange = Exchange(frame, session_of(frame.message))
            self.exchanges.append(exchange)
            self._open[repr(frame.message["id"])] = exchange
        elif kind in ("response", "error"):
            if (owner := self._owners.pop(repr(frame.message["id"]), None)) is not None:
                owner.steps.append(Answer(repr(frame.message["id"]), frame))
        elif kind == "notification" and frame.message["method"] == "session/cancel":
            session = session_of(frame.message)
            for exchange in self._open.values():
                if exchange.method == "session/prompt" and exchange.session == session:
                    exchange.steps.append(CancelPoint(frame))

    def _agent_said(self, frame: Frame) -> None:
        kind = kind_of(frame.message)
        if kind in ("response", "error"):
            exchange = self._open.pop(repr(frame.message["id"]), None)
            if exchange is not None:
                exchange.answered = True
                exchange.session = exchange.session or session_of(frame.message)
                exchange.steps.append(Say(frame))
                return
        exchange = self._cause(session_of(frame.message))
        if exchange is None:
            self.prelude.append(frame)
            return
        exchange.steps.append(Say(frame))
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
        """The exchange that a request of now begins; its session and parameters as they were recorded.

        Raises:
            NoMatch: there is none; says which one is nearest and where it differs.
        """
        same = [e for e in self.exchanges if e.method == method and _fits(e, session)]
        free = [e for e in same if not e.used]
        if how == "exact":
            found = next((e for e in free if not differences(e.params, params)), None)
        else:
            wanted = shape(params)
            found = next((e for e in free if shape(e.params) == wanted), None) if how == "shape" else None
            found = found or next(iter(free), None)
        if found is None:
            raise self._no_match(method, params, same, free, how)
        found.used = True
        return found

    def _no_match(
        self, method: str, params: Any, same: list[Exchange], free: list[Exchange], how: Match
    ) -> NoMatch:
        if not same:
            known = ", ".join(dict.fromkeys(e.method for e in self.exchanges)) or "nothing"
            return NoMatch(f"the recording has no `{method}` in this session; it has {known}")
        if not free:
            times = "once" if len(same) == 1 else f"{len(same)} times"
            return NoMatch(f"the recording has `{method}` {times}, and this is one more", same[-1])

        def compare(exchange: Exchange) -> list[Difference]:
            if how == "exact":
                return differences(exchange.params, params)
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
    """Requests that open a session are found whatever it is called."""
    asked = session_of(exchange.request.message)
    return (
        asked is None
        or asked == session
        or exchange.method in ("session/load", "session/resume", "session/fork")
    )
