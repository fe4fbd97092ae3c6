"""A model for tests that works with every framework: what it answers, and what it was shown."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Think:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Wait:
    """From here on, the model never answers."""

    reached: asyncio.Event


Piece: TypeAlias = "str | Think | Call | Wait"


@dataclass
class Seen:
    """What a model was shown in one request."""

    user: list[str] = field(default_factory=list[str])
    """Texts of the user, in order."""
    assistant: list[str] = field(default_factory=list[str])
    """What it said before."""
    calls: list[str] = field(default_factory=list[str])
    """Ids of the calls it made before."""
    results: dict[str, str] = field(default_factory=dict[str, str])
    """Results by call id."""
    tools: list[str] = field(default_factory=list[str])
    images: list[str] = field(default_factory=list[str])
    """Media types of the images."""
    model: str = ""

    @property
    def dangling(self) -> list[str]:
        """Calls without a result, for which providers refuse the request."""
        return [call for call in self.calls if call not in self.results]


Step: TypeAlias = "Sequence[Piece] | Callable[[Seen], Sequence[Piece]]"


class Script:
    """What the model answers, request by request; after the last step it repeats all that the user said."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.seen: list[Seen] = []

    def next(self, seen: Seen) -> Sequence[Piece]:
        self.seen.append(seen)
        assert not seen.dangling, f"a provider would refuse this: no results for {seen.dangling}"
        if not self.steps:
            return ["You said: ", " | ".join(seen.user)]
        step = self.steps.pop(0)
        return step(seen) if callable(step) else step
