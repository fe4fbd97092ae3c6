"""The lines of a recording in format 2, which `docs/reference/recordings.md` describes."""

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

__all__ = [
    "FORMAT",
    "SNAPSHOT",
    "Begin",
    "Damaged",
    "Direction",
    "Item",
    "Point",
    "RecordedEvent",
    "RecordedFrame",
    "new_header",
]

FORMAT = 2
"""The version in the first line. It changes only when older readers would misread the file."""

NOTE = "may hold prompts and file contents"

Direction: TypeAlias = Literal["in", "out", "err"]
"""As the client sees it: `in` came from the agent, `out` went to it, `err` is the agent's stderr."""

Point: TypeAlias = Literal["client", "tap", "server", "converted"]
"""Where it was recorded."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The first line of a connection."""

    version: int
    info: dict[str, Any]
    """All its fields: `id`, `started`, `by`, `point`, `agent`, `redacted`, and what later versions add."""
    line: int = 0


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """One message, or one line that was not a message."""

    time: float
    """Seconds since the connection was opened."""
    direction: Direction
    message: Any
    """The message as JSON values; a str for a line that was not a message, bytes for other data."""
    raw: str | None = None
    """The line itself, if the values do not hold all of it: a key that occurs twice, a number too large."""
    number: int = 0
    """Counted from 1 in each connection; 0 in format 1."""
    line: int = 0
    """The number of the line in the file."""
    info: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further fields: `cut`, `c`, `from`, `to`."""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """Something that was not on the wire: a decision, a gap, the end."""

    name: str
    info: dict[str, Any]
    time: float = 0.0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line that cannot be read."""

    reason: str
    line: int


SNAPSHOT = "a snapshot of a test"
"""The note in the first line of a snapshot, which has no last line."""

Item: TypeAlias = Begin | RecordedFrame | RecordedEvent | Damaged


def new_header(point: Point, agent: dict[str, Any], *, redacted: str) -> dict[str, Any]:
    """The first line of a connection that begins now."""
    from acpella._version import __version__

    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "acpella": FORMAT,
        "id": _new_id(),
        "started": started,
        "by": f"acpella {__version__}",
        "point": point,
        "agent": agent,
        "redacted": redacted,
        "note": NOTE,
    }


def _new_id() -> str:
    """A ULID: sortable by time, and unique."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10))
    return "".join(
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number >> 5 * place & 31] for place in reversed(range(26))
    )
