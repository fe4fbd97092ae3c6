"""`acpella record html`: the recording and the inspector in one file."""

import argparse
from pathlib import Path

from ... import exits
from ...file_errors import RECORDING, explain, is_unfinished
from ...terminal.output import say

__all__ = ["declare", "run"]

UNFINISHED = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Write one file that holds the inspector and the recording.\n"
        "It opens in any browser, without acpella and without the network.\n"
        "Exit code 1: the recording is still being written, and the rest of it is not in the page."
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the page; default: the recording's name with .html"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.inspector.html import write_html

    path = Path(arguments.file)
    out = Path(arguments.output) if arguments.output else path.with_suffix(".html")
    unfinished = is_unfinished(path)
    try:
        write_html(path, out)
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return exits.USAGE
    say(f"{out} opens in any browser. It holds what the recording holds; look before you share it.")
    return UNFINISHED if unfinished else exits.DONE
