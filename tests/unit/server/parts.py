"""The parts of a hosted connection, made from values."""

from collections.abc import Sequence
from typing import Any

from acpella.rpc.message import write_notification, write_request, write_result
from acpella.server import ServerSettings
from acpella.server.access.policy import AccessPolicy
from acpella.server.access.rate_limit import RateLimit
from acpella.server.connection.audit import ConnectionAudit
from acpella.server.connection.flow import Flow
from acpella.server.connection.memory_outbox import MemoryOutbox
from acpella.server.connection.messages import Message, read_message
from acpella.server.connection.outbox import Outbox
from acpella.server.connection.profile import HTTP, Profile
from acpella.server.connection.services import ConnectionServices
from acpella.server.connection.streams import Streams
from acpella.server.metrics import Metrics


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class NoTarget:
    """Starts nothing; its agents would check by themselves who owns a session."""

    checks_owners = True

    async def start(self, receiver: Any, principal: str, is_detached: Any) -> Any:
        raise AssertionError("nothing is started here")

    async def close(self) -> None:
        pass


def services(settings: ServerSettings | None = None, *, clock: Clock | None = None) -> ConnectionServices:
    settings = settings or ServerSettings(requests_per_second=0)
    rate = RateLimit(settings.requests_per_second, settings.request_burst, clock=clock or Clock())
    policy = AccessPolicy(settings, one_user=lambda: True, asks_for_credentials=False, owners=None)
    return ConnectionServices(NoTarget(), settings, policy, rate, Metrics(), "gen")


def audit() -> ConnectionAudit:
    return ConnectionAudit(label="c", principal="ada", profile="http")


class Streaming:
    """Streams whose outboxes can be looked at."""

    def __init__(self, profile: Profile = HTTP, *, most: int = 1_000_000, max_sessions: int = 8) -> None:
        self.flow = Flow(most=most, changed=lambda: None)
        self.streams = Streams(self._new, profile, max_sessions=max_sessions)

    def _new(self, session_id: str | None = None, *, is_answer: bool = False) -> Outbox:
        return MemoryOutbox(self.flow, high=1000, window_frames=100, window_bytes=10_000, lossless=False)

    def on(self, session_id: str | None) -> list[bytes]:
        """What is on a stream."""
        return self.streams.by_session[session_id].window()[1]


def request(request_id: Any, method: str, params: Any = None) -> Message:
    """A client's request; `request_id` is JSON."""
    key = str(request_id).encode()
    return read_message(write_request(key, method, {} if params is None else params))


def notification(method: str, params: Any = None) -> Message:
    return read_message(write_notification(method, {} if params is None else params))


def response(request_id: Any, result: Any = None) -> Message:
    return read_message(write_result(str(request_id).encode(), {} if result is None else result))


def update(session_id: str, text: str = "x") -> bytes:
    return write_notification("session/update", {"sessionId": session_id, "update": {"text": text}})


def lines(*messages: bytes | Sequence[bytes]) -> bytes:
    """What an agent writes."""
    return b"".join(message + b"\n" for message in messages if isinstance(message, bytes))
