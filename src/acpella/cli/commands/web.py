"""`acpella web`: talk with an agent in the browser."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import exits
from ..state.agents import BUILT_IN
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.client.settings import ClientSettings
    from acpella.rpc import Channel
    from acpella.web import OtherAgent

__all__ = ["declare", "run"]

MODEL_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
WELL_KNOWN = ("claude", "codex", "gemini", "opencode")
MAX_OTHERS = 6
"""Agents that the page names beside the one that runs: more would be a list to read."""


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
    """Run the command; returns the exit code."""
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

    from ..session.own_page import ChannelFactory, serve_own_page

    name, opened, is_remote, settings = _agent(arguments, cwd)
    records = records_of([name, *arguments.target], "" if is_remote else str(cwd))
    page = Page(
        name=name,
        cwd=str(cwd),
        writes=arguments.write or not is_remote,
        records=records,
        others=_others(name, settings),
        keys=[key for key in MODEL_KEYS if os.environ.get(key)],
    )
    return await serve_own_page(
        page,
        ChannelFactory(opened),
        name,
        port=arguments.port,
        opens=not arguments.no_open,
        verbose=arguments.verbose,
    )


def _others(name: str, settings: "ClientSettings") -> "list[OtherAgent]":
    """What could be started instead: agents of the settings, then well-known ones."""
    from acpella.client.names import find_by_name
    from acpella.errors import TransportError
    from acpella.web import OtherAgent

    others = [OtherAgent(other, "settings") for other in settings.agents if other not in (name, BUILT_IN)]
    for known in WELL_KNOWN:
        if known == name or known in settings.agents:
            continue
        try:
            others.append(OtherAgent(known, "missing" if find_by_name(known) is None else "installed"))
        except TransportError:  # what runs it is gone
            others.append(OtherAgent(known, "missing"))
    return others[:MAX_OTHERS]


def _agent(
    arguments: argparse.Namespace, cwd: Path
) -> "tuple[str, Callable[[], Channel], bool, ClientSettings]":
    """The agent's name, what opens a channel to it, whether it is on another machine, and the settings."""
    from acpella.client.targets import find_endpoint, open_target

    from ..session.lookup import find_settings
    from ..state.agents import agent_command, default_agent, need_program, resolve_agent

    words: list[str] = arguments.target
    agent: str | list[str] | None = arguments.agent
    if words:
        agent = words[0] if len(words) == 1 else words
    settings = find_settings(
        arguments.settings, str(cwd), agent=agent if isinstance(agent, str) else None, yes=arguments.yes
    )
    settings = resolve_agent(settings, agent, yes=arguments.yes)
    target = agent or default_agent(settings)
    remote = find_endpoint(target, settings=settings) is not None

    def opened() -> "Channel":
        return open_target(target, settings=settings, cwd=None if remote else cwd)[1]

    name, _ = open_target(target, settings=settings)  # says now what is wrong with it
    command, environment = agent_command(target, settings)
    if command and not remote:
        need_program(command, cwd, path=environment.get("PATH"))
    return name, opened, remote, settings
