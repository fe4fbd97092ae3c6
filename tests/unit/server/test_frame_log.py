"""What a connection says, on its way into its stream."""

from collections.abc import AsyncIterator

import pytest

from acpella.server.cluster.frame_log import FrameLog
from acpella.server.cluster.records import Facts
from acpella.server.metrics import Metrics
from acpella.sessions import Cluster, ClusterCommand, MemoryStore, cluster_of

pytestmark = pytest.mark.anyio

STREAM = "c:1"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    store = MemoryStore()
    await store.open()
    cluster = cluster_of(store)
    await cluster.open()
    yield cluster
    await cluster.close()
    await store.close()


def new_log(cluster: Cluster) -> FrameLog:
    return FrameLog(cluster, Facts(profile="http", scopes=[]), Metrics(), on_lost=lambda _: None)


async def test_a_command_that_is_done_is_settled(cluster: Cluster) -> None:
    log = new_log(cluster)
    log.lease = await cluster.open_stream(STREAM, b"")
    await cluster.submit(STREAM, ClusterCommand(id="m1", kind="message"))
    log.settle("m1", forget=False)
    await log.settled()
    assert await cluster.pending(log.lease) == []


async def test_a_home_that_is_lost_leaves_commands_to_the_next(cluster: Cluster) -> None:
    log = new_log(cluster)
    log.lease = await cluster.open_stream(STREAM, b"")
    await cluster.submit(STREAM, ClusterCommand(id="m1", kind="message"))
    log.stop()
    log.settle("m1", forget=False)
    await log.settled()
    assert [command.id for command in await cluster.pending(log.lease)] == ["m1"]
