"""Connects the inspector with a program between a client and an agent: JSON lines on a private Unix socket.

The program listens in a directory that only its user can enter. Messages are held only after somebody asks,
and only while they stay: once they leave, or are silent for `LEASE` seconds, everything passes.
"""

import os
import queue
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from acpella.recording.queue import Note
from acpella.transport.pipe import PipeGate, Stream

from .control_client import LEASE, MAX_COMMAND
from .filters import FilterError
from .holding import ActionError, Holder, HoldRule, Then
from .rows import Row

assert sys.platform != "win32"  # Python has no Unix sockets on Windows; type checkers skip the rest there

__all__ = ["ControlServer"]


class _Command(msgspec.Struct):
    do: Literal["start", "stop", "act", "send", "ping"]
    filter: str = ""
    then: Then = "hold"
    seconds: float = 1.0
    requests: list[Row] = []
    n: int = 0
    how: str = ""
    text: str | None = None
    result: Any = None
    error: Any = None
    dir: Literal["in", "out"] = "in"


class ControlServer:
    """Listens for whoever wants to hold messages (an `Interceptor` of `record_program`)."""

    def __init__(self, path: Path) -> None:
        """Raises OSError: the socket cannot be created."""
        self.path: Path = path
        self.holder: Holder = Holder()
        self.gates: Mapping[Stream, PipeGate] = self.holder.gates
        self._owner: _Visitor | None = None
        self._owning = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)  # left by a dead process with the same id
        mask = os.umask(0o177)
        try:
            self._listener.bind(os.fspath(path))
            self._listener.listen(4)
        except OSError:
            self._listener.close()
            raise
        finally:
            os.umask(mask)

    def begin(self, note: Callable[[Note], None]) -> None:
        """Answer from now on."""
        self.holder.set_note(note)
        threading.Thread(target=self._accept, name="acpella control", daemon=True).start()

    def end(self) -> None:
        """Answer no more."""
        with suppress(OSError):
            self.path.unlink()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            if _is_own_user(connected):
                threading.Thread(target=_Visitor(self, connected).serve, daemon=True).start()
            else:
                connected.close()

    def claim(self, visitor: "_Visitor") -> None:
        """Let a visitor hold messages; only one can at a time. Raises ActionError: somebody else does."""
        with self._owning:
            if self._owner not in (None, visitor):
                raise ActionError("another inspector holds messages of this conversation")
            self._owner = visitor

    def leave(self, visitor: "_Visitor") -> None:
        """Let everything pass, if this is the visitor that holds messages."""
        with self._owning:
            if self._owner is not visitor:
                return
            self._owner = None
            self.holder.stop()


class _Visitor:
    """One connection."""

    def __init__(self, server: ControlServer, connected: socket.socket) -> None:
        self._server = server
        self._socket = connected
        self._socket.settimeout(LEASE)
        self._outbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def serve(self) -> None:
        """Answer commands until the visitor is gone, or silent for too long."""
        threading.Thread(target=self._send, daemon=True).start()
        try:
            with self._socket.makefile("rb") as stream:
                while (line := stream.readline(MAX_COMMAND)) and line.endswith(b"\n"):
                    self._outbox.put(self._answer(line))
        except OSError:  # a visitor that is silent for too long causes a timeout, which is one, too
            pass
        finally:
            self._server.leave(self)
            self._outbox.put(None)
            self._socket.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            command = msgspec.json.decode(line, type=_Command)
            self._run(command)
        except (msgspec.MsgspecError, FilterError, ActionError) as error:
            return {"error": str(error)}
        return {"done": command.do}

    def _run(self, command: _Command) -> None:
        holder = self._server.holder
        match command.do:
            case "start":
                rule = HoldRule(command.filter, command.then, command.seconds)
                rule.compiled()
                self._server.claim(self)
                holder.start(rule, self._outbox.put, requests=command.requests)
            case "stop":
                self._server.leave(self)
            case "act":
                self._server.claim(self)
                holder.act(
                    command.n,
                    command.how,
                    text=command.text,
                    seconds=command.seconds,
                    result=command.result,
                    error=command.error,
                )
            case "send":
                self._server.claim(self)
                if command.text is None:
                    raise ActionError("a message needs its text")
                holder.send(command.dir, command.text)
            case "ping":
                pass

    def _send(self) -> None:
        try:
            while (what := self._outbox.get()) is not None:
                self._socket.sendall(msgspec.json.encode(what) + b"\n")
        except OSError:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _is_own_user(connected: socket.socket) -> bool:
    """Check the user again where the system reports it; the directory already keeps others out."""
    if sys.platform != "linux":
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return user == os.getuid()
