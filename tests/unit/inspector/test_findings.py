"""Where the inspector says that something is wrong."""

from typing import Any

from acpella.inspector.findings import Findings
from acpella.inspector.rows import Rows
from acpella.recording import RecordedEvent, RecordedFrame

NO_SESSION: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {"sessionId": 5, "update": {"sessionUpdate": "plan", "entries": []}},
}


def test_a_finding_after_an_end_is_at_its_own_row() -> None:
    """Two conversations in one file, and the second one has lost its first line."""
    rows, findings = Rows(), Findings()
    places: list[set[int]] = []
    for item in (
        RecordedFrame(0.0, "in", NO_SESSION),
        RecordedEvent("end", {}, 1.0),
        RecordedFrame(2.0, "in", NO_SESSION),
    ):
        row = rows.take(item)
        places.append({number for number, _ in findings.take(row, item)})
    assert places[0] == {1} and places[2] == {3}
    later = [finding.rows for finding in findings.findings if 3 in finding.rows]
    assert later and all(number == 3 for each in later for number in each)
