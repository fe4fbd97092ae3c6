"""Which nodes share a store."""

from .cluster import Cluster
from .store import Store

__all__ = ["cluster_of"]


def cluster_of(store: Store) -> Cluster:
    """The nodes that share this store; not open yet. A store of one process has one node."""
    from .postgres import PostgresStore

    if isinstance(store, PostgresStore):
        return store.cluster()
    from .local_cluster import LocalCluster
    from .memory import MemoryStore
    from .sqlite import SqliteStore

    # A store of somebody else's tells nothing: then a tail looks now and then.
    hints = store.hints if isinstance(store, MemoryStore | SqliteStore) else None
    return LocalCluster(store, hints=hints)
