"""Which nodes share a store."""

from typing import TYPE_CHECKING, cast

from .cluster import Cluster
from .store import Store

if TYPE_CHECKING:
    from .memory import MemoryStore
    from .postgres import PostgresStore
    from .sqlite import SqliteStore

__all__ = ["cluster_of"]

_OWN = {
    f"{__package__}.{name}" for name in ("memory.MemoryStore", "postgres.PostgresStore", "sqlite.SqliteStore")
}
"""By name: importing the stores that are not used would make every start slower."""


def cluster_of(store: Store) -> Cluster:
    """The nodes that share this store; not open yet. A store of one process has one node."""
    if any(f"{kind.__module__}.{kind.__qualname__}" in _OWN for kind in type(store).__mro__):
        return cast("PostgresStore | SqliteStore | MemoryStore", store).cluster()
    from .local_cluster import LocalCluster

    return LocalCluster(store)  # a foreign store gives no hints of appends: tails poll
