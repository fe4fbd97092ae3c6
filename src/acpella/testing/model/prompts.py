"""What a model is asked and what it answers, independent of any provider's format."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, TypeAlias

__all__ = [
    "TICK_SECONDS",
    "Json",
    "ModelAnswer",
    "ModelPrompt",
    "OfferedTool",
    "Pause",
    "ServerEvent",
    "ToolUse",
    "WireShape",
    "answer_numbers",
]

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

ServerEvent: TypeAlias = "tuple[str, Json | str]"
"""The name of a server-sent event (empty: none) and its data."""

Pause: TypeAlias = Callable[[float], object]
"""Waits for some seconds; raises ConnectionAbortedError if the server ends meanwhile."""

answer_numbers: "count[int]" = count(1)
"""Makes ids unique: agents take two answers with the same id for parts of one answer."""

TICK_SECONDS = 0.05
"""How long a slow answer waits before each word."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the agent offers to the model."""

    name: str
    schema: Mapping[str, Any]
    """The JSON schema of its arguments."""
    freeform: bool = False
    """It takes plain text instead of JSON, as Codex's `apply_patch` does."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model's request to use a tool."""

    id: str
    name: str
    arguments: Json | str


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """The end of a conversation, as the model sees it."""

    model: str
    said: str
    """The last words of the user, without what the agent added to them."""
    results: Sequence[str] = ()
    """What the tools returned since then."""
    tools: Sequence[OfferedTool] = ()


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model does next: it thinks, speaks, uses a tool, or fails."""

    text: str = ""
    thought: str = ""
    use: ToolUse | None = None
    seconds: float = 0.0
    """How long it counts aloud before `text`."""
    status: int = 200
    """Any other HTTP status is a failure, and `text` says why."""
    pause: Pause = field(default=time.sleep, repr=False, compare=False)
    """How to wait; the server sets this."""

    @property
    def speaks(self) -> bool:
        """Whether it says anything."""
        return bool(self.text or self.seconds)

    def words(self) -> Iterator[str]:
        """The text in pieces, after the numbers of a slow answer."""
        for number in range(round(self.seconds / TICK_SECONDS)):
            self.pause(TICK_SECONDS)
            yield f"{number} "
        yield from re.findall(r"\s*\S+\s*", self.text)


class WireShape(Protocol):
    """How one provider writes prompts and answers."""

    prompt: ModelPrompt
    streamed: bool

    def stream(self, answer: ModelAnswer) -> Iterator[ServerEvent]:
        """The answer in events."""
        ...

    def whole(self, answer: ModelAnswer) -> Json:
        """The answer as one object."""
        ...
