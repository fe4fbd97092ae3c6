"""A badge, as shields.io reads it from a file: `ACP v1 | 45/45 must`."""

from typing import Any

from acpella.check.results import Report

__all__ = ["badge"]


def badge(report: Report) -> dict[str, Any]:
    """The content of the file."""
    counts = report.counts(["must"])
    judged = sum(counts.values()) - counts["not-applicable"]
    good = counts["pass"] + counts["unstable"]
    color = "brightgreen" if report.conforms else ("yellow" if good == judged else "red")
    return {"schemaVersion": 1, "label": "ACP v1", "message": f"{good}/{judged} must", "color": color}
