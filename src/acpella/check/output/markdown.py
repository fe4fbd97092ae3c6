"""The report as Markdown, for the summary of a CI run or a pull request."""

from collections.abc import Sequence

from acpella.check.requirement import LEVELS
from acpella.check.results import Report, RequirementResult

from .badge import badge
from .text import repeat_line, verdict

__all__ = ["markdown"]

SHOWN = 40
"""Failures that are shown whole. A summary has a size limit."""


def markdown(report: Report, repeat: Sequence[str]) -> str:
    """The whole page."""
    lines = [f"## {badge(report)['label']}: {verdict(report)}", ""]
    who = f"{report.peer or report.target} ({report.side}, {report.transport})"
    lines += [
        f"{_cell(who)}, {report.seconds:.0f} s",
        "",
        "| level | pass | fail | unproved | not applicable |",
    ]
    lines += ["|---|---|---|---|---|"]
    for level in LEVELS:
        counts = report.counts([level])
        good = counts["pass"] + counts["unstable"]
        bad = counts["fail"] + counts["error"]
        lines.append(f"| {level} | {good} | {bad} | {counts['unproved']} | {counts['not-applicable']} |")
    failed = [r for r in report.results if r.outcome in ("fail", "error")]
    for result in failed[:SHOWN]:
        lines += _failure(result, repeat)
    if len(failed) > SHOWN:
        lines += ["", f"{len(failed) - SHOWN} more are in the JSON report."]
    return "\n".join(lines) + "\n"


def _failure(result: RequirementResult, repeat: Sequence[str]) -> list[str]:
    requirement = result.requirement
    summary = f"<b>{requirement.id}</b> ({requirement.level}): {_cell(result.text.splitlines()[0])}"
    frames = "\n".join(result.frames).replace("```", "'''")
    return [
        "",
        f"<details><summary>{summary}</summary>",
        "",
        f"{_cell(requirement.text)} [{requirement.rule}]({requirement.link})",
        "",
        "```",
        frames,
        repeat_line(result, repeat),
        "```",
        "</details>",
    ]


def _cell(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")
