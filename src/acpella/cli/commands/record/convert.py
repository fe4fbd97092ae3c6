"""`acpella record convert`: recordings from and to the files of other tools."""

import argparse
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...file_errors import RECORDING, explain, is_unfinished
from ...terminal.output import say

if TYPE_CHECKING:
    from acpella.recording import Item

__all__ = ["declare", "run"]

DAMAGED = 1


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    from acpella.recording.convert import EXPORTS, IMPORTS

    parser.description = (
        "Convert a recording.\n"
        "Exit code 1: a part could not be read and was left out, or the recording is still being written.\n\n"
        "from:\n"
        + "\n".join(f"  {name:10} {what}" for name, what in IMPORTS.items())
        + "\n\nto:\n"
        + "\n".join(f"  {name:10} {what}" for name, what in EXPORTS.items())
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="what to convert")
    add("--from", dest="source", choices=list(IMPORTS), metavar="FORMAT", help="default: what it looks like")
    add(
        "--to",
        dest="target",
        choices=list(EXPORTS),
        default="acpella",
        metavar="FORMAT",
        help="default: acpella",
    )
    add("-o", "--output", metavar="FILE", help="default: standard output")
    add("--anonymize", action="store_true", help="leave out home, user, host, directories and session ids")
    add(
        "--no-media",
        action="store_true",
        help="keep size and SHA-256 of images, sound and files, not their bytes",
    )
    add("--raw", action="store_true", help="hide no secrets")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    import os

    from acpella.recording.convert import guess, reader_of, writer_of

    path = Path(arguments.file)
    damaged: list[int] = []
    try:
        unfinished = is_unfinished(path)
        items = _told(reader_of(arguments.source or guess(path))(path), damaged)
        items = _filtered(_begun(items), arguments)
        if arguments.output is None:
            writer_of(arguments.target)(items, sys.stdout)
            sys.stdout.flush()
        else:
            if os.path.exists(arguments.output) and os.path.samefile(arguments.output, path):
                raise ValueError("the output is the file that is read; name another one")
            _check_replaced(arguments.output, arguments.target)
            with _written(arguments.output) as out:
                writer_of(arguments.target)(items, out)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return 2
    return DAMAGED if damaged or unfinished else 0


def _check_replaced(output: str, kind: str) -> None:
    """Let only a file of the same kind be replaced, as of an earlier run: any other was named by mistake."""
    import os

    from acpella.recording.convert import is_of

    if os.path.isfile(output) and os.path.getsize(output) and not is_of(kind, Path(output)):
        raise ValueError(
            f"{output} is there, and no file of the format {kind}; name another one, or remove it"
        )


def _begun(items: "Iterator[Item]") -> "Iterator[Item]":
    """The items, of which the first is read: nothing is written of a file that cannot be read at all."""
    first = next(items, None)
    return items if first is None else chain([first], items)


@contextmanager
def _written(path: str) -> "Generator[TextIO]":
    """A file for the user alone that takes its name when it is complete. A failure leaves what was there."""
    import os

    target = os.path.realpath(path)
    is_device = os.path.exists(target) and not os.path.isfile(target)
    name = target if is_device else f"{target}.{os.getpid()}.new"
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            yield out
        if not is_device:
            os.replace(name, target)
    except BaseException:
        if not is_device:
            with suppress(OSError):
                os.unlink(name)
        raise


def _told(items: "Iterable[Item]", damaged: list[int]) -> "Iterator[Item]":
    from acpella.recording import Damaged

    for item in items:
        if isinstance(item, Damaged):
            damaged.append(item.line)
            say(f"line {item.line} is left out: {item.reason}")
        else:
            yield item


def _filtered(items: "Iterable[Item]", arguments: argparse.Namespace) -> "Iterator[Item]":
    """Other tools hide less than we do, and old recordings less than new ones."""
    from dataclasses import replace

    from acpella._plain_json import as_dict
    from acpella.recording import Begin, RecordedFrame
    from acpella.recording.anonymizing import Anonymizer
    from acpella.recording.writer import Filters

    anonymizer = Anonymizer() if arguments.anonymize else None
    filters = Filters(raw=arguments.raw, media=not arguments.no_media, anonymizer=anonymizer)
    for item in items:
        if isinstance(item, Begin):
            command: list[Any] = as_dict(item.info.get("agent")).get("command") or []
            filters.words([str(word) for word in command])  # to know where its programs are
            info, _ = filters.message(item.info)
            yield replace(
                item, info={**info, "redacted": filters.name if not arguments.raw else info.get("redacted")}
            )
        elif isinstance(item, RecordedFrame) and isinstance(item.message, str):
            yield replace(item, message=filters.line(item.message, item.direction))
        elif isinstance(item, RecordedFrame) and not isinstance(item.message, bytes):
            message, cut = filters.message(item.message, item.direction)
            raw = None if item.raw is None else filters.text(item.raw)
            yield replace(item, message=message, raw=raw, info={**item.info, **({"cut": cut} if cut else {})})
        else:
            yield item
