"""The results of a check: one for each requirement, and the verdict on all of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from acpella._redact import redact

from .conversation import CheckedFrame
from .requirement import Level, Requirement

__all__ = [
    "COUNTED",
    "OUTCOMES",
    "CannotJudge",
    "Outcome",
    "Report",
    "RequirementResult",
    "counts",
    "shown_frames",
]

Outcome: TypeAlias = Literal["pass", "fail", "not-applicable", "unproved", "unstable", "error"]

OUTCOMES: dict[Outcome, str] = {
    "pass": "it holds",
    "fail": "it does not hold, and the frames show it",
    "not-applicable": "the peer does not offer or do what it is about",
    "unproved": "the peer could not be brought to do what it is about; counts against a must",
    "unstable": "failed once and passed alone",
    "error": "the check itself went wrong",
}

COUNTED: tuple[Level, ...] = ("must", "capability")
"""The levels that decide whether a peer conforms."""

FRAME_LIMIT = 600
"""Characters of a frame that are shown."""


class CannotJudge(Exception):
    """There is nothing to judge: the agent wants a login, or speaks another version."""


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The result for one requirement."""

    requirement: Requirement
    outcome: Outcome
    text: str = ""
    """What is wrong, or why the requirement could not be judged."""
    frames: tuple[str, ...] = ()
    """The frames that show it, as text: `> ` was sent to the agent, `< ` came from it."""
    during: str = ""
    """The scenario that was running when an audit found the problem."""
    seconds: float = 0.0


@dataclass(slots=True)
class Report:
    """All results of a run."""

    target: str
    side: str
    results: list[RequirementResult]
    peer: str = ""
    """Name and version, as the peer says them."""
    transport: str = "stdio"
    seconds: float = 0.0
    set_name: str = ""
    scored: frozenset[str] | None = None
    """The ids of a frozen set; None for all."""
    notes: list[str] = field(default_factory=list[str])
    as_expected: bool = False
    """Whether all that keeps the peer from conforming was expected."""

    def is_scored(self, requirement: Requirement) -> bool:
        """Whether a requirement belongs to the set that was asked for."""
        return self.scored is None or requirement.id in self.scored

    def counts(self, levels: Iterable[Level] | None = None) -> Counter[Outcome]:
        """How often each outcome occurs, of some levels or of all."""
        chosen = None if levels is None else set(levels)
        return Counter(
            result.outcome
            for result in self.results
            if self.is_scored(result.requirement) and (chosen is None or result.requirement.level in chosen)
        )

    def against(self) -> list[RequirementResult]:
        """What keeps the peer from conforming."""
        return [result for result in self.results if self.is_scored(result.requirement) and counts(result)]

    @property
    def conforms(self) -> bool:
        """Whether no must fails, is unproved or went wrong, and no capability fails."""
        return not self.against()


def counts(result: RequirementResult) -> bool:
    """Whether a result keeps a peer from conforming."""
    level, outcome = result.requirement.level, result.outcome
    return (level in COUNTED and outcome == "fail") or (level == "must" and outcome in ("unproved", "error"))


def shown_frames(frames: Sequence[CheckedFrame]) -> tuple[str, ...]:
    """Frames as people read them: the direction, and the message without secrets, shortened."""
    return tuple(_shown(frame) for frame in sorted(frames, key=lambda frame: frame.number))


def _shown(frame: CheckedFrame) -> str:
    if frame.raw is not None and len(frame.raw) < 4 * FRAME_LIMIT:
        text = frame.raw.decode("utf-8", "replace")
    elif frame.message is not None:
        text = msgspec.json.encode(frame.message).decode()
    else:
        text = (frame.raw or b"")[: 2 * FRAME_LIMIT].decode("utf-8", "replace")
    text = redact(text)
    if len(text) > FRAME_LIMIT:
        text = f"{text[: FRAME_LIMIT - 60]} … {text[-40:]}"
    return f"{'>' if frame.way == 'out' else '<'} {text}"
