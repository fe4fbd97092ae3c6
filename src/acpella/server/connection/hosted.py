"""What the transports see of a connection, wherever its agent runs."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from acpella.errors import ConnectionClosed
from acpella.server.access.credentials import Credential

from .close_codes import CloseCode
from .messages import Message
from .outbox import OutboxReader
from .profile import Profile

__all__ = ["AnswerReader", "Answered", "HostedConnection", "Overflow", "UnknownSession"]

Answered: TypeAlias = Callable[[bytes], None]
"""Gets the response to a request, in place of a stream."""


class Overflow(Exception):
    """The agent takes no messages."""


class UnknownSession(Exception):
    """The connection has no such session, and its agent opens none that it did not make."""


class AnswerReader(Protocol):
    """The stream of one answer, being read."""

    @property
    def number(self) -> int:
        """Names it in cursors."""
        ...

    @property
    def reader(self) -> OutboxReader: ...

    def answered(self, response: bytes) -> None:
        """The response: the last message of the stream. Given to `submit`."""
        ...

    def end(self, *, complete: bool) -> None:
        """The stream is over. If it broke, what was on it waits on the connection's own."""
        ...


class HostedConnection(Protocol):
    """One client's agent: commands go in, numbered streams come out.

    It outlives the sockets that its client comes with. Whoever holds one cannot tell whether the agent runs
    in this process: everything that may have to ask elsewhere is a coroutine.

    - What `submit` took is taken once: a message of the same number is not passed on again.
    - The messages of one client reach the agent in the order in which they were submitted.
    - Every message of the agent is on exactly one stream, responses and questions included; streams are
      numbered and can be picked up again at a cursor, as `Outbox` says.
    """

    @property
    def id(self) -> str:
        """Opens the connection, so it is told to its client only."""
        ...

    @property
    def label(self) -> str:
        """How logs call it."""
        ...

    @property
    def profile(self) -> Profile: ...

    @property
    def resumable(self) -> bool:
        """Whether the client confirms what it gets, so that nothing is lost when it comes back."""
        ...

    @property
    def is_gone_for_good(self) -> bool:
        """Whether the client is away and has no way to come back."""
        ...

    @property
    def closed(self) -> ConnectionClosed | None:
        """Why it has ended; None while it has not."""
        ...

    @property
    def close_code(self) -> int:
        """The code with which a WebSocket is closed for that reason."""
        ...

    initialized: bool
    """Whether the client has sent `initialize`; kept by its transport."""

    messages_received: int
    """Messages that came on sockets, for a client that wants to know what got lost; kept by its transport."""

    async def start(self) -> None:
        """Start the agent, once. Raises `AcpellaError` when it cannot be."""
        ...

    async def submit(
        self, message: Message, *, number: int | None = None, answered: Answered | None = None
    ) -> None:
        """Take a message of the client as a command for the agent, unless it is for the server or must not
        pass; then the client is told on its stream, or by `answered`.

        `number` is the client's own: one that was taken before is not taken again.

        Raises:
            Overflow: the agent is behind with reading, and stays so.
            ConnectionClosed: the agent is gone.
            StoreError: the command could not be written for the node that has the agent.
        """
        ...

    def tell(self, response: bytes) -> None:
        """Send an answer of the server itself; in line, so that a client can count on the order."""
        ...

    def expect_stream(self, session_id: str) -> None:
        """The client is going to open a stream for this session: what is for it waits there."""
        ...

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
        """Read a stream: the connection's own, or a session's. To be given back with `detach`.

        With a `cursor` the reader begins after that event. One that `confirms` finds all that it did not
        confirm, and may take over from a reader whose end nobody noticed.

        Raises:
            Taken: the stream has a reader.
            OutOfWindow: what comes after the cursor is not kept.
            UnknownSession: there is no such stream.
            TooManyStreams: the connection has as many as it may.
        """
        ...

    def detach(self, reader: OutboxReader) -> None:
        """A reader has ended. Without any, the client counts as away."""
        ...

    def open_answer(
        self, message: Message, credential: Credential, *, abort: Callable[[], None] | None = None
    ) -> AnswerReader:
        """A stream for what concerns one request, already read; to be given back with its `end`."""
        ...

    def close(self, reason: str, *, code: int = CloseCode.ENDED, abort: bool = False) -> None:
        """End the agent and every stream."""
        ...
