"""`acp-check.toml`: what is known to fail, what is known to be flaky, and the prompts for an agent.

    [expected]
    "cancel.mid-turn" = "our model library cannot be interrupted, issue 12"

    [unstable]
    "cancel.soon" = "slow runners"

    [profile]
    slow = "Count to a thousand, slowly."

An expected failure that no longer occurs is itself a failure: otherwise the baseline would hide that
something got better and then worse again.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .profile import NEEDS, placeholders, unknown_placeholders
from .results import Report, RequirementResult, counts

__all__ = ["BASELINE", "Baseline", "Judgement", "judge", "read_baseline", "write_baseline"]

BASELINE = "acp-check.toml"


@dataclass(frozen=True)
class Baseline:
    """What the file says."""

    expected: dict[str, str] = field(default_factory=dict[str, str])
    unstable: dict[str, str] = field(default_factory=dict[str, str])
    profile: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Judgement:
    """A report in the light of a baseline."""

    regressions: list[RequirementResult]
    """Failures that count and were not expected."""
    expected: list[RequirementResult]
    stale: list[str]
    """Sentences about entries that are no longer true."""

    @property
    def good(self) -> bool:
        return not self.regressions and not self.stale


def read_baseline(path: Path, requirement_ids: Iterable[str]) -> Baseline:
    """Read the file.

    Raises:
        ValueError: the file is not a valid baseline; the message says where.
        OSError: the file cannot be read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    sections: dict[str, dict[str, str]] = {}
    for name, section in table.items():
        if name not in ("expected", "unstable", "profile") or not isinstance(section, dict):
            raise ValueError(f"{path}: [{name}] is not known; there are [expected], [unstable] and [profile]")
        for key, value in cast("dict[str, Any]", section).items():
            if not isinstance(value, str):
                raise ValueError(f"{path}: [{name}] {key} must be a string (write ids in quotes)")
        sections[name] = section
    for need, prompt in sections.get("profile", {}).items():
        if need not in NEEDS:
            raise ValueError(f"{path}: [profile] {need!r} is not known; there are {', '.join(NEEDS)}")
        if unknown := unknown_placeholders(need, prompt):
            usable = placeholders(need)
            raise ValueError(
                f"{path}: [profile] {need}: nothing is put in for {', '.join(unknown)}; "
                + (
                    f"this prompt can have {', '.join(usable)}"
                    if usable
                    else "this prompt has no placeholders"
                )
            )
    all_ids = set(requirement_ids)
    for name in ("expected", "unstable"):
        for id in sections.get(name, {}):
            if id not in all_ids:
                raise ValueError(
                    f"{path}: [{name}] {id!r} is not a requirement; `acpella check --list` lists all"
                )
    return Baseline(**sections)


def judge(report: Report, baseline: Baseline) -> Judgement:
    """Compare the results with what was expected."""
    regressions: list[RequirementResult] = []
    expected: list[RequirementResult] = []
    stale: list[str] = []
    for result in report.results:
        id = result.requirement.id
        failed = result.outcome in ("fail", "unproved", "error")
        if id in baseline.unstable:
            continue
        if id in baseline.expected:
            if failed:
                expected.append(result)
            else:
                stale.append(
                    f"{id} is expected to fail, and its result is {result.outcome}; remove the entry"
                )
        elif counts(result) and report.is_scored(result.requirement):
            regressions.append(result)
    return Judgement(regressions, expected, stale)


def write_baseline(path: Path, report: Report, old: Baseline) -> int:
    """Write a baseline under which this report passes, keeping the reasons and prompts of the old one.

    Returns the number of expected failures.
    """
    lines = [
        "# What is known to fail. An entry that is no longer true makes the check fail.",
        "",
        "[expected]",
    ]
    failing = [r for r in report.results if r.outcome in ("fail", "unproved", "error")]
    failing = [r for r in failing if r.requirement.id in old.expected or counts(r)]
    failing = [r for r in failing if r.requirement.id not in old.unstable]
    for result in failing:
        why = old.expected.get(result.requirement.id) or f"TODO: why? {result.text.splitlines()[0]}"
        lines.append(f"{_quoted(result.requirement.id)} = {_quoted(why)}")
    for name, section in (("unstable", old.unstable), ("profile", old.profile)):
        if section:
            lines += ["", f"[{name}]"]
            lines += [f"{_quoted(key)} = {_quoted(value)}" for key, value in section.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(failing)


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=True)
