"""Reads a conversation frame by frame and lets the audits judge it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .conversation import CheckedConversation, CheckedFrame, Way, as_object
from .requirement import OK, Audit, Problem, Side, Verdict

__all__ = ["Auditor", "BothSides", "Finding", "Tally"]

DRAFT = 2
"""A version that these audits say nothing about. Agents may choose it when asked for a newer one."""

MOST_KINDS = 500
"""Kinds of frames whose audits are remembered. A peer can make up as many methods as it likes."""

LONG_NAME = 200
"""Characters of names that are not remembered: a method can be as long as a message."""

KEPT_FINDINGS = 3
"""Of each requirement. An agent that is wrong once is mostly wrong a thousand times."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a requirement does not hold."""

    id: str
    text: str
    frames: tuple[CheckedFrame, ...]
    during: str = ""
    """What the peer was led through then."""


@dataclass(slots=True)
class Tally:
    """How often a requirement held, and where it did not."""

    held: int = 0
    broken: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


class Auditor:
    """One connection, judged by the audits of one side as it goes on. Pure: nothing is sent or awaited."""

    def __init__(
        self, audits: Iterable[Audit], side: Side, *, talk: CheckedConversation | None = None
    ) -> None:
        self.talk: CheckedConversation = talk or CheckedConversation()
        self.label = ""
        """What the peer is led through now."""
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
        """Take a frame, and say what is wrong with it. Audits see the state before the frame."""
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
        """The same for all frames of a kind, so it is looked up once for each."""
        kind = (frame.kind, frame.method, frame.update_kind, frame.is_error)
        audits = self._chosen.get(kind)
        if audits is None:
            wanted = {
                audit.requirement.id: audit for key in frame.keys() for audit in self._by_key.get(key, ())
            }
            audits = [(audit, self.tallies[id]) for id, audit in wanted.items()]
            if len(self._chosen) < MOST_KINDS and len(frame.method) + len(frame.update_kind) < LONG_NAME:
                self._chosen[kind] = audits
        return audits

    def _is_draft(self, frame: CheckedFrame) -> bool:
        """Whether the two speak version 2 of the protocol, whose messages look otherwise."""
        is_greeting = frame.method == "initialize" and frame.kind == "response"
        version = as_object(frame.result).get("protocolVersion") if is_greeting else self.talk.version
        return version == DRAFT

    def finish(self) -> list[Finding]:
        """The conversation is over."""
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
    """One connection, judged by the audits of either side."""

    def __init__(self, audits: Mapping[Side, Iterable[Audit]]) -> None:
        self._talk = CheckedConversation()
        self.auditors: dict[Side, Auditor] = {
            side: Auditor(some, side, talk=self._talk) for side, some in audits.items()
        }

    def see(self, way: Way, data: bytes | Any, time: float = 0.0) -> list[tuple[Side, Finding]]:
        """Take a frame, and say what is wrong with it, and of which side's audits."""
        frame = self._talk.read(way, data, time)
        findings: list[tuple[Side, Finding]] = []
        for side, auditor in self.auditors.items():
            findings.extend((side, finding) for finding in auditor.judge(frame))
        self._talk.take(frame)
        return findings

    def finish(self) -> list[tuple[Side, Finding]]:
        """The conversation is over."""
        return [(side, each) for side, auditor in self.auditors.items() for each in auditor.finish()]
