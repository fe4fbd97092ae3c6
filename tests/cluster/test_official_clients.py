"""The official clients, which know nothing of nodes, behind a load balancer that keeps nobody anywhere."""

import asyncio

import pytest
from cluster_nodes import Cluster

from interop.conftest import run_client, said

pytestmark = pytest.mark.anyio

STEPS = [
    {"do": "new"},
    {"do": "prompt", "text": "flood 30"},
    {"do": "prompt", "text": "ask", "answer": "allow_once"},
    {"do": "again"},
    {"do": "load"},
    {"do": "prompt", "text": "bye"},
]


@pytest.mark.parametrize("client", ["client_official.py", "client_typescript.mjs"])
async def test_a_conversation_with_an_official_client(cluster: Cluster, client: str) -> None:
    """New, prompt, permission; then load on another connection, which may begin at another node."""
    async with cluster.balanced() as balancer:
        runs = [run_client(client, url, cluster.directory, *STEPS) for url in (balancer.url, balancer.ws_url)]
        for events in await asyncio.gather(*runs):
            before = "".join(f"<{each}>" for each in range(30)) + "yes"
            assert said(events) == before + before + "bye"
            ends = [event["reason"] for event in events if event["event"] == "stop"]
            assert ends == ["end_turn"] * 3
