"""The queue of prompts of a kept session, with an agent that is about to be started."""

import asyncio
from typing import Any

import pytest

from acpella.cli.daemon.jobs import Job, Jobs
from acpella.cli.daemon.links import ClientLink
from acpella.cli.daemon.tasks import Tasks
from acpella.rpc.relay import read_frame
from acpella.transport import memory_pair

pytestmark = pytest.mark.anyio

PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'


class AgentToStart:
    """As much of a `KeptAgent` as the queue needs while there is no process."""

    link = None
    refusal = None
    starting = asyncio.Lock()

    def must_hear(self, greeting: bytes) -> bool:
        return False

    async def restart(self, greeting: bytes) -> None:
        await asyncio.sleep(0)


async def test_a_client_that_leaves_before_the_agent_is_started_does_not_block_the_queue() -> None:
    fewer = asyncio.Event()
    agent: Any = AgentToStart()
    jobs = Jobs(agent, tasks=Tasks(), remember=lambda: None, on_fewer=fewer.set, on_hopeless=lambda: None)
    here, there = memory_pair()
    client = ClientLink(here, on_frame=lambda *_: None, on_lost=lambda _: None)
    await client.open()
    await ClientLink(there, on_frame=lambda *_: None, on_lost=lambda _: None).open()
    jobs.add(Job(client, read_frame(PROMPT)))
    jobs.drop(client)
    async with asyncio.timeout(60):
        await fewer.wait()
    assert jobs.running is None and not jobs.waiting
