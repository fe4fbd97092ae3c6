"""Who reads the streams of a connection: joining at a cursor, leaving, and credentials that end meanwhile."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from acpella.rpc.message import id_key
from acpella.rpc.relay import Frame
from acpella.server.access.credentials import Credential

from .audit import ConnectionAudit
from .cursor import read_cursor
from .hosted import UnknownSession
from .messages import Message
from .outbox import OutboxReader, OutOfWindow, Taken
from .pending import PendingTables
from .profile import Profile
from .services import ConnectionServices
from .streams import AnswerStream, Streams

__all__ = ["LocalAnswer", "Readers"]


class _Open(NamedTuple):
    """A stream or socket that is open."""

    credential: Credential
    """What it was let in with."""
    session: str | None


class Readers:
    """The streams and sockets that are open."""

    def __init__(
        self,
        services: ConnectionServices,
        streams: Streams,
        pending: PendingTables,
        profile: Profile,
        *,
        audit: ConnectionAudit,
    ) -> None:
        self._metrics = services.metrics
        self._generation = services.generation
        self._streams = streams
        self._pending = pending
        self._profile = profile
        self._audit = audit
        self._open: dict[OutboxReader, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    # -- the connection's own stream, and those of sessions ------------------------------------

    def attach(
        self,
        credential: Credential,
        *,
        session_id: str | None,
        cursor: str | None,
        confirms: bool,
        take_over: bool,
        abort: Callable[[], None] | None,
        can_load: bool,
    ) -> OutboxReader:
        """Read a stream; `can_load`: the agent may know sessions that were not made here.

        Raises `Taken`, `OutOfWindow`, `UnknownSession` and `TooManyStreams`.
        """
        if session_id is not None and session_id not in self._streams.by_session:
            if session_id not in self._streams.known and not can_load:
                raise UnknownSession
            self._streams.of_session(session_id)
        outbox = self._streams.by_session[session_id]
        try:
            if cursor is not None:
                after = self._position(cursor, take_over=take_over)
            else:  # a client that confirms, and has seen nothing yet, may have missed what was sent
                after = outbox.acked if confirms else None
            reader = outbox.attach(after=after, take_over=take_over, abort=abort)
        except OutOfWindow:
            self._metrics.add("acpella_resumed_total", 'outcome="lost"')
            raise
        except Taken:
            self._drop_unopened(session_id)
            raise
        if cursor is not None:
            self._metrics.add("acpella_resumed_total", 'outcome="resumed"')
        self._open[reader] = _Open(credential, session_id)
        return reader

    def _position(self, text: str, *, take_over: bool) -> int:
        """Where to go on. Raises `OutOfWindow`, and `Taken` if somebody reads what would have to be moved."""
        cursor = read_cursor(text, self._generation)
        if cursor.answer_stream is None:
            return cursor.number
        if not self._profile.answer_streams:
            raise OutOfWindow
        if self._streams.main.attached and not take_over:
            raise Taken
        stream = self._streams.answer(cursor.answer_stream)
        if stream is not None:  # its client has left, which nobody noticed yet
            stream.outbox.abort()
            self.end_answer(stream, complete=False)
        return self._streams.after(cursor.answer_stream, cursor.number)

    def release(self, reader: OutboxReader) -> bool:
        """A reader has ended; False if that was known."""
        opened = self._open.pop(reader, None)
        if opened is None:
            return False
        reader.release()
        self._drop_unopened(opened.session)
        return True

    def _drop_unopened(self, session_id: str | None) -> None:
        """The client that has left a stream may have made up its session."""
        if not any(pending.session == session_id for pending in self._pending.requests.values()):
            self._streams.drop_unopened(session_id)

    # -- streams of single answers -------------------------------------------------------------

    def open_answer(
        self, message: Message, credential: Credential, *, abort: Callable[[], None] | None
    ) -> tuple[AnswerStream, OutboxReader]:
        """A stream for what concerns one request, and its reader."""
        assert message.id is not None
        stream = self._streams.open_answer(message.session, message.id)
        reader = stream.outbox.attach(abort=abort)
        self._open[reader] = _Open(credential, None)
        return stream, reader

    def end_answer(self, stream: AnswerStream, *, complete: bool) -> None:
        """The stream of one answer is over; should the answer still come, it goes where others go."""
        pending = self._pending.requests.get(id_key(stream.request))
        if pending is not None and self._streams.answer(stream.number) is not None:
            reply = partial(self.answer_on_stream, pending.method, pending.session)
            self._pending.redirect(stream.request, reply)
        self._streams.end_answer(stream, complete=complete)

    def answer_on_stream(self, method: str, session_id: str | None, response: Frame) -> None:
        """Put the response to a client's request where the client looks for it."""
        self._streams.put_answer(method, session_id, response.data)

    def end_all(self) -> None:
        """No stream goes on here."""
        for reader in list(self._open):
            reader.end()

    # -- credentials ---------------------------------------------------------------------------

    def check_credentials(self) -> None:
        """Let go of readers whose credential does not count any more. The connection stays: its user may
        come back with another."""
        for reader, opened in list(self._open.items()):
            why = opened.credential.why_over()
            if why is None:
                continue
            if reader.why:
                reader.abort()  # told before, but it does not read
            else:
                self._audit.hung_up(why)
                reader.end(why=why)


class LocalAnswer:
    """The stream of one answer, being read."""

    def __init__(
        self,
        readers: Readers,
        stream: AnswerStream,
        reader: OutboxReader,
        *,
        detach: Callable[[OutboxReader], None],
    ) -> None:
        self._readers = readers
        self._stream = stream
        self._detach = detach
        self.number: int = stream.number
        self.reader = reader

    def answered(self, response: bytes) -> None:
        """The response: the last message of the stream."""
        self._stream.outbox.put((response,))
        self._stream.outbox.close()

    def end(self, *, complete: bool) -> None:
        """The stream is over."""
        self.reader.end()
        self._detach(self.reader)
        self._readers.end_answer(self._stream, complete=complete)
