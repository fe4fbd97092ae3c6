"""Compares two recordings: what happened, in which order, with which fields, texts and times."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from typing import Any, NamedTuple

from acpella._plain_json import as_dict

from .format import Frame
from .shape import Difference, differences, kind_of, session_of, update_kind, without_volatile

__all__ = ["Comparison", "Step", "compare"]

_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")

_SHOWN_FIELDS = 20
_SHOWN_LINES = 40


class Step(NamedTuple):
    """A message as it is compared; chunks of one text are one step."""

    direction: str
    kind: str
    what: str
    """Its method, and the kind of update."""
    body: Any
    text: str | None
    line: int
    time: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.direction, self.kind, self.what

    def __str__(self) -> str:
        return f"{'→' if self.direction == 'out' else '←'} {self.kind} {self.what}".rstrip()


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

    @property
    def same(self) -> bool:
        """Whether both say the same. Times do not count."""
        return not (self.capabilities or self.missing or self.added or self.fields or self.texts)

    def lines(self) -> Iterator[str]:
        """What differs, for people; how long it took is left out."""
        if self.capabilities:
            yield "capabilities"
            yield from (f"  {difference}" for difference in self.capabilities)
        if self.missing or self.added:
            yield "messages"
            yield from (f"  - {step}  (line {step.line})" for step in self.missing)
            yield from (f"  + {step}  (line {step.line})" for step in self.added)
        if self.fields:
            yield "fields"
            for one, other, found in self.fields:
                yield f"  {one}  (lines {one.line} and {other.line})"
                yield from (f"    {difference}" for difference in found[:_SHOWN_FIELDS])
        if self.texts:
            yield "texts"
            for one, other, changed in self.texts:
                yield f"  {one}  (lines {one.line} and {other.line})"
                yield from (f"    {line}" for line in changed[:_SHOWN_LINES])


def compare(left: Sequence[Frame], right: Sequence[Frame]) -> Comparison:
    """Compare two conversations."""
    ones, others = _steps(left), _steps(right)
    result = Comparison()
    matcher = SequenceMatcher(None, [s.key for s in ones], [s.key for s in others], autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(ones[start:end], others[other_start:other_end], strict=True):
                _compare_step(one, other, result)
        else:
            result.missing += ones[start:end]
            result.added += others[other_start:other_end]
    slow, slow_now = _latencies(left), _latencies(right)
    result.times = [(m, a, b) for (m, a), (n, b) in zip(slow, slow_now, strict=False) if m == n]
    return result


def _compare_step(one: Step, other: Step, result: Comparison) -> None:
    if one.text is not None and other.text is not None:
        if one.text != other.text:
            lines = unified_diff(one.text.splitlines(), other.text.splitlines(), lineterm="", n=1)
            result.texts.append((one, other, list(lines)[2:]))
        return
    found = differences(without_volatile(one.body), without_volatile(other.body))
    if not found:
        return
    if one.what == "initialize":
        result.capabilities += found
    else:
        result.fields.append((one, other, found))


def _steps(frames: Iterable[Frame]) -> list[Step]:
    steps: list[Step] = []
    methods: dict[tuple[str, str], str] = {}
    open_text: tuple[str, str | None] | None = None
    for frame in frames:
        if frame.direction == "err":
            continue
        kind = kind_of(frame.message)
        message = as_dict(frame.message)
        if kind in ("request", "notification"):
            what, body = str(message["method"]), message.get("params")
            if kind == "request":
                methods[frame.direction, repr(message["id"])] = what
        elif kind in ("response", "error"):
            asker = "out" if frame.direction == "in" else "in"
            what = methods.pop((asker, repr(message["id"])), "to nobody")
            body = message.get("result" if kind == "response" else "error")
        else:
            what, body = "", frame.message if isinstance(frame.message, str) else repr(frame.message)
        text = None
        if chunk := update_kind(message):
            what = f"{what} {chunk}"
            said = as_dict(as_dict(as_dict(message.get("params")).get("update")).get("content")).get("text")
            text = said if chunk in _CHUNKS and isinstance(said, str) else None
        place = (what, session_of(message)) if text is not None else None
        if place is not None and place == open_text and steps[-1].text is not None and text is not None:
            steps[-1] = steps[-1]._replace(text=steps[-1].text + text)
        else:
            steps.append(Step(frame.direction, kind, what, body, text, frame.line, frame.time))
        open_text = place
    return steps


def _latencies(frames: Iterable[Frame]) -> list[tuple[str, float]]:
    asked: dict[tuple[str, str], tuple[str, float]] = {}
    found: list[tuple[str, float]] = []
    for frame in frames:
        kind = kind_of(frame.message)
        if kind == "request" and frame.direction == "out":
            asked["out", repr(frame.message["id"])] = frame.message["method"], frame.time
        elif kind in ("response", "error") and frame.direction == "in":
            method, since = asked.pop(("out", repr(frame.message["id"])), ("", 0.0))
            if method:
                found.append((method, frame.time - since))
    return found
