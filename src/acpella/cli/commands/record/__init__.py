"""`acpella record`: write down a conversation, and look at what was written down."""

import argparse
import importlib
from collections.abc import Sequence

__all__ = ["declare", "parse", "run"]

ACTIONS: tuple[str, ...] = ()
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
    parser.usage = "acpella record [-o FILE] [--anonymize] [--no-media] [--raw] -- AGENT [ARG...]"
    if ACTIONS:
        parser.usage += f"\n       acpella record {{{','.join(ACTIONS)}}} ..."
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


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Options, then `--` and the agent; or an action."""
    if words and words[0] in ACTIONS:
        action = importlib.import_module(f".{words[0]}", __name__)
        inner = type(parser)(
            prog=f"{parser.prog} {words[0]}", formatter_class=parser.formatter_class, allow_abbrev=False
        )
        action.declare(inner)
        return argparse.Namespace(run=action.run, **vars(inner.parse_args(words[1:])))
    options, command = list(words), list[str]()
    if "--" in words:
        cut = options.index("--")
        options, command = options[:cut], options[cut + 1 :]
    arguments, rest = parser.parse_known_args(options)
    if rest:
        known = f"; the actions are {', '.join(ACTIONS)}" if ACTIONS else ""
        parser.error(f"{rest[0]!r} is not known here; write `--` before the command of the agent{known}")
    if not command:
        parser.error("say which agent to record: acpella record -- AGENT [ARG...]")
    from .tap import run as run_tap

    return argparse.Namespace(run=run_tap, command=command, **vars(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    code: int = arguments.run(arguments)
    return code
