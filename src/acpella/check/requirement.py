"""What is required of an agent or a client: one observable fact each, beside the code that judges it.

An `Area` is a topic. Its decorators declare a requirement; the docstring of the function is its sentence:

    AREA = Area("cancel", "agent", "Cancelling", page="prompt-turn")

    @AREA.audit("no-late-updates", rule="R-212", level="must", on=("update",))
    def late(frame: CheckedFrame, talk: CheckedConversation) -> Verdict: ...

An *audit* looks at each frame of a conversation, live or recorded, and has no side effects. A *scenario*
drives the peer.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from .conversation import CheckedFrame

__all__ = [
    "LEVELS",
    "OK",
    "Area",
    "Audit",
    "Connection",
    "Level",
    "Problem",
    "Requirement",
    "Scenario",
    "Side",
    "Transport",
    "Verdict",
]

Level: TypeAlias = Literal["must", "capability", "should", "robust", "info"]
Side: TypeAlias = Literal["agent", "client"]
Transport: TypeAlias = Literal["stdio", "http", "websocket"]
Connection: TypeAlias = Literal["shared", "rough", "fresh", "raw"]

LEVELS: dict[Level, str] = {
    "must": "holds for everybody",
    "capability": "holds for whoever offers it or does it at all",
    "should": "recommended by the protocol",
    "robust": "not written in the protocol; peers that live do it",
    "info": "shown, never counted",
}

PAGES = "https://agentclientprotocol.com/protocol/v1/"
DRAFTS = "https://agentclientprotocol.com/rfds/"

OK: Literal[True] = True
"""The verdict of an audit that looked, and found nothing wrong."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and the frames that show it. The frame being judged is always added to them."""

    text: str
    frames: tuple["CheckedFrame", ...] = ()


Verdict: TypeAlias = "Literal[True] | str | Problem | None"
"""None: the requirement does not apply to this frame. `OK`: it holds here. Anything else: what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One fact that can be seen from outside."""

    id: str
    side: Side
    area: str
    rule: str
    """The id of a rule in docs/reference/protocol-rules.md."""
    level: Level
    text: str
    link: str
    tck: str = ""
    """The id that the protocol's own test kit has for it."""
    since: int = 1
    until: int | None = None
    """Protocol versions."""
    transports: tuple[Transport, ...] = ("stdio", "http", "websocket")
    needs: tuple[str, ...] = ()
    """Kinds of prompts that the profile must have."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A requirement that is judged by reading the conversation."""

    requirement: Requirement
    on: tuple[str, ...]
    """Which frames it looks at; `CheckedFrame.keys` lists the words. Empty: the end of the conversation."""
    judge: Callable[..., Verdict]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A requirement that is judged by driving the peer."""

    requirement: Requirement
    drive: Callable[[Any], Awaitable[None]]
    connection: Connection
    """`shared` with others, `rough` (shared with others that send garbage), `fresh`, or `raw`: fresh, and not
    even initialized."""


@dataclass
class Area:
    """A topic: requirements and the code that judges them."""

    name: str
    side: Side
    title: str
    page: str
    audits: list[Audit] = field(default_factory=list[Audit])
    scenarios: list[Scenario] = field(default_factory=list[Scenario])

    @property
    def requirements(self) -> list[Requirement]:
        """All requirements of the topic, in the order in which they were declared."""
        return [each.requirement for each in (*self.audits, *self.scenarios)]

    def audit(
        self, name: str, *, rule: str, level: Level, on: Iterable[str], **more: Any
    ) -> Callable[[Callable[..., Verdict]], Callable[..., Verdict]]:
        """Declare a requirement that the decorated `(frame, talk)` judges; `(talk)` for the end."""

        def declare(judge: Callable[..., Verdict]) -> Callable[..., Verdict]:
            requirement = self._require(name, rule, level, judge, more)
            self.audits.append(Audit(requirement, tuple(on), judge))
            return judge

        return declare

    def scenario(
        self, name: str, *, rule: str, level: Level, connection: Connection = "shared", **more: Any
    ) -> Callable[[Callable[[Any], Awaitable[None]]], Callable[[Any], Awaitable[None]]]:
        """Declare a requirement that the decorated coroutine function judges by driving the peer."""

        def declare(drive: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
            requirement = self._require(name, rule, level, drive, more)
            self.scenarios.append(Scenario(requirement, drive, connection))
            return drive

        return declare

    def _require(
        self, name: str, rule: str, level: Level, judge: Callable[..., Any], more: dict[str, Any]
    ) -> Requirement:
        page = more.pop("page", self.page)
        link = page if "://" in page else (DRAFTS + page[5:] if page.startswith("rfds/") else PAGES + page)
        prefix = "client." if self.side == "client" else ""
        text = more.pop("text", None) or inspect.getdoc(judge) or ""
        return Requirement(
            id=f"{prefix}{self.name}.{name}",
            side=self.side,
            area=self.name,
            rule=rule,
            level=level,
            text=" ".join(text.split()),
            link=link,
            **more,
        )
