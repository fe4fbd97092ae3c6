"""The report for other programs. `format` changes only when an old reader would read wrongly."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from acpella._version import __version__
from acpella.check.results import Report, RequirementResult

__all__ = ["FORMAT", "json_report"]

FORMAT = 1


def json_report(report: Report, repeat: Sequence[str]) -> dict[str, Any]:
    """All results. `repeat` is the command line, to which a reader adds the ids to check again."""
    return {
        "format": FORMAT,
        "by": f"acpella {__version__}",
        "side": report.side,
        "target": report.target,
        "peer": report.peer,
        "transport": report.transport,
        "set": report.set_name,
        "seconds": round(report.seconds, 3),
        "conforms": report.conforms,
        "counts": dict(report.counts()),
        "must": dict(report.counts(["must"])),
        "results": [_result(report, result) for result in report.results],
        "notes": report.notes,
        "repeat": list(repeat),
    }


def _result(report: Report, result: RequirementResult) -> dict[str, Any]:
    requirement = asdict(result.requirement)
    entry: dict[str, Any] = {
        **requirement,
        "outcome": result.outcome,
        "scored": report.is_scored(result.requirement),
        "message": result.text,
        "frames": list(result.frames),
    }
    if result.during:
        entry["during"] = result.during
    return entry
