"""A recording that is looked at, and may still be written: small rows are kept, messages read on demand."""

import os
from array import array
from pathlib import Path
from typing import Any

import msgspec

from acpella._plain_json import as_dict, as_int
from acpella.recording import Begin, Item, RecordedEvent, RecordedFrame
from acpella.recording.reader import MAX_LINE, parse_line

from .fields import notes_of
from .filters import Filter
from .findings import Findings
from .rows import Row, Rows
from .searching import has_words, rows_with
from .spans import Spans
from .stats import Stats

__all__ = ["MAX_ROWS", "RecordingLog"]

MAX_ROWS = 400_000
"""Rows that are kept for a page. A browser cannot scroll over more, and `inspect --rows` has no limit."""

ROWS_READ_SINGLY = 2000
"""Rows whose lines are read one by one rather than the whole file."""


class RecordingLog:
    """Everything that a page shows of a recording. `read_more` reads what was added since the last time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError: the file cannot be read."""
        self.path: Path = Path(path)
        self.rows: list[Row] = []
        self.rules: dict[int, list[str]] = {}
        """The rules that a row breaks."""
        self.spans: Spans = Spans()
        self.stats: Stats = Stats()
        self.findings: Findings = Findings()
        self.header: dict[str, Any] = {}
        self.left_out: int = 0
        """Rows beyond the limit."""
        self.ended: bool = False
        """Whether the last connection has its last line."""
        self._file = self.path.open("rb")
        self._made = Rows()
        self._offsets = array("Q")
        self._end = 0
        """Where the line of the last row ends."""
        self._lines = 0

    @property
    def open_requests(self) -> list[Row]:
        """Requests of the last connection that nobody has answered."""
        return self._made.open_requests

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read_more(self, limit: int = 5000) -> int:
        """Read at most `limit` more lines; returns how many. An incomplete line is left for the next call."""
        count = 0
        while count < limit:
            offset = self._file.tell()
            line = self._file.readline(MAX_LINE)
            if not line.endswith(b"\n"):
                if len(line) == MAX_LINE:
                    raise ValueError(f"{self.path}, line {self._lines + 1}: longer than {MAX_LINE} bytes")
                self._file.seek(offset)
                break
            count += 1
            self._lines += 1
            if line.strip():
                self._take(parse_line(line, self._lines, self.path), offset, len(line))
        return count

    def _take(self, item: Item, offset: int, size: int) -> None:
        row = self._made.take(item)
        if isinstance(item, Begin):
            self.header = self.header or item.info
            self.ended = False
        elif isinstance(item, RecordedEvent) and item.name == "end":
            self.ended = True
            self.stats.dropped += as_int(item.info.get("dropped"))
            self.stats.hidden += as_int(item.info.get("hidden"))
        self.stats.take(row)
        if isinstance(item, RecordedFrame):
            self.spans.take(row, item.message)
        for number, rule in self.findings.take(row, item):
            if number <= MAX_ROWS:
                self.rules.setdefault(number, []).append(rule)
        if len(self.rows) < MAX_ROWS:
            self.rows.append(row)
            self._offsets.append(offset)
            self._end = offset + size
        else:
            self.left_out += 1

    def line(self, number: int) -> bytes:
        """The line of the file that a row stands for.

        Raises:
            IndexError: there is no such row.
        """
        if not 0 < number <= len(self._offsets):
            raise IndexError(number)
        with self.path.open("rb") as file:
            file.seek(self._offsets[number - 1])
            return file.readline().rstrip(b"\n")

    def explained(self, number: int) -> dict[str, Any]:
        """That line, with what the protocol says of its fields. Raises IndexError, as `line`."""
        data = self.line(number)
        try:
            entry = msgspec.json.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return {"line": data.decode("utf-8", "replace"), "notes": []}
        return {"line": entry, "notes": notes_of(as_dict(entry).get("msg"), self.rows[number - 1].method)}

    def search(self, wanted: Filter, *, after: int = 0) -> list[int]:
        """The rows after `after` that a filter matches. The file is read only if the filter asks for text."""
        offsets, end = self._offsets[:], self._end
        rows = set(range(after + 1, len(offsets) + 1))
        # the longest word is the rarest, so it is searched first, and the others only in the rows it leaves
        words = sorted(wanted.text_words, key=lambda each: (each[0], len(each[1])), reverse=True)
        if words:
            with self.path.open("rb") as file:
                while words and len(rows) > ROWS_READ_SINGLY:
                    positive, word = words.pop(0)
                    hits = rows_with(file, offsets, end, word, after=after)
                    rows = rows & hits if positive else rows - hits
                bounds = [*offsets, end]
                for number in sorted(rows) if words else ():
                    file.seek(bounds[number - 1])
                    if not has_words(file.read(bounds[number] - bounds[number - 1]), words):
                        rows.discard(number)
        if not wanted.looks_at_rows:
            return sorted(rows)
        return [
            number
            for number in sorted(rows)
            if wanted.fits(self.rows[number - 1], self.rules.get(number, []))
        ]
