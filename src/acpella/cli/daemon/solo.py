"""A command whose agent is its own: other shells see its session, cancel its turn, wait for its end."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from acpella._plain_json import as_dict
from acpella.errors import InvalidRequest, ParseError, TransportError
from acpella.rpc.message import RequestId
from acpella.rpc.relay import Frame, Side, read_frame

from ..state.catalogue import now
from . import methods
from .lock import MAX_CLIENTS, SessionLock

__all__ = ["Solo"]

MAX_LINE = 64 * 1024
"""Bytes of a question. The answers need few."""


class _Waiting(NamedTuple):
    """A prompt of another shell, which waits for the end of this command."""

    side: Side
    id: RequestId
    prompt: str
    since: str


class Solo:
    """Answers for the session that this process has to itself, where else a daemon would answer."""

    def __init__(
        self,
        command: str,
        agent: str,
        *,
        cancel: Callable[[], None],
        stop: Callable[[], None],
        queued: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`cancel` ends the turn, `stop` the command; `queued` lists prompts that wait inside it."""
        self.running: dict[str, Any] | None = None
        """What `acpella status` shows of the turn; None between turns."""
        self._command = command
        self._agent = agent
        self._cancel = cancel
        self._queued = queued
        self._waiting: dict[asyncio.StreamWriter, _Waiting] = {}  # prompts of other shells
        self._stop = stop
        self._key = self._session_id = ""
        self._hold: SessionLock | None = None
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.StreamWriter, asyncio.Task[Any]] = {}
        self._last = now()

    async def hold(self, key: str, session_id: str, *, agent_pid: int | None) -> None:
        """Let other shells find this session from now on; does nothing where no lock can be made."""
        if key == self._key:
            return
        await self.release()
        self._key, self._session_id = key, session_id
        try:
            self._hold = SessionLock.take(key)
            if self._hold is None:
                return  # the session has a daemon; it is up to the agent which of the two may use it
            if agent_pid is not None:
                self._hold.tell_agent(agent_pid)
            if sys.platform != "win32":  # where nobody can take a session
                self._server = await asyncio.start_unix_server(
                    self._serve, sock=self._hold.listener, limit=MAX_LINE
                )
        except (OSError, TransportError):
            await self.release()

    async def release(self) -> None:
        """Let others have the session; those that wait for it notice."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._hold is not None:
            self._hold.release()
            self._hold = None
        self._key = ""
        for client in self._clients:
            client.transport.abort()
        if self._clients:  # asyncio logs those that are cancelled with the loop
            await asyncio.wait(list(self._clients.values()), timeout=1)

    def begin(self, prompt: str) -> None:
        """A turn begins."""
        self._last = now()
        self.running = {"prompt": prompt, "since": self._last, "cancelling": False, "waitedFor": True}

    def end(self) -> None:
        """It is over."""
        self._last = now()
        self.running = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= MAX_CLIENTS:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._clients[writer] = task
        side = Side(lambda message: writer.write(message + b"\n"))
        try:
            while line := await reader.readline():
                self._answer(read_frame(line), side, writer)
                await writer.drain()
        except (OSError, ValueError):  # it left, or sends without end
            pass
        finally:
            del self._clients[writer]
            self._waiting.pop(writer, None)
            writer.close()

    def _answer(self, request: Frame, side: Side, writer: asyncio.StreamWriter) -> None:
        if request.id is None or request.kind != "request":
            side.refuse(request.id or b"null", ParseError())
            return
        params = as_dict(msgspec.json.decode(bytes(request.envelope.params) or b"{}"))
        own = self._OWN.get(request.method)
        if request.method == methods.WAIT:  # answered when it is cancelled; else the end is the answer
            self._waiting[writer] = _Waiting(side, request.id, str(params.get("prompt", "")), now())
        elif own is None:
            text = f"the session is open in `{self._command}` (process {os.getpid()})"
            side.refuse(request.id, InvalidRequest(text))
        else:
            side.answer(request.id, own(self, params))

    def _status(self, params: dict[str, Any]) -> dict[str, Any]:
        queue = [{"prompt": prompt, "since": self._last} for prompt in self._queued()]
        queue += [{"prompt": waiting.prompt, "since": waiting.since} for waiting in self._waiting.values()]
        return {
            "pid": os.getpid(),
            "alone": self._command,
            "sessionId": self._session_id,
            "agent": self._agent,
            "running": self.running,
            "queue": queue,
            "lastActivity": self._last,
        }

    def _cancel_turn(self, params: dict[str, Any]) -> dict[str, Any]:
        running = self.running
        if running is not None:
            running["cancelling"] = True
            self._cancel()
        queued = 0
        if params.get("all"):
            queued = len(self._queued()) + len(self._waiting)  # its own ones end with the turn
            for waiting in self._waiting.values():
                waiting.side.answer(waiting.id, {"stopReason": "cancelled"})
            self._waiting.clear()
        return {"running": running is not None, "queued": queued}

    def _stop_soon(self, params: dict[str, Any]) -> dict[str, Any]:
        asyncio.get_running_loop().call_soon(self._stop)  # after the answer
        return {}

    _OWN = {methods.STATUS: _status, methods.CANCEL: _cancel_turn, methods.STOP: _stop_soon}
