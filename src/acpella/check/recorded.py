"""Audits a recording: both sides are judged frame by frame, without holding all frames in memory."""

import os
from collections.abc import Callable

from acpella.recording import Begin, Damaged, RecordedFrame, read

from .agent import AREAS as AGENT_AREAS
from .auditor import BothSides
from .client import AREAS as CLIENT_AREAS
from .requirement import Area, Audit, Side
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
    audits: dict[Side, list[Audit]] = {
        side: [a for area in areas for a in area.audits if chosen.has(a.requirement)]
        for side, areas in sides.items()
    }
    connections: list[BothSides] = []
    frames = 0
    for item in read(path):
        if isinstance(item, Damaged):
            if damaged is not None:
                damaged(item)
        elif isinstance(item, Begin):
            connections.append(BothSides(audits))
        elif isinstance(item, RecordedFrame):
            if item.direction == "err":
                continue
            if not connections:
                connections.append(BothSides(audits))
            frames += 1
            raw = item.raw.encode() if item.raw is not None else item.message
            connections[-1].see(item.direction, raw, item.time)
        elif item.name == "end" and connections:
            connections[-1].finish()
    if not frames:
        raise ValueError(f"{path} holds no conversation")
    reports: list[Report] = []
    for side, areas in sides.items():
        auditors = [connection.auditors[side] for connection in connections]
        by_id = {r.requirement.id: r for r in audit_results(audits[side], auditors)}
        talk = auditors[-1].talk
        name = talk.agent_name if side == "agent" else talk.client_name
        results = [by_id[r.id] for area in areas for r in area.requirements if r.id in by_id]
        reports.append(Report(os.fspath(path), side, results, name, "recording"))
    return reports
