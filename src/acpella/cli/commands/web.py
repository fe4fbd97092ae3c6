"""`acpella web`: talk with an agent in the browser."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import exits
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.rpc import Channel

__all__ = ["declare", "run"]


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
    from acpella.web import Page, records_of

    from ..session.own_page import ChannelTarget, serve_own_page

    name, opened, is_remote = _agent(arguments, cwd)
    records = records_of([name, *arguments.target], "" if is_remote else str(cwd))
    page = Page(name=name, cwd=str(cwd), writes=arguments.write or not is_remote, records=records)
    return await serve_own_page(
        page,
        ChannelTarget(opened),
        name,
        port=arguments.port,
        opens=not arguments.no_open,
        verbose=arguments.verbose,
    )


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
