"""The `acpella` command: one module for each of its commands, imported when it is used."""

import argparse
import importlib
import sys
from collections.abc import Sequence

__all__ = ["main"]

COMMANDS = {
    "run": "send one prompt to an agent and show its answer",
    "chat": "talk with an agent in the terminal",
    "status": "what runs in the sessions of this repository",
    "cancel": "cancel the running turn of a session",
    "sessions": "list, show, export, import, fork and delete sessions",
    "agents": "list, add, remove and check agents",
    "permissions": "list and revoke remembered permissions",
    "agent": "the built-in coding agent, for an editor to start",
    "demo": "a conversation with the built-in agent, without any key",
    "serve": "host an agent over HTTP and WebSocket",
    "connect": "give an editor that only knows stdio an agent behind a URL",
}
"""Each command is the module of that name here, with `declare(parser)` and `run(arguments) -> exit code`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        module = importlib.import_module(f".{words[0]}", __name__)
        parser = argparse.ArgumentParser(
            prog=f"acpella {words[0]}", formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.declare(parser)
        return module.run(parser.parse_args(words[1:]))
    _parser().parse_args(words)  # --help, --version, or a mistake
    return 2


def _parser() -> argparse.ArgumentParser:
    from acpella import __version__

    parser = argparse.ArgumentParser(
        prog="acpella",
        description="Write, drive and host agents that speak the Agent Client Protocol (ACP).",
        epilog="`acpella COMMAND --help` explains a command; `acpella run --help` lists the exit codes.",
    )
    parser.add_argument("--version", action="version", version=f"acpella {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, what in COMMANDS.items():
        commands.add_parser(name, help=what)
    return parser


if __name__ == "__main__":
    sys.exit(main())
