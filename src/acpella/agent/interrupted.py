"""Closes the turn that was running when its process went away: in the log, and for whoever looks on."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from acpella.schema import PromptResponse, ToolCallProgress, encode
from acpella.sessions import Event, EventKind, Lease, Store

__all__ = ["LOOK_BACK", "close_interrupted", "closing_events", "missing_prompt"]

LOOK_BACK = 1000
"""How many entries at the end of a log are read. In a longer turn, the first tool calls stay as they are."""

INTERRUPTED = {"acpella": {"reason": "interrupted"}}
"""What the end of such a turn says, beside `cancelled`."""


class _Update(msgspec.Struct):
    kind: str = msgspec.field(default="", name="sessionUpdate")
    call: Any = msgspec.field(default=None, name="toolCallId")
    status: Any = None
    content: Any = None


_read = msgspec.json.Decoder(_Update).decode


async def close_interrupted(
    store: Store, lease: Lease, last_seq: int, *, principal: str
) -> tuple[int, list[bytes]]:
    """Close the last turn if it is open. Returns the new last number of the log, and the updates added.

    To be called by a new holder of the session: nobody else can be running a turn in it. Raises `StoreError`.
    """
    after = max(0, last_seq - LOOK_BACK)
    pieces = store.read(lease.session_id, after=after, principal=principal)
    added = closing_events([event async for piece in pieces for event in piece])
    if added:
        last_seq = await store.append(lease, last_seq, added)
    return last_seq, [body for kind, body in added if kind == "update"]


def closing_events(events: Iterable[Event]) -> list[tuple[EventKind, bytes]]:
    """The entries to add to a log: one that fails each open tool call, and one that ends the turn."""
    prompted = False
    calls: dict[str, None] = {}
    for event in events:
        if event.kind == "turn":
            prompted = False
            calls.clear()
        if event.kind != "update":
            continue
        try:
            update = _read(event.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if update.kind == "user_message_chunk":
            prompted = True
        elif update.kind in ("tool_call", "tool_call_update") and isinstance(update.call, str):
            prompted = True
            if update.status in ("completed", "failed"):
                calls.pop(update.call, None)
            elif update.kind == "tool_call" or update.status is not None:
                calls[update.call] = None
    if not prompted:
        return []
    failed = [ToolCallProgress(tool_call_id=call, status="failed") for call in calls]
    ended = PromptResponse(stop_reason="cancelled", meta=INTERRUPTED)
    return [*(("update", encode(update)) for update in failed), ("turn", encode(ended))]


def missing_prompt(events: Iterable[Event], prompt: Sequence[msgspec.Raw]) -> list[tuple[EventKind, bytes]]:
    """The entries that a log lacks for an accepted prompt whose turn has not ended, as far as anybody knows.

    The prompt is written with the first update of its turn, so a process that ends before that leaves none.
    If the last turn of the log did end, it may still be this prompt's, with only its answer lost. Then it
    begins with the same content.
    """
    is_open = False
    blocks: list[Any] = []
    for event in events:
        if event.kind == "turn":
            is_open = False
            continue
        try:
            update = _read(event.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if update.kind == "user_message_chunk":
            if not is_open:
                is_open, blocks = True, []
            blocks.append(update.content)
    if is_open or _joined(blocks) == _joined([msgspec.json.decode(block) for block in prompt]):
        return []
    return [("update", b'{"sessionUpdate":"user_message_chunk","content":%s}' % bytes(b)) for b in prompt]


def _joined(blocks: Iterable[Any]) -> list[Any]:
    """Content with texts that follow each other as one, as the log may have them."""
    joined: list[Any] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                if joined and isinstance(joined[-1], str):
                    joined[-1] += text
                else:
                    joined.append(text)
            case _:
                joined.append(block)
    return joined
