"""The SQLite file: how it is made, opened and checked, and what its errors mean for a person."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .store import StoreError

__all__ = ["VERSION", "explain", "is_busy", "open_reader", "open_writer"]

VERSION = 1
"""The layout of the tables below. A file with a greater number is left alone."""

OPEN_PATIENCE = 10.0
"""Seconds to wait for another process that is just creating or recovering the file."""

WAL_KEPT = 16 * 1024 * 1024
"""Bytes of write-ahead log that stay on disk for reuse. Without it, one huge append stays for ever."""

_TABLES = (
    # One epoch for all sessions: no lease of a deleted session fits a later one of the same name.
    "CREATE TABLE meta (version INTEGER NOT NULL, epoch INTEGER NOT NULL)",
    # AUTOINCREMENT: the key of a deleted session never comes back while somebody reads its log.
    """CREATE TABLE sessions (
        k INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        principal TEXT NOT NULL,
        cwd TEXT NOT NULL,
        title TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        last_seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        owner TEXT,
        state BLOB NOT NULL,
        settings BLOB NOT NULL
    )""",
    "CREATE INDEX sessions_newest ON sessions (principal, updated_at DESC, id DESC)",
    "CREATE INDEX sessions_newest_in ON sessions (principal, cwd, updated_at DESC, id DESC)",
    "CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL",
    """CREATE TABLE events (
        sid INTEGER NOT NULL REFERENCES sessions (k),
        seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (sid, seq)
    ) WITHOUT ROWID""",
    f"INSERT INTO meta VALUES ({VERSION}, 0)",
)

_creating = threading.Lock()
_T = TypeVar("_T")


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the database for writing; make it if it is not there. Raises `StoreError`."""
    _make_file(path)
    return _open(path, _set_up_writer)


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a database that a writer has open, for reading only. Raises `StoreError`."""
    return _open(path, lambda connection: connection.execute("PRAGMA query_only = ON"))


def _make_file(path: Path) -> None:
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        # Closing any descriptor of a file drops the locks that SQLite holds on it in this process,
        # so only a file that nobody can have open yet is opened here.
        with _creating:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.is_dir() or not path.parent.is_dir():
            raise StoreError(f"{path} cannot hold sessions: it must be a file in a directory") from None
    except OSError as exc:
        raise StoreError(
            f"the session database {path} cannot be made: {exc.strerror or exc}; name another file"
        ) from exc


def _open(path: Path, set_up: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        set_up(connection)
    except BaseException as exc:
        if connection is not None:
            connection.close()
        if isinstance(exc, sqlite3.Error):
            raise explain(path, exc) from exc
        if isinstance(exc, StoreError):
            raise StoreError(f"{path} {exc}") from None
        raise
    return connection


def _set_up_writer(connection: sqlite3.Connection) -> None:
    version = _patiently(lambda: _version(connection))
    if _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]) != "wal":
        raise StoreError("is on a file system that SQLite cannot share safely; put it on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT}")
    if version is None:
        _patiently(lambda: _create(connection))
    # short: the writer thread asks again, which is fairer than SQLite's growing pauses
    connection.execute("PRAGMA busy_timeout = 20")


def _version(connection: sqlite3.Connection) -> int | None:
    """The file's version; None if it is empty. Raises `StoreError` for a file that is not ours to use."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    if not tables >= {"meta", "sessions", "events"}:
        raise StoreError("is the database of another program; name another file")
    (version,) = connection.execute("SELECT version FROM meta").fetchone() or (None,)
    if version == VERSION:
        return VERSION
    if isinstance(version, int) and version > VERSION:
        raise StoreError(
            f"was written by a newer acpella (layout {version}, this one knows {VERSION}); "
            "upgrade acpella, or name another file"
        )
    raise StoreError(f"has the unknown layout {version!r}; name another file")


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) is None:  # nobody else was faster
            for statement in _TABLES:
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _patiently(attempt: Callable[[], _T]) -> _T:
    """Try again while another process has the file locked: the change to WAL does not wait by itself."""
    deadline = time.monotonic() + OPEN_PATIENCE
    while True:
        try:
            return attempt()
        except sqlite3.Error as exc:
            if not is_busy(exc) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte of an extended code is the plain one


def is_busy(error: BaseException) -> bool:
    """Whether another process was in the way."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain(path: Path, error: sqlite3.Error) -> StoreError:
    """The same error for a person: what happened to which file, and what to do."""
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full: {path} could not be written and nothing was changed; "
        "free some space and try again",
        sqlite3.SQLITE_IOERR: "{path} could not be read or written ({error}) and nothing was changed; "
        "look whether the disk is full, over its quota or failing, and try again",
        sqlite3.SQLITE_READONLY: "{path} is read-only; allow writing to the file and its directory",
        sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; look at its and its directory's permissions",
        sqlite3.SQLITE_NOTADB: "{path} is not a session database, not even a SQLite file; name another file",
        sqlite3.SQLITE_CORRUPT: "{path} is damaged ({error}); restore a copy, or try sqlite3's .recover",
        sqlite3.SQLITE_BUSY: "another process keeps {path} locked; end it, or try again later",
        sqlite3.SQLITE_LOCKED: "another process keeps {path} locked; end it, or try again later",
    }
    text = advice.get(_code(error), "{path}: {error}")
    return StoreError(text.format(path=path, error=error))
