"""`acpella agent`: the built-in coding agent, or one of yours, for an editor to start."""

import argparse
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import exits

if TYPE_CHECKING:
    from acpella.agent import Agent

__all__ = ["declare", "run"]

LOADING = 500_000
"""Objects that may be made before garbage is looked for while an agent's file is imported; a file that works
with much data meanwhile still gets its memory back."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "An agent on stdin and stdout, for an editor to start: the built-in coding agent, or your own from "
        "a Python file, written with acpella, pydantic-ai, LangChain or another framework. To try it: "
        "`acpella chat -a my.py:agent`."
    )
    parser.epilog = (
        "Without a key the model is `offline`, which understands a few plain requests. Real ones come with\n"
        "`--login`, ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, or a local\n"
        "server (ACPELLA_MODEL=ollama:NAME). See docs/how-to/models.md."
    )
    add = parser.add_argument
    add(
        "target",
        nargs="?",
        metavar="TARGET",
        help="FILE.py:NAME, MODULE:NAME, or FILE.py if it has one agent; default: the built-in agent",
    )
    add(
        "--model",
        metavar="NAME",
        action="append",
        default=[],
        help="the model to begin with, such as anthropic:claude-sonnet-5 or offline; with TARGET it may be "
        "repeated: the models to choose from",
    )
    add("--local", action="store_true", help="with TARGET: use this machine where the editor has no files")
    add(
        "--editor-tools",
        action="store_true",
        help="with TARGET: give its model the editor's files and terminals",
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
    add(
        "--login",
        action="store_true",
        help="ask for an API key and store it, instead of running the agent; editors offer this, too",
    )
    add("--max-tokens", type=_count, default=8192, metavar="N", help="tokens of one answer (default 8192)")


def _count(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    return _run_built_in(arguments) if arguments.target is None else _run_target(arguments)


def _run_target(arguments: argparse.Namespace) -> int:
    try:
        with _quiet_stdout(), _loading():
            agent = _adapted(arguments)
    except (ImportError, TypeError, ValueError) as error:
        print(f"acpella: {error}", file=sys.stderr)  # noqa: T201 - this is what the user must know
        return exits.NOT_FOUND if isinstance(error, ImportError) else exits.USAGE
    agent.run()
    return exits.DONE


def _adapted(arguments: argparse.Namespace) -> "Agent":
    from acpella.adapters import adapt_target

    options: dict[str, Any] = {"store": arguments.store, "local": arguments.local}
    if arguments.model:
        options["models"] = arguments.model
    if arguments.editor_tools:
        options["editor_tools"] = True
    return adapt_target(arguments.target, **options)


@contextmanager
def _loading() -> Generator[None]:
    """Collect less garbage while a framework is imported: there is hardly any. Then freeze what was imported:
    scanning it again and again would hold up the agent for a tenth of a second each time."""
    before = gc.get_threshold()
    gc.set_threshold(LOADING, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.freeze()


@contextmanager
def _quiet_stdout() -> Generator[None]:
    """What a file prints while it is imported goes to stderr: stdout belongs to the protocol."""
    sys.stdout.flush()
    original = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(original, 1)
        os.close(original)


def _run_built_in(arguments: argparse.Namespace) -> int:
    from acpella.agent.logs import logging_failures
    from acpella.coder import agent
    from acpella.coder.login import LOGIN, ask_for_key, offer_login
    from acpella.coder.loop import Pace
    from acpella.errors import AcpellaError

    if arguments.login:
        return ask_for_key()
    try:
        with logging_failures("coder"):
            coder = agent(
                model=arguments.model[-1] if arguments.model else None,
                mode=arguments.mode,
                thinking=arguments.thinking,
                auto_approve=arguments.auto_approve,
                store=arguments.store,
                logins=[LOGIN],
                pace=Pace(max_requests=arguments.max_turns, max_tokens=arguments.max_tokens),
            )
    except (AcpellaError, ValueError) as error:
        print(f"acpella: {error}", file=sys.stderr)  # noqa: T201 - this is what the user must know
        return exits.USAGE
    offer_login(coder)
    coder.run()
    return exits.DONE
