"""`acpella store`: bring a session store up to date, copy it to another kind, look whether it is whole."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .. import exits
from ..terminal.output import say, show

if TYPE_CHECKING:
    from acpella.sessions import PostgresStore, SqliteStore

__all__ = ["declare", "run"]

LINE_SECONDS = 5.0
"""Seconds between two lines of progress where there is no terminal."""

_EPILOG = """\
A STORE is an SQLite file, a PostgreSQL database (postgresql://USER:PASSWORD@HOST/DATABASE), or env:NAME for
the store that the environment variable NAME names: other users of the machine can see a command line, and a
password does not belong there. Without a STORE, it is that of ACPELLA_STORE.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Look after the store that sessions are kept in."
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    migrating = actions.add_parser("migrate", help="make the tables, or bring older ones up to date")
    copying = actions.add_parser("copy", help="copy all sessions to another store, and compare")
    checking = actions.add_parser("check", help="read everything and say what is wrong with it")
    for sub in (migrating, checking):
        sub.add_argument("store", metavar="STORE", nargs="?", default="env:ACPELLA_STORE", help="which store")
    copying.add_argument("source", metavar="FROM", help="the store to copy; it is not changed")
    copying.add_argument("target", metavar="TO", help="the store to copy to; what is there stays")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.sessions import StoreError

    work = {"migrate": _migrate, "copy": _copy, "check": _check}[arguments.action]
    try:
        return asyncio.run(work(arguments))
    except (StoreError, ValueError) as error:
        say(str(error))
        return exits.USAGE
    except KeyboardInterrupt:
        say("stopped; what was copied stays, and the same command goes on from there")
        return exits.CANCELLED


async def _migrate(arguments: argparse.Namespace) -> int:
    from acpella.sessions import SqliteStore

    async with _opened(arguments.store, new=True) as store:
        if isinstance(store, SqliteStore):
            show("the layout is up to date")
            return exits.DONE
        from acpella.sessions._postgres_schema import VERSION

        before = store.layout_before
        if before == VERSION:
            show(f"layout {VERSION}: up to date")
        elif before:
            show(f"layout {before} was brought up to date: now {VERSION}")
        else:
            show(f"the tables were made: layout {VERSION}")
    return exits.DONE


async def _copy(arguments: argparse.Namespace) -> int:
    from acpella.sessions.copying import copy_store

    if _spec(arguments.source) == _spec(arguments.target):
        raise ValueError("a store cannot be copied to itself; name two")
    counts = dict.fromkeys(("copied", "updated", "there", "refused"), 0)
    events = 0
    async with _opened(arguments.source) as source, _opened(arguments.target, new=True) as target:
        total, _ = await source.size()
        progress = _Progress("copied", total)
        async for each in copy_store(source, target):
            counts[each.outcome] += 1
            events += each.events
            if each.outcome == "refused":
                progress.interrupt(f"{each.id}: {each.reason}")
            progress.step()
        progress.end()
    words = [f"{counts['copied']:,} sessions copied"]
    words += [f"{counts['updated']:,} had grown and were copied anew"] * bool(counts["updated"])
    words += [f"{counts['there']:,} were there"] * bool(counts["there"])
    words += [f"{counts['refused']:,} were refused"] * bool(counts["refused"])
    show(f"{', '.join(words)}; {events:,} events read back and compared")
    return exits.REFUSED if counts["refused"] else exits.DONE


async def _check(arguments: argparse.Namespace) -> int:
    from acpella.sessions.copying import check_store

    sessions = events = bad = 0
    async with _opened(arguments.store) as store:
        total, _ = await store.size()
        progress = _Progress("checked", total)
        async for record, problems in check_store(store):
            sessions += 1
            events += record.last_seq
            bad += bool(problems)
            for problem in problems:
                progress.interrupt(f"{problem.session_id}: {problem.text}")
            progress.step()
        progress.end()
    show(f"{sessions:,} sessions, {events:,} events: " + (f"{bad:,} are damaged" if bad else "all whole"))
    return exits.PROTOCOL if bad else exits.DONE


def _spec(text: str) -> str:
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    value = os.environ.get(name, "")
    if not value:
        raise ValueError(f"the environment variable {name} names no store; set it, or name the store itself")
    return value


@asynccontextmanager
async def _opened(option: str, *, new: bool = False) -> "AsyncGenerator[SqliteStore | PostgresStore]":
    from acpella.sessions import PostgresStore, SqliteStore, open_store

    spec = _spec(option)
    store = open_store(spec, name="acpella") if "://" in spec else SqliteStore(_file(spec, new=new))
    assert isinstance(store, SqliteStore | PostgresStore)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _file(spec: str, *, new: bool) -> Path:
    path = Path(spec).expanduser()
    if path.is_dir():
        raise ValueError(f"{path} is a directory; name the file of one agent in it")
    if not new and not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


class _Progress:
    """A bar on a terminal, a line now and then elsewhere; on standard error, beside the output."""

    def __init__(self, verb: str, total: int) -> None:
        self._verb = verb
        self._total = total
        self._done = 0
        self._shown = time.monotonic()
        self._bar = sys.stderr.isatty()

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._bar and (now - self._shown >= 0.1 or self._done >= self._total):
            self._draw()
        elif not self._bar and now - self._shown >= LINE_SECONDS:
            say(self._text())
        else:
            return
        self._shown = now

    def interrupt(self, text: str) -> None:
        """Say something in between."""
        if self._bar:
            sys.stderr.write("\r\x1b[K")
        say(text)

    def end(self) -> None:
        if self._bar and self._done:
            self._draw()
            sys.stderr.write("\n")

    def _text(self) -> str:
        return f"{self._verb} {self._done:,} of {self._total:,} sessions"

    def _draw(self) -> None:
        width = 30
        filled = width * self._done // max(self._total, self._done, 1)
        sys.stderr.write(f"\r\x1b[K{'█' * filled}{'░' * (width - filled)} {self._text()}")
        sys.stderr.flush()
