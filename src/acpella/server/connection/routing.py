"""Which stream a message of the agent goes on."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from .outbox import Outbox, OutOfWindow

__all__ = ["Kind", "Lent", "Overflow", "Routes"]

Kind = Literal["http", "websocket", "client_id", "stream"]

_UPDATE_HEAD = b'{"jsonrpc":"2.0","method":"session/update",'
_UPDATE = re.compile(
    rb'\{"jsonrpc":"2\.0","method":"session/update","params":\{"sessionId":"([\w-]{1,128})",', re.ASCII
)


MAX_MOVED = 64
"""Streams for one answer that broke, and of which it is known where their messages are. Clients come back
soon."""


MAX_KNOWN = 4
"""Sessions that a connection remembers, for each one that may have a stream."""


class Lent(NamedTuple):
    """A stream for what concerns one request. It ends with the answer, or with its client."""

    number: int
    outbox: Outbox
    session: str | None
    request: bytes


class Overflow(Exception):
    """Too much is asked of this connection."""


class Routes:
    """The streams of a connection: its own, those of sessions, and those lent for one answer."""

    def __init__(
        self, make: Callable[[], Outbox], *, kind: Kind, multiplexed: bool, max_sessions: int
    ) -> None:
        """`make` gives a new stream; on a connection that is multiplexed, one carries everything."""
        self._make = make
        self._kind = kind
        self._multiplexed = multiplexed
        self._max_sessions = max_sessions
        self.streams: dict[str | None, Outbox] = {}
        """By session; None is the connection's own."""
        self.main = self.streams[None] = make()
        self.known: dict[str, None] = {}
        """Sessions that were opened on this connection, oldest first."""
        self._by_head: dict[bytes, Outbox] = {}
        self._lent: list[Lent] = []
        self._lendings = 0
        self._moved: dict[int, tuple[range, int]] = {}  # by lending: its numbers, and where those are in main
        self._ended: tuple[int, int, list[bytes]] | None = None  # the last that was read to its end
        self._closed = False

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        for stream in self.streams.values():
            stream.close()

    def stream_of(self, session_id: str) -> Outbox:
        """The stream of a session, made if there is none. Raises `Overflow` if there are too many."""
        stream = self.streams.get(session_id)
        if stream is None:
            if len(self.streams) > self._max_sessions and not self._drop_idle():
                raise Overflow
            stream = self.streams[session_id] = self._make()
            stream.closed = self._closed
            self._by_head[session_id.encode()] = stream
        return stream

    def know(self, session_id: str) -> None:
        """A session was opened. Of very many, the oldest that have no stream are forgotten."""
        self.known.pop(session_id, None)
        self.known[session_id] = None
        if len(self.known) > MAX_KNOWN * self._max_sessions:
            oldest = next((one for one in self.known if one not in self.streams), session_id)
            del self.known[oldest]

    def drop_unopened(self, session_id: str | None) -> None:
        """A stream has lost its reader. One of a session that nobody opened can be made again."""
        stream = self.streams.get(session_id)
        if session_id is None or session_id in self.known or stream is None:
            return
        if not stream.attached and not stream.unread and not stream.lossless:
            del self.streams[session_id]
            del self._by_head[session_id.encode()]

    def _drop_idle(self) -> bool:
        """Make room; a stream that is empty and that nobody reads can be made again."""
        for session_id, stream in self.streams.items():
            if session_id is not None and not stream.attached and not stream.unread:
                del self.streams[session_id]
                del self._by_head[session_id.encode()]
                return True
        return False

    def expect(self, session_id: str) -> None:
        """The client is going to open a stream for this session: what is for it waits there.

        Raises:
            Overflow: there are too many; the session shares the connection's own.
        """
        if not self._multiplexed and self._kind == "http":
            self.stream_of(session_id)

    def stream_for(self, session_id: str | None) -> Outbox:
        """Where messages of a session go: to clients that never asked for its stream, on the other one."""
        if self._kind == "stream":
            return self._lent_for(session_id)
        if self._multiplexed or session_id is None:
            return self.main
        return self.streams.get(session_id, self.main)

    # -- streams that end with an answer ---------------------------------------------------------

    def lend(self, session_id: str | None, request: bytes) -> Lent:
        """A stream for what concerns one request; to be given back."""
        self._lendings += 1
        outbox = self._make()
        outbox.lossless = False  # its client has nothing to confirm it by
        self._lent.append(Lent(self._lendings, outbox, session_id, request))
        return self._lent[-1]

    def take_back(self, lent: Lent, *, complete: bool) -> None:
        """The stream is over. If it broke, nobody knows what of it arrived, so all that is kept waits on the
        connection's own, for a client that comes back; it may say what it has."""
        if lent not in self._lent:
            return
        self._lent.remove(lent)
        base, frames = lent.outbox.window()
        lent.outbox.discard()
        if complete:
            self._ended = (lent.number, base, frames)
            return
        self._move(lent.number, base, frames)

    def _move(self, number: int, base: int, frames: list[bytes]) -> None:
        self._moved[number] = (range(base, base + len(frames) + 1), self.main.last)
        if len(self._moved) > MAX_MOVED:
            del self._moved[next(iter(self._moved))]
        self.main.put(frames)

    def lent(self, number: int) -> Lent | None:
        """A stream that is not over, as far as is known here."""
        return next((lent for lent in self._lent if lent.number == number), None)

    def after(self, number: int, message: int) -> int:
        """Where on the connection's own stream a client goes on that has so much of a lent one.

        Raises `OutOfWindow`.
        """
        if self._ended is not None and self._ended[0] == number:
            _, base, frames = self._ended
            self._ended = None
            later = self.main.take(1 << 30)  # nobody has seen it, so what comes first can still go first
            self._move(number, base, frames)
            self.main.put(later)
        known, start = self._moved.get(number, (range(0), 0))
        if message not in known:
            raise OutOfWindow
        return start + message - known.start

    def _lent_for(self, session_id: str | None) -> Outbox:
        for lent in reversed(self._lent):
            if lent.session is not None and lent.session == session_id:
                return lent.outbox
        return self._lent[-1].outbox if self._lent and not self.main.attached else self.main

    # -- what the agent sends ----------------------------------------------------------------------

    def put(self, lines: list[bytes], route: Callable[[bytes], None]) -> None:
        """Put messages on their streams, in order; `route` gets those that are no plain updates."""
        if self._multiplexed:
            # almost all are updates, which need no look
            if all(line.startswith(_UPDATE_HEAD) for line in lines):
                self.main.put(lines)
            else:
                for line in lines:
                    if line.startswith(_UPDATE_HEAD):
                        self.main.put((line,))
                    else:
                        route(line)
            return
        if self._kind == "stream":
            for line in lines:
                route(line)
            return
        run: list[bytes] = []
        current: Outbox | None = None
        for line in lines:
            found = _UPDATE.match(line)
            if found is None:
                if current is not None:
                    current.put(run)
                    run, current = [], None
                route(line)
                continue
            stream = self._by_head.get(found[1], self.main)
            if stream is not current:
                if current is not None:
                    current.put(run)
                    run = []
                current = stream
            run.append(line)
        if current is not None:
            current.put(run)
