"""Cursors: what an event is called on the wire, and where a client that names one goes on."""

from typing import NamedTuple

from .outbox import OutOfWindow

__all__ = ["EventId", "read_cursor"]


class EventId(NamedTuple):
    """A message of a stream."""

    number: int
    answer_stream: int | None = None
    """The stream of one answer that it came on; None is a stream of the connection or of a session."""

    def to_text(self, generation: str) -> str:
        """`<generation>-<number>`, or `<generation>-<stream>.<number>`."""
        stream = "" if self.answer_stream is None else f"{self.answer_stream}."
        return f"{generation}-{stream}{self.number}"


def read_cursor(text: str, generation: str) -> EventId:
    """Parse such a text. Raises `OutOfWindow` if it is malformed, or of another generation."""
    epoch, _, position = text.strip().partition("-")
    if epoch != generation:
        raise OutOfWindow
    stream, dot, number = position.partition(".")
    if not dot:
        return EventId(_number(stream))
    return EventId(_number(number), _number(stream))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise OutOfWindow
    return int(text)
