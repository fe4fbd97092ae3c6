"""The report for a person: a table by topic, then what is wrong with the frames that show it."""

import shlex
from collections import Counter
from collections.abc import Sequence

from acpella.check.requirement import Area
from acpella.check.results import COUNTED, Outcome, Report, RequirementResult, counts

__all__ = ["repeat_line", "text", "verdict"]

WIDTH = 96


def text(report: Report, areas: Sequence[Area], repeat: Sequence[str], *, verbose: bool = False) -> str:
    """The whole report. `repeat` is the command line without the selection of requirements."""
    lines = [_heading(report), "", *_table(report, areas)]
    failed = [r for r in report.results if r.outcome in ("fail", "error", "unstable")]
    for result in sorted(failed, key=lambda r: not counts(r)):
        lines += ["", *_failure(result, repeat)]
    unproved = [
        r for r in report.results if r.outcome == "unproved" and (verbose or r.requirement.level == "must")
    ]
    if unproved:
        lines += ["", "Unproved:"]
        lines += [f"  {r.requirement.id} ({r.requirement.level}): {r.text}" for r in unproved]
    if not_judged := _not_judged(report):
        lines += ["", "Not judged:", *not_judged]
    lines += ["", *report.notes, verdict(report)]
    return "\n".join(lines)


def _not_judged(report: Report) -> list[str]:
    """The musts that this agent gave no occasion for, by the reason: whoever reads on should know."""
    ids: dict[str, list[str]] = {}
    for result in report.results:
        requirement = result.requirement
        if (result.outcome, requirement.level) == ("not-applicable", "must"):
            if report.transport in requirement.transports:
                ids.setdefault(result.text, []).append(requirement.id)
    return [f"  {', '.join(some)} (must): {why}" for why, some in ids.items()]


def _heading(report: Report) -> str:
    peer = f"{report.peer}: " if report.peer else ""
    return f"{peer}{report.target} ({report.side}, {report.transport})"


def _table(report: Report, areas: Sequence[Area]) -> list[str]:
    columns = ("pass", "fail", "unproved", "n/a")
    lines = [f"{'':<28}" + "".join(f"{name:>10}" for name in columns)]
    for area in areas:
        results = [r for r in report.results if r.requirement.area == area.name]
        if results:
            lines.append(f"{area.title:<28}" + _row(Counter(r.outcome for r in results)))
    lines.append(f"{'all':<28}" + _row(report.counts()))
    lines.append(f"{'of these: must':<28}" + _row(report.counts(["must"])))
    return lines


def _row(counted: Counter[Outcome]) -> str:
    numbers = (
        counted["pass"] + counted["unstable"],
        counted["fail"] + counted["error"],
        counted["unproved"],
        counted["not-applicable"],
    )
    return "".join(f"{number or '.':>10}" for number in numbers)


def _failure(result: RequirementResult, repeat: Sequence[str]) -> list[str]:
    requirement = result.requirement
    lines = [f"{result.outcome.upper()} {requirement.id} ({requirement.level}, {requirement.rule})"]
    lines += [f"  {requirement.text}", f"  {result.text}"]
    lines += [f"    {frame}" for frame in result.frames]
    lines += [f"  {requirement.link}", f"  again: {repeat_line(result, repeat)}"]
    return lines


def repeat_line(result: RequirementResult, repeat: Sequence[str]) -> str:
    """The command that checks this one requirement again."""
    if not repeat:
        return f"acpella check --only {result.requirement.id}"
    ids = [result.requirement.id, *([result.during] if "." in result.during else [])]
    return shlex.join([*repeat[:2], "--only", ",".join(ids), *repeat[2:]])


def verdict(report: Report) -> str:
    """One sentence about the whole report."""
    must = report.counts(["must"])
    judged = sum(must.values()) - must["not-applicable"]
    good = must["pass"] + must["unstable"]
    hold = "must holds" if judged == 1 else "musts hold"
    held = f"{good} of {judged} {hold}" if judged else "no must was judged"
    against = report.against()
    if not against:
        seen = report.counts(COUNTED)
        if not seen["pass"] + seen["unstable"]:
            return "nothing that counts was judged"
        return f"conforms: {held}, and nothing that is offered fails"
    failed = sum(1 for r in against if r.outcome != "unproved")
    unproved = len(against) - failed
    parts = [f"{failed} failed"] if failed else []
    parts += [f"{unproved} could not be proved"] if unproved else []
    if report.as_expected:
        return f"as expected: {held}; of what counts, {' and '.join(parts)}, and no more than is known"
    if not failed:
        return f"not proved to conform: {held} and nothing failed, but {unproved} could not be proved"
    return f"does not conform: {held}; of what counts, {' and '.join(parts)}"
