"""MCP over the stdin and stdout of a process that is ours: its whole group ends with us, whatever happens."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acpella.errors import ConnectionClosed
from acpella.transport import ProcessChannel

from .settings import LINE_LIMIT

__all__ = ["StdioServer", "server_environment"]

log: logging.Logger = logging.getLogger(__name__)

EOF_GRACE = 0.4
TERMINATE_GRACE = 0.3
"""Seconds between the steps of ending a server; together less than a session has to close."""

WRITE_HIGH = 256 * 1024
"""Bytes that wait to be written before the SDK has to wait."""

READ_AHEAD = 64
"""Messages that wait to be handled before the server has to wait."""

_INHERITED = frozenset(
    {
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    }
    | {"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP"}
    | {"NODE_EXTRA_CA_CERTS", "PROCESSOR_ARCHITECTURE", "USERNAME", "USERPROFILE", "VIRTUAL_ENV"}
)
_INHERITED_KINDS = ("LC_", "XDG_")


def server_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a server sees: what any program needs, and what the user gave it; no keys of ours."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(_INHERITED_KINDS)
    }
    return {**ours, **env}


class StdioServer:
    """One run of a server's process, as a transport for the MCP SDK and as the receiver of its channel."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._channel = ProcessChannel(
            command,
            cwd=cwd,
            env=server_environment(env),
            inherit_env=False,
            eof_grace=EOF_GRACE,
            terminate_grace=TERMINATE_GRACE,
        )
        self.end: ConnectionClosed | None = None
        """How it ended by itself."""
        self.ended_event: asyncio.Event = asyncio.Event()
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._reading_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def pid(self) -> int | None:
        return self._channel.pid

    @property
    def stderr_tail(self) -> str:
        return self._channel.stderr_tail

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[tuple[Any, Any]]:
        """Start the process; returns the streams of messages from it and to it.

        Raises:
            TransportError: it cannot be started.
        """
        import anyio
        from mcp.shared.message import SessionMessage

        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            await self._channel.open(self, write_high=WRITE_HIGH)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._deliver, received)
                    tasks.start_soon(self._send, to_send)
                    try:
                        yield incoming, outgoing
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                await self._channel.close()
        finally:
            for stream in (received, incoming, outgoing, to_send):
                stream.close()

    # -- as a receiver -------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > LINE_LIMIT:
                self._give_up(f"it sent a message of more than {LINE_LIMIT} bytes")
            return
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        self._lines.extend(bytes(line) for line in lines if line.strip())
        if len(self._lines) > READ_AHEAD and not self._reading_paused:
            self._reading_paused = True
            self._channel.pause_reading()
        self._more.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def ended(self, reason: ConnectionClosed) -> None:
        if self.end is None:
            self.end = reason
        self._writable.set()
        self._more.set()
        self.ended_event.set()

    def _give_up(self, why: str) -> None:
        self._channel.pause_reading()
        self._rest.clear()
        self.ended(ConnectionClosed(why, stderr_tail=self.stderr_tail))

    # -- what moves between it and the SDK -------------------------------------------------

    async def _deliver(self, received: Any) -> None:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        async with received:
            while True:
                while self._lines:
                    line = self._lines.popleft()
                    if self._reading_paused and len(self._lines) < READ_AHEAD // 2:
                        self._reading_paused = False
                        self._channel.resume_reading()
                    try:
                        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        # Many print to stdout what belongs on stderr. Its text may hold anything.
                        log.info("an MCP server wrote %d bytes to stdout that are not a message", len(line))
                        continue
                    await received.send(SessionMessage(message))
                if self.end is not None:
                    return
                self._more.clear()
                await self._more.wait()

    async def _send(self, to_send: Any) -> None:
        async with to_send:
            async for item in to_send:
                await self._writable.wait()
                text: str = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._channel.write(text.encode() + b"\n")
