"""`acpella agent`: the built-in coding agent, for an editor to start."""

import argparse
import sys

from .. import exits

__all__ = ["declare", "run"]


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "The built-in coding agent. It speaks ACP on stdin and stdout, for an editor to start; "
        "try it with `acpella run` or `acpella chat`."
    )
    parser.epilog = (
        "Without a key the model is `offline`, which understands a few plain requests. Real ones come from\n"
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, or a local server\n"
        "(ACPELLA_MODEL=ollama:NAME). See docs/how-to/models.md."
    )
    add = parser.add_argument
    add(
        "--model",
        metavar="NAME",
        help="the model to begin with, such as anthropic:claude-sonnet-5 or offline",
    )
    add("--mode", default="full", metavar="ID", help="full (default), read-only, safe or sandbox")
    add(
        "--thinking",
        default="off",
        choices=("off", "low", "medium", "high"),
        help="how long the model may think",
    )
    add("--auto-approve", action="store_true", help="do not ask before writing and running")
    add(
        "--store",
        default="sqlite",
        metavar="PATH",
        help="where sessions are kept: sqlite (default), memory, a file",
    )
    add(
        "--max-turns",
        type=_count,
        default=50,
        metavar="N",
        help="requests to the model in one turn; then it stops (default 50)",
    )
    add("--max-tokens", type=_count, default=8192, metavar="N", help="tokens of one answer (default 8192)")


def _count(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    from acpella.agent.logs import logging_failures
    from acpella.coder import agent
    from acpella.coder.loop import Pace
    from acpella.errors import AcpellaError

    try:
        with logging_failures("coder"):
            coder = agent(
                model=arguments.model,
                mode=arguments.mode,
                thinking=arguments.thinking,
                auto_approve=arguments.auto_approve,
                store=arguments.store,
                pace=Pace(max_requests=arguments.max_turns, max_tokens=arguments.max_tokens),
            )
    except (AcpellaError, ValueError) as error:
        print(f"acpella: {error}", file=sys.stderr)  # noqa: T201 - this is what the user must know
        return exits.USAGE
    coder.run()
    return exits.DONE
