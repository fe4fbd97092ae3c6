"""Conversations that stay in their file: a frame is read whenever it is needed."""

from collections.abc import Callable, Sequence
from typing import BinaryIO, overload

from .format import Begin, Damaged, RecordedFrame
from .reader import numbered_lines, read_line

__all__ = ["StoredFrames", "stored_conversations"]

MARK_EVERY = 64
"""Every so many frames, the position in the file is remembered. To read one frame, that many may have to be
read."""


class StoredFrames(Sequence[RecordedFrame]):
    """The frames both ways of one connection. What is in memory does not grow with their size."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file  # others may read it as well, so each read seeks first
        self._marks: list[tuple[int, int]] = []  # where a line begins, and how many lines are before it
        self._count = 0
        self._next = -MARK_EVERY  # the index of the frame at `_offset`; far off before the first read
        self._offset = 0
        self._before = 0

    def note(self, offset: int, before: int) -> None:
        """Add a frame, given where its line begins and how many lines are before it."""
        if self._count % MARK_EVERY == 0:
            self._marks.append((offset, before))
        self._count += 1

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> RecordedFrame: ...

    @overload
    def __getitem__(self, index: slice) -> list[RecordedFrame]: ...

    def __getitem__(self, index: int | slice) -> RecordedFrame | list[RecordedFrame]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(f"there are {self._count} frames, and {index} is not one of them")
        if not position - MARK_EVERY < self._next <= position:
            mark = position // MARK_EVERY
            self._offset, self._before = self._marks[mark]
            self._next = mark * MARK_EVERY
        while True:
            frame = self._read_frame()
            self._next += 1
            if self._next > position:
                return frame

    def _read_frame(self) -> RecordedFrame:
        self._file.seek(self._offset)
        for number, line in numbered_lines(self._file, self._before):
            self._offset, self._before = self._file.tell(), number
            item = read_line(line, number, self._file.name)
            if isinstance(item, RecordedFrame) and item.direction != "err":
                return item
        raise ValueError(f"{self._file.name} was changed while it was read")


def stored_conversations(file: BinaryIO, damaged: Callable[[Damaged], None]) -> list[StoredFrames]:
    """The conversations of a file, as far as they can be read. `damaged` gets each line that cannot.

    The file must stay open for as long as they are used.

    Raises:
        NewerFormat: a newer acpella wrote the recording, and this one would misread it.
        OSError: the file cannot be read.
    """
    conversations: list[StoredFrames] = []
    offset = 0
    for number, line in numbered_lines(file):
        item = read_line(line, number, file.name)
        if isinstance(item, Damaged):
            damaged(item)
        elif isinstance(item, Begin):
            conversations.append(StoredFrames(file))
        elif isinstance(item, RecordedFrame) and item.direction != "err":
            if not conversations:
                conversations.append(StoredFrames(file))  # other tools write only the frames
            conversations[-1].note(offset, number - 1)
        offset = file.tell()
    return conversations
