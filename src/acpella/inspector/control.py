"""The way from the inspector to a program between a client and an agent: JSON lines on a private Unix socket.

The program listens in a directory that only its user can enter. Nothing is held until somebody asks for it,
and only for as long as they are there: when they are gone, or silent for `LEASE` seconds, everything passes.
"""

import asyncio
import os
import queue
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from acpella._plain_json import as_dict
from acpella.recording.queue import Note

from .filters import FilterError
from .holding import ActionError, Holder, Rule, Then
from .rows import Row

assert sys.platform != "win32"  # which has no such sockets; type checkers skip the rest there

__all__ = ["LEASE", "Control", "ControlServer"]

LEASE = 15.0
"""Seconds without a word from whoever holds messages, until they pass. Without it, a frozen browser would
stop a conversation for ever."""

MAX_COMMAND = 16 * 1024 * 1024
"""Bytes of a command. An edited message may be long."""


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
    """Listens for whoever wants to hold messages (a `Hand` of `record_program`)."""

    def __init__(self, path: Path) -> None:
        """Raises OSError: there can be no socket."""
        self.path: Path = path
        self.holder: Holder = Holder()
        self.gates = self.holder.gates
        self._owner: _Visitor | None = None
        self._owning = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)  # of a dead process with the same number
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
        """Only one holds messages at a time. Raises ActionError: somebody else does."""
        with self._owning:
            if self._owner not in (None, visitor):
                raise ActionError("another inspector holds messages of this conversation")
            self._owner = visitor

    def leave(self, visitor: "_Visitor") -> None:
        """Whoever it was holds nothing any more."""
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
        """Until they are gone, or silent."""
        threading.Thread(target=self._send, daemon=True).start()
        try:
            with self._socket.makefile("rb") as stream:
                while (line := stream.readline(MAX_COMMAND)) and line.endswith(b"\n"):
                    self._outbox.put(self._answer(line))
        except OSError:  # silence is an error, too
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
                rule = Rule(command.filter, command.then, command.seconds)
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
    """The directory keeps others out already; where the system tells, look again."""
    if sys.platform != "linux":
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return user == os.getuid()


class Control:
    """The other end: what a person does, and what is held now."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._answers: asyncio.Queue[str] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()
        self.rule: Rule | None = None
        """What acts now; None while everything passes."""
        self.held: dict[int, dict[str, Any]] = {}
        """The messages that wait, by their number."""
        self.changes: int = 0
        """Counts what happened, so that a page can wait for something new."""
        self.changed: asyncio.Event = asyncio.Event()
        self.last: dict[str, Any] | None = None
        """What was done to a message that was not held."""

    async def start(self, rule: Rule, *, requests: list[Row] | None = None) -> None:
        """Let a rule act from now on.

        Raises:
            ActionError: that is not possible; the text says why.
            OSError: the program is gone.
        """
        open_requests = [msgspec.to_builtins(row) for row in requests or []]
        await self._do({"do": "start", **msgspec.to_builtins(rule), "requests": open_requests})
        self.rule = rule
        self._touch()

    async def stop(self) -> None:
        """Let everything pass. Raises as `start`."""
        if self._writer is not None:
            await self._do({"do": "stop"})
        self._forget()

    async def act(self, n: int, how: str, **more: Any) -> None:
        """Do something to a held message, as `Holder.act`. Raises as `start`."""
        await self._do({"do": "act", "n": n, "how": how, **more})

    async def send(self, direction: str, text: str) -> None:
        """Put a message of one's own on the way; only while a rule acts. Raises as `start`."""
        if self.rule is None:
            raise ActionError("hold messages first; then a message of your own can be sent")
        await self._do({"do": "send", "dir": direction, "text": text})

    async def ping(self) -> None:
        """Still here. Raises OSError: the program is gone."""
        if self._writer is not None:
            await self._do({"do": "ping"})

    def drop(self) -> None:
        """Go away without waiting: everything passes."""
        if self._writer is not None:
            self._writer.close()

    async def close(self) -> None:
        """Go away: everything passes."""
        self.drop()
        if self._listening is not None:
            await asyncio.wait([self._listening])
        self._forget()

    async def _do(self, command: dict[str, Any]) -> None:
        async with self._one_at_a_time:
            if self._writer is None:
                reader, writer = await asyncio.open_unix_connection(self._path, limit=MAX_COMMAND)
                self._reader, self._writer = reader, writer
                self._answers = asyncio.Queue()
                self._listening = asyncio.get_running_loop().create_task(self._listen(reader))
            self._writer.write(msgspec.json.encode(command) + b"\n")
            try:
                async with asyncio.timeout(LEASE):
                    problem = await self._answers.get()
            except TimeoutError:
                raise OSError("the program between client and agent does not answer") from None
            if problem:
                raise ActionError(problem)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._take(as_dict(msgspec.json.decode(line)))
        except (OSError, ValueError):
            pass
        finally:
            if self._writer is not None:
                self._writer.close()
            self._writer = None
            self._forget()
            self._answers.put_nowait("the program between client and agent is gone")

    def _take(self, what: dict[str, Any]) -> None:
        if "done" in what or "error" in what:
            self._answers.put_nowait(str(what.get("error", "")))
            return
        if "held" in what:
            self.held[what["held"]["n"]] = what["held"]
        elif "gone" in what:
            self.held.pop(what["gone"], None)
        else:
            self.last = what
        self._touch()

    def _forget(self) -> None:
        self.rule = None
        self.held.clear()
        self._touch()

    def _touch(self) -> None:
        self.changes += 1
        self.changed.set()
        self.changed = asyncio.Event()
