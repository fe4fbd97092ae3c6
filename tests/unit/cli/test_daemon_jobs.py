"""The queue of prompts of a kept session, with an agent that is about to be started."""

import asyncio
from typing import Any

import pytest

from acpella.cli.daemon import jobs as daemon_jobs
from acpella.cli.daemon.history import ReplayHistory
from acpella.cli.daemon.jobs import Job, Jobs
from acpella.cli.daemon.links import ClientLink
from acpella.cli.daemon.tasks import Tasks
from acpella.errors import ConnectionClosed
from acpella.rpc.relay import Side, read_frame
from acpella.transport import memory_pair

pytestmark = pytest.mark.anyio

PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'


class AgentToStart:
    """As much of a `KeptAgent` as the queue needs while there is no process."""

    link = None
    refusal = None
    starting = asyncio.Lock()

    def needs_restart_for(self, greeting: bytes) -> bool:
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


LOAD = b'{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s"}}'


class RunningAgent:
    """As much of a `KeptAgent` as the queue needs of one that answers nothing."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.link: Any = self
        self.channel = self
        self.side = Side(self.sent.append, own_ids=True)
        self.refusal = None
        self.name = "slow"
        self.reason: ConnectionClosed | None = None
        self.gone = asyncio.Event()
        self.session_id = "s"
        self.history = ReplayHistory()
        self.history.begin()
        self.history.add(b"{}")

    def needs_restart_for(self, greeting: bytes) -> bool:
        return False

    def note_descendants(self) -> None: ...

    def decline_open(self, client: ClientLink, why: str) -> None: ...

    def resume_reading(self) -> None: ...

    def ended(self, reason: ConnectionClosed) -> None:
        self.reason = reason
        self.gone.set()


class StartsLate(RunningAgent):
    """One that is not there before it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.link: Any = None
        self.starting = asyncio.Lock()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def restart(self, greeting: bytes) -> None:
        self.begun.set()
        await self.go_on.wait()
        self.link = self


async def loading() -> tuple[Any, Jobs, ClientLink]:
    """A load that the agent is carrying out."""
    agent: Any = RunningAgent()
    jobs = Jobs(agent, tasks=Tasks(), remember=lambda: None, on_fewer=lambda: None, on_hopeless=lambda: None)
    here, there = memory_pair()
    client = ClientLink(here, on_frame=lambda *_: None, on_lost=lambda _: None)
    await client.open()
    await ClientLink(there, on_frame=lambda *_: None, on_lost=lambda _: None).open()
    jobs.add(Job(client, read_frame(LOAD)))
    agent.history.add(b'{"half": "of it"}')
    return agent, jobs, client


async def test_what_a_failed_load_told_again_is_not_taken_for_the_conversation() -> None:
    agent, jobs, _ = await loading()
    assert jobs.running is not None
    jobs.finish(jobs.running, error=ConnectionClosed("it died"))
    assert agent.history.frames() == [b"{}"]


async def test_a_client_that_leaves_during_a_load_does_not_end_the_agent() -> None:
    """It was cancelled like a prompt, and an agent that replays for more than ten seconds was killed."""
    agent, jobs, client = await loading()
    jobs.drop(client)
    assert jobs.running is not None and not jobs.running.cancelled
    assert [read_frame(data).method for data in agent.sent] == ["session/load"]


async def test_a_load_whose_client_is_gone_does_not_block_the_session_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent that never answered it kept every later prompt waiting, and the process alive."""
    monkeypatch.setattr(daemon_jobs, "LOAD", 0.01)
    agent, jobs, client = await loading()
    jobs.drop(client)
    async with asyncio.timeout(60):
        await agent.gone.wait()
    assert str(agent.reason) == "slow did not load the session within 0.01 s and was ended"


async def test_a_load_that_ends_after_its_client_left_spares_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon_jobs, "LOAD", 0.05)
    agent, jobs, client = await loading()
    jobs.drop(client)
    agent.side.settle(read_frame(b'{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no"}}'))
    assert jobs.running is None
    await asyncio.sleep(0.1)
    assert agent.reason is None


async def test_a_load_does_not_begin_when_its_client_left_while_the_agent_started() -> None:
    """It ran without a limit, for nobody."""
    fewer = asyncio.Event()
    agent: Any = StartsLate()
    jobs = Jobs(agent, tasks=Tasks(), remember=lambda: None, on_fewer=fewer.set, on_hopeless=lambda: None)
    here, there = memory_pair()
    client = ClientLink(here, on_frame=lambda *_: None, on_lost=lambda _: None)
    await client.open()
    await ClientLink(there, on_frame=lambda *_: None, on_lost=lambda _: None).open()
    jobs.add(Job(client, read_frame(LOAD)))
    async with asyncio.timeout(60):
        await agent.begun.wait()
        jobs.drop(client)
        agent.go_on.set()
        await fewer.wait()
    assert jobs.running is None and agent.sent == []


async def test_a_request_of_a_client_can_be_cancelled_by_its_id() -> None:
    """The prompt was kept under another sender, so that the cancellation was never passed on."""
    agent, _, client = await loading()
    cancel = b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}'
    assert agent.side.cancel(read_frame(cancel), sender=client)
    assert read_frame(agent.sent[-1]).method == "$/cancel_request"
