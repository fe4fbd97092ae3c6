"""A page for the person who runs a command: on this machine only, opened by a link that works once."""

import asyncio
import getpass
import secrets
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import exits
from ..terminal.output import say
from .browser import open_browser

if TYPE_CHECKING:
    from acpella.inspector.page import InspectorPage
    from acpella.rpc import Channel, Receiver
    from acpella.server.agent_factories import AgentFactory, RunningAgent
    from acpella.web import Page

__all__ = ["ChannelFactory", "serve_own_page"]

PRINTED_SECONDS = 600.0
"""How long a link is valid that the user has to copy by hand."""


async def serve_own_page(
    pages: "Page | InspectorPage",
    factory: "AgentFactory",
    name: str,
    *,
    path: str = "",
    port: int = 0,
    opens: bool = True,
    verbose: bool = False,
) -> int:
    """Serve until Ctrl-C; returns the exit code. `path` is the page that is opened, `name` what is there.

    Raises:
        OSError: the port is taken.
    """
    from acpella.server import Runner, ServerSettings, Tokens
    from acpella.server.logs import set_up_logging

    set_up_logging("text", level="INFO" if verbose else "WARNING")
    token = secrets.token_hex(32)
    runner = Runner(
        factory, port=port, settings=ServerSettings.load(), auth=Tokens({token: _user()}), pages=pages
    )
    runner.bind()
    home = runner.url.removesuffix(runner.app.settings.path)

    def link(seconds: float = PRINTED_SECONDS) -> str:
        return f"{home}/{path}#{pages.codes.issue(token, seconds=seconds)}"

    if opens and open_browser(link(60.0)):
        say(f"{name} is open in your browser; Enter gives another link, Ctrl-C stops")
    else:
        say(f"{name} is at {link()}")
    if sys.stdin.isatty():
        asyncio.get_running_loop().add_reader(sys.stdin, lambda: sys.stdin.readline() and say(link()))
    await runner.run()
    return exits.DONE


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "you"


class ChannelFactory:
    """An agent behind any channel, opened anew for each connection."""

    checks_owners = True  # there is one user

    def __init__(self, opened: "Callable[[], Channel]") -> None:
        self._opened = opened

    async def start(
        self, receiver: "Receiver", principal: str, is_detached: Callable[[], bool]
    ) -> "RunningAgent":
        """Open a channel; the agent is what it leads to."""
        channel = self._opened()
        await channel.open(receiver, write_high=256 * 1024)
        return _Opened(channel)

    async def close(self) -> None:
        """Nothing is shared."""


class _Opened:
    def __init__(self, channel: "Channel") -> None:
        self.channel = channel

    async def close(self) -> None:
        await self.channel.close()
