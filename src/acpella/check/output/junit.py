"""The report as JUnit XML, which every CI shows."""

import re
from xml.sax.saxutils import escape, quoteattr

from acpella.check.results import Report, RequirementResult, counts

__all__ = ["junit"]

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit(report: Report) -> str:
    """The content of the file. Only what counts is a failure; the rest is skipped with its reason."""
    cases = [_case(result) for result in report.results]
    failures = sum(1 for result in report.results if counts(result) and report.is_scored(result.requirement))
    skipped = sum(1 for result in report.results if result.outcome != "pass") - failures
    head = f'tests="{len(cases)}" failures="{failures}" skipped="{skipped}" time="{report.seconds:.3f}"'
    name = quoteattr(_clean(f"acpella check {report.target}"))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuite name={name} {head}>",
        *cases,
        "</testsuite>",
    ]
    return "\n".join(lines) + "\n"


def _case(result: RequirementResult) -> str:
    requirement = result.requirement
    start = (
        f"  <testcase classname={quoteattr('acp.' + requirement.area)} name={quoteattr(requirement.id)} "
        f'time="{result.seconds:.3f}"'
    )
    if result.outcome == "pass":
        return start + "/>"
    if counts(result):
        text = "\n".join([requirement.text, result.text, *result.frames, requirement.link])
        body = f"<failure message={quoteattr(_clean(result.text))}>{escape(_clean(text))}</failure>"
    else:
        reason = f"{result.outcome} ({requirement.level}): {result.text}"
        body = f"<skipped message={quoteattr(_clean(reason))}/>"
    return f"{start}>{body}</testcase>"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
