"""`acpella record html`: the recording and the inspector in one file."""

import argparse
from pathlib import Path

from acpella._counted import counted

from ... import exits
from ...file_errors import RECORDING, explain, is_unfinished
from ...terminal.output import say

__all__ = ["declare", "run"]

INCOMPLETE = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Write one file that holds the inspector and the recording.\n"
        "It opens in any browser, without acpella and without the network.\n"
        "Exit code 1: the recording is still being written, or a part of it cannot be read."
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the page; default: the recording's name with .html"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.inspector.html import write_html
    from acpella.recording import Damaged, read

    path = Path(arguments.file)
    out = Path(arguments.output) if arguments.output else path.with_suffix(".html")
    unfinished = is_unfinished(path)
    try:
        write_html(path, out)
        damaged = sum(isinstance(item, Damaged) for item in read(path))
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return exits.USAGE
    say(f"{out} opens in any browser. It holds what the recording holds; look before you share it.")
    if damaged:
        say(f"{counted(damaged, 'line')} of {path} cannot be read")
    return INCOMPLETE if unfinished or damaged else exits.DONE
