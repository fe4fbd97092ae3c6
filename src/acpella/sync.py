"""The client without an event loop: `with acpella.sync.connect("agent.py") as agent: ...`."""

from acpella.client.sync import SyncAgent, SyncSession, SyncTurn, ask, connect

__all__ = ["SyncAgent", "SyncSession", "SyncTurn", "ask", "connect"]
