"""A connection whose agent runs in this process, or as its child.

It joins parts that decide without I/O: `ClientInput` what may pass, `PendingTables` who waits for whom,
`AgentOutput` and `Streams` where a message goes, `Flow` who is behind, `Liveness` when it is over. Messages
pass as the bytes they are.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from acpella.errors import ConnectionClosed
from acpella.rpc.relay import Frame, Reply
from acpella.server.access.credentials import Credential, Scope

from .admission import MessageNumbers
from .agent_output import AgentOutput
from .audit import ConnectionAudit, short_name
from .client_input import ClientInput
from .close_codes import CloseCode
from .flow import Flow
from .home import ConnectionHome
from .hosted import Answered, Overflow
from .liveness import NOT_READING, Circumstances, Liveness, LivenessEnd
from .memory_outbox import MemoryOutbox
from .messages import ACK, Message
from .outbox import Outbox, OutboxReader
from .pending import PERMISSION, PendingTables
from .profile import Profile
from .readers import LocalAnswer, Readers
from .services import ConnectionServices, ConnectionTable
from .streams import Streams

if TYPE_CHECKING:
    from acpella.server.agent_factories import RunningAgent

__all__ = ["LocalConnection"]

log: logging.Logger = logging.getLogger(__name__)

CLOSE_WORDS: dict[int, str] = {
    CloseCode.STOPPING: "shutdown",
    CloseCode.LIMIT: "limit",
    CloseCode.AGENT: "agent",
    CloseCode.DATABASE: "database",
}
"""What the metrics call the end of a connection, by its close code; others are the client's doing, and one
that is cut off because it reads nothing is `stalled`."""


class LocalConnection:
    """The `HostedConnection` of one process.

    It ends in one of three ways: `close` when its client has left, its time is over or the server stops;
    `ended` when its agent is gone; `move_away` when another node goes on with it, or this one has lost its
    lease. From then on it is `closed`, and nothing passes. The table then forgets it and calls
    `release_agent`.
    """

    def __init__(
        self,
        services: ConnectionServices,
        table: ConnectionTable,
        credential: Credential,
        profile: Profile,
        *,
        connection_id: str | None = None,
        resumable: bool = False,
        address: str = "",
        home: ConnectionHome | None = None,
    ) -> None:
        """`address`: where its client came from when it was opened. `home`: where other nodes find it."""
        settings = services.settings
        self.id: str = connection_id or secrets.token_hex(16)
        self.label: str = short_name(self.id)
        self.principal: str = credential.principal
        self.scopes: frozenset[Scope] = credential.scopes - {"admin"}
        """What may be done on it; whoever comes back to it needs as much."""
        self.is_admin: bool = "admin" in credential.scopes
        self.profile = profile
        self.resumable: bool = resumable
        self.initialized: bool = False
        self.messages_received = 0
        self.closed: ConnectionClosed | None = None
        self.close_code: int = CloseCode.ENDED
        self._services = services
        self._table = table
        self._address = address
        self.home = home
        if home is not None:
            home.bind(self)
        self._goes_on_elsewhere = False
        self._starting: asyncio.Task[None] | None = None
        self._agent: RunningAgent | None = None
        self._writable = asyncio.Event()  # the agent reads what is written to it
        self._writable.set()
        self._audit = ConnectionAudit(label=self.label, principal=self.principal, profile=profile.name)
        self._liveness = Liveness(profile, settings, now=self._now())
        self.flow: Flow = Flow(most=settings.buffer_bytes, changed=self._on_flow)
        self.streams: Streams = Streams(self._new_outbox, profile, max_sessions=settings.max_sessions)
        self.pending: PendingTables = PendingTables(self._write, may_approve="approve" in self.scopes)
        self._readers = Readers(services, self.streams, self.pending, profile, audit=self._audit)
        self._output = AgentOutput(
            services,
            self.streams,
            self.pending,
            audit=self._audit,
            label=self.label,
            principal=self.principal,
            on_greeting=self._liveness.greeting_answered,
            on_turn_end=self._on_turn_end,
        )
        self._input = ClientInput(
            services,
            self.streams,
            self.pending,
            audit=self._audit,
            liveness=self._liveness,
            principal=self.principal,
            scopes=self.scopes,
            has_turn=self._has_turn,
            on_refusal=self._count_own,
        )
        self._numbers = MessageNumbers()

    def _new_outbox(self, session_id: str | None = None, *, is_answer: bool = False) -> Outbox:
        settings = self._services.settings
        keeps = self.resumable or self.profile.comes_back
        high = settings.stream_bytes
        frames = settings.window_frames if keeps else 0
        size = settings.window_bytes if keeps else 0
        lossless = self.resumable and not is_answer
        new = MemoryOutbox
        if self.home is not None and not is_answer:
            new = partial(self.home.new_outbox, session_id)
        return new(self.flow, high=high, window_frames=frames, window_bytes=size, lossless=lossless)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _count(self, metric: str, labels: str = "", amount: float = 1) -> None:
        self._services.metrics.add(metric, labels, amount)

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the agent, once. Raises `AcpellaError` when it cannot be."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
        await asyncio.wait([self._starting])  # whoever gives up waiting closes the connection, which ends it
        if self._starting.cancelled():
            raise self.closed.again() if self.closed is not None else ConnectionClosed("it was not started")
        self._starting.result()

    async def _start(self) -> None:
        services = self._services
        agent = await services.factory.start(self, self.principal, self._is_detached)
        if self.closed is not None:  # meanwhile
            await agent.close()
            raise self.closed.again()
        self._agent = agent
        self._count("acpella_connections_total", f'transport="{self.profile.name}"')
        self._audit.opened(self._address)

    def _is_detached(self) -> bool:
        return not self._readers

    @property
    def readers(self) -> int:
        """Streams and sockets that are open."""
        return len(self._readers)

    @property
    def last_seen(self) -> float:
        """When its client did something, by the clock of the loop."""
        return self._liveness.last_seen

    @property
    def is_gone_for_good(self) -> bool:
        """Whether the client is away and has no way to come back."""
        return self._liveness.is_gone_for_good(self._circumstances())

    def _circumstances(self) -> Circumstances:
        return Circumstances(
            readers=len(self._readers),
            closed=self.closed is not None,
            resumable=self.resumable,
            buffered=self.flow.buffered,
            behind=len(self.flow.behind),
            pending=len(self.pending.requests),
            questions=len(self.pending.questions),
            draining=self._table.draining,
        )

    def check(self, now: float | None = None) -> None:
        """Act on deadlines that have passed; called again and again. `now` is by the clock of the loop, as
        `last_seen`."""
        now = self._now() if now is None else now
        action = self._liveness.check(now, self._circumstances(), self._needs_turns)
        if isinstance(action, LivenessEnd):
            if action.abort:
                self._count("acpella_refused_total", 'reason="stalled"')
            self.close(action.reason, code=action.code, abort=action.abort)
        elif action == "forget":
            self._table.forget(self.id)
        elif action == "hang up":
            self._count("acpella_refused_total", 'reason="stalled"')
            self._liveness.progressed(now)  # it has as long again, should it come back
            self._audit.hung_up(NOT_READING)
            for outbox in list(self.flow.behind):
                outbox.abort(why=NOT_READING)
        elif action == "cancel questions":
            for question in self.pending.cancel_questions():
                if question.method == PERMISSION:
                    self._audit.permission_cancelled(question.session)

    def check_credentials(self) -> None:
        """Let go of readers whose credential does not count any more."""
        self._readers.check_credentials()

    def _has_turn(self, session_id: str) -> bool:
        return self._table.has_turn(session_id, self.principal)

    def _needs_turns(self) -> bool:
        """Whether a turn needs this connection: one begun here, or taken over from another."""
        return self.pending.turns > 0 or any(map(self._has_turn, self.streams.known))

    def close(self, reason: str, *, code: int = CloseCode.ENDED, abort: bool = False) -> None:
        """End the agent and every stream; with `abort`, the client is dropped without a word."""
        counted_as = "stalled" if abort else CLOSE_WORDS.get(code, "client")
        self._end(
            ConnectionClosed(reason, clean=code in (CloseCode.ENDED, CloseCode.STOPPING)), code, counted_as
        )
        if abort:
            self.streams.abort()
        self._table.forget(self.id)

    def move_away(self, reason: str) -> None:
        """Close it on this node only. Open requests get no error: another node may go on with it."""
        if self.closed is not None:
            return
        self._goes_on_elsewhere = True
        self._mark_closed(ConnectionClosed(reason), CloseCode.MOVED)
        self._table.turn_ended()
        self._readers.end_all()
        self._table.forget(self.id)

    async def release_agent(self) -> None:
        """Close the agent, with its turns. Called once, by the table."""
        try:
            if self._agent is not None:
                await self._agent.close()
        finally:
            if self.home is not None:
                await self.home.close(keep=self._goes_on_elsewhere)

    async def restore(self, greeting: Message) -> None:
        """Start the agent of a connection that was at another node, and initialize it as there.

        Raises `AcpellaError` when it cannot be.
        """
        self.initialized = True
        await self.start()
        pending: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self.pending.forward(greeting, pending.set_result)
        await asyncio.wait([pending], timeout=self._services.settings.initialize_seconds)
        if not pending.done():
            raise ConnectionClosed("the agent did not answer initialize at this node")
        if pending.result().is_error:
            log.warning("connection %s: the agent refused %s at this node", self.label, greeting.method)

    def _end(self, reason: ConnectionClosed, code: int, counted_as: str) -> None:
        """End it for good: whoever waits for an answer is told, and every stream ends."""
        if self.closed is not None:
            return
        self._mark_closed(reason, code)
        why = f"the connection ended: {reason.reason}"
        self.pending.end(why)
        self._input.end(why)
        self._table.turn_ended()
        self.streams.close()
        if self.home is not None:
            self.home.ended(reason.reason, code)
        self._count("acpella_connections_closed_total", f'reason="{counted_as}"')

    def _mark_closed(self, reason: ConnectionClosed, code: int) -> None:
        self.closed = reason
        self.close_code = code
        self._liveness.seen(self._now())
        self._writable.set()
        if self._starting is not None:
            self._starting.cancel()
        self._audit.closed(reason.reason)

    # -- streams -------------------------------------------------------------------------------

    def expect_stream(self, session_id: str) -> None:
        """The client is going to open a stream for this session."""
        self._output.expect_stream(session_id)

    async def attach(
        self,
        credential: Credential,
        *,
        session_id: str | None = None,
        cursor: str | None = None,
        confirms: bool = False,
        take_over: bool = False,
        abort: Callable[[], None] | None = None,
    ) -> OutboxReader:
        """Read a stream. Raises `Taken`, `OutOfWindow`, `UnknownSession` and `TooManyStreams`."""
        if confirms:
            self._be_resumable()
        reader = self._readers.attach(
            credential,
            session_id=session_id,
            cursor=cursor,
            confirms=confirms,
            take_over=take_over,
            abort=abort,
            can_load=self._output.can_load,
        )
        self._liveness.seen(self._now(), used=True)
        return reader

    def _be_resumable(self) -> None:
        if not self.resumable:
            self.resumable = True
            if self.home is not None:
                self.home.resumable()
            for outbox in self.streams.by_session.values():
                outbox.be_lossless()

    def detach(self, reader: OutboxReader) -> None:
        """A reader has ended. Without any, the client counts as away, and its turns are cancelled if the
        settings want that. Safe to call twice."""
        if not self._readers.release(reader) or self._readers or self.closed is not None:
            return
        self._liveness.seen(self._now())
        if not self._services.settings.finish_turns:
            for session_id in self.pending.prompted.union(self.streams.known):
                if self._has_turn(session_id):
                    self.pending.cancel_turn(session_id)
        if self._agent is None:
            self.close("it was never used")
        elif self.is_gone_for_good:
            self.streams.main.discard()  # its client cannot come back for this
            self.check()

    def open_answer(
        self, message: Message, credential: Credential, *, abort: Callable[[], None] | None = None
    ) -> LocalAnswer:
        """A stream for what concerns one request."""
        stream, reader = self._readers.open_answer(message, credential, abort=abort)
        self._liveness.seen(self._now(), used=True)
        return LocalAnswer(self._readers, stream, reader, detach=self.detach)

    # -- from the client -----------------------------------------------------------------------

    async def submit(
        self,
        message: Message,
        *,
        number: int | None = None,
        answered: Answered | None = None,
        command: str | None = None,
    ) -> None:
        """Take a message of the client. Raises `Overflow` and `ConnectionClosed`.

        `command` is the one that brought it from another node.
        """
        if message.method != ACK and not self._writable.is_set():
            try:
                async with asyncio.timeout(self._services.settings.stall_seconds):
                    await self._writable.wait()
            except TimeoutError:
                raise Overflow from None
        now = self._now()
        reply = self._reply_to(message, answered)
        if message.method == ACK:
            self._liveness.seen(now)
            self._input.acknowledge(message, reply, now=now)
        elif self.closed is not None:
            self._liveness.seen(now)
            raise self.closed.again()
        elif self._is_new(message, number, command):
            if self.home is not None and not await self._is_recorded(message, number, command):
                return
            self._liveness.seen(now, used=message.method != "initialize")
            self._input.take(message, reply, now=now)

    def _is_new(self, message: Message, number: int | None, command: str | None) -> bool:
        """Whether a message is to be handled: it is new, or came with a command, whose record decides."""
        if number is None or self._numbers.take(number):
            return True
        return command is not None and message.is_request

    async def _is_recorded(self, message: Message, number: int | None, command: str | None) -> bool:
        """Keep a message; False if it is known. Raises `StoreError` and `ConnectionClosed`."""
        assert self.home is not None
        try:
            ordinal = self.messages_received
            is_new = await self.home.record(message, number=number, ordinal=ordinal, command=command)
        except BaseException:
            if number is not None:
                self._numbers.forget(number)
            raise
        if self.closed is not None:  # meanwhile
            raise self.closed.again()
        return is_new

    def know_numbers(self, numbers: Iterable[int]) -> None:
        """Messages of these numbers were taken at another node."""
        for number in numbers:
            self._numbers.take(number)

    def _reply_to(self, message: Message, answered: Answered | None) -> Reply:
        if answered is None:
            return partial(self._readers.answer_on_stream, message.method, message.session)
        return lambda response: answered(response.data)

    def tell(self, response: bytes) -> None:
        """Send an answer of the server itself; in line, so that a client can count on the order."""
        self.streams.main.put((response,))
        self._count_own(len(response))

    def _count_own(self, size: int) -> None:
        if not self.flow.count_own_answer(size):
            self._count("acpella_refused_total", 'reason="stalled"')
            self.close(
                "the client sends much that is wrong, and reads nothing", code=CloseCode.LIMIT, abort=True
            )

    def _write(self, data: bytes) -> None:
        if self._agent is not None:
            self._agent.channel.write(data + b"\n")

    # -- flow ----------------------------------------------------------------------------------

    def _on_flow(self) -> None:
        """Something was taken, or a reader came or went."""
        if self._input.stalled:
            self._liveness.stalled(self._now())
            self._check_flow()

    def _check_flow(self) -> None:
        full = self.flow.is_full
        if full is self._input.stalled or self._agent is None or self.closed is not None:
            return
        self._input.stalled = full
        if full:
            self._liveness.stalled(self._now())
            self._agent.channel.pause_reading()
        else:
            self._liveness.flows()
            self._agent.channel.resume_reading()
            self._input.release(now=self._now())

    # -- from the agent (a `Receiver`) ---------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes from the agent."""
        if self.closed is None:
            self._output.feed(data)
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
        if reason.exit_code is not None:  # without the command, which does not concern the client
            text = f"the agent exited with code {reason.exit_code}"
        elif reason.signal is not None:
            text = f"the agent was killed by {reason.signal}"
        self._end(ConnectionClosed(text), CloseCode.AGENT, CLOSE_WORDS[CloseCode.AGENT])
        self._table.check_soon(self.check)

    def _on_turn_end(self) -> None:
        self._table.turn_ended()
        if not self._readers and not self.pending.turns:
            self._table.check_soon(self.check)
