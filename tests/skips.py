"""Says at the end of a run what was skipped and why: a skip that nobody sees is a test that nobody runs."""

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if not reasons:
        return
    total = reasons.total()
    told = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    terminalreporter.write_line(f"{total} skipped, because: {told}")


def _reason(report: pytest.TestReport) -> str:
    where = report.longrepr
    text = where[2] if isinstance(where, tuple) else str(where)
    return text.removeprefix("Skipped: ")
