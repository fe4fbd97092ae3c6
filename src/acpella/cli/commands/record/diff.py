"""`acpella record diff`: where two recordings differ."""

import argparse
from typing import TYPE_CHECKING

from ...terminal.output import one_line, say, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from acpella.recording import Damaged
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
    """Run the command; gives the exit code."""
    from acpella.recording.comparing import compare
    from acpella.recording.reader import read_conversations

    def tell(path: str) -> "Callable[[Damaged], None]":
        return lambda item: say(f"{path}, line {item.line} is left out: {item.reason}")

    try:
        sides = [read_conversations(path, tell(path)) for path in (arguments.left, arguments.right)]
        for path, side in zip((arguments.left, arguments.right), sides, strict=True):
            if not 0 < arguments.connection <= len(side):
                raise ValueError(f"{path} holds {len(side)} connections, not {arguments.connection}")
    except (OSError, ValueError) as error:
        say(str(error))
        return 2
    place: int = arguments.connection - 1
    found = compare(sides[0][place], sides[1][place])
    _show(found)
    return 0 if found.same else DIFFERENT


def _show(found: "Comparison") -> None:
    for line in found.lines():
        show(one_line(line))
    if found.times:
        show("times (seconds)")
        for method, before, now in found.times:
            show(f"  {one_line(method, 60):30} {before:9.3f} {now:9.3f}")
    if found.same:
        show("the same messages, fields and texts")
