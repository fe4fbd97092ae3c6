"""Server-sent events: bytes in, events out (T-050 to T-052)."""

from dataclasses import dataclass

import msgspec

__all__ = ["Overlong", "ServerSentEvent", "SseParser"]

_BOM = b"\xef\xbb\xbf"


class Overlong(Exception):
    """An event is longer than allowed."""


@dataclass(slots=True)
class ServerSentEvent:
    """One event. `data` is on one line; it is empty for an event that has none."""

    data: bytes
    id: bytes = b""
    kind: bytes = b""


class SseParser:
    """Takes chunks of any size; a character or a line end may be split between two of them."""

    def __init__(self, *, max_event: int) -> None:
        self.comments = 0
        """How many comments came: servers send them to show that they live."""
        self._max = max_event
        self._parts: list[bytes] = []  # of what is not complete
        self._size = 0
        self._after_return = False  # the last chunk ended with a carriage return

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that are complete now.

        Raises:
            Overlong: one is longer than `max_event`.
        """
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        parts = self._parts
        last = parts[-1][-1:] if parts else b""
        end = (last + chunk).rfind(b"\n\n")
        if end < 0:
            self._size += len(chunk)
            if self._size > self._max:
                raise Overlong(f"an event is longer than {self._max} bytes")
            if chunk:
                parts.append(chunk)
            return []
        if parts:
            end += self._size - len(last)
            chunk = b"".join((*parts, chunk))
        rest = chunk[end + 2 :]
        self._parts = [rest] if rest else []
        self._size = len(rest)
        events: list[ServerSentEvent] = []
        for block in chunk[:end].split(b"\n\n"):
            # what almost every event looks like
            if block[:6] == b"data: " and b"\n" not in block:
                events.append(ServerSentEvent(block[6:]))
            elif block[:4] == b"id: " and block.count(b"\n") == 1:
                first, _, second = block.partition(b"\n")
                if second[:6] == b"data: ":
                    events.append(ServerSentEvent(second[6:], first[4:]))
                else:
                    events += self._read(block)
            else:
                events += self._read(block)
        return events

    def finish(self) -> list[ServerSentEvent]:
        """At the end of the stream: an event without its blank line counts if it is whole."""
        block = b"".join(self._parts)
        self._parts, self._size = [], 0
        events: list[ServerSentEvent] = []
        for event in self._read(block):
            try:
                msgspec.json.decode(event.data)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            events.append(event)
        return events

    def _read(self, block: bytes) -> list[ServerSentEvent]:
        data: list[bytes] = []
        event = ServerSentEvent(b"")
        for line in block.split(b"\n"):
            if line[:3] == _BOM:
                line = line[3:]
            name, _, value = line.partition(b":")
            value = value[1:] if value[:1] == b" " else value
            if name == b"data":
                data.append(value)
            elif name == b"id" and b"\0" not in value:
                event.id = value
            elif name == b"event":
                event.kind = value
            elif line and not name:
                self.comments += 1
        if not data and not event.kind:
            return []
        event.data = b" ".join(data)  # a line end between tokens of JSON is only space
        return [event]
