"""The streams of a connection, and which one a message of the agent goes on."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from acpella.rpc.relay import UPDATE_HEAD, UPDATE_SESSION

from .outbox import Outbox, OutOfWindow
from .profile import Profile

__all__ = ["AnswerStream", "NewOutbox", "Streams", "TooManyStreams"]

MAX_MOVED = 64
"""Broken streams of single answers for which it is remembered where their messages are now. Clients come
back soon."""

MAX_KNOWN = 4
"""Sessions that a connection remembers, for each one that may have a stream."""


class TooManyStreams(Exception):
    """The connection has as many streams as it may."""


class NewOutbox(Protocol):
    """Makes an outbox."""

    def __call__(self, session_id: str | None = None, *, is_answer: bool = False) -> Outbox:
        """For a session, or the connection itself; `is_answer`: for what concerns one request, which no
        reader confirms."""
        ...


class AnswerStream(NamedTuple):
    """A stream for what concerns one request. It ends with the answer, or with its client."""

    number: int
    outbox: Outbox
    session: str | None
    request: bytes
    """The id of the request."""


class _Moved(NamedTuple):
    """Where on the connection's own stream the messages of an answer's stream are."""

    numbers: range
    start: int


class _Ended(NamedTuple):
    """What was on an answer's stream that was read to its end."""

    number: int
    base: int
    messages: list[bytes]


class Streams:
    """The connection's own stream, those of sessions, and those of single answers."""

    def __init__(self, new_outbox: NewOutbox, profile: Profile, *, max_sessions: int) -> None:
        self._new_outbox = new_outbox
        self._profile = profile
        self._max_sessions = max_sessions
        self.by_session: dict[str | None, Outbox] = {}
        """None is the connection's own."""
        self.main: Outbox = new_outbox()
        self.by_session[None] = self.main
        self.known: dict[str, None] = {}
        """Sessions that were opened on this connection, oldest first."""
        self._by_session_bytes: dict[bytes, Outbox] = {}
        self._answers: list[AnswerStream] = []
        self._answers_opened = 0
        self._moved: dict[int, _Moved] = {}
        self._last_ended: _Ended | None = None
        self._closed = False

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        for outbox in self.by_session.values():
            outbox.close()

    def abort(self) -> None:
        """Cut off whoever reads: nobody will read the rest."""
        for outbox in [*self.by_session.values(), *(answer.outbox for answer in self._answers)]:
            outbox.discard()
            outbox.abort()

    # -- of sessions -----------------------------------------------------------------------------

    def of_session(self, session_id: str) -> Outbox:
        """The stream of a session, made if there is none. Raises `TooManyStreams`."""
        outbox = self.by_session.get(session_id)
        if outbox is None:
            if len(self.by_session) > self._max_sessions and not self._drop_idle():
                raise TooManyStreams
            outbox = self.by_session[session_id] = self._new_outbox(session_id)
            self._by_session_bytes[session_id.encode()] = outbox
            if self._closed:
                outbox.close()
        return outbox

    def know(self, session_id: str) -> None:
        """A session was opened. Of very many, the oldest that have no stream are forgotten."""
        self.known.pop(session_id, None)
        self.known[session_id] = None
        if len(self.known) > MAX_KNOWN * self._max_sessions:
            oldest = next((session for session in self.known if session not in self.by_session), session_id)
            del self.known[oldest]

    def expect(self, session_id: str) -> None:
        """The client is going to open a stream for this session: what is for it waits there.

        Raises:
            TooManyStreams: the session shares the connection's own.
        """
        if self._profile.session_streams:
            self.of_session(session_id)

    def drop_unopened(self, session_id: str | None) -> None:
        """A stream has lost its reader. One of a session that nobody opened can be made again."""
        outbox = self.by_session.get(session_id)
        if session_id is None or session_id in self.known or outbox is None:
            return
        if not outbox.attached and not outbox.unread and not outbox.lossless:
            self._drop(session_id)

    def _drop_idle(self) -> bool:
        """Make room; a stream that is empty and that nobody reads can be made again."""
        for session_id, outbox in self.by_session.items():
            if session_id is not None and not outbox.attached and not outbox.unread:
                self._drop(session_id)
                return True
        return False

    def _drop(self, session_id: str) -> None:
        del self.by_session[session_id]
        del self._by_session_bytes[session_id.encode()]

    # -- of single answers -----------------------------------------------------------------------

    def open_answer(self, session_id: str | None, request_id: bytes) -> AnswerStream:
        """A stream for what concerns one request."""
        self._answers_opened += 1
        outbox = self._new_outbox(is_answer=True)  # its client has nothing to confirm it by
        stream = AnswerStream(self._answers_opened, outbox, session_id, request_id)
        self._answers.append(stream)
        return stream

    def end_answer(self, stream: AnswerStream, *, complete: bool) -> None:
        """The stream is over. If it broke, nobody knows what of it arrived, so all that is kept waits on the
        connection's own, for a client that comes back; it may say what it has."""
        if stream not in self._answers:
            return
        self._answers.remove(stream)
        base, messages = stream.outbox.window()
        stream.outbox.discard()
        if complete:
            self._last_ended = _Ended(stream.number, base, messages)
        else:
            self._move(stream.number, base, messages)

    def answer(self, number: int) -> AnswerStream | None:
        """The answer's stream of that number, unless it is over as far as is known here."""
        return next((stream for stream in self._answers if stream.number == number), None)

    def after(self, number: int, message: int) -> int:
        """Where on the connection's own stream to go on, for a client that has an answer's up to `message`.

        Raises `OutOfWindow`.
        """
        if self._last_ended is not None and self._last_ended.number == number:
            ended, self._last_ended = self._last_ended, None
            later = self.main.take(1 << 30)  # nobody has seen it, so what comes first can still go first
            self._move(number, ended.base, ended.messages)
            self.main.put(later)
        moved = self._moved.get(number)
        if moved is None or message not in moved.numbers:
            raise OutOfWindow
        return moved.start + message - moved.numbers.start

    def _move(self, number: int, base: int, messages: list[bytes]) -> None:
        self._moved[number] = _Moved(range(base, base + len(messages) + 1), self.main.last)
        if len(self._moved) > MAX_MOVED:
            del self._moved[next(iter(self._moved))]
        self.main.put(messages)

    # -- what the agent sends ----------------------------------------------------------------------

    def stream_for(self, session_id: str | None) -> Outbox:
        """The stream for messages of a session: the connection's own if there is no other for it."""
        if self._profile.answer_streams:
            return self._answer_for(session_id)
        if self._profile.one_stream or session_id is None:
            return self.main
        return self.by_session.get(session_id, self.main)

    def put_answer(self, method: str, session_id: str | None, response: bytes) -> None:
        """Put the response to a client's request where the client looks for it."""
        if method == "session/load" and not self._profile.one_stream:
            # after the history, which is on the session's stream (T-042)
            self.stream_for(session_id).when_drained(lambda: self.main.put((response,)))
        elif method == "session/new":
            self.main.put((response,))
        else:
            self.stream_for(session_id).put((response,))

    def acknowledged(self, session_id: str | None) -> Outbox | None:
        """The stream that a client means when it confirms what it got."""
        return self.by_session.get(None if self._profile.one_stream else session_id)

    def _answer_for(self, session_id: str | None) -> Outbox:
        for stream in reversed(self._answers):
            if stream.session is not None and stream.session == session_id:
                return stream.outbox
        return self._answers[-1].outbox if self._answers and not self.main.attached else self.main

    def put(self, lines: list[bytes], route: Callable[[bytes], None]) -> None:
        """Put messages on their streams, in order; `route` gets those that are not plain updates."""
        if self._profile.one_stream:
            self._put_on_main(lines, route)
        elif self._profile.answer_streams:
            for line in lines:
                route(line)
        else:
            self._put_by_session(lines, route)

    def _put_on_main(self, lines: list[bytes], route: Callable[[bytes], None]) -> None:
        if all(line.startswith(UPDATE_HEAD) for line in lines):  # as almost always: no look is needed
            self.main.put(lines)
            return
        for line in lines:
            if line.startswith(UPDATE_HEAD):
                self.main.put((line,))
            else:
                route(line)

    def _put_by_session(self, lines: list[bytes], route: Callable[[bytes], None]) -> None:
        run: list[bytes] = []  # of messages for one stream
        current: Outbox | None = None
        for line in lines:
            match = UPDATE_SESSION.match(line)
            if match is None:
                if current is not None:
                    current.put(run)
                    run, current = [], None
                route(line)
                continue
            outbox = self._by_session_bytes.get(match[1], self.main)
            if outbox is not current:
                if current is not None:
                    current.put(run)
                    run = []
                current = outbox
            run.append(line)
        if current is not None:
            current.put(run)
