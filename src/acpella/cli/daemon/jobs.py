"""The prompts of a kept session: one runs, the others wait for their turn."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from acpella._plain_json import as_dict
from acpella.errors import ConnectionClosed, Overloaded, TransportError
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame

from ..state.catalogue import now
from . import methods
from .agent import LOAD, START_ERRORS, KeptAgent
from .errors import to_wire
from .history import ReplayHistory
from .links import ClientLink, request_id
from .tasks import Tasks

__all__ = ["Job", "Jobs"]

log: logging.Logger = logging.getLogger(__name__)

MAX_QUEUE = 64
"""Prompts that may wait. Without it, a loop in a script would fill the memory."""

MAX_QUEUED_BYTES = 256 * 1024 * 1024
"""Limit on the bytes of the prompts that wait; images can be large."""

CANCEL_GRACE = 10.0
"""Seconds for a cancelled turn to be answered, before the agent counts as hung and is ended."""

STOP_WITHIN = 2.0
"""The same when the daemon is told to end: whoever does that must not be kept waiting."""

EXCERPT = 60
"""Characters of a prompt that `acpella status` shows."""


class Job:
    """A prompt that waits for its turn, or has it. (A load, too: it replays, so it must be alone.)"""

    def __init__(self, client: ClientLink, request: Frame) -> None:
        self.client: ClientLink | None = client  # None when it went away
        self.request = request
        self.params: bytes = bytes(request.envelope.params)
        self.is_prompt: bool = request.method == "session/prompt"
        self.what: str = _excerpt(self.params) if self.is_prompt else "(the conversation is read again)"
        self.since: str = now()
        self.started = ""
        self.cancelled = False
        self.deaf = False  # cancelled by another command: the agent does not wait for this client to read
        self.background: bool = client.background
        self.ended: asyncio.Event = asyncio.Event()
        self.before: ReplayHistory | None = None  # what was known before a load tells it again


class Jobs:
    """Gives the agent one prompt after the other, and starts it for them if need be."""

    def __init__(
        self,
        agent: KeptAgent,
        *,
        tasks: Tasks,
        remember: Callable[[], None],
        on_fewer: Callable[[], None],
        on_hopeless: Callable[[], None],
    ) -> None:
        """`on_fewer` hears that a job has ended; `on_hopeless`, that there is no agent and will be none."""
        self.running: Job | None = None
        self.waiting: deque[Job] = deque()
        self.failure: BaseException | None = None
        """Why there is no agent."""
        self.last_activity: str = now()
        self._agent = agent
        self._tasks = tasks
        self._remember = remember
        self._on_fewer = on_fewer
        self._on_hopeless = on_hopeless
        self._killer: asyncio.TimerHandle | None = None

    def __iter__(self) -> Iterator[Job]:
        """All of them, the running one first."""
        return iter([*([] if self.running is None else [self.running]), *self.waiting])

    def add(self, job: Job) -> None:
        """Run it when its turn comes, or tell its client why not."""
        assert job.client is not None
        problem = self._agent.refusal or self.failure
        if problem is not None:
            job.client.side.refuse(request_id(job.request), to_wire(problem))
            return
        size = len(job.params) + sum(len(waiting.params) for waiting in self.waiting)
        if len(self.waiting) >= MAX_QUEUE or (self.waiting and size > MAX_QUEUED_BYTES):
            text = f"{len(self.waiting)} prompts wait already; try again later, or `acpella cancel --all`"
            job.client.side.refuse(request_id(job.request), Overloaded(text))
            return
        before = len(self.waiting) + (self.running is not None)
        self.waiting.append(job)
        if before or job.background:
            job.client.side.notify(methods.QUEUED, {"before": before})
        self._next()

    def _next(self) -> None:
        if self.running is not None or not self.waiting or self.failure is not None:
            return
        job = self.running = self.waiting.popleft()
        assert job.client is not None
        job.started = self.last_activity = now()
        if self._agent.link is None or (job.is_prompt and self._agent.needs_restart_for(job.client.greeting)):
            self._tasks.spawn(self._prepare(job))
        else:
            self._begin(job)

    def _begin(self, job: Job) -> None:
        self._remember()
        if self._agent.link is None:
            return
        if job.is_prompt:
            self._agent.history.add_prompt(job.params)
        else:
            job.before = self._agent.history.take()
        self._agent.link.side.forward(
            job.request, lambda response: self._answered(job, response), sender=job.client
        )

    def _answered(self, job: Job, response: Frame) -> None:
        if job.is_prompt or response.is_error:
            self.finish(job, response=response)
        else:
            self._tasks.spawn(self._finish_load(job, response))

    async def _finish_load(self, job: Job, response: Frame) -> None:
        await self._agent.until_replayed()
        self.finish(job, response=response)

    def finish(
        self,
        job: Job,
        *,
        response: Frame | None = None,
        error: BaseException | None = None,
        cancelled: bool = False,
    ) -> None:
        """Tell the client how its job ended, and begin the next one."""
        if job is self.running:
            self.running = None
            if self._killer is not None:
                self._killer.cancel()
                self._killer = None
            if self._agent.link is not None:
                self._agent.link.channel.resume_reading()
            if job.client is not None:
                self._agent.decline_open(job.client, "the turn is over")
            if response is not None and not response.is_error:
                self._remember()
        elif job in self.waiting:
            self.waiting.remove(job)
        else:
            return  # was finished before
        if job.before is not None and (response is None or response.is_error):
            self._agent.history.restore(job.before)
        job.ended.set()
        self.last_activity = now()
        if job.client is not None:
            if response is not None:
                job.client.side.send(response.data)
            elif cancelled:
                if not job.cancelled:  # a running one was told when it was cancelled
                    job.client.side.notify(methods.CANCELLED, {})
                job.client.side.answer(request_id(job.request), {"stopReason": "cancelled"})
            else:
                error = error or TransportError("the session's background process has ended")
                job.client.side.refuse(request_id(job.request), to_wire(error))
        self._next()
        self._on_fewer()

    def drop(self, client: ClientLink) -> None:
        """A client went away: nobody waits for its jobs any more."""
        for job in [job for job in self.waiting if job.client is client]:
            self.waiting.remove(job)
        if self.running is not None and self.running.client is client:
            if self.running.is_prompt or self._agent.link is None:
                log.info("the client went away; its turn is cancelled")
                self.cancel(self.running)
            elif not self.running.cancelled:  # it goes on to its end: nothing cancels a load that has begun
                self._end_agent_after(LOAD, self.running, f"did not load the session within {LOAD:g} s")
            self.running.client = None

    def cancel(self, job: Job) -> None:
        """Let the agent end a job that runs; one that waits ends at once."""
        if job is not self.running:
            self.finish(job, cancelled=True)
            return
        if job.cancelled:
            return
        job.cancelled = True
        if job.client is not None:
            job.client.side.notify(methods.CANCELLED, {})
        if self._agent.link is None:
            return  # being started; the job ends when it is
        self._agent.note_descendants()
        self._agent.link.side.notify("session/cancel", {"sessionId": self._agent.session_id})
        self._end_agent_after(CANCEL_GRACE, job, f"did not stop within {CANCEL_GRACE:g} s")

    def _end_agent_after(self, seconds: float, job: Job, text: str) -> None:
        """Give the agent so long to end a job."""
        if self._killer is not None:
            self._killer.cancel()
        self._killer = asyncio.get_running_loop().call_later(seconds, self._kill, job, text)

    def _kill(self, job: Job, text: str) -> None:
        if job is self.running and self._agent.link is not None:
            self._agent.link.ended(ConnectionClosed(f"{self._agent.name} {text} and was ended"))

    async def _prepare(self, job: Job) -> None:
        """Start the agent (again) for a job: it died, or the client allows other things than the last one."""
        if job.client is None:  # went away before this began
            self.finish(job, cancelled=True)
            return
        greeting = job.client.greeting
        try:
            async with self._agent.starting:
                if self._agent.link is None or self._agent.needs_restart_for(greeting):
                    await self._agent.restart(greeting)
            if self._agent.refusal is not None:
                raise self._agent.refusal
        except START_ERRORS as error:
            self.fail_all(error)
            return
        if job is not self.running:
            return  # cancelled meanwhile
        if job.cancelled:
            self.finish(job, cancelled=True)
        else:
            self._begin(job)

    def fail_all(self, error: BaseException) -> None:
        """There is no agent, and there will be none."""
        self.failure = error
        for job in self:
            self.finish(job, error=error)
        self._on_hopeless()

    async def stop(self) -> None:
        """End all of them, because the daemon ends."""
        self.failure = self.failure or TransportError("the session's background process is ending")
        for job in list(self.waiting):
            self.finish(job, cancelled=True)
        if self.running is not None:
            await self._stop(self.running)

    async def _stop(self, job: Job) -> None:
        """Let the agent stop the turn and the commands of it, which it knows best."""
        if job.is_prompt:
            self.cancel(job)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_WITHIN):
                    await job.ended.wait()
        self.finish(job, cancelled=True)


def _excerpt(params: bytes) -> str:
    """The start of a prompt, for people."""
    try:
        blocks = msgspec.json.decode(params)["prompt"]
        text = " ".join(str(as_dict(block).get("text", "")) for block in blocks)
    except (*UNREADABLE, KeyError, TypeError):
        return ""
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
