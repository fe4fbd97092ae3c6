"""Which stream a message of the agent goes on."""

import re
from collections.abc import Callable
from typing import Literal

from .streams import Outbox

__all__ = ["Kind", "Overflow", "Routes"]

Kind = Literal["http", "websocket", "client_id", "stream"]

_UPDATE_HEAD = b'{"jsonrpc":"2.0","method":"session/update",'
_UPDATE = re.compile(
    rb'\{"jsonrpc":"2\.0","method":"session/update","params":\{"sessionId":"([\w-]{1,128})",', re.ASCII
)


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
        self.known: set[str] = set()
        """Sessions that were opened on this connection."""
        self._by_head: dict[bytes, Outbox] = {}
        self._lent: list[tuple[Outbox, str | None]] = []
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
        self.known.add(session_id)
        return stream

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
        self.known.add(session_id)
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

    def lend(self, session_id: str | None) -> Outbox:
        """A stream for what concerns one request; to be given back."""
        outbox = self._make()
        self._lent.append((outbox, session_id))
        return outbox

    def take_back(self, outbox: Outbox) -> None:
        """The stream is over; what its reader did not get waits on the connection's own."""
        self._lent = [(lent, session) for lent, session in self._lent if lent is not outbox]
        while left := outbox.take(1 << 30):
            self.main.put(left)

    def _lent_for(self, session_id: str | None) -> Outbox:
        for outbox, session in reversed(self._lent):
            if session is not None and session == session_id:
                return outbox
        return self._lent[-1][0] if self._lent and not self.main.attached else self.main

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
