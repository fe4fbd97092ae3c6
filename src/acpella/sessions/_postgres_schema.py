"""The tables of a PostgreSQL store: how they are made, brought up to date and checked.

They live in a schema of their own, so that the database can have other tenants. No foreign keys: the locks of
appends and deletes keep events and sessions together, and a key would be checked for every single event.
"""

import secrets
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._postgres_address import PostgresAddress
from .store import StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["VERSION", "is_prepared", "prepare"]

VERSION = 4
"""The layout of the tables below. A database with a greater number is left alone."""

OLDEST_SERVER = 130000
"""PostgreSQL 13, as the server writes it."""

_LOCK = 0x6163_7065_6C6C_61  # "acpella"
"""The advisory lock of whoever makes or changes tables."""

_STEPS: dict[int, tuple[str, ...]] = {
    1: (
        "CREATE TABLE meta (version integer NOT NULL, gen text NOT NULL)",
        "INSERT INTO meta VALUES (1, '{gen}')",
        # One counter for all sessions: no lease of a deleted session fits a later one of the same name.
        "CREATE SEQUENCE epochs",
        """CREATE TABLE nodes (
            incarnation bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE,
            started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            lease_until timestamptz NOT NULL
        )""",
        # COLLATE "C": lists come in the same order on every server and in SQLite.
        """CREATE TABLE sessions (
            k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text COLLATE "C" NOT NULL UNIQUE,
            principal text COLLATE "C" NOT NULL,
            cwd text COLLATE "C" NOT NULL,
            title text,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            last_seq bigint NOT NULL,
            epoch bigint NOT NULL,
            owner bigint,
            state bytea NOT NULL,
            settings bytea NOT NULL
        )""",
        "CREATE INDEX sessions_newest ON sessions (principal, updated_at DESC, id DESC)",
        "CREATE INDEX sessions_newest_in ON sessions (principal, cwd, updated_at DESC, id DESC)",
        "CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL",
        """CREATE TABLE events (
            sid bigint NOT NULL,
            seq bigint NOT NULL,
            epoch bigint NOT NULL,
            kind text NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (sid, seq)
        )""",
    ),
    2: (
        """CREATE TABLE streams (
            k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text COLLATE "C" NOT NULL UNIQUE,
            principal text COLLATE "C" NOT NULL,
            facts bytea NOT NULL,
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            last_seq bigint NOT NULL DEFAULT 0,
            epoch bigint NOT NULL,
            owner bigint
        )""",
        "CREATE INDEX streams_owned ON streams (owner) WHERE owner IS NOT NULL",
        """CREATE TABLE frames (
            sid bigint NOT NULL,
            seq bigint NOT NULL,
            epoch bigint NOT NULL,
            kind text NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (sid, seq)
        )""",
        """CREATE TABLE commands (
            target text COLLATE "C" NOT NULL,
            id text COLLATE "C" NOT NULL,
            n bigint GENERATED ALWAYS AS IDENTITY,
            kind text NOT NULL,
            body bytea NOT NULL,
            trace bytea NOT NULL,
            state text NOT NULL DEFAULT 'new',
            epoch bigint,
            submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (target, id)
        )""",
        "CREATE INDEX commands_open ON commands (target, n) WHERE state <> 'done'",
        "CREATE INDEX commands_done ON commands (submitted_at) WHERE state = 'done'",
    ),
    3: (
        """CREATE TABLE tickets (
            digest bytea PRIMARY KEY,
            principal text COLLATE "C" NOT NULL,
            body bytea NOT NULL,
            valid_until timestamptz NOT NULL
        )""",
    ),
    4: (
        """CREATE TABLE notes (
            name text COLLATE "C" PRIMARY KEY,
            n bigint GENERATED ALWAYS AS IDENTITY,
            body bytea NOT NULL,
            kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            valid_until timestamptz
        )""",
        "CREATE INDEX notes_newest ON notes (n)",
    ),
}
"""What each version adds to the one before; a step that was released is never changed."""


async def prepare(connection: "AnyConnection", address: PostgresAddress) -> int:
    """Make the tables if there are none, and bring older ones up to date; returns the layout that was there.

    Raises `StoreError`.
    """
    await _check_server(connection, address)
    if await _version(connection, address) == VERSION:
        return VERSION
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        version = await _version(connection, address)  # somebody may have been faster
        if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", address.schema):
            await connection.execute(f"CREATE SCHEMA {address.schema}")
        for step in range(version + 1, VERSION + 1):
            for statement in _STEPS[step]:
                await connection.execute(statement.replace("{gen}", secrets.token_hex(4)))
            await connection.execute("UPDATE meta SET version = $1", step)
    return version


async def is_prepared(connection: "AnyConnection", address: PostgresAddress) -> bool:
    """Whether the tables are there as they are needed. Raises `StoreError` if they are not ours to use."""
    return await _version(connection, address) == VERSION


async def _check_server(connection: "AnyConnection", address: PostgresAddress) -> None:
    number, encoding = await connection.fetchrow(
        "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
    ) or (0, "")
    if number < OLDEST_SERVER:
        raise StoreError(
            f"{address.where} is too old: acpella needs PostgreSQL {OLDEST_SERVER // 10000} or newer"
        )
    if encoding != "UTF8":
        raise StoreError(
            f"{address.where} has the encoding {encoding}, which cannot hold every text; "
            "make one with createdb --encoding=UTF8"
        )


async def _version(connection: "AnyConnection", address: PostgresAddress) -> int:
    """The layout that is there; 0 if there is none. Raises `StoreError` if it is not ours to use."""
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", address.schema)
    tables = {row[0] for row in rows}
    if not tables:
        return 0
    place = f"the schema {address.schema} of {address.where}"
    foreign = f"{place} has tables of another program; name another schema (?schema=NAME) or database"
    if not tables >= {"meta", "nodes", "sessions", "events"}:
        raise StoreError(foreign)
    try:
        version = await connection.fetchval("SELECT version FROM meta")
    except asyncpg.UndefinedColumnError:  # by chance, it has one of that name
        raise StoreError(foreign) from None
    if not isinstance(version, int) or version < 1:
        raise StoreError(f"{place} has the unknown layout {version!r}; name another schema (?schema=NAME)")
    if version > VERSION:
        raise StoreError(
            f"{place} was written by a newer acpella (layout {version}, this one knows {VERSION}); "
            "upgrade acpella, or name another schema (?schema=NAME)"
        )
    return version
