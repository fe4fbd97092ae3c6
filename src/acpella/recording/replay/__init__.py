"""Recorded conversations, played again: as the agent for any client, or as the client for any agent."""

from .agent import ReplayedAgent
from .client import ReplayedClient
from .exchanges import Match, NoMatch

__all__ = ["Match", "NoMatch", "ReplayedAgent", "ReplayedClient"]
