"""What the pages are told of their agent before it has said a word."""

from dataclasses import dataclass
from typing import Literal

import msgspec

__all__ = ["About", "OtherAgent"]


class OtherAgent(msgspec.Struct, frozen=True):
    """An agent that the same command could start instead."""

    name: str
    state: Literal["settings", "installed", "missing"]


@dataclass(frozen=True, slots=True)
class About:
    """What the pages are told of the agent before it has said a word."""

    name: str = ""
    cwd: str = ""
    writes: bool = True
    inspector: bool = False
    """Whether the inspector is at `/inspect` beside the page."""
    switches: bool = False
    """Whether a person may switch off what the client declares to the agent."""
    off: frozenset[str] = frozenset()
    """What is switched off at first."""
    others: tuple[OtherAgent, ...] = ()
    """Agents that whoever runs the command may start instead."""
    keys: tuple[str, ...] = ()
    """Variables of models that have a value; never the value."""
