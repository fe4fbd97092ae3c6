"""The daemon of a session: a small process that keeps one agent and one session alive.

It speaks plain ACP on a Unix socket. Whoever attaches sends prompts as to the agent itself; they are
answered one after the other. What the agent asks for goes to whoever sent the prompt that is running.
Started by `client.reach` when a session is used, and gone again when nobody has used it for a while.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acpella._processes import HANGUP, on_signals
from acpella.errors import ConnectionClosed, InvalidRequest, TransportError, Unsupported
from acpella.rpc.relay import Frame
from acpella.transport import UnixChannel, memory_pair

from ..state.catalogue import Catalogue
from . import methods
from .agent import START_ERRORS, KeptAgent
from .client import Config
from .control import DaemonControl
from .errors import to_wire
from .jobs import Job, Jobs
from .links import ClientLink, request_id
from .lock import MAX_CLIENTS
from .tasks import Tasks

if TYPE_CHECKING:
    from .unattended import UnattendedClient

__all__ = ["Daemon"]

log: logging.Logger = logging.getLogger(__name__)

FIRST_WITHIN = 10.0
"""Seconds for whoever started the daemon to be there, however short the idle time is."""

LINGER = 1.0
"""Seconds in which clients that failed read why, before the daemon ends."""

UNHEARD = 10
"""Lines that are not messages, kept for the next client. Most agents that print do so at their start."""

_EXCLUSIVE = ("session/prompt", "session/load")


class Daemon:
    """One agent, one session, and whoever is attached."""

    def __init__(self, config: Config, listener: socket.socket, *, on_agent: Callable[[int], None]) -> None:
        self._config = config
        self._listener = listener
        self._ending = asyncio.Event()
        self._catalogue = Catalogue(warn=log.warning)
        self._agent = KeptAgent(config, self, on_started=on_agent, remember=self._remember)
        self._tasks = Tasks()
        self._jobs = Jobs(
            self._agent,
            tasks=self._tasks,
            remember=self._remember,
            on_fewer=self._rest,
            on_hopeless=self._end_soon,
        )
        self._control = DaemonControl(
            config,
            self._agent,
            self._jobs,
            tasks=self._tasks,
            cancel_running=self._cancel_running,
            run_unattended=self._run_unattended,
            end=self._ending.set,
        )
        self._clients: set[ClientLink] = set()
        self._unheard: deque[str] = deque(maxlen=UNHEARD)  # what the agent printed while nobody was here
        self._idler: asyncio.TimerHandle | None = None
        self._used = 0.0  # when a client was last attached; asking for the status does not count

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
        await self._jobs.stop()
        if self._idler is not None:
            self._idler.cancel()
        await self._control.wait_for_unattended(LINGER)  # each notes how it ended
        self._tasks.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.gather(
                    *(client.close() for client in self._clients),
                    self._agent.close(),
                    return_exceptions=True,
                )

    def _end_soon(self) -> None:
        self._loop.call_later(LINGER, self._ending.set)

    def _rest(self) -> None:
        """(Re)start the time after which an unused daemon ends."""
        if self._idler is not None:
            self._idler.cancel()
            self._idler = None
        if not self._clients and not any(self._jobs):
            self._idler = self._loop.call_at(self._used + self._config.idle, self._ending.set)

    # -- what clients send -------------------------------------------------------------------

    def _frame(self, client: ClientLink, frame: Frame) -> None:
        if frame.kind == "response":  # to something that the agent asked
            client.side.settle(frame)
        elif frame.kind == "notification":
            self._hear(client, frame)
        elif self._control.serves(frame.method):
            self._control.serve(client, frame)
        elif frame.method == "initialize":
            self._tasks.spawn(self._greet(client, frame))
        elif not client.attached:
            client.side.refuse(request_id(frame), InvalidRequest("initialize first"))
        else:
            self._serve(client, frame)

    def _serve(self, client: ClientLink, request: Frame) -> None:
        """A request of a client that is attached: answered here, or by the agent."""
        method, session = request.method, request.session
        if method == "session/load" and self._tells_itself(session):
            self._replay(client, request)
        elif method in _EXCLUSIVE:
            self._jobs.add(Job(client, request))
        elif method == "session/resume" and session in (self._agent.session_id, "new"):
            self._resume(client, request)
        elif method == "session/close" and session == self._agent.session_id:
            client.side.answer(request_id(request), {})  # it leaves; the session stays
        elif method == "session/new":
            client.side.refuse(
                request_id(request), InvalidRequest("this process keeps one session alive, and it is open")
            )
        else:
            self._pass_on(client, request)

    def _hear(self, client: ClientLink, notification: Frame) -> None:
        agent = self._agent.link
        if notification.method == "session/cancel":
            for job in self._jobs:
                if job.client is client:
                    self._jobs.cancel(job)
        elif agent is None:
            return
        elif notification.method == "$/cancel_request":
            agent.side.cancel(notification, sender=client)
        elif client.attached:
            agent.side.send(notification.data)

    def _left(self, client: ClientLink) -> None:
        """A client went away: its prompts are cancelled, and what the agent asked it is answered.

        A load that it began goes on to its end, within a limit.
        """
        self._clients.discard(client)
        if client.attached:
            self._used = self._loop.time()
        self._client_full(client, False)
        self._jobs.drop(client)
        self._agent.decline_open(client)
        if not self._clients and (self._jobs.failure is not None or self._agent.refusal is not None):
            self._ending.set()  # everybody knows why; the next one tries anew
        self._rest()

    def _client_full(self, client: ClientLink, full: bool) -> None:
        """A client that reads slowly slows the agent down, while it is the client's turn."""
        job = self._jobs.running
        if self._agent.link is None or job is None or job.client is not client:
            return
        if full and not job.deaf:
            self._agent.link.channel.pause_reading()
        else:
            self._agent.link.channel.resume_reading()

    # -- the agent ---------------------------------------------------------------------------

    async def _greet(self, client: ClientLink, request: Frame) -> None:
        params = bytes(request.envelope.params) or b"{}"
        try:
            async with self._agent.starting:
                if self._jobs.failure is not None:
                    raise self._jobs.failure
                if self._agent.link is None:
                    await self._agent.start(params)
        except START_ERRORS as error:
            self._jobs.fail_all(error)
            client.side.refuse(request_id(request), to_wire(error))
            return
        client.attached = True
        client.greeting = params
        client.side.answer(request_id(request), self._agent.hello())
        while self._unheard:
            client.side.notify(methods.NOISE, {"text": self._unheard.popleft()})

    def on_agent_lost(self, reason: ConnectionClosed) -> None:
        """The agent died. If prompts wait and a new one can open the session, only the running one fails."""
        log.warning("the agent is gone: %s", reason.reason)
        link, self._agent.link = self._agent.link, None
        if link is not None:
            self._tasks.spawn(link.close())  # reaps it, and what it left behind
        for client in self._clients:
            client.side.drain()
        if self._jobs.waiting and (self._agent.resumes or self._agent.loads):
            if self._jobs.running is not None:
                self._jobs.finish(self._jobs.running, error=reason)
            return
        self._jobs.failure = reason
        for job in self._jobs:
            self._jobs.finish(job, error=reason)
        self._ending.set()

    def on_noise(self, text: str) -> None:
        """The agent printed something: whoever waits for it hears of that, or whoever comes next."""
        if (job := self._jobs.running) is not None:
            hearers = [job.client] if job.client is not None else []
        else:
            hearers = [client for client in self._clients if client.attached]
            if not hearers:
                self._unheard.append(text)
        for client in hearers:
            client.side.notify(methods.NOISE, {"text": text})

    def on_stderr(self, data: bytes) -> None:
        job = self._jobs.running
        if job is not None and job.client is not None and not job.background:
            job.client.side.notify(methods.STDERR, {"text": data.decode("utf-8", "replace")})

    def on_full(self, full: bool) -> None:
        for client in self._clients:
            if full:
                client.channel.pause_reading()
            else:
                client.channel.resume_reading()

    # -- what the agent sends ------------------------------------------------------------------

    def on_update(self, frame: Frame) -> None:
        job = self._jobs.running
        if job is not None:
            if job.client is not None and not job.deaf:
                job.client.side.send(frame.data)
            return
        waiting = {job.client for job in self._jobs.waiting}
        for client in self._clients:
            if client.attached and client not in waiting:
                client.side.send(frame.data)

    def on_request(self, frame: Frame) -> None:
        """The agent asks for something: the sender of the running prompt answers."""
        job = self._jobs.running
        question = frame.method in ("session/request_permission", "elicitation/create")
        if job is None or job.client is None or (job.cancelled and question):
            if self._agent.link is not None:
                self._agent.link.decline(request_id(frame), frame.method)
        else:
            job.client.side.forward(frame, self._answer_agent)

    def _answer_agent(self, response: Frame) -> None:
        if self._agent.link is not None:
            self._agent.link.side.send(response.data)

    def on_notification(self, frame: Frame) -> None:
        if frame.method == "$/cancel_request":
            for client in self._clients:
                client.side.cancel(frame)
        elif (job := self._jobs.running) is not None:
            if job.client is not None:
                job.client.side.send(frame.data)
        else:
            for client in self._clients:
                if client.attached:
                    client.side.send(frame.data)

    def _resume(self, client: ClientLink, request: Frame) -> None:
        if self._agent.refusal is not None:
            client.side.refuse(request_id(request), self._agent.refusal)  # it may log in, or leave
            return
        client.side.answer(request_id(request), self._agent.session)
        for message in self._agent.told.values():
            client.side.send(message)

    @property
    def is_loading(self) -> bool:
        """Whether the agent tells a conversation again."""
        return self._jobs.running is not None and not self._jobs.running.is_prompt

    def _tells_itself(self, session_id: str | None) -> bool:
        """Whether a load needs no agent: many refuse to load what is open already."""
        own = session_id == self._agent.session_id
        return own and (self._agent.history.complete or not self._agent.loads)

    def _replay(self, client: ClientLink, request: Frame) -> None:
        if self._agent.refusal is None and not self._agent.history.complete:
            text = f"the beginning of this conversation is not known, and {self._config.agent} cannot load it"
            client.side.refuse(request_id(request), to_wire(Unsupported(text)))
            return
        if self._agent.refusal is None:
            for message in self._agent.history.frames():
                client.side.send(message)
        self._resume(client, request)

    def _pass_on(self, client: ClientLink, request: Frame) -> None:
        if self._agent.link is None:
            error = self._jobs.failure or TransportError("the agent is being started")
            client.side.refuse(request_id(request), to_wire(error))
            return

        def answered(response: Frame) -> None:
            if not response.is_error:
                self._agent.learn(request, response)
                if request.method == "authenticate" and self._agent.refusal is not None:
                    self._tasks.spawn(self._logged_in(client, request, response))
                    return
            client.side.send(response.data)

        self._agent.link.side.forward(request, answered, sender=client)

    async def _logged_in(self, client: ClientLink, request: Frame, response: Frame) -> None:
        """The agent knows its user now, and may open the session that it refused."""
        try:
            async with self._agent.starting:
                if self._agent.link is not None:
                    await self._agent.open_session(self._agent.link)
        except START_ERRORS as error:
            self._jobs.fail_all(error)
            client.side.refuse(request_id(request), to_wire(error))
            return
        client.side.send(response.data)

    # -- what is asked of the daemon itself ---------------------------------------------------------

    def _cancel_running(self) -> bool:
        """Cancel the prompt that runs. False if none does."""
        job = self._jobs.running
        if job is None:
            return False
        job.deaf = True  # its client may have stopped reading
        if job.client is not None:
            self._client_full(job.client, False)
        self._jobs.cancel(job)  # before the answers: to an agent they would look like a plain no
        if job.client is not None:
            self._agent.decline_open(job.client, "the turn was cancelled")
        return True

    async def _run_unattended(self, client: "UnattendedClient") -> None:
        """Attach the client of a prompt that nobody waits for, which is the daemon itself."""
        here, there = memory_pair()
        await self._attach(ClientLink(here, on_frame=self._frame, on_lost=self._left, background=True))
        await client.run(there)

    # -- memory ------------------------------------------------------------------------------

    def _remember(self, **values: Any) -> None:
        try:
            self._catalogue.update(self._config.key, **values)
        except OSError as error:
            log.warning("the session cannot be remembered: %s", error)
