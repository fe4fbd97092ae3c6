"""What is wrong in a conversation, by the requirements of `acpella check`, judged as it goes on."""

from array import array

import msgspec

from acpella.check import AGENT_AREAS, CLIENT_AREAS, Area, Audit, BothSides, Finding, Side
from acpella.recording import Begin, Damaged, Item, RecordedEvent, RecordedFrame

from .rows import Row

__all__ = ["FindingRow", "Findings"]

MAX_FINDINGS = 1000
"""Findings that are kept. An agent that errs once usually errs a thousand times; all are counted."""


class FindingRow(msgspec.Struct, omit_defaults=True):
    """A place where a requirement does not hold."""

    requirement: str
    rule: str
    level: str
    side: Side
    text: str
    """What is wrong here."""
    sentence: str
    """What is required."""
    link: str
    rows: list[int]
    doubtful: bool = False
    """Whether lines before it could not be read, so that it may be about what is missing."""


class Findings:
    """Two auditors for each connection, one for either side."""

    def __init__(self) -> None:
        self.findings: list[FindingRow] = []
        self.count: int = 0
        areas: dict[Side, tuple[Area, ...]] = {"agent": AGENT_AREAS, "client": CLIENT_AREAS}
        self._audits: dict[Side, list[Audit]] = {
            side: [audit for area in some for audit in area.audits] for side, some in areas.items()
        }
        self._requirements = {
            audit.requirement.id: audit.requirement for some in self._audits.values() for audit in some
        }
        self._judge: BothSides | None = None
        self._row_of = array("Q")
        """The row of each frame of the connection."""
        self._has_damage = False
        """Whether a line of the connection could not be read."""

    def take(self, row: Row, item: Item) -> list[tuple[int, str]]:
        """Take the next line; returns rows, each with a rule that it breaks."""
        if isinstance(item, Begin):
            return self._begin()
        if isinstance(item, RecordedEvent):
            return self._finish() if item.name == "end" else []
        self._has_damage = self._has_damage or isinstance(item, Damaged)
        if not isinstance(item, RecordedFrame) or item.direction == "err":
            return []
        if self._judge is None:
            has_damage = self._has_damage  # the first line may be what cannot be read
            self._begin()
            self._has_damage = has_damage
        assert self._judge is not None
        self._row_of.append(row.n)
        data = item.raw.encode() if item.raw is not None else item.message
        findings: list[tuple[int, str]] = []
        for side, finding in self._judge.see(item.direction, data, item.time):
            findings += self._keep(side, finding, row.n)
        return findings

    def _begin(self) -> list[tuple[int, str]]:
        findings = self._finish()
        self._judge = BothSides(self._audits)
        self._row_of = array("Q")
        self._has_damage = False
        return findings

    def _finish(self) -> list[tuple[int, str]]:
        findings: list[tuple[int, str]] = []
        for side, finding in self._judge.finish() if self._judge is not None else ():
            findings += self._keep(side, finding, 0)
        self._judge = None
        return findings

    def _keep(self, side: Side, judged: Finding, row: int) -> list[tuple[int, str]]:
        requirement = self._requirements[judged.id]
        rows = [row] if row else []
        rows += [n for frame in judged.frames if (n := self._row_of[frame.number - 1]) not in rows]
        self.count += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(
                FindingRow(
                    requirement.id,
                    requirement.rule,
                    requirement.level,
                    side,
                    judged.text,
                    requirement.text,
                    requirement.link,
                    rows,
                    self._has_damage,
                )
            )
        return [(rows[0], requirement.rule)] if rows else []
