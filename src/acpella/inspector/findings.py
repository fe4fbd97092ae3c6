"""What is wrong in a conversation, by the requirements of `acpella check`, judged as it goes on."""

from array import array
from collections.abc import Iterable
from typing import Literal

import msgspec

from acpella.check import AGENT_AREAS, CLIENT_AREAS, Area, Auditor
from acpella.check import Finding as Judged
from acpella.recording import Begin, Event, Item
from acpella.recording import Frame as RecordedFrame

from .rows import Row

__all__ = ["Finding", "Findings"]

MAX_FINDINGS = 1000
"""That are kept. An agent that is wrong once is mostly wrong a thousand times; all are counted."""


class Finding(msgspec.Struct, omit_defaults=True):
    """A place where a requirement does not hold."""

    requirement: str
    rule: str
    level: str
    side: Literal["agent", "client"]
    text: str
    """What is wrong here."""
    sentence: str
    """What is required."""
    link: str
    rows: list[int]


class Findings:
    """Two auditors for each connection, one for either side."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.count: int = 0
        self._areas: list[tuple[Literal["agent", "client"], Iterable[Area]]] = [
            ("agent", AGENT_AREAS),
            ("client", CLIENT_AREAS),
        ]
        self._requirements = {
            audit.requirement.id: audit.requirement
            for _, areas in self._areas
            for area in areas
            for audit in area.audits
        }
        self._auditors: list[tuple[Literal["agent", "client"], Auditor]] = []
        self._row_of = array("Q")
        """The row of each frame of the connection."""

    def take(self, row: Row, item: Item) -> list[tuple[int, str]]:
        """The next line; gives rows with a rule that each breaks."""
        if isinstance(item, Begin):
            return self._begin()
        if isinstance(item, Event):
            return self._finish() if item.name == "end" else []
        if not isinstance(item, RecordedFrame) or item.direction == "err":
            return []
        if not self._auditors:
            self._begin()
        findings: list[tuple[int, str]] = []
        self._row_of.append(row.n)
        data = item.raw.encode() if item.raw is not None else item.message
        for side, auditor in self._auditors:
            for finding in auditor.see(item.direction, data, item.time)[1]:
                findings += self._keep(side, finding, row.n)
        return findings

    def _begin(self) -> list[tuple[int, str]]:
        findings = self._finish()
        self._auditors = [
            (side, Auditor((audit for area in areas for audit in area.audits), side))
            for side, areas in self._areas
        ]
        self._row_of = array("Q")
        return findings

    def _finish(self) -> list[tuple[int, str]]:
        findings: list[tuple[int, str]] = []
        for side, auditor in self._auditors:
            for finding in auditor.finish():
                findings += self._keep(side, finding, 0)
        self._auditors = []
        return findings

    def _keep(self, side: Literal["agent", "client"], judged: Judged, row: int) -> list[tuple[int, str]]:
        requirement = self._requirements[judged.id]
        rows = [row] if row else []
        rows += [n for frame in judged.frames if (n := self._row_of[frame.number - 1]) not in rows]
        self.count += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(
                Finding(
                    requirement.id,
                    requirement.rule,
                    requirement.level,
                    side,
                    judged.text,
                    requirement.text,
                    requirement.link,
                    rows,
                )
            )
        return [(rows[0], requirement.rule)] if rows else []
