"""A connection whose home is another node: commands go there, its stream is tailed here."""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from acpella.errors import ConnectionClosed
from acpella.server.access.credentials import Credential
from acpella.server.connection.audit import short_name
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.cursor import read_cursor
from acpella.server.connection.hosted import Answered, AnswerReader, UnknownSession
from acpella.server.connection.messages import ACK, Message, read_ack
from acpella.server.connection.outbox import OutboxReader, OutOfWindow, Taken
from acpella.server.connection.profile import Profile
from acpella.server.connection.streams import TooManyStreams
from acpella.server.metrics import Metrics
from acpella.sessions import Cluster, ClusterCommand, SessionNotFound, StoreError, StoreUnavailable

from .home import command_name
from .records import PROFILES, Attach, ClientSent, Closed, Facts, Joined, ReadingProgress, decode, encode
from .tail_reader import TailReader

__all__ = ["GatewayConnection"]

log: logging.Logger = logging.getLogger(__name__)

TELL_EVERY = 0.05
"""Seconds between two reports of how far a client has read."""

_ERRORS: dict[str, Callable[[], Exception]] = {
    "Taken": Taken,
    "OutOfWindow": OutOfWindow,
    "UnknownSession": UnknownSession,
    "TooManyStreams": TooManyStreams,
}


@dataclass(slots=True)
class _Post:
    """A command on its way."""

    command: ClusterCommand
    sent: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class GatewayConnection:
    """A `HostedConnection` for one request or socket of a client."""

    def __init__(
        self,
        cluster: Cluster,
        connection_id: str,
        stream: str,
        principal: str,
        facts: Facts,
        *,
        patience: float,
        readers: set[TailReader],
        metrics: Metrics,
    ) -> None:
        """`patience`: seconds for the home, or whoever replaces it, to let a client read. Readers that are
        open are among `readers`."""
        self.id = connection_id
        self.label: str = short_name(connection_id)
        self.profile: Profile = PROFILES[facts.profile]
        self.resumable: bool = facts.resumable
        self.initialized = True
        self.messages_received: int = 0
        self.closed: ConnectionClosed | None = None
        self.close_code: int = CloseCode.ENDED
        self._cluster = cluster
        self._stream = stream
        self._principal = principal
        self._patience = patience
        self._readers = readers
        self._metrics = metrics
        self._posts: deque[_Post] = deque()
        self._posting: asyncio.Task[None] | None = None
        self._expects: str | None = None
        self._taken: dict[str, int] = {}
        self._acked: dict[str | None, int] = {}
        self._telling: asyncio.TimerHandle | None = None

    @property
    def is_gone_for_good(self) -> bool:
        return not self.resumable and not self.profile.comes_back

    async def start(self) -> None:
        """Nothing to do: the agent runs at the home."""

    # -- commands ----------------------------------------------------------------------------------

    def _post(self, kind: str, body: object, *, name: str | None = None) -> "asyncio.Future[None]":
        """Submit a command after those before it."""
        post = _Post(ClusterCommand(id=name or f"x{secrets.token_hex(8)}", kind=kind, body=encode(body)))
        self._posts.append(post)
        if self._posting is None:
            self._posting = asyncio.get_running_loop().create_task(self._submit_all())
        return post.sent

    async def _submit_all(self) -> None:
        try:
            while self._posts:
                post = self._posts.popleft()
                try:
                    await self._cluster.submit(self._stream, post.command, principal=self._principal)
                except StoreError as error:
                    if isinstance(error, SessionNotFound):
                        self._on_closed("it ended", CloseCode.ENDED)
                    if not post.sent.done():
                        post.sent.set_exception(error)
                        post.sent.exception()  # perhaps nobody waits for it
                else:
                    if not post.sent.done():
                        post.sent.set_result(None)
        finally:
            self._posting = None

    async def submit(
        self, message: Message, *, number: int | None = None, answered: Answered | None = None
    ) -> None:
        assert answered is None, "only a connection's home answers directly"
        if message.method == ACK:
            self._acknowledge(message)
            return
        if self.closed is not None:
            raise self.closed.again()
        ordinal = self.messages_received if self.profile.one_stream else 0
        expects, self._expects = self._expects, None
        body = ClientSent(message.data, number, ordinal, expects, time.time())
        try:
            await self._post("message", body, name=command_name(number, ordinal))
        except SessionNotFound:
            raise ConnectionClosed("it is not known any more") from None

    def tell(self, response: bytes) -> None:
        name = command_name(None, self.messages_received)
        self._post("tell", ClientSent(response, None, self.messages_received), name=name)

    def expect_stream(self, session_id: str) -> None:
        self._expects = session_id  # the message that says so follows

    def close(self, reason: str, *, code: int = CloseCode.ENDED, abort: bool = False) -> None:
        self._post("close", Closed(reason, code))
        self._on_closed(reason, code)

    def _on_closed(self, reason: str, code: int) -> None:
        if self.closed is None:
            self.closed = ConnectionClosed(reason, clean=code in (CloseCode.ENDED, CloseCode.STOPPING))
            self.close_code = code

    # -- streams -----------------------------------------------------------------------------------

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
        name = secrets.token_hex(8)
        wish = Attach(
            name,
            self._cluster.life,
            session_id,
            cursor,
            confirms,
            take_over,
            sorted(credential.scopes),
            credential.until,
        )
        try:
            joined = await self._joined(wish)
        except SessionNotFound:
            raise ConnectionClosed("it is not known any more") from None
        if joined.error:
            raise _ERRORS.get(joined.error, UnknownSession)()
        self.messages_received = max(self.messages_received, joined.received)
        self.resumable = self.resumable or confirms
        reader = TailReader(
            name,
            self._cluster,
            self._stream,
            credential=credential,
            session=session_id,
            on_taken=lambda number: self._on_taken(name, number),
            on_closed=self._on_closed,
            abort=abort,
            metrics=self._metrics,
        )
        reader.start(after=joined.after, seq=joined.seq)
        self._readers.add(reader)
        return reader

    async def _joined(self, wish: Attach) -> Joined:
        """The home's answer to the wish to read a stream. Raises `StoreError`."""
        head = await self._cluster.head(self._stream, principal=self._principal)
        self._post("attach", wish)
        try:
            async with asyncio.timeout(self._patience):
                tail = self._cluster.tail(self._stream, head, principal=self._principal, gaps=True)
                async for events in tail:
                    for event in events:
                        if str(event.kind) == "joined":
                            joined = decode(event.body, Joined)
                            if joined.reader == wish.reader:
                                return joined
        except TimeoutError:
            pass
        self._post("detach", wish.reader)
        raise StoreUnavailable("the node that this connection is at does not answer; try again in a moment")

    def detach(self, reader: OutboxReader) -> None:
        reader.release()
        if isinstance(reader, TailReader) and reader in self._readers:
            self._readers.discard(reader)
            self._tell_progress()
            self._post("detach", reader.name)

    def open_answer(
        self, message: Message, credential: Credential, *, abort: Callable[[], None] | None = None
    ) -> AnswerReader:
        raise AssertionError("connections of this profile stay at their node")

    # -- progress ----------------------------------------------------------------------------------

    def _acknowledge(self, message: Message) -> None:
        ack = read_ack(message)
        if ack is None:
            return
        try:
            number = read_cursor(ack.cursor, self._cluster.gen).number
        except OutOfWindow:
            return  # from an earlier generation
        session = None if self.profile.one_stream else ack.session
        self._acked[session] = max(number, self._acked.get(session, 0))
        self._tell_soon()

    def _on_taken(self, name: str, number: int) -> None:
        self._taken[name] = number
        self._tell_soon()

    def _tell_soon(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TELL_EVERY, self._tell_progress)

    def _tell_progress(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        if self._taken or self._acked:
            progress = ReadingProgress(self._taken, list(self._acked.items()))
            self._taken, self._acked = {}, {}
            self._post("progress", progress)
