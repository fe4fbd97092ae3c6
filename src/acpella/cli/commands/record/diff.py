"""`acpella record diff`: where two recordings differ."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...file_errors import RECORDING, explain
from ...terminal.output import one_line, say, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acpella.recording import Damaged, RecordedFrame
    from acpella.recording.comparing import Comparison

__all__ = ["declare", "run"]

DIFFERENT = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Compare two recordings: capabilities, messages, their fields, texts, and times. What differs each\n"
        "time (ids, directories, _meta) is not compared. Exit code 1: they say different things."
    )
    parser.add_argument("left", metavar="A", help="a recording, or a conversation of another tool")
    parser.add_argument("right", metavar="B", help="the one to compare it with")
    parser.add_argument(
        "--connection", type=int, default=1, metavar="N", help="which one of each file; default: 1"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.recording.comparing import compare
    from acpella.recording.convert import guess, reader_of
    from acpella.recording.reader import read_connection

    left_out: list[int] = []

    def read_side(name: str) -> "Iterator[RecordedFrame]":
        def leave_out(item: "Damaged") -> None:
            left_out.append(item.line)
            say(f"{name}, line {item.line} is left out: {item.reason}")

        path = Path(name)
        return read_connection(reader_of(guess(path))(path), arguments.connection, leave_out, name=name)

    try:
        comparison = compare(read_side(arguments.left), read_side(arguments.right))
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return 2
    _show(comparison, whole=not left_out)
    return 0 if comparison.same else DIFFERENT


def _show(comparison: "Comparison", *, whole: bool) -> None:
    for line in comparison.lines():
        show(one_line(line))
    if comparison.times:
        show("times (seconds)")
        for method, before, now in comparison.times:
            show(f"  {one_line(method, 60):30} {before:9.3f} {now:9.3f}")
    if comparison.same:
        show("the same messages, fields and texts" + ("" if whole else ", as far as they can be read"))
