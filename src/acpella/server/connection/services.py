"""What the connections of one server share, and what each asks of the table that it is in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from acpella.server.access.policy import AccessPolicy
from acpella.server.access.rate_limit import RateLimit
from acpella.server.agent_factories import AgentFactory
from acpella.server.metrics import Metrics
from acpella.server.settings import ServerSettings

__all__ = ["ConnectionServices", "ConnectionTable"]


@dataclass(frozen=True, slots=True)
class ConnectionServices:
    """What all connections use."""

    factory: AgentFactory
    """Starts their agents."""
    settings: ServerSettings
    policy: AccessPolicy
    rate: RateLimit
    """Messages and requests, by user."""
    metrics: Metrics
    generation: str
    """Changes with every start, so that earlier numbers are not taken for current ones."""


class ConnectionTable(Protocol):
    """Knows all connections."""

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        ...

    def has_turn(self, session_id: str, principal: str) -> bool:
        """Whether a turn of this user's runs in that session, begun on any connection."""
        ...

    def turn_ended(self) -> None:
        """Turns may have ended: one was answered, or its connection has ended."""
        ...

    def check_soon(self, check: Callable[[], None]) -> None:
        """Something has changed for a connection whose client may be away: call this in a moment."""
        ...

    def forget(self, connection_id: str) -> None:
        """Forget a connection and let its agent go. Safe to call twice."""
        ...
