"""The `acpella` command."""

import argparse
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="acpella",
        description="Drive any agent that speaks the Agent Client Protocol (ACP).",
        epilog="Exit codes are listed in `acpella run --help`.",
    )
    from acpella import __version__

    parser.add_argument("--version", action="version", version=f"acpella {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    from . import run

    run.declare(commands)
    arguments = parser.parse_args(argv)
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
