"""Event streams: messages of an outbox as server-sent events, many to a write."""

import asyncio
import logging

from acpella.server.connection.outbox import OutboxReader

from .requests import HttpRequest

__all__ = ["stream_events"]

log: logging.Logger = logging.getLogger(__name__)

BATCH = 256 * 1024
"""Bytes of messages in one write."""

_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


async def stream_events(
    request: HttpRequest,
    reader: OutboxReader,
    *,
    id_prefix: str,
    keepalive: float,
    first: bytes = b":\n\n",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> bool:
    """Answer a request with an event stream that lasts as long as the client and the outbox.

    Gives whether the client was there to the end. `id_prefix` goes before the numbers of events; a sign of
    life goes out every `keepalive` seconds.
    """
    prefix = f"id: {id_prefix}".encode()
    complete = False
    watcher = asyncio.get_running_loop().create_task(_until_gone(request, reader))
    try:
        await request.start(200, [*_HEADERS, *(headers or [])])
        await request.part(first)
        while not reader.over:
            number, frames = reader.take(BATCH)
            if frames:
                events = [b"%b%d\ndata: %b\n\n" % (prefix, n, f) for n, f in enumerate(frames, number)]
                await request.part(b"".join(events))
            elif not await reader.wait(keepalive):
                await request.part(b":\n\n")
        if reader.why:
            await request.part(f": {reader.why}\n\n".encode())
        complete = not reader.ended
        await request.part(b"", more=False)
    except (ConnectionError, OSError):
        complete = False  # the client is gone
    finally:
        watcher.cancel()
    return complete


async def _until_gone(request: HttpRequest, reader: OutboxReader) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    reader.end()
