"""Gathers what happens in a session and writes it to the store: with each turn, and now and then between."""

import asyncio
import logging
from typing import Any

import msgspec

from acpella.rpc.message import replace_surrogates
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    SessionUpdate,
    TextContent,
    UserMessageChunk,
    encode,
)
from acpella.sessions import EventKind, Lease, SessionChanges, Store, StoreError

__all__ = ["LogWriter", "encoded"]

log: logging.Logger = logging.getLogger(__name__)

FLUSH_AFTER = 1.0
"""Seconds after which what was gathered is written although the turn goes on."""

_CHUNKS = (AgentMessageChunk, AgentThoughtChunk, UserMessageChunk)
"""Not their base class: `isinstance` is quickest for an object's own class."""


class _Text:
    """Chunks of one message that follow each other: kept as one."""

    __slots__ = ("kind", "message_id", "parts")

    def __init__(self, kind: type[Any], message_id: str | None, text: str) -> None:
        self.kind = kind
        self.message_id = message_id
        self.parts = [text]

    def body(self) -> bytes:
        content = TextContent(text="".join(self.parts))
        return encoded(self.kind(content=content, message_id=self.message_id))


class LogWriter:
    """The writing end of a session's log. What could not be written is kept and tried again."""

    def __init__(self, store: Store, lease: Lease, last_seq: int) -> None:
        self._store = store
        self._lease = lease
        self._last_seq = last_seq
        self._gathered: list[_Text | bytes | tuple[EventKind, bytes]] = []
        self._last: _Text | None = None
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushers: set[asyncio.Task[None]] = set()

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def last_seq(self) -> int:
        """The number of the last entry that is written."""
        return self._last_seq

    def note(self, kind: EventKind, body: bytes) -> None:
        """Write something beside the conversation, soon: others wait to see it."""
        self._gathered.append((kind, body))
        self._last = None
        self.close()
        self._start_flush()

    def add_state(self, update: SessionUpdate) -> int:
        """The same as `add`, for an update that only those who watch now need to see."""
        body = encoded(update)
        self._gathered.append(("state", body))
        self._last = None
        self._plan_flush()
        return len(body)

    def add(self, update: SessionUpdate) -> int:
        """Remember an update as it is now; it is written with the next flush. Returns its approximate size.

        Raises:
            TypeError: it cannot be written as JSON.
        """
        if isinstance(update, _CHUNKS) and not update.meta:
            kind, content = type(update), update.content
            if isinstance(content, TextContent) and content.annotations is None and not content.meta:
                last = self._last
                if last is not None and last.kind is kind and last.message_id == update.message_id:
                    last.parts.append(content.text)
                    return len(content.text)
                self._last = _Text(kind, update.message_id, content.text)
                self._gathered.append(self._last)
                self._plan_flush()
                return len(content.text)
        body = encoded(update)
        self._gathered.append(body)
        self._last = None
        self._plan_flush()
        return len(body)

    async def flush(self, *, turn: bytes | None = None, changes: SessionChanges | None = None) -> None:
        """Write what was gathered, with the answer that ends a turn; durable on return.

        Raises:
            StoreError: it could not be written; it is kept for the next flush.
        """
        # All of it, whatever becomes of the caller: the log and its number must not drift apart.
        await asyncio.shield(asyncio.ensure_future(self._write(turn, changes)))

    async def _write(self, turn: bytes | None, changes: SessionChanges | None) -> None:
        async with self._writing:
            gathered, self._gathered, self._last = self._gathered, [], None
            if not gathered and turn is None and changes is None:
                return
            events: list[tuple[EventKind, bytes]] = [
                item
                if isinstance(item, tuple)
                else ("update", item.body() if isinstance(item, _Text) else item)
                for item in gathered
            ]
            if turn is not None:
                events.append(("turn", turn))
            try:
                self._last_seq = await self._store.append(self._lease, self._last_seq, events, changes)
            except BaseException:
                self._gathered[:0] = gathered
                raise

    def close(self) -> None:
        """Cancel the flush that is scheduled, if there is one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _plan_flush(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER, self._start_flush)

    def _start_flush(self) -> None:
        self._timer = None
        flusher = asyncio.get_running_loop().create_task(self._flush_quietly())
        self._flushers.add(flusher)
        flusher.add_done_callback(self._flushers.discard)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except StoreError as error:
            log.warning("session %s is not saved yet: %s", self._lease.session_id, error)


def encoded(value: object) -> bytes:
    """The JSON of an update, or of what goes into a log otherwise."""
    try:
        return encode(value)
    except UnicodeEncodeError:  # half an emoji has no UTF-8
        plain = msgspec.to_builtins(value, enc_hook=lambda value: msgspec.json.decode(encode(value)))
        return encode(replace_surrogates(plain))
