"""Audits of a recording: both sides are judged by what they said, frame by frame, without holding them."""

import os
from collections.abc import Callable

from acpella.recording import Begin, Damaged, Frame, read

from .agent import AREAS as AGENT_AREAS
from .auditor import Auditor
from .client import AREAS as CLIENT_AREAS
from .requirement import Area, Side
from .results import Report
from .runner import CheckSelection, audit_results

__all__ = ["check_recording"]


def check_recording(
    path: str | os.PathLike[str],
    *,
    selection: CheckSelection | None = None,
    damaged: Callable[[Damaged], None] | None = None,
) -> list[Report]:
    """A report about the agent and one about the client.

    Raises:
        NewerFormat: a newer acpella wrote the recording.
        OSError: it cannot be read.
        ValueError: it holds no conversation.
    """
    chosen = selection or CheckSelection()
    sides: dict[Side, tuple[Area, ...]] = {"agent": AGENT_AREAS, "client": CLIENT_AREAS}
    audits = {
        side: [a for area in areas for a in area.audits if chosen.has(a.requirement)]
        for side, areas in sides.items()
    }
    auditors: dict[Side, list[Auditor]] = {"agent": [], "client": []}

    def begin() -> None:
        for side, some in auditors.items():
            some.append(Auditor(audits[side], side))

    frames = 0
    for item in read(path):
        if isinstance(item, Damaged):
            if damaged is not None:
                damaged(item)
        elif isinstance(item, Begin):
            begin()
        elif isinstance(item, Frame):
            if item.direction == "err":
                continue
            if not auditors["agent"]:
                begin()
            frames += 1
            raw = item.raw.encode() if item.raw is not None else item.message
            for some in auditors.values():
                some[-1].see(item.direction, raw, item.time)
        elif item.name == "end":
            for some in auditors.values():
                if some:
                    some[-1].finish()
    if not frames:
        raise ValueError(f"{path} holds no conversation")
    reports: list[Report] = []
    for side, areas in sides.items():
        by_id = {r.requirement.id: r for r in audit_results(audits[side], auditors[side])}
        results = [by_id[r.id] for area in areas for r in area.requirements if r.id in by_id]
        reports.append(Report(os.fspath(path), side, results, _name(auditors[side][-1], side), "recording"))
    return reports


def _name(auditor: Auditor, side: Side) -> str:
    from .conversation import as_object

    talk = auditor.talk
    if side == "agent":
        info = as_object(as_object(talk.initialized.result).get("agentInfo")) if talk.initialized else {}
    else:
        info = as_object(talk.initialize.params.get("clientInfo")) if talk.initialize else {}
    return f"{info.get('name', '')} {info.get('version', '')}".strip()
