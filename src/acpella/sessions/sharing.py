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

    return LocalCluster(store)
