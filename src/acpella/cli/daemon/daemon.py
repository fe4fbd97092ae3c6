"""The daemon of a session: a small process that keeps one agent and one session alive.

It speaks plain ACP on a Unix socket. Whoever attaches sends prompts as to the agent itself; they are
answered one after the other. What the agent asks for goes to whoever sent the prompt that is running.
Started by `client.reach` when a session is used, and gone again when nobody has used it for a while.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from acpella._plain_json import as_dict
from acpella._processes import HANGUP, on_signals
from acpella.errors import (
    AcpellaError,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    Overloaded,
    TransportError,
    Unsupported,
)
from acpella.rpc.message import RequestId
from acpella.rpc.relay import Frame
from acpella.transport import UnixChannel, memory_pair

from ..state.catalogue import Catalogue, now
from .agent import KeptAgent
from .client import Config
from .errors import to_wire
from .history import History
from .links import ClientLink
from .lock import MAX_CLIENTS

__all__ = ["Daemon", "Job"]

log: logging.Logger = logging.getLogger(__name__)

MAX_QUEUE = 64
"""Prompts that may wait. Without it, a loop in a script would fill the memory."""

MAX_QUEUED_BYTES = 256 * 1024 * 1024
"""Of the prompts that wait, for those with large images."""

FIRST_WITHIN = 10.0
"""Seconds for whoever started the daemon to be there, however short the idle time is."""

CANCEL_GRACE = 10.0
"""Seconds for a cancelled turn to be answered, before the agent counts as hung and is ended."""

STOP_WITHIN = 2.0
"""The same when the daemon is told to end: whoever does that may not wait long."""

LINGER = 1.0
"""Seconds in which clients that failed read why, before the daemon ends."""

UNHEARD = 10
"""Lines that are not messages, kept for the next client. Most agents that print do so at their start."""

EXCERPT = 60
"""Characters of a prompt that `acpella status` shows."""

_EXCLUSIVE = ("session/prompt", "session/load")


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
        self.deaf = False  # cancelled from outside: its client need not read on for the agent to go on
        self.background: bool = client.background
        self.ended: asyncio.Event = asyncio.Event()
        self.before: History | None = None  # what was known before a load tells it again


class Daemon:
    """One agent, one session, and whoever is attached."""

    def __init__(self, config: Config, listener: socket.socket, *, on_agent: Callable[[int], None]) -> None:
        self._config = config
        self._listener = listener
        self._catalogue = Catalogue(warn=log.warning)
        self._agent = KeptAgent(config, self, on_started=on_agent, remember=self._remember)
        self._failure: BaseException | None = None  # why there is no agent
        self._starting = asyncio.Lock()
        self._clients: set[ClientLink] = set()
        self._queue: deque[Job] = deque()
        self._job: Job | None = None
        self._unheard: deque[str] = deque(maxlen=UNHEARD)  # what the agent printed while nobody was here
        self._tasks: set[asyncio.Task[None]] = set()
        self._left_here: set[asyncio.Task[None]] = set()  # prompts that nobody waits for
        self._ending = asyncio.Event()
        self._killer: asyncio.TimerHandle | None = None
        self._idler: asyncio.TimerHandle | None = None
        self._used = 0.0  # when somebody was here last; who only asks for the status is nobody
        self._last = now()

    # -- life ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until told to end, idle for too long, or without an agent."""
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._used = loop.time() + FIRST_WITHIN
        on_signals((signal.SIGTERM, signal.SIGINT, *HANGUP), self._ending.set)
        accepting = loop.create_task(self._accept())
        self._rest()
        try:
            await self._ending.wait()
        finally:
            accepting.cancel()
            self._listener.close()
            await self._end()

    async def _accept(self) -> None:
        while True:
            try:
                connected, _ = await self._loop.sock_accept(self._listener)
            except OSError as error:
                log.warning("cannot accept a client: %s", error)
                await asyncio.sleep(0.1)
                continue
            if len(self._clients) >= MAX_CLIENTS:
                connected.close()
                continue
            await self._attach(ClientLink(UnixChannel(connected), on_frame=self._frame, on_lost=self._left))

    async def _attach(self, client: ClientLink) -> None:
        self._clients.add(client)
        client.on_full = lambda full: self._client_full(client, full)
        self._rest()
        await client.open()

    async def _end(self) -> None:
        self._failure = self._failure or TransportError("the session's background process is ending")
        for job in list(self._queue):
            self._finish(job, cancelled=True)
        if self._job is not None:
            await self._stop_job(self._job)
        for timer in (self._killer, self._idler):
            if timer is not None:
                timer.cancel()
        if self._left_here:  # each notes how it ended
            await asyncio.wait(self._left_here, timeout=LINGER)
        for task in list(self._tasks):
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.gather(
                    *(client.close() for client in self._clients),
                    self._agent.close(),
                    return_exceptions=True,
                )

    async def _stop_job(self, job: Job) -> None:
        """Let the agent stop the turn and the commands of it, which it knows best."""
        if job.is_prompt:
            self._cancel(job)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_WITHIN):
                    await job.ended.wait()
        self._finish(job, cancelled=True)

    def _rest(self) -> None:
        """(Re)start the time after which an unused daemon ends."""
        if self._idler is not None:
            self._idler.cancel()
            self._idler = None
        if not self._clients and self._job is None and not self._queue:
            self._idler = self._loop.call_at(self._used + self._config.idle, self._ending.set)

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = self._loop.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- what clients send -------------------------------------------------------------------

    def _frame(self, client: ClientLink, frame: Frame) -> None:
        if frame.kind == "response":  # to something that the agent asked
            client.side.settle(frame)
        elif frame.kind == "notification":
            self._hear(client, frame)
        elif (own := self._OWN.get(frame.method)) is not None:
            own(self, client, frame)
        elif frame.method == "initialize":
            self._spawn(self._greet(client, frame))
        elif not client.attached:
            client.side.refuse(_id(frame), InvalidRequest("initialize first"))
        else:
            self._serve(client, frame)

    def _serve(self, client: ClientLink, request: Frame) -> None:
        """A request of a client that is attached: answered here, or by the agent."""
        method, session = request.method, request.session
        if method == "session/load" and self._tells_itself(session):
            self._replay(client, request)
        elif method in _EXCLUSIVE:
            self._enqueue(Job(client, request))
        elif method == "session/resume" and session in (self._agent.session_id, "new"):
            self._resume(client, request)
        elif method == "session/close" and session == self._agent.session_id:
            client.side.answer(_id(request), {})  # it leaves; the session stays
        elif method == "session/new":
            client.side.refuse(
                _id(request), InvalidRequest("this process keeps one session alive, and it is open")
            )
        else:
            self._pass_on(client, request)

    def _hear(self, client: ClientLink, notification: Frame) -> None:
        agent = self._agent.link
        if notification.method == "session/cancel":
            for job in [self._job, *self._queue]:
                if job is not None and job.client is client:
                    self._cancel(job)
        elif agent is None:
            return
        elif notification.method == "$/cancel_request":
            agent.side.cancel(notification, sender=client)
        elif client.attached:
            agent.side.send(notification.data)

    def _left(self, client: ClientLink) -> None:
        """A client went away: what it waited for is cancelled."""
        self._clients.discard(client)
        if client.attached:
            self._used = self._loop.time()
        for job in [job for job in self._queue if job.client is client]:
            self._queue.remove(job)
        if self._job is not None and self._job.client is client:
            log.info("the client went away; its turn is cancelled")
            self._cancel(self._job)
            self._job.client = None
            self._client_full(client, False)
        self._refuse_pending(client)
        if not self._clients and (self._failure is not None or self._agent.refusal is not None):
            self._ending.set()  # everybody knows why; the next one tries anew
        self._rest()

    def _client_full(self, client: ClientLink, full: bool) -> None:
        """A client that reads slowly slows the agent down, while it is the client's turn."""
        if self._agent.link is None or self._job is None or self._job.client is not client:
            return
        if full and not self._job.deaf:
            self._agent.link.channel.pause_reading()
        else:
            self._agent.link.channel.resume_reading()

    # -- the agent ---------------------------------------------------------------------------

    async def _greet(self, client: ClientLink, request: Frame) -> None:
        params = bytes(request.envelope.params) or b"{}"
        try:
            async with self._starting:
                if self._failure is not None:
                    raise self._failure
                if self._agent.link is None:
                    await self._agent.start(params)
        except (AcpellaError, TimeoutError, OSError, ValueError) as error:
            self._fail_all(error)
            client.side.refuse(_id(request), to_wire(error))
            return
        client.attached = True
        client.greeting = params
        client.side.answer(_id(request), self._agent.hello())
        while self._unheard:
            client.side.notify("_daemon/noise", {"text": self._unheard.popleft()})

    def on_agent_lost(self, reason: ConnectionClosed) -> None:
        """The agent died. Who waits in the queue gets a new one; then each death costs one of them."""
        log.warning("the agent is gone: %s", reason.reason)
        link, self._agent.link = self._agent.link, None
        if link is not None:
            self._spawn(link.close())  # reaps it, and what it left behind
        for client in self._clients:
            client.side.drain()
        job = self._job
        if self._queue and (self._agent.resumes or self._agent.loads):
            if job is not None:
                self._finish(job, error=reason)
            return
        self._failure = reason
        for waiting in [job, *self._queue]:
            if waiting is not None:
                self._finish(waiting, error=reason)
        self._ending.set()

    def _fail_all(self, error: BaseException) -> None:
        """There is no agent, and there will be none."""
        self._failure = error
        for job in [self._job, *self._queue]:
            if job is not None:
                self._finish(job, error=error)
        self._loop.call_later(LINGER, self._ending.set)

    async def _prepare(self, job: Job) -> None:
        """Start the agent (again) for a job: it died, or the client allows other things than the last one."""
        assert job.client is not None
        try:
            greeting = job.client.greeting
            async with self._starting:
                if self._agent.link is None or self._agent.must_hear(greeting):
                    await self._agent.restart(greeting)
            if self._agent.refusal is not None:
                raise self._agent.refusal
        except (AcpellaError, TimeoutError, OSError, ValueError) as error:
            self._fail_all(error)
            return
        if job is not self._job:
            return  # cancelled meanwhile
        if job.cancelled:
            self._finish(job, cancelled=True)
        else:
            self._begin(job)

    def on_noise(self, text: str) -> None:
        """The agent printed something: whoever waits for it hears of that, or whoever comes next."""
        if self._job is not None:
            hearers = [self._job.client] if self._job.client is not None else []
        else:
            hearers = [client for client in self._clients if client.attached]
            if not hearers:
                self._unheard.append(text)
        for client in hearers:
            client.side.notify("_daemon/noise", {"text": text})

    def on_stderr(self, data: bytes) -> None:
        if self._job is not None and self._job.client is not None and not self._job.background:
            self._job.client.side.notify("_daemon/stderr", {"text": data.decode("utf-8", "replace")})

    def on_full(self, full: bool) -> None:
        for client in self._clients:
            if full:
                client.channel.pause_reading()
            else:
                client.channel.resume_reading()

    # -- what the agent sends ------------------------------------------------------------------

    def on_update(self, frame: Frame) -> None:
        job = self._job
        if job is not None:
            if job.client is not None and not job.deaf:
                job.client.side.send(frame.data)
            return
        waiting = {job.client for job in self._queue}
        for client in self._clients:
            if client.attached and client not in waiting:
                client.side.send(frame.data)

    def on_request(self, frame: Frame) -> None:
        """The agent asks for something: the sender of the running prompt answers."""
        job = self._job
        question = frame.method in ("session/request_permission", "elicitation/create")
        if job is None or job.client is None or (job.cancelled and question):
            self._refuse(_id(frame), frame.method)
        else:
            job.client.side.ask(frame, self._answer_agent)

    def _answer_agent(self, response: Frame) -> None:
        if self._agent.link is not None:
            self._agent.link.side.send(response.data)

    def on_notification(self, frame: Frame) -> None:
        if frame.method == "$/cancel_request":
            for client in self._clients:
                client.side.cancel(frame)
        elif self._job is not None:
            if self._job.client is not None:
                self._job.client.side.send(frame.data)
        else:
            for client in self._clients:
                if client.attached:
                    client.side.send(frame.data)

    def _refuse_pending(self, client: ClientLink) -> None:
        """The agent gets answers to what a client leaves open."""
        for pending in client.side.drain().values():
            self._refuse(pending.id, pending.method)

    def _refuse(self, request_id: RequestId, method: str) -> None:
        """Nobody is there to answer the agent."""
        if self._agent.link is None:
            return
        side = self._agent.link.side
        if method == "session/request_permission":
            side.answer(request_id, {"outcome": {"outcome": "cancelled"}})
        elif method == "elicitation/create":
            side.answer(request_id, {"action": "cancel"})
        else:
            side.refuse(request_id, InternalError("the client has gone"))

    # -- prompts, one after the other ------------------------------------------------------------

    def _enqueue(self, job: Job) -> None:
        assert job.client is not None
        problem = self._agent.refusal or self._failure
        if problem is not None:
            job.client.side.refuse(_id(job.request), to_wire(problem))
            return
        size = len(job.params) + sum(len(waiting.params) for waiting in self._queue)
        if len(self._queue) >= MAX_QUEUE or (self._queue and size > MAX_QUEUED_BYTES):
            text = f"{len(self._queue)} prompts wait already; try again later, or `acpella cancel --all`"
            job.client.side.refuse(_id(job.request), Overloaded(text))
            return
        before = len(self._queue) + (self._job is not None)
        self._queue.append(job)
        if before or job.background:
            job.client.side.notify("_daemon/queued", {"before": before})
        self._next()

    def _next(self) -> None:
        if self._job is not None or not self._queue or self._failure is not None:
            return
        job = self._job = self._queue.popleft()
        assert job.client is not None
        job.started = self._last = now()
        if self._agent.link is None or (job.is_prompt and self._agent.must_hear(job.client.greeting)):
            self._spawn(self._prepare(job))
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
        self._agent.link.side.ask(job.request, lambda response: self._answered(job, response), sender=job)

    def _answered(self, job: Job, response: Frame) -> None:
        if job.before is not None and response.is_error:
            self._agent.history.restore(job.before)
        if job.is_prompt or response.is_error:
            self._finish(job, response=response)
        else:
            self._spawn(self._finish_load(job, response))

    async def _finish_load(self, job: Job, response: Frame) -> None:
        await self._agent.until_replayed()
        self._finish(job, response=response)

    def _finish(
        self,
        job: Job,
        *,
        response: Frame | None = None,
        error: BaseException | None = None,
        cancelled: bool = False,
    ) -> None:
        if job is self._job:
            self._job = None
            if self._killer is not None:
                self._killer.cancel()
                self._killer = None
            if self._agent.link is not None:
                self._agent.link.channel.resume_reading()
            if job.client is not None:
                job.client.side.drain()
            if response is not None and not response.is_error:
                self._remember()
        elif job in self._queue:
            self._queue.remove(job)
        else:
            return  # was finished before
        job.ended.set()
        self._last = now()
        if job.client is not None:
            if response is not None:
                job.client.side.send(response.data)
            elif cancelled:
                job.client.side.notify("_daemon/cancelled", {})
                job.client.side.answer(_id(job.request), {"stopReason": "cancelled"})
            else:
                error = error or TransportError("the session's background process has ended")
                job.client.side.refuse(_id(job.request), to_wire(error))
        self._next()
        self._rest()

    def _cancel(self, job: Job) -> None:
        if job is not self._job:
            self._finish(job, cancelled=True)
            return
        if job.cancelled:
            return
        job.cancelled = True
        if job.client is not None:
            job.client.side.notify("_daemon/cancelled", {})
        if self._agent.link is None:
            return  # being started; the job ends when it is
        self._agent.note_descendants()
        self._agent.link.side.notify("session/cancel", {"sessionId": self._agent.session_id})
        self._killer = self._loop.call_later(CANCEL_GRACE, self._kill, job)

    def _kill(self, job: Job) -> None:
        if job is not self._job or self._agent.link is None:
            return
        text = f"{self._config.agent} did not stop within {CANCEL_GRACE:g} s and was ended"
        self._agent.link.ended(ConnectionClosed(text))

    def _resume(self, client: ClientLink, request: Frame) -> None:
        if self._agent.refusal is not None:
            client.side.refuse(_id(request), self._agent.refusal)  # it may log in, or leave
            return
        client.side.answer(_id(request), self._agent.session)
        for message in self._agent.told.values():
            client.side.send(message)

    @property
    def is_loading(self) -> bool:
        """Whether the agent tells a conversation again."""
        return self._job is not None and not self._job.is_prompt

    def _tells_itself(self, session_id: str | None) -> bool:
        """Whether a load needs no agent: many refuse to load what is open already."""
        own = session_id == self._agent.session_id
        return own and (self._agent.history.complete or not self._agent.loads)

    def _replay(self, client: ClientLink, request: Frame) -> None:
        if self._agent.refusal is None and not self._agent.history.complete:
            text = f"the beginning of this conversation is not known, and {self._config.agent} cannot load it"
            client.side.refuse(_id(request), to_wire(Unsupported(text)))
            return
        if self._agent.refusal is None:
            for message in self._agent.history.frames():
                client.side.send(message)
        self._resume(client, request)

    def _pass_on(self, client: ClientLink, request: Frame) -> None:
        if self._agent.link is None:
            error = self._failure or TransportError("the agent is being started")
            client.side.refuse(_id(request), to_wire(error))
            return

        def answered(response: Frame) -> None:
            if not response.is_error:
                self._agent.learn(request, response)
                if request.method == "authenticate" and self._agent.refusal is not None:
                    self._spawn(self._logged_in(client, response))
                    return
            client.side.send(response.data)

        self._agent.link.side.ask(request, answered, sender=client)

    async def _logged_in(self, client: ClientLink, response: Frame) -> None:
        """The agent knows its user now, and may open the session that it refused."""
        async with self._starting:
            if self._agent.link is not None:
                await self._agent.open_session(self._agent.link)
        client.side.send(response.data)

    # -- what is asked of the daemon itself ---------------------------------------------------------

    def _status(self, client: ClientLink, request: Frame) -> None:
        job = self._job
        client.side.answer(
            _id(request),
            {
                "pid": os.getpid(),
                "agentPid": self._agent.pid,
                "sessionId": self._agent.session_id,
                "agent": self._config.agent,
                "running": None
                if job is None
                else {
                    "prompt": job.what,
                    "since": job.started,
                    "cancelling": job.cancelled,
                    "waitedFor": not job.background,
                },
                "queue": [{"prompt": waiting.what, "since": waiting.since} for waiting in self._queue],
                "lastActivity": self._last,
            },
        )

    def _cancel_all(self, client: ClientLink, request: Frame) -> None:
        everything = bool(_params(request).get("all"))
        running, queued = self._job, list(self._queue) if everything else []
        for job in queued:
            self._finish(job, cancelled=True)
        if running is not None:
            running.deaf = True  # its client may have stopped reading
            if running.client is not None:
                self._client_full(running.client, False)
            self._cancel(running)  # before the answers: to an agent they would look like a plain no
            if running.client is not None:
                self._refuse_pending(running.client)
        client.side.answer(_id(request), {"running": running is not None, "queued": len(queued)})

    def _stop(self, client: ClientLink, request: Frame) -> None:
        client.side.answer(_id(request), {})
        self._loop.call_soon(self._ending.set)

    def _queue_up(self, client: ClientLink, request: Frame) -> None:
        """A prompt that nobody waits for: the daemon is its client itself."""
        from .unattended import Queued, UnattendedClient

        if not client.attached:
            client.side.refuse(_id(request), InvalidRequest("initialize first"))
            return
        wanted = msgspec.json.decode(request.envelope.params, type=Queued)
        here, there = memory_pair()
        inner = ClientLink(here, on_frame=self._frame, on_lost=self._left, background=True)
        work = UnattendedClient(self._config, self._agent.session_id, wanted)

        async def go() -> None:
            await self._attach(inner)
            await work.run(there)

        async def tell() -> None:
            before = await work.queued
            if isinstance(before, BaseException):
                client.side.refuse(_id(request), to_wire(before))
            else:
                client.side.answer(_id(request), {"before": before})

        running = self._spawn(go())
        self._left_here.add(running)
        running.add_done_callback(self._left_here.discard)
        self._spawn(tell())

    _OWN = {
        "_daemon/status": _status,
        "_daemon/cancel": _cancel_all,
        "_daemon/stop": _stop,
        "_daemon/queue": _queue_up,
    }

    # -- memory ------------------------------------------------------------------------------

    def _remember(self, **values: Any) -> None:
        try:
            self._catalogue.update(self._config.key, **values)
        except OSError as error:
            log.warning("the session cannot be remembered: %s", error)


async def _quietly(work: Awaitable[None]) -> None:
    try:
        await work
    except Exception:
        log.exception("a task of the daemon failed")


def _id(request: Frame) -> RequestId:
    assert request.id is not None  # or it would be noise
    return request.id


def _params(request: Frame) -> dict[str, Any]:
    return as_dict(msgspec.json.decode(bytes(request.envelope.params) or b"{}"))


def _excerpt(params: bytes) -> str:
    """The start of a prompt, for people."""
    try:
        blocks = msgspec.json.decode(params)["prompt"]
        text = " ".join(str(as_dict(block).get("text", "")) for block in blocks)
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
