"""`acpella run`: one prompt to an agent, its answer on stdout."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from ... import exits
from ...options import check_session, declare_conversation

if TYPE_CHECKING:
    from ...state.catalogue import SessionEntry
    from .options import RunOptions

__all__ = ["declare", "parse", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exits.CODES.items())
    parser.description = (
        "Send one prompt to an agent and show its answer. Without PROMPT it is read from stdin."
    )
    parser.epilog = f"exit codes:\n{codes}"
    add = parser.add_argument_group("prompt").add_argument
    add("prompt", nargs="*", metavar="PROMPT", help="what to ask; several words are joined")
    add("--file", metavar="PATH", help="read the prompt, or more of it, from a file; - for stdin")
    add("--image", action="append", default=[], metavar="PATH", help="send an image along; may be repeated")
    groups = declare_conversation(parser)
    add = groups.session.add_argument
    add("--save-session", metavar="PATH", help="write the id of the session to a file")
    add(
        "--no-wait",
        action="store_true",
        help="with -s or -c: leave the prompt there and return; `acpella status` tells how it went",
    )
    add = groups.output.add_argument
    add(
        "-o",
        "--output",
        choices=("text", "simple", "json", "jsonl"),
        default="text",
        help="text: answer and tool calls; simple: answer only; json: one document when the turn is over; "
        "jsonl: every message of the protocol, one in a line",
    )
    groups.agent.add_argument(
        "--list-commands", action="store_true", help="show the agent's slash commands and end"
    )
    add = parser.add_argument_group("limits").add_argument
    add(
        "--timeout", type=_seconds, default=0.0, metavar="SECONDS", help="end after this time; 0 for no limit"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
        if 0 <= value < float("inf"):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Options may stand before, after and between the words of the prompt."""
    end = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_intermixed_args(words[:end])
    arguments.prompt += words[end + 1 :]
    check_session(parser, arguments)
    if arguments.no_wait and arguments.session is None and not arguments.last:
        parser.error("--no-wait needs a session that stays: add --session NAME or --continue")
    if arguments.no_wait and arguments.list_commands:
        parser.error("--no-wait and --list-commands exclude each other")
    if arguments.no_wait and arguments.output == "json":
        parser.error("--no-wait has no result to print: leave out -o json, and ask `acpella status --json`")
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError

    from ...session.lookup import find_settings, named_session
    from ...state.agents import note_withheld
    from ...state.catalogue import Catalogue
    from .kept_session import KeptSession
    from .options import RunOptions
    from .own_agent import OwnAgent
    from .prompt import read_prompt
    from .prompt_run import limited

    options = RunOptions.read(arguments)
    entry = None
    try:
        # before the event loop starts, so that Ctrl-C works while the user types
        prompt = [] if options.list_commands else read_prompt(options)
        settings = find_settings(options.settings, options.cwd, agent=options.agent, yes=options.yes)
        catalogue = Catalogue()
        entry = named_session(options, settings, catalogue)
        if entry is None or options.agent:
            note_withheld(options.agent, settings)
        if entry is not None:
            return KeptSession(options, settings, entry, prompt).run()
        own = OwnAgent(options, settings, catalogue, prompt)
        return asyncio.run(limited(options, own.run))
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        from ...failures import report

        agent = _agent_option(options, entry)
        return report(error, silent=options.too_long, verbose=options.verbose, agent=agent)
    except KeyboardInterrupt:
        return exits.CANCELLED


def _agent_option(options: "RunOptions", entry: "SessionEntry | None") -> str:
    """How another command names the same agent."""
    import shlex

    from acpella._redact import redact

    target, settings = options.agent, options.settings
    if entry is not None and not target:
        target = entry.target if isinstance(entry.target, str) else shlex.join(entry.target)
        settings = settings or entry.settings
    choices = [("-a", target), ("--settings", settings)]
    return " ".join(f"{option} {shlex.quote(redact(value))}" for option, value in choices if value)
