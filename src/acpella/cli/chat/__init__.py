"""`acpella chat`: a conversation with an agent in the terminal."""

import argparse
import asyncio
import sys
from importlib.util import find_spec

from .. import exits

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Talk with an agent. /help lists the commands; Ctrl-D leaves."
    add = parser.add_argument
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND",
        help="a name of the settings, a command, or a Python file; default: the first of the settings",
    )
    add("--resume", metavar="ID", help="go on with a session of before")
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
        help="the settings file; default: ./.acpella/settings.json, then the user's",
    )


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
        return _fail(str(error) or "it took too long", exits.code_for(error))
    except KeyboardInterrupt:
        return exits.CANCELLED


def _fail(text: str, code: int) -> int:
    from ..show.clean import clean

    print(f"acpella: {clean(text)}", file=sys.stderr)  # noqa: T201 - this is what the user must know
    return code


async def _run(arguments: argparse.Namespace) -> int:
    from acpella.client import ClientSettings, SettingsError

    from .conversation import Conversation

    settings = ClientSettings.find(arguments.settings)
    target = arguments.agent or next(iter(settings.agents), None)
    if target is None:
        raise SettingsError("no agent: name one with --agent, or add one to the settings file")
    return await Conversation(arguments, settings, target).run()
