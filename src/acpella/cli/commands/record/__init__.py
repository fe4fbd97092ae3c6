"""`acpella record`: write down a conversation, and look at what was written down."""

import argparse
import importlib
from collections.abc import Sequence

from ...command_words import split_command

__all__ = ["declare", "parse", "run"]

ACTIONS = {
    "show": "show the conversation",
    "html": "write one file with the inspector and the recording inside",
    "scan": "list what still looks secret",
    "diff": "compare two recordings",
    "convert": "from and to the files of other tools",
}
"""What can be done with a recording: each is a module here, with `declare(parser)` and `run(arguments)`."""

_EPILOG = """\
Put `acpella record --` before the command of an agent, in an editor's settings or in a shell. Everything
passes as it is, and the conversation is written to a file. Exit code and signals are those of the agent.

examples:
  acpella record -- opencode acp                     into the state directory; the file is named at the end
  acpella record -o bug.jsonl --anonymize -- my-agent
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Record an agent: an editor starts this in the agent's place."
    parser.usage = (
        "acpella record [-o FILE] [--anonymize] [--no-media] [--raw] -- AGENT [ARG...]\n"
        f"       acpella record {{{','.join(ACTIONS)}}} ..."
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="write to this file; one that exists is continued")
    add("--anonymize", action="store_true", help="leave out home, user, host, directories and session ids")
    add(
        "--no-media",
        action="store_true",
        help="keep size and SHA-256 of images, sound and files, not their bytes",
    )
    add("--raw", action="store_true", help="hide no secrets; never share such a recording")
    actions = parser.add_subparsers(prog=parser.prog, dest="action", metavar="ACTION", required=False)
    for name, sentence in ACTIONS.items():
        action = importlib.import_module(f".{name}", __name__)
        form = parser.formatter_class
        action.declare(actions.add_parser(name, help=sentence, formatter_class=form, allow_abbrev=False))


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Options, then `--` and the agent; or an action."""
    options, command = split_command(words)
    action = _first_word(options)
    if action and action not in ACTIONS:
        actions = ", ".join(ACTIONS)
        parser.error(f"{action!r} is not one of {actions}; write `--` before the command of an agent")
    arguments = parser.parse_args(options)
    if arguments.action is None and not command:
        parser.error("say which agent to record: acpella record -- AGENT [ARG...]")
    return argparse.Namespace(command=command, **vars(arguments))


def _first_word(options: Sequence[str]) -> str:
    """The first word that is neither an option nor the file of one; empty if there is none."""
    before = ""
    for word in options:
        if not word.startswith("-") and before not in ("-o", "--output"):
            return word
        before = word
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    action = importlib.import_module(f".{arguments.action or 'tap'}", __name__)
    code: int = action.run(arguments)
    return code
