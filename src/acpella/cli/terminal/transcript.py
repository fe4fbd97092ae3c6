"""A whole conversation on the screen, as a load replays it."""

import sys

from acpella.client.result import Result
from acpella.schema import SessionUpdate, TextContent, ToolCall, ToolCallUpdate, UserMessageChunk

from .clean import clean
from .display import PlainText, is_visible
from .rows import Row

__all__ = ["Transcript"]


class Transcript:
    """What the user said is marked with `>`; the rest looks as it did when it happened."""

    def __init__(self) -> None:
        self._screen = PlainText()
        self._result = Result()
        self._said: list[str] = []
        self._message_id: str | None = None
        self.anything: bool = False
        """Whether there was something to show."""
        self._broken: BrokenPipeError | None = None

    def update(self, update: SessionUpdate) -> None:
        self.anything = self.anything or isinstance(update, UserMessageChunk) or is_visible(update)
        try:
            if self._broken is None:
                self._show(update)
        except BrokenPipeError as error:  # the connection would log it for each update
            self._broken = error

    def _show(self, update: SessionUpdate) -> None:
        if isinstance(update, UserMessageChunk):
            if update.message_id != self._message_id:  # another prompt, after a turn that said nothing
                self._flush()
                self._message_id = update.message_id
            if isinstance(update.content, TextContent):
                self._said.append(update.content.text)
            return
        self._flush()
        if isinstance(update, ToolCall | ToolCallUpdate):  # the rest would be held for nothing
            self._result.fold(update)
        self._screen.update(update, self._result.tool_calls)

    def note(self, row: Row) -> None:
        """A line of its own between updates; what is under way goes on after it."""
        self._flush()
        if self._broken is None:
            self._screen.tell([row])

    def end(self) -> None:
        """Raises `BrokenPipeError` if nobody read it to the end."""
        if self._broken is not None:
            raise self._broken
        self._flush()
        self._screen.end("end_turn")

    def _flush(self) -> None:
        if not self._said:
            return
        self._screen.end("end_turn")  # a line of its own
        text = clean("".join(self._said))
        self._said.clear()
        sys.stdout.write("".join(f"> {line}\n" for line in text.splitlines() or [""]))
        sys.stdout.flush()
        self._screen = PlainText()
