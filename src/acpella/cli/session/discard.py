"""Removes a session that nobody will go on with from its agent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acpella.client import ClientSession, ConnectedAgent

__all__ = ["discard"]


async def discard(agent: "ConnectedAgent", session: "ClientSession") -> None:
    """Close and delete a session, as far as the agent lets us.

    Raises:
        AcpellaError: it does not, although it offered to.
        TimeoutError: it does not answer.
    """
    can = agent.capabilities.session_capabilities
    if can.close is not None:
        await session.close()
    if can.delete is not None:
        await agent.delete_session(session.id)
