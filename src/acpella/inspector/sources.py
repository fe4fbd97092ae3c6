"""The conversations that a page can show: one recording, those that run now, or those of a server."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from .taps import TappedProgram

__all__ = ["Source", "SourceList", "of_connections", "of_directory", "of_file", "of_taps"]

MAX_SOURCES = 200
"""Conversations that are offered, the latest ones. Without it, a busy server would send endless lists."""


class Source(msgspec.Struct, frozen=True):
    """A conversation that is, or was, recorded."""

    id: str
    name: str
    path: str
    started: float
    """Seconds since 1970."""
    control: str = ""
    """The socket where its messages can be held; empty where they cannot be."""
    goes_on: bool = False
    """Whether another connection may follow in the same file."""


SourceList = Callable[[], list[Source]]
"""What there is now, oldest first. Called again and again."""


def of_file(path: Path, *, control: str = "") -> SourceList:
    """One recording."""
    source = Source(path.name, path.name, str(path), path.stat().st_mtime, control)
    return lambda: [source]


def of_taps(live: Callable[[], list[TappedProgram]]) -> SourceList:
    """The programs between editors and agents that run now. One that was seen stays in the list."""
    seen: dict[str, Source] = {}

    def sources() -> list[Source]:
        taps = live()
        for tap in taps:
            name = " ".join(os.path.basename(word) for word in tap.command)
            seen[str(tap.pid)] = Source(str(tap.pid), name, tap.path, tap.started, tap.control)
        return sorted(seen.values(), key=lambda source: source.started)[-MAX_SOURCES:]

    return sources


def of_connections(path: Path, name: str, live: Callable[[], list[TappedProgram]]) -> SourceList:
    """One file, to which connections are added while it is looked at, one after the other."""
    started = time.time()

    def sources() -> list[Source]:
        if not path.exists():
            return []
        control = next((tap.control for tap in live() if tap.path == str(path)), "")
        return [Source(path.name, name, str(path), started, control, goes_on=True)]

    return sources


def of_directory(directory: Path) -> SourceList:
    """The recordings of a server, one for each connection: `20261116T060000-USER-1a2b3c.jsonl`."""

    def sources() -> list[Source]:
        ordered: list[tuple[float, int, Source]] = []
        for file in directory.glob("*.jsonl"):
            try:
                changed = file.stat().st_mtime_ns
                started = changed / 1e9 if "-" not in file.stem else _time_of(file)
            except OSError:  # deleted meanwhile
                continue
            source = Source(file.name, _name_of(file), str(file), started)
            ordered.append((started, changed, source))  # the name has only whole seconds
        ordered.sort(key=lambda item: item[:2])
        return [source for _, _, source in ordered[-MAX_SOURCES:]]

    return sources


def _time_of(file: Path) -> float:
    from datetime import UTC, datetime

    try:
        return datetime.strptime(file.stem.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return file.stat().st_mtime


def _name_of(file: Path) -> str:
    """Whose connection it is."""
    _, _, rest = file.stem.partition("-")
    who, _, tail = rest.rpartition("-")
    return f"{who} · {tail}" if who else file.name
