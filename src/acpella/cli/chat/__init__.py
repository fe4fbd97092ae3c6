"""`acpella chat`: a conversation with an agent in the terminal."""

import argparse
import asyncio
import shlex
import sys
from importlib.util import find_spec

from .. import exits

__all__ = ["declare", "parse", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Talk with an agent. /help lists the commands; Ctrl-D leaves."
    add = parser.add_argument
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND|URL",
        help="a name of the settings, a command, a Python file, or a URL (its token: ACPELLA_TOKEN); "
        "default: the first of the settings, or the built-in one",
    )
    add(
        "-c",
        "--continue",
        dest="last",
        action="store_true",
        help="go on with the last session of this repository",
    )
    add(
        "-s",
        "--session",
        metavar="NAME",
        help="a session of this repository by name, kept alive in the background; made if it is not there",
    )
    add("--new", action="store_true", help="with -s: begin afresh under that name")
    add("--resume", metavar="ID", help="go on with a session of before, by the agent's id")
    add("--write", action="store_true", help="let the agent write files in this directory")
    add(
        "--yolo",
        action="store_true",
        help="let the agent write, run commands, and answer yes to all its questions",
    )
    add("--mode", metavar="ID", help="switch the agent to this mode first")
    add(
        "--option",
        action="append",
        default=[],
        metavar="ID=VALUE",
        help="set an option of the agent first; may be repeated",
    )
    add(
        "--mcp",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="give the agent an MCP server; may be repeated",
    )
    add("-v", "--verbose", action="store_true", help="show what the agent writes to stderr")
    add("--cwd", default=".", metavar="PATH", help="the directory that the session is about")
    add(
        "--settings",
        metavar="PATH",
        help="the settings file; default: .acpella/settings.json here or in the repository, then the user's",
    )


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Read the command line; what contradicts itself is said."""
    arguments = parser.parse_args(words)
    named = arguments.session is not None
    if sum(map(bool, (arguments.last, named, arguments.resume))) > 1:
        parser.error("--continue, --session and --resume exclude each other")
    if arguments.new and not named:
        parser.error("--new goes with --session NAME")
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    from acpella.errors import AcpellaError

    from ..show.lines import is_smart

    if not (sys.stdin.isatty() and is_smart(sys.stdout)):
        return _fail("chat needs a terminal; `acpella run` does without", exits.USAGE)
    for library in ("prompt_toolkit", "rich"):
        if find_spec(library) is None:
            return _fail(f"chat needs {library}: pip install 'acpella[standard]'", exits.USAGE)
    try:
        return asyncio.run(_run(arguments))
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        from ..failures import report

        return report(error, silent="it took too long")
    except KeyboardInterrupt:
        return exits.CANCELLED


def _fail(text: str, code: int) -> int:
    print(f"acpella: {text}", file=sys.stderr)  # noqa: T201 - this is what the user must know
    return code


async def _run(arguments: argparse.Namespace) -> int:
    from ..agents_known import default_agent
    from ..opening import find_settings, settings_of
    from . import kept
    from .conversation import Conversation

    settings = find_settings(arguments.settings, arguments.cwd, agent=arguments.agent)
    entry = kept.find(arguments, settings)
    if entry is None:
        return await Conversation(arguments, settings, arguments.agent or default_agent(settings)).run()
    arguments.cwd = entry.cwd
    target = entry.target or arguments.agent or entry.agent
    target = target if isinstance(target, str) else shlex.join(target)
    return await Conversation(arguments, settings_of(entry, settings), target, entry).run()
