"""The client without an event loop: `with acpella.sync.connect("agent.py") as agent: ...`."""

from acpella.client.sync import ask, connect

__all__ = ["ask", "connect"]
