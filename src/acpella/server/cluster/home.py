"""The home of a connection: what it says is written, what comes from other nodes is done."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from acpella.errors import ConnectionClosed
from acpella.rpc.message import UNREADABLE, id_key, write_error
from acpella.rpc.relay import UPDATE_HEAD, Frame, read_frame, session_of
from acpella.server.access.credentials import Credential, scopes_of
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.hosted import HostedConnection, Overflow, UnknownSession
from acpella.server.connection.local import LocalConnection
from acpella.server.connection.memory_outbox import Ledger, MemoryReader
from acpella.server.connection.messages import Message, NotAMessage, read_message
from acpella.server.connection.outbox import OutOfWindow, Taken
from acpella.server.connection.pending import OVERLOADED
from acpella.server.connection.streams import TooManyStreams
from acpella.server.metrics import Metrics
from acpella.sessions import Cluster, ClusterCommand, Lease, StoreError

from .frame_log import FrameLog
from .kept_outbox import KeptOutbox
from .records import Attach, ClientSent, Closed, Facts, Joined, Left, ReadingProgress, decode, encode

__all__ = ["ClusterHome", "command_name"]

log: logging.Logger = logging.getLogger(__name__)

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
CLOSING = frozenset({"session/close", "session/delete"})

_WORKPLACE = ("cwd", "mcpServers", "additionalDirectories")
"""What a session is opened again with."""


def command_name(number: int | None, ordinal: int) -> str:
    """The id of the command for a message: the same if it is sent again, unless it has no number or place."""
    if number is not None:
        return f"m{number}"
    return f"w{ordinal}" if ordinal else f"x{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Request:
    """What the agent has to answer."""

    command: str
    message: Message


@dataclass(slots=True)
class _Relayed:
    """A reader at a gateway."""

    reader: MemoryReader
    life: str


class ClusterHome:
    """The `ConnectionHome` of one connection among several nodes."""

    def __init__(
        self,
        cluster: Cluster,
        stream: str,
        principal: str,
        facts: Facts,
        metrics: Metrics,
        *,
        stays_here: Callable[[bytes], bool] = lambda greeting: False,
    ) -> None:
        """`stays_here` returns whether only this node can serve the connection that begins with a message."""
        self._cluster = cluster
        self._stream = stream
        self.principal = principal
        self._metrics = metrics
        self._stays_here = stays_here
        self.log: FrameLog = FrameLog(cluster, facts, metrics, on_lost=self.lose)
        self._connection: LocalConnection | None = None
        self._requests: dict[bytes, _Request] = {}
        self._relayed: dict[str, _Relayed] = {}
        self._inbox: asyncio.Task[None] | None = None
        self._beginning = 0  # commands on their way to the agent
        self._none_begins = asyncio.Event()
        self._none_begins.set()
        self._lost = False
        self._closing = False

    @property
    def facts(self) -> Facts:
        return self.log.facts

    @property
    def is_lost(self) -> bool:
        """Whether this node must not go on with the connection."""
        return self._lost or self._cluster.seconds_left() <= 0

    @property
    def connection(self) -> LocalConnection:
        assert self._connection is not None
        return self._connection

    def bind(self, connection: HostedConnection) -> None:
        assert isinstance(connection, LocalConnection)
        self._connection = connection

    # -- life ------------------------------------------------------------------------------------

    def run(self, lease: Lease, seq: int) -> None:
        """Be the home from now on."""
        self.log.lease, self.log.seq = lease, seq
        self._inbox = asyncio.get_running_loop().create_task(self._run_commands(lease))

    def lose(self, reason: str) -> None:
        """Another node is the home now, or will be."""
        if not self._lost:
            self._lost = True
            self.log.stop()
            self.connection.move_away(f"this node is its home no longer: {reason}")

    def resumable(self) -> None:
        self.facts.resumable = True
        if self.log.lease is not None:
            self.log.write_facts()

    def ended(self, reason: str, code: int) -> None:
        self.log.control("closed", Closed(reason, code))

    async def close(self, *, keep: bool) -> None:
        self._closing = True
        await self._none_begins.wait()  # what did not reach the agent is put back for the next home
        if self._inbox is not None:
            self._inbox.cancel()
            await asyncio.wait([self._inbox])
        lease = self.log.lease
        if lease is None or self._lost:
            return
        try:
            if keep:
                self.facts.received = self.connection.messages_received
                self.log.write_facts()
                await self.log.settled()
                self.log.stop()
                await self._cluster.give_back(lease)
            else:
                await self.log.settled()
                self.log.stop()
                await self._cluster.remove_stream(lease)
        except StoreError as error:
            log.info("connection %s was not cleared away: %s", self.connection.label, error)

    # -- what the agent says -----------------------------------------------------------------------

    def new_outbox(
        self,
        session_id: str | None,
        ledger: Ledger,
        *,
        high: int,
        window_frames: int,
        window_bytes: int,
        lossless: bool,
    ) -> KeptOutbox:
        outbox = KeptOutbox(
            self,
            session_id,
            ledger,
            high=high,
            window_frames=window_frames,
            window_bytes=window_bytes,
            lossless=lossless,
        )
        self.log.new_outbox(outbox)
        if last := self.facts.numbers.get(session_id or ""):
            outbox.restore(last, ())  # its stream was there before: no number is used twice
        return outbox

    def keep(self, outbox: KeptOutbox, messages: Sequence[bytes]) -> None:
        self.log.keep(outbox, messages)
        if self.log.lease is not None and len(messages) == 1 and not messages[0].startswith(UPDATE_HEAD):
            self._note(read_frame(messages[0]))

    def afterwards(self, then: Callable[[], None]) -> None:
        self.log.afterwards(then)

    def _note(self, frame: Frame) -> None:
        """Learn from a message that is going to be written; what follows is written with it."""
        if frame.id is None:
            return
        if frame.kind == "request":
            self.facts.questions[frame.id.decode()] = frame.session
            self.log.changed = True
        elif frame.kind == "response" and (request := self._requests.pop(id_key(frame.id), None)) is not None:
            self.log.settle(request.command, forget=request.command.startswith("x"))
            if not frame.is_error:
                self._note_session(request.message, frame)

    def _note_session(self, request: Message, response: Frame) -> None:
        if request.method in OPENING:
            session_id = session_of(response.envelope.result) or request.session
            if session_id is not None:
                self.facts.sessions[session_id] = _workplace(request)
                self.log.changed = True
        elif request.method in CLOSING and request.session in self.facts.sessions:
            del self.facts.sessions[request.session]
            self.log.changed = True

    # -- what the client says ----------------------------------------------------------------------

    async def record(
        self, message: Message, *, number: int | None, ordinal: int, command: str | None
    ) -> bool:
        lease = self.log.lease
        if message.method == "initialize" and lease is None and not self._stays_here(message.data):
            self.facts.initialize = message.data
            facts = encode(self.facts)
            lease = await self._cluster.open_stream(self._stream, facts, principal=self.principal)
            self.run(lease, 0)
            return True
        if lease is None:
            return True
        if message.is_request:
            return await self._record_request(lease, message, number, ordinal, command)
        if message.id is not None and self.facts.questions.pop(message.id.decode(), "-") != "-":
            self.log.changed = True
        return True

    async def _record_request(
        self, lease: Lease, message: Message, number: int | None, ordinal: int, command: str | None
    ) -> bool:
        assert message.id is not None
        if command is None:
            command = command_name(number, ordinal)
            body = encode(ClientSent(message.data, number, ordinal))
            with self._begins():
                if not await self._cluster.start(
                    lease, ClusterCommand(id=command, kind="message", body=body)
                ):
                    return False
                if self.connection.closed is not None:  # meanwhile
                    await self._put_back(lease, command)
                    raise self.connection.closed.again()
        key = id_key(message.id)
        if key in self._requests:  # it will be refused
            self.log.settle(command, forget=command.startswith("x"))
        else:
            self._requests[key] = _Request(command, message)
        return True

    @contextmanager
    def _begins(self) -> Generator[None]:
        """A command is begun here, and has not reached the agent yet."""
        self._beginning += 1
        self._none_begins.clear()
        try:
            yield
        finally:
            self._beginning -= 1
            if not self._beginning:
                self._none_begins.set()

    async def _put_back(self, lease: Lease, command: str) -> None:
        """A command was begun, and the connection ended before the agent heard of it: the next home runs it.

        Otherwise it would count as interrupted there. One whose sender cannot repeat it under the same name
        was refused, and is forgotten.
        """
        try:
            if command.startswith("x"):
                await self._cluster.settle(lease, command, forget=True)
            else:
                await self._cluster.put_back(lease, command)
        except StoreError as error:
            log.info("connection %s: a command was not put back: %s", self.connection.label, error)

    # -- what comes from gateways --------------------------------------------------------------------

    async def _run_commands(self, lease: Lease) -> None:
        try:
            async for command in self._cluster.commands(lease):
                if self.connection.closed is not None and self._closing:
                    return  # whoever is the next home does it
                await self._do(lease, command)
        except StoreError as error:
            self.lose(str(error))
        except Exception:
            log.exception("commands of connection %s cannot be run", self.connection.label)
            self.lose("its commands could not be run; the server's log says why")

    async def _do(self, lease: Lease, command: ClusterCommand) -> None:
        if command.kind in ("message", "tell"):
            if self.connection.close_code == CloseCode.MOVED:
                return
            with self._begins():
                if await self._cluster.begin(lease, command.id):
                    await self._take(lease, command)
            return
        try:
            if command.kind == "attach":
                await self._attach(decode(command.body, Attach))
            elif command.kind == "progress":
                self._progress(decode(command.body, ReadingProgress))
            elif command.kind == "detach":
                self._detach(decode(command.body, str))
            elif command.kind == "close":
                closed = decode(command.body, Closed)
                self.connection.close(closed.reason, code=closed.code)
            else:
                log.warning("connection %s: unknown command %s", self.connection.label, command.kind[:40])
        except msgspec.MsgspecError as error:
            log.warning("connection %s: unreadable %s: %s", self.connection.label, command.kind, error)
        self.log.settle(command.id, forget=True)

    async def _take(self, lease: Lease, command: ClusterCommand) -> None:
        """Run a message of the client, which reached another node."""
        connection = self.connection
        sent = decode(command.body, ClientSent)
        connection.messages_received = max(connection.messages_received, sent.ordinal)
        self._metrics.add("acpella_cluster_commands_total")
        if sent.sent_at:
            waited = max(0.0, time.time() - sent.sent_at)
            self._metrics.add("acpella_cluster_command_wait_seconds_total", amount=waited)
        if command.kind == "tell":
            connection.tell(sent.data)
            self.log.settle(command.id, forget=False)
            return
        try:
            message = read_message(sent.data)
        except NotAMessage:
            self.log.settle(command.id, forget=False)
            return
        if sent.expects is not None:
            connection.expect_stream(sent.expects)
        try:
            await connection.submit(message, number=sent.number, command=command.id)
            if not message.is_request:  # nobody answers it
                self.log.settle(command.id, forget=command.id.startswith("x"))
        except ConnectionClosed:
            await self._put_back(lease, command.id)
        except Overflow:
            if message.id is not None and message.is_request:
                connection.tell(write_error(message.id, OVERLOADED, "the agent takes no messages"))
            self.log.settle(command.id, forget=False)

    async def _attach(self, wish: Attach) -> None:
        credential = Credential(self.principal, scopes_of(wish.scopes), wish.until)
        joined = Joined(wish.reader, received=self.connection.messages_received)
        try:
            reader = await self.connection.attach(
                credential,
                session_id=wish.session,
                cursor=wish.cursor,
                confirms=wish.confirms,
                take_over=wish.take_over,
            )
        except (Taken, OutOfWindow, UnknownSession, TooManyStreams) as error:
            joined.error = type(error).__name__
        else:
            assert isinstance(reader, MemoryReader) and isinstance(reader.outbox, KeptOutbox)
            self._relayed[wish.reader] = _Relayed(reader, wish.life)
            reader.on_end = lambda: self._on_end(wish.reader, reader)
            joined.after = reader.outbox.taken
            joined.seq = self.log.before(reader.outbox, joined.after)
        self.log.control("joined", joined)

    def _on_end(self, name: str, reader: MemoryReader) -> None:
        self.log.control("left", Left(name, reader.taken_over, reader.why, reader.aborted))

    def _detach(self, name: str) -> None:
        relayed = self._relayed.pop(name, None)
        if relayed is not None:
            relayed.reader.on_end = None
            self.connection.detach(relayed.reader)

    def _progress(self, progress: ReadingProgress) -> None:
        for name, number in progress.taken.items():
            relayed = self._relayed.get(name)
            if relayed is not None:
                relayed.reader.outbox.skip(number)
        for session, number in progress.acked:
            outbox = self.connection.streams.acknowledged(session)
            if isinstance(outbox, KeptOutbox):
                outbox.skip(min(number, outbox.last))  # the gateway may not have said so yet
                outbox.ack(number)

    @property
    def has_gateways(self) -> bool:
        """Whether clients read at other nodes."""
        return bool(self._relayed)

    def forget_gateways(self, alive: Iterable[str]) -> None:
        """Readers of gateways that are not alive have left."""
        lives = set(alive)
        for name in [name for name, relayed in self._relayed.items() if relayed.life not in lives]:
            self._detach(name)


def _workplace(request: Message) -> bytes:
    """How a session is opened again."""
    try:
        params = msgspec.json.decode(request.frame.envelope.params, type=dict[str, Any])
    except UNREADABLE:
        return b"{}"
    return msgspec.json.encode({name: params[name] for name in _WORKPLACE if name in params})
