"""Sessions that outlive a connection: stores for their logs, those that are live, export and import."""

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from acpella import _directories as directories

if TYPE_CHECKING:
    from .cluster import (
        Cluster,
        ClusterCommand,
        CommandState,
        Cursor,
        NodeStatus,
        Resync,
        StreamRecord,
    )
    from .live import LiveSessions
    from .local_cluster import LocalCluster
    from .memory import MemoryStore
    from .postgres import PostgresStore
    from .remembered import Decision, RememberedPermissions
    from .sharing import cluster_of
    from .sqlite import SqliteStore
    from .store import (
        Event,
        EventKind,
        Events,
        Fenced,
        InvalidCursor,
        Lease,
        SessionBusy,
        SessionChanges,
        SessionExists,
        SessionNotFound,
        SessionPage,
        SessionRecord,
        Store,
        StoreError,
        StoreUnavailable,
    )
    from .threads import quick_thread_switches
    from .transfer import ImportedSession, InvalidDocument, export_session, import_session

_HOMES = {
    "Cluster": "cluster",
    "ClusterCommand": "cluster",
    "CommandState": "cluster",
    "Cursor": "cluster",
    "Decision": "remembered",
    "Event": "store",
    "EventKind": "store",
    "Events": "store",
    "Fenced": "store",
    "ImportedSession": "transfer",
    "InvalidCursor": "store",
    "InvalidDocument": "transfer",
    "Lease": "store",
    "LiveSessions": "live",
    "LocalCluster": "local_cluster",
    "MemoryStore": "memory",
    "NodeStatus": "cluster",
    "SessionPage": "store",
    "PostgresStore": "postgres",
    "RememberedPermissions": "remembered",
    "Resync": "cluster",
    "SessionBusy": "store",
    "SessionChanges": "store",
    "SessionExists": "store",
    "SessionNotFound": "store",
    "SessionRecord": "store",
    "SqliteStore": "sqlite",
    "Store": "store",
    "StoreError": "store",
    "StoreUnavailable": "store",
    "StreamRecord": "cluster",
    "cluster_of": "sharing",
    "export_session": "transfer",
    "import_session": "transfer",
    "quick_thread_switches": "threads",
}
"""Where each name lives: a store is imported by whoever uses it, which clients do not."""

__all__ = [
    "Cluster",
    "ClusterCommand",
    "CommandState",
    "Cursor",
    "Decision",
    "Event",
    "EventKind",
    "Events",
    "Fenced",
    "ImportedSession",
    "InvalidCursor",
    "InvalidDocument",
    "Lease",
    "LiveSessions",
    "LocalCluster",
    "MemoryStore",
    "NodeStatus",
    "PostgresStore",
    "RememberedPermissions",
    "Resync",
    "SessionBusy",
    "SessionChanges",
    "SessionExists",
    "SessionNotFound",
    "SessionPage",
    "SessionRecord",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "StreamRecord",
    "cluster_of",
    "default_path",
    "export_session",
    "import_session",
    "open_store",
    "quick_thread_switches",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'acpella.sessions' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def open_store(spec: "Store | str | os.PathLike[str] | None", *, name: str) -> "Store | None":
    """The store that `spec` means, not opened yet.

    None: none. "memory": for this process. "sqlite": the file of the agent called `name` in the user's data
    directory (see `default_path`), or the database that `ACPELLA_STORE` names. "postgresql://…": that
    database. A path: that file. A `Store`: itself.
    """
    if spec is None:
        return None
    from ._postgres_address import is_address
    from .memory import MemoryStore
    from .sqlite import SqliteStore

    if isinstance(spec, os.PathLike):
        return SqliteStore(spec)
    if not isinstance(spec, str):
        if callable(getattr(spec, "append", None)) and callable(getattr(spec, "acquire", None)):
            return spec
        raise TypeError(f"a store is None, a name, a path or a Store object, not {type(spec).__name__}")
    if spec == "memory":
        return MemoryStore()
    if spec == "sqlite":
        if is_address(address := os.environ.get("ACPELLA_STORE", "")):
            spec = address
        else:
            return SqliteStore(default_path(name))
    if is_address(spec):
        from .postgres import PostgresStore

        return PostgresStore(spec)
    if spec.endswith((".db", ".sqlite")) or os.sep in spec or "/" in spec:
        return SqliteStore(spec)
    raise ValueError(
        f'unknown store {spec!r}: use "memory", "sqlite", a path such as "./sessions.db", '
        '"postgresql://…", a Store object or None'
    )


def default_path(name: str) -> Path:
    """Where the sessions of the agent called `name` are kept.

    `ACPELLA_STORE` names the file, or a directory for the files of all agents. Without it, or if it names a
    PostgreSQL database, the file is in the user's data directory.
    """
    file = (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "agent") + ".db"
    from ._postgres_address import is_address

    if (from_environment := os.environ.get("ACPELLA_STORE")) and not is_address(from_environment):
        path = Path(from_environment).expanduser()
        return path / file if path.is_dir() or from_environment.endswith(("/", os.sep)) else path
    return directories.data() / file
