"""A hosted connection: one agent, and the streams on which one client hears it.

Nothing here knows HTTP. Messages pass as the bytes they are; only their method, id and session are looked at.
"""

import asyncio
import hashlib
import logging
import secrets
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from acpella.errors import ConnectionClosed
from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import Envelope, guess, id_of, read_envelope
from acpella.server.access.credentials import SCOPES, Credential
from acpella.server.access.json_members import UNREADABLE
from acpella.server.access.policy import REOPENING, Violation, check_form, check_scopes, missing, read_params

from .messages import (
    ACK,
    Message,
    answer,
    can_load,
    error_answer,
    outcome_of,
    outcome_of_request,
    rejection,
)
from .outbox import Outbox, Reader
from .routing import Kind, Lent, Overflow, Routes

if TYPE_CHECKING:
    from acpella.server.targets import Endpoint

    from .table import Host

__all__ = ["HostedConnection"]

log = logging.getLogger(__name__)
audit = logging.getLogger("acpella.audit")

LAST_WORDS = 30.0
"""Seconds that the streams of an agent that died can still be read."""

UNUSED = 60.0
"""Seconds that a connection is kept whose client has done nothing but initialize."""

GONE_SECONDS = 5.0
"""Seconds that questions stay open whose client cannot come back for them: it may open its session on another
connection, which asks again."""

MAX_OWN_ANSWERS = 1024 * 1024
"""Bytes of the server's own answers that wait for a client. Without it, one that sends nonsense and reads
nothing fills the memory."""

MAX_ASKED = 1024
"""Questions of one agent that wait for their answer. Without it, one that only asks fills the memory."""

MAX_NUMBERS = 1024
"""Messages whose numbers are kept, to know one that is sent again. It comes soon, or never."""

AUDITED = ("session/", "_session/", "_agent/")
"""How the methods begin whose requests and outcomes are in the audit log."""

MAKING = frozenset({"session/new", "session/fork", "_session/import"})

PERMISSION = "session/request_permission"

CANCELLING = frozenset({"session/cancel", "$/cancel_request"})

EVERY = SCOPES - {"admin"}
"""The scopes that concern a connection."""


class _Pending(NamedTuple):
    """A request that the agent has to answer."""

    method: str
    session: str | None
    answered: Callable[[bytes], None] | None
    """Gets the answer instead of a stream."""


class _Question(NamedTuple):
    """A request that the client has to answer."""

    key: bytes
    method: str
    session: str | None
    """As logs call it."""


class HostedConnection:
    """One client's agent and streams. It outlives the sockets that its client comes with."""

    def __init__(
        self,
        host: "Host",
        credential: Credential,
        *,
        kind: Kind,
        multiplexed: bool,
        resumable: bool = False,
    ) -> None:
        self.id = secrets.token_hex(16)
        self.label = hashlib.sha256(self.id.encode()).hexdigest()[:8]
        """How logs call it: the id itself opens it, so it is told to its client only."""
        self.host = host
        self.address = ""
        """Where its client came from when it was opened."""
        self.principal = credential.principal
        self.scopes = credential.scopes - {"admin"}
        """What may be done on it; whoever comes back to it needs as much."""
        self.kind: Kind = kind
        self.multiplexed = multiplexed
        self.resumable = resumable
        self.buffered = 0
        self.over: set[Outbox] = set()
        self.routes = Routes(
            self._outbox, kind=kind, multiplexed=multiplexed, max_sessions=host.settings.max_sessions
        )
        self.main = self.routes.main
        self._open: dict[Reader, Credential] = {}  # streams and sockets, and what each was let in with
        self.heard = 0
        """Messages that the client sent, for one that wants to know what got lost."""
        self._numbers: dict[int, None] = {}  # that the client gave its last messages, oldest first
        self._numbers_before = 0  # every number up to this one counts as taken
        self.last_seen = self._now()
        self.initialized = False
        self._used = False  # after initialize
        self._hello: tuple[bytes, float] | None = None  # an initialize that waits for its answer, since then
        self.loads = False
        """Whether the agent can open sessions of before."""
        self.closed: ConnectionClosed | None = None
        self.close_code = 1000
        self._settings = host.settings
        self._pending: dict[bytes, _Pending] = {}
        self.turns = 0
        self._dropped = 0  # notifications, since the log was told
        self._dropped_told = float("-inf")
        self._own_answers = 0  # bytes, since the client had read everything
        self._delayed: deque[tuple[Message, Callable[[bytes], None] | None]] = deque()
        self._framer = Framer(max_frame=self._settings.max_message, framing="lines")
        self._endpoint: Endpoint | None = None
        self._starting: asyncio.Future[None] | None = None
        self._asked: dict[object, _Question] = {}  # by id, of which 1 and 1.0 are the same
        self._stopped_reading = False
        self._stalled_since: float | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def _outbox(self) -> Outbox:
        settings = self.host.settings
        keep = self.resumable or self.kind != "websocket"
        return Outbox(
            self,
            high=settings.stream_bytes,
            window_frames=settings.window_frames if keep else 0,
            window_bytes=settings.window_bytes if keep else 0,
            lossless=self.resumable,
        )

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the agent. Raises `AcpellaError` when it cannot be."""
        endpoint = await self.host.target.start(self, self.principal, self.is_detached)
        if self.closed is not None:  # meanwhile
            await endpoint.close()
            raise self.closed.again()
        self._endpoint = endpoint
        self.host.metrics.add("acpella_connections_total", f'transport="{self.kind}"')
        audit.info("connection opened", extra=self.facts(address=self.address))

    async def start_once(self) -> None:
        """Start the agent unless it was; for clients that may send many messages at once."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self.start())
        await asyncio.shield(self._starting)

    @property
    def readers(self) -> int:
        """Streams and sockets that are open."""
        return len(self._open)

    def is_detached(self) -> bool:
        """Whether the client is away."""
        return self.readers == 0

    def facts(self, **more: object) -> dict[str, object]:
        """For the log."""
        return {"facts": {"connection": self.label, "user": self.principal, "kind": self.kind, **more}}

    def be_resumable(self) -> None:
        """The client confirms what it gets, so nothing may be lost."""
        if not self.resumable:
            self.resumable = True
            for stream in self.routes.streams.values():
                stream.be_lossless()

    def opened_by_reader(self, reader: Reader, credential: Credential) -> None:
        """A stream or socket was opened."""
        self._open[reader] = credential
        self._used = True
        self.last_seen = self._now()

    def left_by_reader(self, reader: Reader) -> None:
        """A stream or socket has ended. Without any, the client counts as away."""
        del self._open[reader]
        if self.readers or self.closed is not None:
            return
        self.last_seen = self._now()
        if not self._settings.finish_turns:
            self._cancel_turns()
        if self._endpoint is None:
            self.close("it was never used")
        elif self.kind == "websocket" and not self.resumable:
            self.main.discard()  # its client cannot come back for this
            self.check_end()

    def _cancel_turns(self) -> None:
        begun = {p.session for p in self._pending.values() if p.method == "session/prompt"}
        for session in begun.union(self.routes.known):
            if session is not None and self.host.has_turn(session, self.principal):
                params = {"sessionId": session}
                self._write(
                    msgspec.json.encode({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
                )

    def check_credentials(self) -> None:
        """Let go of readers whose credential does not count any more. The connection stays: its user may
        come back with another."""
        for reader, credential in list(self._open.items()):
            why = credential.why_over()
            if why is None:
                continue
            if reader.why:
                reader.abort()  # told before, but it does not read
            else:
                audit.info("hung up: %s", why, extra=self.facts())
                reader.end(why=why)

    def has_turn(self, session_id: str) -> bool:
        """Whether a turn that was begun here runs in that session."""
        return any(p.method == "session/prompt" and p.session == session_id for p in self._pending.values())

    def _has_turns(self) -> bool:
        """Whether a turn needs this connection: one begun here, or taken over from another."""
        if self.turns:
            return True
        return any(self.host.has_turn(session, self.principal) for session in self.routes.known)

    def check_end(self) -> None:
        """Whether the connection is of no use any more; looked at again and again."""
        now = self._now()
        if self.closed is not None:
            if self.readers == 0 and (not self.buffered or now - self.last_seen > LAST_WORDS):
                self.host.end(self)
        elif self._is_mute(now):
            self.close("the agent did not answer initialize in time", code=1011)
        elif self._is_stalled(now):
            self.host.metrics.add("acpella_refused_total", 'reason="stalled"')
            self.close("the client reads nothing", code=1008, abort=True)
        elif self._is_idle(now):
            self.close("nothing was asked of it for too long", code=1008)
        elif self.readers == 0:
            away = now - self.last_seen
            patience = self._settings.detach_seconds
            if not self._used:  # perhaps the client never saw the answer that named the connection
                patience = min(patience, UNUSED)
            if self.is_gone_for_good and not self._has_turns():
                self.close("its client is gone")
            elif away > patience:
                self.close("its client did not come back")
            elif self._asked and (self.host.draining or (self.is_gone_for_good and away > GONE_SECONDS)):
                self._cancel_questions()

    @property
    def is_gone_for_good(self) -> bool:
        """Whether the client is away and has no way to come back."""
        return self.kind == "websocket" and not self.resumable and self.readers == 0

    def _cancel_questions(self) -> None:
        """Nobody will answer, so the agent is not to wait."""
        asked, self._asked = self._asked, {}
        for question in asked.values():
            if question.method == PERMISSION:
                audit.info(
                    "permission cancelled: the client is gone", extra=self.facts(session=question.session)
                )
                self._write(answer(question.key, {"outcome": {"outcome": "cancelled"}}))
            elif question.method == "elicitation/create":
                self._write(answer(question.key, {"action": "cancel"}))
            else:
                self._write(error_answer(question.key, -32603, "the client is gone"))

    def _is_mute(self, now: float) -> bool:
        """Whether the agent lets its client wait for the first answer."""
        if self._hello is None:
            return False
        key, since = self._hello
        if key not in self._pending:
            self._hello = None
            return False
        return now - since > self._settings.initialize_seconds

    def _is_idle(self, now: float) -> bool:
        """Whether a client that is there has asked for nothing for long, and waits for nothing."""
        seconds = self._settings.idle_seconds
        return bool(seconds and self.readers and not self._pending and now - self.last_seen > seconds)

    def _is_stalled(self, now: float) -> bool:
        """Whether the agent has waited too long for a client that is there, or cannot come back."""
        if self._stalled_since is None or (self.resumable and not self.readers):
            return False
        return now - self._stalled_since > self._settings.stall_seconds

    def close(self, reason: str, *, code: int = 1000, abort: bool = False) -> None:
        """End the agent and every stream."""
        self._finish(ConnectionClosed(reason, clean=code in (1000, 1001)), code)
        for stream in self.routes.streams.values():
            if abort:
                stream.discard()
                stream.abort()
        self.host.end(self)

    async def stop(self) -> None:
        """Let go of the agent. Called once, by the host."""
        if self._endpoint is not None:
            await self._endpoint.close()

    def _finish(self, reason: ConnectionClosed, code: int) -> None:
        if self.closed is not None:
            return
        self.closed = reason
        self.close_code = code
        self.last_seen = self._now()
        self._writable.set()
        pending, self._pending = self._pending, {}
        delayed, self._delayed = self._delayed, deque()
        for message, answered in delayed:
            if message.id is not None:
                pending[message.id] = _Pending(message.method or "", message.session, answered)
        for key, waiting in pending.items():
            self._give_answer(waiting, error_answer(key, -32603, f"the connection ended: {reason.reason}"))
        self.turns = 0
        self._asked.clear()
        self.host.turn_over()
        self.routes.close()
        word = {1008: "stalled", 1011: "agent", 1001: "shutdown"}.get(code, "client")
        self.host.metrics.add("acpella_connections_closed_total", f'reason="{word}"')
        audit.info("connection closed", extra=self.facts(reason=reason.reason))

    # -- from the client -----------------------------------------------------------------------

    async def until_writable(self) -> None:
        """Wait for an agent that is behind with reading. Raises `Overflow` if it takes nothing."""
        if self._writable.is_set():
            return
        try:
            async with asyncio.timeout(self._settings.stall_seconds):
                await self._writable.wait()
        except TimeoutError:
            raise Overflow from None

    def is_new(self, number: int) -> bool:
        """Whether the message of this number was not taken before; from now on it was."""
        if number <= self._numbers_before or number in self._numbers:
            return False
        self._numbers[number] = None
        if len(self._numbers) > MAX_NUMBERS:
            oldest = next(iter(self._numbers))
            del self._numbers[oldest]
            self._numbers_before = max(self._numbers_before, oldest)
        return True

    def send(self, message: Message, *, answered: Callable[[bytes], None] | None = None) -> None:
        """Hand a client's message to the agent, unless it is for the server or must not pass.

        With `answered`, the answer goes there and on no stream. Raises `ConnectionClosed` when the agent is
        gone.
        """
        self.last_seen = self._now()
        if message.method == ACK:
            self._acked(message)
            if message.id is not None:  # it needs none, but who gives one waits for an answer
                self._give_answer(_Pending(ACK, None, answered), answer(message.id, {}))
            return
        if self.closed is not None:
            raise self.closed.again()
        self._used = self._used or message.method != "initialize"
        self.host.metrics.add("acpella_messages_total", 'direction="in"')
        self.host.metrics.add("acpella_message_bytes_total", 'direction="in"', len(message.frame))
        if message.method is not None and not self._admits(message, answered):
            return
        if message.is_response and not self._is_awaited(message):
            return
        full = self._stopped_reading
        if full and message.is_request or (self._delayed and self._must_wait(message)):
            if len(self._delayed) >= self._settings.max_delayed:
                self._refuse(message, answered, -32001, "too much is waiting because nothing is read")
            else:
                self._delayed.append((message, answered))
            return
        self._forward(message, answered)

    def _is_awaited(self, message: Message) -> bool:
        """Whether the agent asked here for this answer. Each question is answered once."""
        try:
            self._check_form(message)
        except Violation as violation:
            self.host.metrics.add("acpella_refused_total", 'reason="answer"')
            audit.warning("refused an answer: %s", violation.message, extra=self.facts())
            return False
        if message.id is None:
            return "approve" in self.scopes  # an error report; as an answer it could be one to anything
        question = self._asked.pop(_same(message.id), None)
        if question is None:
            self.host.metrics.add("acpella_refused_total", 'reason="answer"')
            audit.warning("refused an answer to no open question", extra=self.facts())
            return False
        if question.method == PERMISSION:
            facts = self.facts(session=question.session, outcome=outcome_of(message.frame))
            audit.info("permission answered", extra=facts)
        return True

    def _must_wait(self, message: Message) -> bool:
        """A cancellation must not overtake the prompt that it is for."""
        return message.session is not None and any(m.session == message.session for m, _ in self._delayed)

    def _admits(self, message: Message, answered: Callable[[bytes], None] | None) -> bool:
        assert message.method is not None
        if message.is_request:
            if not self.host.requests.spend(self.principal):
                self.host.metrics.add("acpella_refused_total", 'reason="rate"')
                return self._refuse(message, answered, -32001, "too many requests; wait a little")
            if message.id in self._pending:
                return self._refuse(message, answered, -32600, "a request with this id is running")
            if len(self._pending) >= self._settings.max_pending:
                return self._refuse(message, answered, -32001, "too many requests wait for their answer")
            if message.method == "session/prompt" and self._prompts(message) >= self._settings.max_prompts:
                return self._refuse(message, answered, -32001, "too many prompts of this session wait")
        elif not self._may_notify(message.method):
            return False
        try:
            self._check_form(message)
            if self.scopes != EVERY:
                self._check_scopes(message.method, message.params)
            self.host.policy.check(message.method, message.params, self.principal)
        except Violation as violation:
            audit.warning("refused %s: %s", message.method[:100], violation.message, extra=self.facts())
            self.host.metrics.add("acpella_refused_total", 'reason="policy"')
            return self._refuse(message, answered, violation.code, violation.message, violation.data)
        return True

    def _may_notify(self, method: str) -> bool:
        """Notifications count as requests do. Those that stop something have as many again to themselves, so
        that they come through when nothing else does."""
        requests = self.host.requests
        if requests.spend(self.principal) or (
            method in CANCELLING and requests.spend("cancel:" + self.principal)
        ):
            return True
        self.host.metrics.add("acpella_refused_total", 'reason="rate"')
        self._dropped += 1
        if self._now() - self._dropped_told >= 1:
            facts = self.facts(count=self._dropped)
            audit.warning("dropped notifications: there are too many", extra=facts)
            self._dropped, self._dropped_told = 0, self._now()
        return False

    def _check_form(self, message: Message) -> None:
        """Where rules hold, the agent must read what is checked. Raises `Violation`."""
        if self.scopes != EVERY or self.host.policy.is_strict:
            check_form(message.frame, message.method)

    def _check_scopes(self, method: str, params: Any) -> None:
        check_scopes(method, params, self.scopes)
        if method in REOPENING and not self.scopes & {"prompt", "approve"}:
            if params.session is not None and self.host.has_turn(params.session, self.principal):
                raise missing("prompt", "a turn is running in this session, and would be taken over")

    def _prompts(self, message: Message) -> int:
        """How many prompts of the same session are not over."""
        waiting = [(p.method, p.session) for p in self._pending.values()]
        waiting += [(m.method, m.session) for m, _ in self._delayed]
        return waiting.count(("session/prompt", message.session))

    def _refuse(
        self,
        message: Message,
        answered: Callable[[bytes], None] | None,
        code: int,
        text: str,
        data: object = None,
    ) -> bool:
        if message.id is not None:
            line = error_answer(message.id, code, text, data)
            self._give_answer(_Pending(message.method or "", message.session, answered), line)
            self._count_own(line)
        return False

    def tell(self, line: bytes) -> None:
        """Send an answer of the server itself; in line, so that a client can count on the order."""
        self.main.put((line,))
        self._count_own(line)

    def _count_own(self, line: bytes) -> None:
        self._own_answers = len(line) + (self._own_answers if self.buffered > len(line) else 0)
        if self._own_answers > MAX_OWN_ANSWERS:
            self.host.metrics.add("acpella_refused_total", 'reason="stalled"')
            self.close("the client sends much that is wrong, and reads nothing", code=1008, abort=True)

    def _forward(self, message: Message, answered: Callable[[bytes], None] | None) -> None:
        if message.method is not None and message.id is not None:
            self._pending[message.id] = _Pending(message.method, message.session, answered)
            if message.method == "session/prompt":
                self.turns += 1
            elif message.method == "initialize":
                self._hello = (message.id, self._now())
            if message.method.startswith(AUDITED):
                audit.info("%s", message.method[:100], extra=self.facts(session=_short(message.session)))
        self._write(message.frame)

    def _write(self, frame: bytes) -> None:
        if self._endpoint is not None:
            self._endpoint.channel.write(frame + b"\n")

    def _acked(self, message: Message) -> None:
        try:
            params = msgspec.json.decode(bytes(read_envelope(message.frame).params))
            gen, _, number = str(params["lastEventId"]).partition("-")
            stream = self.routes.streams.get(None if self.multiplexed else params.get("sessionId"))
        except (KeyError, TypeError, AttributeError, *UNREADABLE):
            return
        if stream is not None and gen == self.host.gen and number.isdecimal() and len(number) <= 18:
            self._stalled_since = self._now() if self._stalled_since is not None else None
            stream.ack(int(number))

    def expect_stream(self, session_id: str) -> None:
        """The client is going to open a stream for this session."""
        try:
            self.routes.expect(session_id)
        except Overflow:
            log.warning("connection %s: too many sessions; the rest shares a stream", self.label)

    def left_stream(self, session_id: str | None) -> None:
        """A client that may have made up the session has left its stream."""
        if not any(pending.session == session_id for pending in self._pending.values()):
            self.routes.drop_unopened(session_id)

    def give_back(self, lent: Lent, *, complete: bool) -> None:
        """A stream that was lent for one answer is over; the answer goes where others go."""
        pending = self._pending.get(lent.request)
        if pending is not None and self.routes.lent(lent.number) is not None:
            self._pending[lent.request] = pending._replace(answered=None)
        self.routes.take_back(lent, complete=complete)

    # -- flow (Ledger) -------------------------------------------------------------------------

    def moved(self) -> None:
        """Something was taken, or a reader came or went."""
        if self._stopped_reading:
            self._stalled_since = self._now()
            self._check_flow()

    def _check_flow(self) -> None:
        full = bool(self.over) or self.buffered >= self._settings.buffer_bytes
        if full is self._stopped_reading or self._endpoint is None or self.closed is not None:
            return
        self._stopped_reading = full
        if full:
            self._stalled_since = self._now()
            self._endpoint.channel.pause_reading()
        else:
            self._stalled_since = None
            self._endpoint.channel.resume_reading()
            while self._delayed and not self._stopped_reading:
                self._forward(*self._delayed.popleft())

    # -- from the agent (Receiver) -------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes from the agent."""
        if self.closed is not None:
            return
        metrics = self.host.metrics
        if b"\r" in data:
            data = data.replace(b"\r", b" ")  # the end of a line to those who read event streams
        count = 0
        for block in self._framer.feed(data):
            if isinstance(block, Broken):
                self._lost(block)
            else:
                lines = block.split(b"\n")
                count += len(lines)
                self.routes.put(lines, self._route)
        metrics.add("acpella_messages_total", 'direction="out"', count)
        metrics.add("acpella_message_bytes_total", 'direction="out"', len(data))
        self._check_flow()

    def pause_writing(self) -> None:
        """The agent is behind with reading."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    def ended(self, reason: ConnectionClosed) -> None:
        """The agent is gone: its client, and nobody else, is told."""
        if self.closed is not None:
            return
        log.warning("connection %s: the agent is gone: %s", self.label, reason)
        text = reason.reason
        if reason.exit_code is not None:  # without the command, which is no business of the client's
            text = f"the agent exited with code {reason.exit_code}"
        elif reason.signal is not None:
            text = f"the agent was killed by {reason.signal}"
        self._finish(ConnectionClosed(text), 1011)
        self.host.look_soon(self)

    def _lost(self, block: Broken) -> None:
        """A message that was too long: whoever waits for it must not wait for ever."""
        self.host.metrics.add("acpella_noise_total")
        log.warning("connection %s: the agent's output was skipped: %s", self.label, block.reason)
        key, is_response = guess(block.head, block.tail)
        if key is not None and is_response and (waiting := self._settled(key)) is not None:
            self._give_answer(waiting, error_answer(key, -32603, "the agent's answer is too long"))

    def _route(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            return
        try:
            envelope = read_envelope(line)
        except UNREADABLE:
            self.host.metrics.add("acpella_noise_total")
            log.info("connection %s: skipped output of the agent that is no message", self.label)
            return
        if envelope.method is not None:
            session_id = read_params(envelope.params).session
            if not envelope.id or self._may_ask(envelope, session_id):
                self.routes.stream_for(session_id).put((line,))
            return
        key = id_of(envelope.id) if envelope.id else None
        waiting = None if key is None else self._settled(key)
        if waiting is None:
            self.main.put((line,))  # an error without an id, or an answer nobody asked for
            return
        if waiting.method.startswith(AUDITED):
            made = read_params(envelope.result).session if waiting.method in MAKING else None
            session = _short(made or waiting.session)
            facts = self.facts(session=session, outcome=outcome_of_request(envelope))
            audit.info("%s answered", waiting.method[:100], extra=facts)
        self._give_answer(waiting, self._looked_at(waiting, envelope, line))

    def _may_ask(self, envelope: Envelope, session_id: str | None) -> bool:
        """Whether a question goes to the client; if not, it is answered here, so that the agent goes on."""
        key = id_of(envelope.id)
        if key is None or key == b"null":
            return True
        if envelope.method == PERMISSION and "approve" not in self.scopes:
            audit.info("permission refused: no scope 'approve'", extra=self.facts(session=_short(session_id)))
            self._write(answer(key, {"outcome": rejection(envelope.params)}))
            return False
        if len(self._asked) >= MAX_ASKED:
            self._write(error_answer(key, -32001, "too many questions wait for their answer"))
            return False
        self._asked[_same(key)] = _Question(key, envelope.method or "", _short(session_id))
        return True

    def _settled(self, key: bytes) -> _Pending | None:
        waiting = self._pending.pop(key, None)
        if waiting is not None and waiting.method == "session/prompt":
            self.turns -= 1
            self.host.turn_over()
            if self.readers == 0 and not self.turns:
                self.host.look_soon(self)
        return waiting

    def _looked_at(self, waiting: _Pending, envelope: Envelope, line: bytes) -> bytes:
        """Learn from an answer what the streams need to know; a list of sessions loses what is others'."""
        if not envelope.result:
            return line
        if waiting.method in MAKING:
            made = read_params(envelope.result).session
            if made is not None:
                self.host.policy.made(made, self.principal)
                self.routes.know(made)
                self.expect_stream(made)
        elif waiting.method in ("session/load", "session/resume") and waiting.session is not None:
            self.routes.know(waiting.session)
        elif waiting.method in ("session/list", "_session/list") and self.host.policy.filters_lists:
            try:
                return answer(bytes(envelope.id), self.host.policy.filtered(envelope.result, self.principal))
            except Violation as violation:
                return error_answer(bytes(envelope.id), violation.code, violation.message)
        elif waiting.method == "initialize":
            self.loads = can_load(envelope.result)
            if not self.host.policy.takes_urls:
                return answer(bytes(envelope.id), self.host.policy.offered(envelope.result))
        return line

    def _give_answer(self, waiting: _Pending, line: bytes) -> None:
        if waiting.answered is not None:
            waiting.answered(line)
        elif waiting.method == "session/load" and not self.multiplexed:
            # after the history, which is on the session's stream (T-042)
            self.routes.stream_for(waiting.session).when_drained(lambda: self.main.put((line,)))
        elif waiting.method == "session/new":
            self.main.put((line,))
        else:
            self.routes.stream_for(waiting.session).put((line,))


def _same(key: bytes) -> object:
    """An id by its value, for which 1 and 1.0 are the same; one beyond all numbers by its bytes."""
    try:
        return msgspec.json.decode(key)
    except UNREADABLE:
        return key


def _short(session_id: str | None) -> str | None:
    """How logs call a session."""
    return None if session_id is None else hashlib.sha256(session_id.encode()).hexdigest()[:8]
