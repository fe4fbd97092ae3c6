"""`acpella chat`: a conversation with an agent in the terminal."""

import argparse
import asyncio
import dataclasses
import shlex
import sys
from importlib.util import find_spec

from .. import exits
from ..options import ConversationOptions, check_session, declare_conversation
from ..terminal.output import say

__all__ = ["declare", "parse", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Talk with an agent. /help lists the commands; Ctrl-D leaves."
    declare_conversation(parser)


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Parse the command line; options that contradict each other are an error."""
    arguments = parser.parse_args(words)
    check_session(parser, arguments)
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError

    from ..terminal.rows import is_smart

    if not (sys.stdin.isatty() and is_smart(sys.stdout)):
        return _fail("chat needs a terminal; `acpella run` does without", exits.USAGE)
    for library in ("prompt_toolkit", "rich"):
        if find_spec(library) is None:
            return _fail(f"chat needs {library}: pip install 'acpella[standard]'", exits.USAGE)
    try:
        return asyncio.run(_run(ConversationOptions.read(arguments)))
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        from ..failures import report

        return report(error, silent="it took too long")
    except KeyboardInterrupt:
        return exits.CANCELLED


def _fail(text: str, code: int) -> int:
    say(text)
    return code


async def _run(options: ConversationOptions) -> int:
    from ..chat.conversation import ChatConversation
    from ..session.lookup import find_settings, named_session, settings_of
    from ..state.agents import default_agent, note_withheld
    from ..state.catalogue import Catalogue

    settings = find_settings(options.settings, options.cwd, agent=options.agent, yes=options.yes)
    entry = named_session(options, settings, Catalogue())
    if entry is None:
        note_withheld(options.agent, settings)
        return await ChatConversation(options, settings, options.agent or default_agent(settings)).run()
    options = dataclasses.replace(options, cwd=entry.cwd)
    target = entry.target or options.agent or entry.agent
    target = target if isinstance(target, str) else shlex.join(target)
    return await ChatConversation(options, settings_of(entry, settings), target, entry).run()
