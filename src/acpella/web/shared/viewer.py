"""A page that is open: what it asks goes to the agent's host, and it reads the logs of its sessions."""

import asyncio
from typing import Any, Literal, Protocol, TypeAlias

from acpella.errors import RpcError
from acpella.rpc import Receiver
from acpella.rpc.message import write_error, write_notification, write_result
from acpella.server.access.credentials import Scope

from .log import SessionLog

__all__ = ["Role", "Viewer", "Watched"]

Role: TypeAlias = Literal["controller", "observer"]

BATCH = 256 * 1024
"""Bytes of events in one message."""


class Watched(Protocol):
    """A session, as somebody sees it who reads its log."""

    @property
    def id_json(self) -> bytes: ...

    @property
    def log(self) -> SessionLog: ...

    def leave(self, viewer: "Viewer") -> None:
        """Read no more."""
        ...


class Viewer:
    """One connection of a page. It reads each log at its own pace: a slow one holds up nobody."""

    def __init__(self, receiver: Receiver, principal: str, scopes: frozenset[Scope]) -> None:
        self.principal = principal
        self.scopes = scopes
        self.is_admin: bool = getattr(receiver, "is_admin", False)
        """Whether the inspector would let them in: `admin` is not among the scopes of a connection."""
        self.watched: dict[Watched, int] = {}
        """Sessions, each with the number of the last event that was sent."""
        self._receiver = receiver
        self._paused = False
        self._flushing: asyncio.Handle | None = None
        self.closed: bool = False

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    # -- to the page ---------------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Write one message."""
        if not self.closed:
            self._receiver.received(message + b"\n")

    def notify(self, method: str, params: Any) -> None:
        self.send(write_notification(method, params))

    def answer(self, request_id: bytes, result: Any) -> None:
        self.send(write_result(request_id, result))

    def refuse(self, request_id: bytes, error: RpcError) -> None:
        self.send(write_error(request_id, error.code, error.message, error.data))

    # -- the logs ------------------------------------------------------------------------------

    def watch(self, session: Watched, after: int) -> None:
        """Read a session's log from the event after that number on."""
        self.watched[session] = after
        self.wake()

    def wake(self) -> None:
        """Some log has grown; what is new goes out at the end of this round of the loop."""
        if self._flushing is None and not self._paused and not self.closed:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)

    def flush(self, session: Watched) -> None:
        """Send what is new of one session now: an answer that follows must not overtake it."""
        while not self._paused and not self.closed and session in self.watched:
            last, events = session.log.after(self.watched[session], BATCH)
            if not events:
                return
            self.watched[session] = last
            self.send(
                b'{"jsonrpc":"2.0","method":"_acpella/session/events","params":{"sessionId":%b,"epoch":"%b",'
                b'"events":[%b]}}' % (session.id_json, session.log.epoch.encode(), b",".join(events))
            )

    def _flush(self) -> None:
        self._flushing = None
        for session in list(self.watched):
            self.flush(session)

    def pause(self) -> None:
        """The page is behind with reading."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self.wake()

    def close(self) -> None:
        """The page is gone."""
        if not self.closed:
            self.closed = True
            if self._flushing is not None:
                self._flushing.cancel()
            for session in list(self.watched):
                session.leave(self)
