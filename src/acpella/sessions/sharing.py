"""Which nodes share a store."""

from .cluster import Cluster
from .store import Store

__all__ = ["cluster_of"]


def cluster_of(store: Store) -> Cluster:
    """The nodes that share this store; not open yet. A store of one process has one node."""
    from .local_cluster import LocalCluster
    from .memory import MemoryStore
    from .postgres import PostgresStore
    from .sqlite import SqliteStore

    if isinstance(store, PostgresStore | SqliteStore | MemoryStore):
        return store.cluster()
    return LocalCluster(store)  # one of somebody else's tells nothing of appends: tails look now and then
