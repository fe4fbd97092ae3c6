"""Reads a conversation frame by frame and lets the audits judge it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .conversation import CheckedConversation, CheckedFrame, Way, as_object
from .requirement import OK, Audit, Problem, Side, Verdict

__all__ = ["Auditor", "BothSides", "Finding", "Tally"]

DRAFT = 2
"""A protocol version that these audits do not cover. Agents asked for a newer one may choose it."""

MAX_KINDS = 500
"""How many kinds of frames have their audits cached. A peer can make up as many methods as it likes."""

LONG_NAME = 200
"""Names of this many characters or more are not cached: a method can be as long as a message."""

KEPT_FINDINGS = 3
"""How many findings are kept per requirement. An agent that is wrong once is often wrong a thousand times."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a requirement does not hold."""

    id: str
    text: str
    frames: tuple[CheckedFrame, ...]
    during: str = ""
    """The scenario that was being run, if any."""


@dataclass(slots=True)
class Tally:
    """How often a requirement held, and where it did not."""

    held: int = 0
    broken: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


class Auditor:
    """Judges one connection, frame by frame, by the audits of one side. Pure: nothing is sent or awaited."""

    def __init__(
        self, audits: Iterable[Audit], side: Side, *, talk: CheckedConversation | None = None
    ) -> None:
        self.talk: CheckedConversation = talk or CheckedConversation()
        self.label = ""
        """The scenario that is being run, if any."""
        self.tallies: dict[str, Tally] = {}
        self._way: Way = "in" if side == "agent" else "out"
        self._by_key: defaultdict[str, list[Audit]] = defaultdict(list)
        self._at_end: list[Audit] = []
        self._chosen: dict[object, list[tuple[Audit, Tally]]] = {}
        for audit in audits:
            self.tallies[audit.requirement.id] = Tally()
            for key in audit.on:
                self._by_key[key].append(audit)
            if not audit.on:
                self._at_end.append(audit)

    def see(self, way: Way, data: bytes | Any, time: float = 0.0) -> tuple[CheckedFrame, list[Finding]]:
        """Take a frame; returns it with what is wrong with it. Audits see the state before the frame."""
        frame = self.talk.read(way, data, time)
        findings = self.judge(frame)
        self.talk.take(frame)
        return frame, findings

    def judge(self, frame: CheckedFrame) -> list[Finding]:
        """What is wrong with a frame that was read and not yet taken."""
        findings: list[Finding] = []
        if frame.way != self._way or self._is_draft(frame):
            return findings
        for audit, tally in self._audits_for(frame):
            verdict = audit.judge(frame, self.talk)
            if verdict is OK:
                tally.held += 1
            elif verdict is not None:
                self._note(audit, verdict, (frame,), findings)
        return findings

    def _audits_for(self, frame: CheckedFrame) -> list[tuple[Audit, Tally]]:
        """The audits for a frame: the same for all frames of a kind, so they are looked up once per kind."""
        kind = (frame.kind, frame.method, frame.update_kind, frame.is_error)
        audits = self._chosen.get(kind)
        if audits is None:
            wanted = {
                audit.requirement.id: audit for key in frame.keys() for audit in self._by_key.get(key, ())
            }
            audits = [(audit, self.tallies[id]) for id, audit in wanted.items()]
            if len(self._chosen) < MAX_KINDS and len(frame.method) + len(frame.update_kind) < LONG_NAME:
                self._chosen[kind] = audits
        return audits

    def _is_draft(self, frame: CheckedFrame) -> bool:
        """Whether the two sides speak version 2 of the protocol, whose messages look different."""
        is_greeting = frame.method == "initialize" and frame.kind == "response"
        version = as_object(frame.result).get("protocolVersion") if is_greeting else self.talk.version
        return version == DRAFT

    def finish(self) -> list[Finding]:
        """End the conversation, and return what is wrong with it as a whole."""
        self.talk.ended = True
        findings: list[Finding] = []
        for audit in self._at_end:
            self._note(audit, audit.judge(self.talk), (), findings)
        return findings

    def _note(
        self, audit: Audit, verdict: Verdict, frames: tuple[CheckedFrame, ...], findings: list[Finding]
    ) -> None:
        if verdict is None:
            return
        tally = self.tallies[audit.requirement.id]
        if verdict is OK:
            tally.held += 1
            return
        assert verdict is not True
        tally.broken += 1
        problem = verdict if isinstance(verdict, Problem) else Problem(verdict)
        numbers = tuple(dict.fromkeys((*problem.frames, *frames)))
        finding = Finding(audit.requirement.id, problem.text, numbers, self.label)
        findings.append(finding)
        if len(tally.findings) < KEPT_FINDINGS:
            tally.findings.append(finding)


class BothSides:
    """Judges one connection by the audits of both sides."""

    def __init__(self, audits: Mapping[Side, Iterable[Audit]]) -> None:
        self._talk = CheckedConversation()
        self.auditors: dict[Side, Auditor] = {
            side: Auditor(some, side, talk=self._talk) for side, some in audits.items()
        }

    def see(self, way: Way, data: bytes | Any, time: float = 0.0) -> list[tuple[Side, Finding]]:
        """Take a frame and return what is wrong with it, each finding with the side whose audit found it."""
        frame = self._talk.read(way, data, time)
        findings: list[tuple[Side, Finding]] = []
        for side, auditor in self.auditors.items():
            findings.extend((side, finding) for finding in auditor.judge(frame))
        self._talk.take(frame)
        return findings

    def finish(self) -> list[tuple[Side, Finding]]:
        """End the conversation, and return what is wrong with it as a whole."""
        return [(side, each) for side, auditor in self.auditors.items() for each in auditor.finish()]
