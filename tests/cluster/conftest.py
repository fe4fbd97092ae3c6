"""Three nodes that the tests of one module share: starting processes takes longer than everything else."""

import asyncio
from collections.abc import Iterator

import pytest
from cluster_nodes import Cluster

from postgres import PostgresServer


@pytest.fixture(scope="module")
def cluster(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """The nodes. Each test that needs them starts those again that the test before it left dead."""
    name = request.path.stem
    nodes = Cluster(f"{postgres_server.dsn()}&schema={name}", tmp_path_factory.mktemp(name))
    yield nodes
    asyncio.run(nodes.stop())


@pytest.fixture
def dsn(postgres_server: PostgresServer, schema: str) -> str:
    return f"{postgres_server.dsn()}&schema={schema}"
