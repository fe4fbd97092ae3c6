"""Holds messages of a program between a client and an agent, from another process."""

import asyncio
import os
import sys
from typing import Any

import msgspec

from acpella._plain_json import as_dict

from .holding import ActionError, HoldRule
from .rows import Row

__all__ = ["LEASE", "MAX_COMMAND", "Control"]

LEASE = 15.0
"""Seconds of silence from whoever holds messages, after which everything passes. Without this limit, a frozen
browser would stop a conversation for ever."""

MAX_COMMAND = 16 * 1024 * 1024
"""Bytes of a command. An edited message may be long."""


class Control:
    """The inspector's end of the socket: sends what a person wants done, and keeps what is held now."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._answers: asyncio.Queue[str] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()
        self.rule: HoldRule | None = None
        """The rule in force; None while everything passes."""
        self.held: dict[int, dict[str, Any]] = {}
        """The messages that wait, by their number."""
        self.changes: int = 0
        """Counts what happened, so that a page can wait for something new."""
        self.changed: asyncio.Event = asyncio.Event()
        self.last: dict[str, Any] | None = None
        """What was done to a message that was not held."""

    async def start(self, rule: HoldRule, *, requests: list[Row] | None = None) -> None:
        """Apply a rule from now on.

        Raises:
            ActionError: the program refuses, or ends before it answers; the text says which.
            OSError: the program cannot be reached, or does not answer.
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
        """Send a message of your own; only while a rule is in force. Raises as `start`."""
        if self.rule is None:
            raise ActionError("hold messages first; then a message of your own can be sent")
        await self._do({"do": "send", "dir": direction, "text": text})

    async def ping(self) -> None:
        """Tell the program that we are still here. Raises as `start`."""
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
                reader, writer = await _connect(self._path)
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


async def _connect(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if sys.platform == "win32":
        raise OSError("there are no such sockets on Windows")
    return await asyncio.open_unix_connection(path, limit=MAX_COMMAND)
