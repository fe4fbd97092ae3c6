"""The agent of one user, shared by all pages of that user and of those who were invited."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from acpella._protocol_versions import PROTOCOL_VERSION
from acpella._version import __version__
from acpella.errors import AcpellaError, ConnectionClosed, MethodNotFound, RpcError
from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import write_error
from acpella.rpc.relay import Frame, Side, read_frame
from acpella.server.agent_factories import AgentFactory, RunningAgent

from .about import About
from .agent_messages import error_of, read_cancelled, read_info, read_update
from .json_values import as_object
from .records import SessionRecords, SharedSessionRecord
from .services import LocalServices, as_error
from .session import SharedPrompt, SharedSession
from .switches import switch_of, switches_of, without

__all__ = ["AgentHost"]

log: logging.Logger = logging.getLogger(__name__)

INITIALIZE_SECONDS = 60.0
"""Seconds for an agent to answer its first request; some need 12 s on a cold machine."""

PEOPLE_ANSWER = frozenset({"session/request_permission", "elicitation/create"})
"""What only a person can answer."""

OPEN_SECONDS = 300.0
"""Seconds for an agent to open a session again, which replays all of it."""

MAX_MESSAGE = 256 * 1024 * 1024
"""Bytes of a message of an agent. Without it, one without an end would fill the memory."""

GONE = "the agent is gone"

LAST_WORDS = 8000
"""Characters of its stderr that are shown when an agent has ended."""

MAX_SESSIONS = 256
"""Sessions of one agent whose logs are kept. Then the one that was used least recently, and that nobody
watches, is forgotten; the agent has it still."""


class AgentHost:
    """One agent, started when it is needed, and the sessions that pages have open at it."""

    def __init__(
        self,
        factory: AgentFactory,
        principal: str,
        about: About,
        *,
        records: SessionRecords,
        on_change: "Callable[[SharedSession], None]",
    ) -> None:
        self.principal = principal
        self.about = about
        self.sessions: dict[str, SharedSession] = {}
        self.initialized: dict[str, Any] = {}
        """What the agent answered to `initialize`."""
        self._factory = factory
        self._records = records
        self._on_change = on_change
        self._agent: RunningAgent | None = None
        self._starting: asyncio.Task[None] | None = None
        self._resting: asyncio.Task[None] | None = None
        self._side = Side(self._write, own_ids=True)
        self._framer = _framer()
        self._services = LocalServices(writes=about.writes)
        self._off = about.off
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    # -- the agent's life ------------------------------------------------------------------------

    async def ready(self) -> None:
        """Start the agent unless it runs. Raises `AcpellaError` and `TimeoutError`."""
        starting = self._starting
        if starting is None or (starting.done() and self._agent is None):
            starting = self._starting = asyncio.get_running_loop().create_task(self._start())
        if not starting.done():  # it may run already, and has not said yet what it can do
            await asyncio.shield(starting)

    async def _start(self) -> None:
        if self._resting is not None:  # its last words would be taken for those of the next one
            await asyncio.wait([self._resting])
            self._resting = None
        self._framer = _framer()
        agent = await self._factory.start(self, self.principal, lambda: False)
        self._agent = agent
        params: dict[str, Any] = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": without(self._able, self._off),
            "clientInfo": {"name": "acpella-web", "title": "acpella", "version": __version__},
        }
        try:
            async with asyncio.timeout(INITIALIZE_SECONDS):
                result = await self.call("initialize", params)
        except BaseException as error:
            self._agent = None
            await agent.close()
            if (
                isinstance(error, RpcError) and error.data is None
            ):  # its last words say more than its exit code
                last = agent.channel.about.stderr_tail[-LAST_WORDS:]
                raise RpcError(error.message, code=error.code, data={"stderr": last}) from error
            raise
        self.initialized = as_object(result)

    @property
    def _able(self) -> dict[str, Any]:
        """What the client can do, with nothing switched off."""
        return {
            **self._services.capabilities(),
            "session": {"configOptions": {"boolean": {}}, "notices": {}},
            "elicitation": {"form": {}, "url": {}},
            "_meta": {"terminal_output": True, "prompt_usage": True},
        }

    @property
    def switches(self) -> list[dict[str, Any]]:
        """What can be switched, and what is on."""
        return switches_of(self._able, self._off) if self.about.switches else []

    async def switch_off(self, names: frozenset[str]) -> None:
        """Start the agent again with a client that can do all but this. Raises `RpcError`: a turn runs."""
        if any(session.state in ("running", "waiting") for session in self.sessions.values()):
            raise RpcError("a turn runs; stop it before you change what the client can do", code=-32600)
        if self._starting is not None and not self._starting.done():
            await asyncio.wait([self._starting])
        self._off = names
        agent, self._agent = self._agent, None
        watched = [session for session in self.sessions.values() if session.is_open]
        for session in watched:
            session.is_open = False
        if agent is not None:
            await agent.close()
        await self.ready()
        for session in watched:
            session.note("client", off=sorted(names))

    async def close(self) -> None:
        """End the agent."""
        self._closed = True
        for task in [*self._tasks, *([self._starting] if self._starting is not None else [])]:
            task.cancel()
        await self._services.close()
        agent, self._agent = self._agent, None
        if agent is not None:
            await agent.close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nobody watches."""
        busy = (
            session.viewers or session.state in ("running", "waiting") for session in self.sessions.values()
        )
        return not any(busy)

    def rest(self) -> None:
        """End the agent until it is needed again."""
        agent, self._agent = self._agent, None
        for session in self.sessions.values():
            session.is_open = False
        if agent is not None:
            self._resting = self.spawn(agent.close())

    @property
    def capabilities(self) -> dict[str, Any]:
        return as_object(self.initialized.get("agentCapabilities"))

    def can(self, name: str) -> bool:
        """Whether the agent has a session capability, such as `list`."""
        return isinstance(as_object(self.capabilities.get("sessionCapabilities")).get(name), dict)

    def _write(self, data: bytes) -> None:
        if self._agent is not None:
            self._agent.channel.write(data + b"\n")

    async def call(self, method: str, params: Any) -> Any:
        """Ask the agent on our own behalf; returns its result. Raises `RpcError`."""
        if self._agent is None:
            raise RpcError(GONE, code=-32603)
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()

        def settle(response: Frame) -> None:
            if not future.done():
                future.set_result(response)

        self._side.call(method, params, settle)
        response = await future
        if response.is_error:
            raise error_of(response)
        return msgspec.json.decode(response.envelope.result or b"null")

    def pass_on(self, frame: Frame, reply: Callable[[Frame], None]) -> None:
        """Give the agent a request of a page; one that is gone cannot answer any more."""
        if self._agent is None:
            reply(read_frame(write_error(frame.id or b"null", -32603, GONE)))
        else:
            self._side.forward(frame, reply)

    def tell(self, data: bytes) -> None:
        """Give the agent a notification of a page."""
        self._side.send(data)

    # -- sessions --------------------------------------------------------------------------------

    def session(self, session_id: str, *, cwd: str = "") -> SharedSession:
        """A session, made if it is new here."""
        session = self.sessions.get(session_id)
        if session is None:
            self._make_room()
            record = self._records.get(self.principal, session_id)
            session = self.sessions[session_id] = SharedSession(
                session_id,
                owner=self.principal,
                cwd=cwd or (record.cwd if record is not None else "") or self.about.cwd or os.getcwd(),
                changed=self._on_change,
            )
            if record is not None:
                session.guests = dict(record.guests)
                session.title, session.is_named = record.name, bool(record.name)
        return session

    def new_session(self, session_id: str, *, cwd: str) -> SharedSession:
        """A session that the agent just made; nothing that is remembered under this id is about it."""
        self._records.made(session_id)
        session = self.session(session_id, cwd=cwd)
        session.cwd = cwd or session.cwd
        session.guests.clear()
        self.remember(session)
        return session

    def remember(self, session: SharedSession) -> None:
        """Keep what people decided about a session, for the next start of the server."""
        record = SharedSessionRecord(
            owner=session.owner,
            session=session.id,
            cwd=session.cwd,
            name=session.title if session.is_named else "",
            guests=dict(session.guests),
        )
        self._records.save(record)

    def forget(self, session: SharedSession) -> None:
        """The agent has deleted it."""
        self._records.delete(session.owner, session.id)

    def _make_room(self) -> None:
        idle = [s for s in self.sessions.values() if not s.viewers and s.state not in ("running", "waiting")]
        if len(self.sessions) >= MAX_SESSIONS and idle:
            del self.sessions[min(idle, key=lambda one: one.updated).id]

    async def reopen(self, session: SharedSession, *, replay: bool) -> None:
        """Have the agent open a session again; with `replay`, what was said in it goes into the log.

        Pages that come back at the same time share one opening: a second one would replay everything again.
        """
        opening = session.opening
        if opening is None:
            work = self._reopen(session, replay=replay)
            opening = session.opening = asyncio.get_running_loop().create_task(work)
            self._tasks.add(opening)
            opening.add_done_callback(partial(self._opened, session))
        await asyncio.shield(opening)

    def _opened(self, session: SharedSession, opening: asyncio.Task[None]) -> None:
        self._tasks.discard(opening)
        session.opening = None
        if not opening.cancelled():
            opening.exception()  # whoever waits for it has it
        if session.turn_since is None:
            self._next_turn(session)

    async def _reopen(self, session: SharedSession, *, replay: bool) -> None:
        await self.ready()
        params: dict[str, Any] = {"sessionId": session.id, "cwd": session.cwd, "mcpServers": []}
        can_load = self.capabilities.get("loadSession") is True
        session.is_silent = not replay
        try:
            if self.can("resume") and not (replay and can_load):
                method = "session/resume"
            elif can_load:
                method = "session/load"
            else:
                raise RpcError("this agent cannot open a session again", code=-32601)
            try:
                async with asyncio.timeout(OPEN_SECONDS):
                    result = await self.call(method, params)
            except TimeoutError:
                text = f"the agent did not answer {method} within {OPEN_SECONDS:g} s"
                raise RpcError(text, code=-32603) from None
        finally:
            session.is_silent = False
        session.is_open = True
        if state := as_object(result):
            session.note("state", state=state)
        running = as_object(as_object(state.get("_meta")).get("acpella")).get("turnRunning") is True
        session.note_turn_elsewhere(running=running)

    def prompt(self, session: SharedSession, prompt: SharedPrompt) -> None:
        """Take a prompt; it waits while a turn runs, and while the session is being opened."""
        session.queue.append(prompt)
        if session.turn_since is None and session.opening is None:
            self._next_turn(session)

    def _next_turn(self, session: SharedSession) -> None:
        if session.queue and not self._closed:
            prompt = session.queue.popleft()
            session.begin_turn(prompt)
            if self._agent is not None and session.is_open:
                self.pass_on(prompt.frame, partial(self._end_turn, session, prompt))
            else:
                self.spawn(self._revive(session, prompt))

    async def _revive(self, session: SharedSession, prompt: SharedPrompt) -> None:
        """The agent was gone: start it and go on where the conversation was."""
        try:
            await self.reopen(session, replay=False)
        except (AcpellaError, TimeoutError) as error:
            log.warning("the agent of %s cannot go on: %s", self.principal or "a page", error)
            text = f"the agent could not be started again: {error}"
            failed = read_frame(write_error(prompt.frame.id or b"null", -32603, text))
            self._end_turn(session, prompt, failed)
            return
        self.pass_on(prompt.frame, partial(self._end_turn, session, prompt))

    def _end_turn(self, session: SharedSession, prompt: SharedPrompt, response: Frame) -> None:
        self.drop_questions(session)
        session.end_turn(response)
        prompt.viewer.flush(session)
        prompt.viewer.send(response.data)
        self._next_turn(session)

    def cancel(self, session: SharedSession) -> None:
        """End the turn; whoever is asked something is asked no more, as the protocol wants it."""
        self._side.notify("session/cancel", {"sessionId": session.id})
        self.drop_questions(session)

    def drop_questions(self, session: SharedSession) -> None:
        for number in list(session.questions):
            question = session.take_question(number)
            permission = question.method == "session/request_permission"
            result = {"outcome": {"outcome": "cancelled"}} if permission else {"action": "cancel"}
            self._side.answer(question.request_id, result)
            session.note_answer(question, by=None, result=result)

    def answer(self, session: SharedSession, number: int, *, by: str, result: Raw) -> None:
        """A person's answer to a question. Raises `RpcError` if somebody was faster."""
        question = session.take_question(number)
        self._side.answer(question.request_id, result)
        session.note_answer(question, by=by, result=result)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something to its end; nobody has to wait for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- from the agent (a `Receiver`) -------------------------------------------------------------

    def received(self, data: bytes) -> None:
        for block in self._framer.feed(data):
            if isinstance(block, Broken):
                self._on_noise(block)
                continue
            for line in block.split(b"\n"):
                if line := line.strip():
                    self._on_line(line)

    def _on_noise(self, noise: Frame | Broken) -> None:
        """What cannot be read: nobody waits for it for ever."""
        if self._side.end_wait(noise):
            log.warning("the agent wrote a message that cannot be read: %s", noise.reason)
        else:
            log.debug("the agent wrote a line that is not a message")

    def _on_line(self, line: bytes) -> None:
        frame = read_frame(line)
        if frame.method == "session/update" and frame.kind == "notification":
            self._on_update(frame)
        elif frame.kind == "response":
            self._side.settle(frame)
        elif frame.kind == "request":
            self._on_request(frame)
        elif frame.method == "$/cancel_request":
            self._on_cancel(frame)
        elif frame.kind == "notification":
            session = self.sessions.get(frame.session or "")
            if session is not None:
                session.note("notice", method=frame.method, params=frame.envelope.params or Raw(b"{}"))
        else:
            self._on_noise(frame)

    def _on_update(self, frame: Frame) -> None:
        notification = read_update(frame)
        if notification is None:
            log.warning("an update of the agent cannot be read")
            return
        session = self.session(notification.session_id)
        session.note_update(notification.update)
        if (
            session.tells_turns
            and session.opening is None
            and b'"user_message_chunk"' in bytes(notification.update)
        ):
            session.note_turn_elsewhere(running=True)
        info = read_info(notification.update)
        if info is None:
            return
        if (running := info.meta.acpella.running) is not None:
            session.note_turn_elsewhere(running=running, stop_reason=info.meta.acpella.stop_reason)
        if info.title and not session.is_named:
            session.title = info.title[:500]
            session.touch()

    def _on_request(self, frame: Frame) -> None:
        assert frame.id is not None
        session = self.sessions.get(frame.session or "")
        if session is None:
            self._side.refuse(frame.id, RpcError("no such session", code=-32002))
        elif self._off and switch_of(frame.method, frame.envelope.params) in self._off:
            self._side.refuse(frame.id, MethodNotFound(f"the client did not offer {frame.method}"))
        elif frame.method in PEOPLE_ANSWER:
            session.ask(frame)
        else:
            self.spawn(self._serve(session, frame))

    def _on_cancel(self, frame: Frame) -> None:
        """The agent asks no more: somebody answered at another node, or the turn is over."""
        request_id = read_cancelled(frame)
        if request_id is None:
            return
        for session in self.sessions.values():
            for question in list(session.questions.values()):
                if question.request_id == request_id:
                    session.take_question(question.number)
                    self._side.refuse(request_id, RpcError("this is not asked any more", code=-32800))
                    session.note_answer(question, by=None, result=None, elsewhere=True)

    async def _serve(self, session: SharedSession, frame: Frame) -> None:
        assert frame.id is not None
        try:
            result = await self._services.serve(session, frame)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not isinstance(error, RpcError):
                log.exception("%s failed", frame.method)
            self._side.refuse(frame.id, as_error(error))
        else:
            self._side.answer(frame.id, result)

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: ConnectionClosed) -> None:
        """The agent is gone: what waited for it fails, and every page is told."""
        if self._agent is None:
            self._side.fail(RpcError(reason.reason, code=-32603))
            return
        agent, self._agent = self._agent, None
        self.spawn(agent.close())
        for session in self.sessions.values():
            was_busy = session.state in ("running", "waiting")
            for number in list(session.questions):
                session.note_answer(session.take_question(number), by=None, result=None)
            if session.is_open and (was_busy or session.viewers):
                session.note(
                    "gone", reason=reason.reason, stderr=agent.channel.about.stderr_tail[-LAST_WORDS:]
                )
            session.is_open = False
        self._side.fail(RpcError(f"the agent is gone: {reason.reason}", code=-32603))


def _framer() -> Framer:
    return Framer(max_frame=MAX_MESSAGE, framing="lines")
