"""`acpella web`: talk with an agent in the browser."""

import argparse
import asyncio
import getpass
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import exits
from ..session.browser import open_browser
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.rpc import Channel, Receiver
    from acpella.server.targets import RunningAgent

__all__ = ["ChannelTarget", "declare", "run"]

PRINTED_SECONDS = 600.0
"""That a link is good for which a person has to copy."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Open a page in the browser and talk with an agent there.\n"
        "The page is served on this machine only; the link that opens it works once."
    )
    parser.usage = "acpella web [options] [URL | -- COMMAND ARG...]"
    parser.epilog = (
        "`acpella serve --web` offers the same page to a team. "
        "Press Enter here for a fresh link, Ctrl-C to stop."
    )
    add = parser.add_argument
    add("target", nargs="*", metavar="TARGET", help="the agent: a command after --, or a URL")
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND|URL",
        help="a name of the settings, a name that acpella knows (`acpella agents list`), a command, a Python "
        "file, or a URL; default: the first of the settings, or the built-in agent",
    )
    add("--no-open", action="store_true", help="print the link instead of opening the browser")
    add("--port", type=int, default=0, help="port to listen on; default: any free one")
    add("--cwd", default=".", metavar="PATH", help="the directory that new sessions work in")
    add(
        "--write",
        action="store_true",
        help="with an agent behind a URL: let it write files and run commands here, not only read files",
    )
    add("--yes", action="store_true", help="download a known agent that is not installed without asking")
    add("--settings", metavar="PATH", help="the settings file")
    add("-v", "--verbose", action="store_true", help="show the server's log")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    from acpella.errors import AcpellaError

    if arguments.agent and arguments.target:
        say("name the agent once: with --agent, or after --")
        return exits.USAGE
    try:
        cwd = Path(arguments.cwd).absolute()
        if not cwd.is_dir():
            raise ValueError(f"{arguments.cwd} is not a directory")
        return asyncio.run(_run(arguments, cwd))
    except KeyboardInterrupt:
        return exits.DONE
    except ImportError as error:
        say(f"{error}; the page needs pip install 'acpella[standard]'")
        return exits.NOT_FOUND
    except (AcpellaError, ValueError, OSError) as error:
        say(str(error))
        return exits.USAGE


async def _run(arguments: argparse.Namespace, cwd: Path) -> int:
    from acpella.server import Runner, ServerSettings, Tokens
    from acpella.server.logs import set_up_logging
    from acpella.web import Page, records_of

    set_up_logging("text", level="INFO" if arguments.verbose else "WARNING")
    name, opened, is_remote = _agent(arguments, cwd)
    token = secrets.token_hex(32)
    records = records_of([name, *arguments.target], "" if is_remote else str(cwd))
    page = Page(name=name, cwd=str(cwd), writes=arguments.write or not is_remote, records=records)
    runner = Runner(
        ChannelTarget(opened),
        port=arguments.port,
        settings=ServerSettings.load(),
        auth=Tokens({token: _user()}),
        pages=page,
    )
    runner.bind()
    home = runner.url.removesuffix(runner.app.settings.path)

    def link(seconds: float = PRINTED_SECONDS) -> str:
        return f"{home}/#{page.codes.issue(token, seconds=seconds)}"

    if arguments.no_open or not open_browser(link(60.0)):
        say(f"{name} is at {link()}")
    else:
        say(f"{name} is open in your browser; Enter gives another link, Ctrl-C stops")
    if sys.stdin.isatty():
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin, lambda: sys.stdin.readline() and say(link()))
    await runner.run()
    return exits.DONE


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "you"


def _agent(arguments: argparse.Namespace, cwd: Path) -> "tuple[str, Callable[[], Channel], bool]":
    """The name of the agent, what opens a channel to it, and whether it is on another machine."""
    from acpella.client.targets import find_endpoint, open_target

    from ..session.lookup import find_settings
    from ..state.agents import default_agent, with_builtin

    words: list[str] = arguments.target
    agent: str | list[str] | None = arguments.agent
    if words:
        agent = words[0] if len(words) == 1 else words
    settings = find_settings(
        arguments.settings, str(cwd), agent=agent if isinstance(agent, str) else None, yes=arguments.yes
    )
    settings = with_builtin(settings, agent, yes=arguments.yes)
    target = agent or default_agent(settings)
    token = os.environ.get("ACPELLA_TOKEN")
    remote = find_endpoint(target, settings=settings, token=token) is not None
    bearer = token if remote else None

    def opened() -> "Channel":
        return open_target(target, settings=settings, cwd=None if remote else cwd, token=bearer)[1]

    name, _ = open_target(target, settings=settings, token=bearer)  # says now what is wrong with it
    return name, opened, remote


class ChannelTarget:
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
