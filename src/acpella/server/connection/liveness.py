"""Decides, on every tick, whether a connection should stay open: from values and a given time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from acpella.server.settings import ServerSettings

from .close_codes import CloseCode
from .profile import Profile

__all__ = ["NOT_READING", "Action", "Circumstances", "Liveness", "LivenessEnd"]

LAST_WORDS = 30.0
"""Seconds that the streams of an agent that died can still be read."""

UNUSED = 60.0
"""Seconds that a connection is kept whose client has done nothing but initialize."""

GONE_SECONDS = 5.0
"""Seconds that questions stay open whose client cannot come back for them: it may open its session on another
connection, which asks again."""


@dataclass(frozen=True, slots=True)
class LivenessEnd:
    """The connection is to be closed."""

    reason: str
    code: int = CloseCode.ENDED
    """As a WebSocket is closed."""
    abort: bool = False
    """The client would not read that it is over."""


NOT_READING = "the client reads nothing"

Action: TypeAlias = LivenessEnd | Literal["forget", "hang up", "cancel questions"] | None
"""`forget`: it was closed, and nobody will read the rest. `hang up`: the client reads nothing, but it may
come back for what it missed."""


class Circumstances(NamedTuple):
    """What a connection looks like now."""

    readers: int
    """Streams and sockets that are open."""
    closed: bool
    resumable: bool
    """The client confirms what it gets, so it can always come back."""
    buffered: int
    behind: int
    """Of the readers, those for whom the agent waits."""
    pending: int
    """Requests that the agent has to answer."""
    questions: int
    """Requests that the client has to answer."""
    draining: bool
    """The server is stopping."""


class Liveness:
    """Remembers when a client was last there, and decides when that is too long ago."""

    def __init__(self, profile: Profile, settings: ServerSettings, *, now: float) -> None:
        self._profile = profile
        self._settings = settings
        self.last_seen: float = now
        self._used = False  # after initialize
        self._greeted_at: float | None = None
        self._stalled_since: float | None = None

    # -- what happens ----------------------------------------------------------------------------

    def seen(self, now: float, *, used: bool = False) -> None:
        """The client did something, or a reader of it has ended; `used`: something beyond initialize."""
        self.last_seen = now
        self._used = self._used or used

    def greeted(self, now: float) -> None:
        """The agent has to answer `initialize`."""
        self._greeted_at = now

    def greeting_answered(self) -> None:
        """The agent answered `initialize`."""
        self._greeted_at = None

    def stalled(self, now: float) -> None:
        """From now on the agent waits for the client. Called again on progress, which restarts the time."""
        self._stalled_since = now

    def progressed(self, now: float) -> None:
        """The client read something, which counts if the agent waits for it."""
        if self._stalled_since is not None:
            self._stalled_since = now

    def flows(self) -> None:
        """The agent is read again."""
        self._stalled_since = None

    # -- what follows ----------------------------------------------------------------------------

    def is_gone_for_good(self, circumstances: Circumstances) -> bool:
        """Whether the client is away and has no way to come back."""
        comes_back = self._profile.comes_back or circumstances.resumable
        return not comes_back and circumstances.readers == 0

    def check(self, now: float, circumstances: Circumstances, has_turns: Callable[[], bool]) -> Action:
        """What is to be done; `has_turns` tells whether a turn needs this connection."""
        away = now - self.last_seen
        if circumstances.closed:
            over = circumstances.readers == 0 and (not circumstances.buffered or away > LAST_WORDS)
            return "forget" if over else None
        if self._is_mute(now):
            return LivenessEnd("the agent did not answer initialize in time", code=CloseCode.AGENT)
        if self._is_stalled(now, circumstances):
            comes_back = circumstances.resumable and circumstances.behind
            return "hang up" if comes_back else LivenessEnd(NOT_READING, code=CloseCode.LIMIT, abort=True)
        if circumstances.readers:
            idle_seconds = self._settings.idle_seconds
            if idle_seconds and not circumstances.pending and away > idle_seconds:
                return LivenessEnd("nothing was asked of it for too long", code=CloseCode.LIMIT)
            return None
        is_gone = self.is_gone_for_good(circumstances)
        if is_gone and not has_turns():
            return LivenessEnd("its client is gone")
        if away > self._patience():
            return LivenessEnd("its client did not come back")
        if circumstances.questions and (circumstances.draining or (is_gone and away > GONE_SECONDS)):
            return "cancel questions"
        return None

    def _patience(self) -> float:
        """Seconds that a client may be away."""
        seconds = self._settings.detach_seconds
        # perhaps the client never saw the answer that named the connection
        return seconds if self._used else min(seconds, UNUSED)

    def _is_mute(self, now: float) -> bool:
        """Whether the agent lets its client wait for the first answer."""
        return self._greeted_at is not None and now - self._greeted_at > self._settings.initialize_seconds

    def _is_stalled(self, now: float, circumstances: Circumstances) -> bool:
        """Whether the agent has waited too long for a client that is there, or cannot come back."""
        if self._stalled_since is None or (circumstances.resumable and not circumstances.readers):
            return False
        return now - self._stalled_since > self._settings.stall_seconds
