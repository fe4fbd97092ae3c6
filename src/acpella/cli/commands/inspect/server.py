"""Serves the inspector's page, on this machine only."""

import asyncio
import secrets
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ... import exits
from ...session.browser import open_browser
from ...terminal.output import say

if TYPE_CHECKING:
    from acpella.inspector.sources import SourceList
    from acpella.rpc import Receiver
    from acpella.server.targets import RunningAgent

__all__ = ["show_page"]

PRINTED_SECONDS = 600.0
"""That a link is good for which a person has to copy."""


def show_page(sources: "SourceList", name: str, *, port: int, opens: bool) -> int:
    """Serve until Ctrl-C.

    Raises:
        OSError: the port is taken.
    """
    return asyncio.run(_serve(sources, name, port, opens))


async def _serve(sources: "SourceList", name: str, port: int, opens: bool) -> int:
    from acpella.inspector.page import InspectorPage
    from acpella.server import Runner, ServerSettings, Tokens
    from acpella.server.logs import set_up_logging

    set_up_logging("text", level="WARNING")
    token = secrets.token_hex(32)
    page = InspectorPage(sources, live=True)
    runner = Runner(
        _NoAgent(), port=port, settings=ServerSettings.load(), auth=Tokens({token: "inspector"}), pages=page
    )
    runner.bind()
    home = runner.url.removesuffix(runner.app.settings.path)

    def link(seconds: float = PRINTED_SECONDS) -> str:
        return f"{home}/inspect#{page.codes.issue(token, seconds=seconds)}"

    if opens and open_browser(link(60.0)):
        say(f"{name} is open in your browser; Enter gives another link, Ctrl-C stops")
    else:
        say(f"{name} is at {link()}")
    if sys.stdin.isatty():
        asyncio.get_running_loop().add_reader(sys.stdin, lambda: sys.stdin.readline() and say(link()))
    try:
        await runner.run()
    finally:
        await page.close()
    return exits.DONE


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
