"""Serves the inspector's page, on this machine only."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...session.own_page import serve_own_page

if TYPE_CHECKING:
    from acpella.inspector.page import InspectorPage
    from acpella.inspector.sources import SourceList
    from acpella.rpc import Receiver
    from acpella.server.agent_factories import AgentFactory, RunningAgent

__all__ = ["show_page", "show_pages"]


def show_page(sources: "SourceList", name: str, *, port: int, opens: bool) -> int:
    """Serve until Ctrl-C.

    Raises:
        OSError: the port is taken.
    """
    from acpella.inspector.page import InspectorPage

    return show_pages(InspectorPage(sources, live=True), _NoAgent(), name, port=port, opens=opens)


def show_pages(page: "InspectorPage", factory: "AgentFactory", name: str, *, port: int, opens: bool) -> int:
    """The same for a page with a conversation beside it. Raises OSError."""

    async def serve() -> int:
        try:
            return await serve_own_page(page, factory, name, path="inspect", port=port, opens=opens)
        finally:
            await page.close()

    return asyncio.run(serve())


class _NoAgent:
    """There is nobody to talk with here."""

    checks_owners = True

    async def start(
        self, receiver: "Receiver", principal: str, is_detached: Callable[[], bool]
    ) -> "RunningAgent":
        """Raises AcpellaError."""
        from acpella.errors import AcpellaError

        raise AcpellaError("this server shows a recording; it has no agent")

    async def close(self) -> None:
        """Nothing is held."""
