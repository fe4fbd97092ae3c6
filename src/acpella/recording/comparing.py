"""Compares two recordings: what happened, in which order, with which fields, texts and times.

Both are read as streams. Only a window of each is held, and the first differences of each kind.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from typing import Any, NamedTuple

from acpella._counted import counted
from acpella._plain_json import as_dict

from .format import RecordedFrame
from .shape import Difference, differences, kind_of, session_of, update_kind, without_volatile

__all__ = ["Comparison", "Step", "compare"]

WINDOW = 1000
"""How many steps of each side are searched for the place where both are alike again. The time grows with its
square."""

KEPT = 1000
"""Differences of a kind that are kept. Without a limit, recordings that differ everywhere fill the memory."""

TEXT_SIZE = 256 * 1024
"""Characters of a streamed text that are compared at once; longer texts are cut every so many characters."""

_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")

_SHOWN_FIELDS = 20
_SHOWN_LINES = 40


class Step(NamedTuple):
    """A message as it is compared; chunks of one text are one step."""

    direction: str
    kind: str
    what: str
    """The method, and for an update its kind."""
    body: Any
    text: str | None
    line: int
    time: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.direction, self.kind, self.what

    def __str__(self) -> str:
        return f"{'→' if self.direction == 'out' else '←'} {self.kind} {self.what}".rstrip()

    def without_body(self) -> "Step":
        """A copy with just enough to name the step."""
        return self._replace(body=None, text=None)


@dataclass(slots=True)
class Comparison:
    """What two recordings do not have in common."""

    capabilities: list[Difference] = field(default_factory=list[Difference])
    missing: list[Step] = field(default_factory=list[Step])
    """Only in the first."""
    added: list[Step] = field(default_factory=list[Step])
    """Only in the second."""
    fields: list[tuple[Step, Step, list[Difference]]] = field(
        default_factory=list[tuple[Step, Step, list[Difference]]]
    )
    texts: list[tuple[Step, Step, list[str]]] = field(default_factory=list[tuple[Step, Step, list[str]]])
    times: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    """For each request in both: its method, and how many seconds the answer took."""
    more: int = 0
    """Differences beyond those that are kept."""

    @property
    def same(self) -> bool:
        """Whether both say the same. Times do not count."""
        return not (self.capabilities or self.missing or self.added or self.fields or self.texts)

    def lines(self) -> Iterator[str]:
        """The differences, for people; times are left out."""
        if self.capabilities:
            yield "capabilities"
            yield from (f"  {difference}" for difference in self.capabilities)
        if self.missing or self.added:
            yield "messages"
            yield from (f"  - {step}  (line {step.line})" for step in self.missing)
            yield from (f"  + {step}  (line {step.line})" for step in self.added)
        if self.fields:
            yield "fields"
            for one, other, changes in self.fields:
                yield f"  {one}  (lines {one.line} and {other.line})"
                yield from (f"    {difference}" for difference in changes)
        if self.texts:
            yield "texts"
            for one, other, changed in self.texts:
                yield f"  {one}  (lines {one.line} and {other.line})"
                yield from (f"    {line}" for line in changed)
        if self.more:
            yield f"and {counted(self.more, 'more difference')}"

    def keep(self, items: list[Any], item: Any) -> None:
        """Add a difference to one of the lists, or count it."""
        if len(items) < KEPT:
            items.append(item)
        else:
            self.more += 1


def compare(left: Iterable[RecordedFrame], right: Iterable[RecordedFrame]) -> Comparison:
    """Compare two conversations."""
    ones, others = _Side(left), _Side(right)
    result = Comparison()
    while True:
        while (one := ones.head()) is not None and (other := others.head()) is not None:
            if one.key != other.key:
                break
            _compare_step(one, other, result)
            ones.drop(1)
            others.drop(1)
        if ones.head() is None or others.head() is None:
            break
        _compare_window(ones, others, result)
    for side, messages in ((ones, result.missing), (others, result.added)):
        while (step := side.head()) is not None:
            result.keep(messages, step.without_body())
            side.drop(1)
    result.times = [
        (m, a, b) for (m, a), (n, b) in zip(ones.latencies, others.latencies, strict=False) if m == n
    ]
    return result


def _compare_window(ones: "_Side", others: "_Side", result: Comparison) -> None:
    """The two differ from here on: find the place where they are alike again."""
    some, more = ones.window(), others.window()
    matcher = SequenceMatcher(None, [s.key for s in some], [s.key for s in more], autojunk=False)
    blocks = matcher.get_matching_blocks()[:-1]
    whole = len(some) < WINDOW and len(more) < WINDOW  # there is nothing beyond the windows
    end, other_end = len(some), len(more)
    if blocks and not whole:
        # the rest may find its match in the next window
        end, other_end = blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        if start >= end and other_start >= other_end:
            break
        if tag == "equal":
            for one, other in zip(some[start:stop], more[other_start:other_stop], strict=True):
                _compare_step(one, other, result)
        else:
            for step in some[start:stop]:
                result.keep(result.missing, step.without_body())
            for step in more[other_start:other_stop]:
                result.keep(result.added, step.without_body())
    ones.drop(end)
    others.drop(other_end)


def _compare_step(one: Step, other: Step, result: Comparison) -> None:
    if one.text is not None and other.text is not None:
        if one.text != other.text:
            lines = unified_diff(one.text.splitlines(), other.text.splitlines(), lineterm="", n=1)
            excerpt = list(lines)[2 : 2 + _SHOWN_LINES]
            result.keep(result.texts, (one.without_body(), other.without_body(), excerpt))
        return
    if one.body == other.body:
        return
    fields = differences(without_volatile(one.body), without_volatile(other.body))
    if not fields:
        return
    if one.what == "initialize":
        result.capabilities += fields
    else:
        excerpt = fields[:_SHOWN_FIELDS]
        result.keep(result.fields, (one.without_body(), other.without_body(), excerpt))


class _Side:
    """The steps of one recording, read only as they are needed."""

    def __init__(self, frames: Iterable[RecordedFrame]) -> None:
        self.latencies: list[tuple[str, float]] = []
        """For each answered request of the client: its method, and the seconds until the answer."""
        self._steps = self._read(frames)
        self._ahead: deque[Step] = deque()

    def head(self) -> Step | None:
        """The next step; None at the end."""
        self._look_ahead(1)
        return self._ahead[0] if self._ahead else None

    def window(self) -> list[Step]:
        """The next steps."""
        self._look_ahead(WINDOW)
        return list(self._ahead)

    def drop(self, number: int) -> None:
        for _ in range(number):
            self._ahead.popleft()

    def _look_ahead(self, number: int) -> None:
        while len(self._ahead) < number:
            step = next(self._steps, None)
            if step is None:
                return
            self._ahead.append(step)

    def _read(self, frames: Iterable[RecordedFrame]) -> Iterator[Step]:
        text: _Text | None = None
        for step, session in self._messages(frames):
            if text is not None and not text.goes_on_with(step, session):
                yield text.rest()
                text = None
            if step.text is None:
                yield step
            else:
                text = text or _Text(step, session)
                yield from text.add(step.text)
        if text is not None:
            yield text.rest()

    def _messages(self, frames: Iterable[RecordedFrame]) -> Iterator[tuple[Step, str | None]]:
        requests: dict[tuple[str, str], tuple[str, float]] = {}
        for frame in frames:
            if frame.direction == "err":
                continue
            kind = kind_of(frame.message)
            message = as_dict(frame.message)
            if kind in ("request", "notification"):
                what, body = str(message["method"]), message.get("params")
                if kind == "request":
                    requests[frame.direction, repr(message["id"])] = what, frame.time
            elif kind in ("response", "error"):
                asker = "out" if frame.direction == "in" else "in"
                what, since = requests.pop((asker, repr(message["id"])), ("to nobody", None))
                if asker == "out" and since is not None:
                    self.latencies.append((what, frame.time - since))
                body = message.get("result" if kind == "response" else "error")
            else:
                what, body = "", frame.message if isinstance(frame.message, str) else repr(frame.message)
            text = None
            if chunk := update_kind(message):
                what = f"{what} {chunk}"
                content = as_dict(as_dict(as_dict(message.get("params")).get("update")).get("content"))
                words = content.get("text")
                text = words if chunk in _CHUNKS and isinstance(words, str) else None
            yield Step(frame.direction, kind, what, body, text, frame.line, frame.time), session_of(message)


class _Text:
    """A text that arrives in pieces, cut into steps whose size does not depend on the pieces."""

    def __init__(self, first: Step, session: str | None) -> None:
        self._first = first
        self._session = session
        self._pieces: list[str] = []
        self._size = 0

    def goes_on_with(self, step: Step, session: str | None) -> bool:
        return step.text is not None and step.what == self._first.what and session == self._session

    def add(self, text: str) -> Iterator[Step]:
        """Add a piece; yields the steps that it completes."""
        self._pieces.append(text)
        self._size += len(text)
        while self._size > TEXT_SIZE:
            whole = "".join(self._pieces)
            yield self._first._replace(text=whole[:TEXT_SIZE])
            self._pieces = [whole[TEXT_SIZE:]]
            self._size = len(self._pieces[0])

    def rest(self) -> Step:
        return self._first._replace(text="".join(self._pieces))
