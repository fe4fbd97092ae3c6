"""The official clients, which know nothing of nodes, behind a load balancer that keeps nobody anywhere."""

import asyncio
import json
import os
from typing import Any

import pytest
from cluster_nodes import Cluster

from interop.conftest import peer

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
        runs = [_run(cluster, client, url) for url in (balancer.url, balancer.ws_url)]
        for events in await asyncio.gather(*runs):
            said = [
                event["update"]["content"]["text"]
                for event in events
                if event["event"] == "update" and event["update"]["sessionUpdate"] == "agent_message_chunk"
            ]
            before = "".join(f"<{each}>" for each in range(30)) + "yes"
            assert "".join(said) == before + before + "bye"
            ends = [event["reason"] for event in events if event["event"] == "stop"]
            assert ends == ["end_turn"] * 3


async def _run(cluster: Cluster, client: str, url: str) -> list[dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *peer(client),
        json.dumps(STEPS),
        url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cluster.directory,
        env={**os.environ, "HOME": str(cluster.directory)},
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{out.decode()}\n{err.decode()}"
    return [json.loads(line) for line in out.decode().splitlines()]
