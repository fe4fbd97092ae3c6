"""What the page shows, without a page."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from acpella._counted import counted

from ... import exits
from ...file_errors import RECORDING, explain, is_unfinished
from ...terminal.output import harmless_json, one_line, say, show

if TYPE_CHECKING:
    from acpella.inspector.rows import Row
    from acpella.recording import Item

__all__ = ["show_view"]

FOUND = 1
UNFINISHED = 1

MAX_NAMED = 20
"""Lines that are named when they cannot be read. Of a file that is no recording, none can."""


def show_view(arguments: argparse.Namespace, path: Path) -> int:
    """Show a view of a recording; returns the exit code."""
    views = {"rows": _rows, "stats": _stats, "times": _times, "findings": _findings}
    views |= {"python": _python, "pytest": _pytest}
    unfinished = is_unfinished(path)
    try:
        if arguments.html:
            return _html(path, Path(arguments.html)) or (UNFINISHED if unfinished else exits.DONE)
        return views[arguments.view](path, arguments)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        say(explain(error, missing=RECORDING))
        return exits.USAGE


def _write_json(value: object) -> None:
    import msgspec

    sys.stdout.write(harmless_json(msgspec.json.encode(value).decode()) + "\n")


def _html(path: Path, out: Path) -> int:
    from acpella.inspector.html import write_html

    write_html(path, out)
    say(f"{out} opens in any browser. It holds what the recording holds; look before you share it.")
    return exits.DONE


def _lines(path: Path) -> "Iterator[tuple[Row, Item]]":
    """Each line with its row. Raises ValueError at the end if nothing was readable."""
    from acpella.inspector.rows import Rows
    from acpella.recording import Damaged, read

    rows, lines, damaged = Rows(), 0, 0
    for item in read(path):
        lines += 1
        if isinstance(item, Damaged):
            damaged += 1
            if damaged <= MAX_NAMED:
                say(f"{path.name}, line {item.line} is left out: {one_line(item.reason, 200)}")
        yield rows.take(item), item
    if damaged > MAX_NAMED:
        say(f"{counted(damaged, 'line')} of {path.name} are left out")
    if damaged == lines:
        raise ValueError(f"{path.name} holds no conversation; {RECORDING}")


def _rows(path: Path, arguments: argparse.Namespace) -> int:
    import msgspec

    from acpella.inspector.filters import Filter
    from acpella.inspector.findings import Findings
    from acpella.inspector.searching import searchable
    from acpella.recording import RecordedFrame

    row_filter = Filter(arguments.filter)
    findings = Findings()
    for row, item in _lines(path):
        rules = [rule for number, rule in findings.take(row, item) if number == row.n]

        def body(item: "Item" = item) -> str:
            return (
                searchable(msgspec.json.encode({"msg": item.message}))
                if isinstance(item, RecordedFrame)
                else ""
            )

        if not row_filter.matches(row, rules, body):
            continue
        if arguments.json:
            _write_json({**msgspec.to_builtins(row), "rules": rules})
        else:
            show(_row_line(row, rules))
    return exits.DONE


def _row_line(row: "Row", rules: list[str]) -> str:
    arrow = {"in": "←", "out": "→"}.get(row.dir, " ")
    took = f"{row.took * 1000:.0f} ms" if row.took >= 0 else ""
    name = one_line(f"{row.method} {row.update}".strip(), 80)
    mark = f"!{','.join(rules)} " if rules else ""
    about = f"{mark}{one_line(row.preview, 100)}"
    return f"{row.n:>6} {row.t:>9.3f} {arrow} {row.kind:6} {name:36} {took:>9}  {about}"


def _stats(path: Path, arguments: argparse.Namespace) -> int:

    from acpella._plain_json import as_int
    from acpella.inspector.stats import Stats
    from acpella.recording import RecordedEvent

    stats = Stats()
    for row, item in _lines(path):
        stats.take(row)
        if isinstance(item, RecordedEvent) and item.name == "end":
            stats.dropped += as_int(item.info.get("dropped"))
            stats.hidden += as_int(item.info.get("hidden"))
    summary = stats.summary()
    if arguments.json:
        _write_json(summary)
        return exits.DONE
    show(
        f"{counted(summary.frames, 'message')}, {counted(summary.bytes, 'byte')}, {summary.seconds:.1f} s, "
        f"{counted(summary.connections, 'connection')}, {counted(summary.sessions, 'session')}"
    )
    show(f"{'method':36} {'requests':>8} {'errors':>7} {'open':>5} {'p50':>9} {'p95':>9} {'slowest':>9}")
    for method in summary.methods:
        times = " ".join(f"{_milliseconds(value):>9}" for value in (method.p50, method.p95, method.slowest))
        counts = f"{method.requests:>8} {method.errors:>7} {method.unanswered:>5}"
        show(f"{one_line(method.method, 80):36} {counts} {times}")
    for update, count in summary.updates.items():
        show(f"  {one_line(update, 80):34} {count:>8}")
    return exits.DONE


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value * 1000:.1f} ms"


def _times(path: Path, arguments: argparse.Namespace) -> int:

    from acpella.inspector.spans import Spans, turn_times
    from acpella.recording import RecordedFrame

    spans = Spans()
    for row, item in _lines(path):
        if isinstance(item, RecordedFrame):
            spans.take(row, item.message)
    turns = turn_times(spans.spans)
    if not turns and not arguments.json:
        say("the recording holds no turn")
    for turn in turns:
        if arguments.json:
            _write_json(turn)
            continue
        total = "goes on" if turn.total is None else f"{turn.total:.1f} s"
        show(
            f"turn {turn.turn} (row {turn.row}): {total} {one_line(turn.stop_reason, 40)}: "
            f"model writes {turn.writing:.1f} s, "
            f"model silent {turn.silence:.1f} s, tools {turn.tools:.1f} s, person {turn.person:.1f} s"
        )
    return exits.DONE


def _findings(path: Path, arguments: argparse.Namespace) -> int:
    from acpella.inspector.findings import Findings
    from acpella.recording import Damaged, RecordedFrame

    findings = Findings()
    messages = damaged = 0
    for row, item in _lines(path):
        messages += isinstance(item, RecordedFrame)
        damaged += isinstance(item, Damaged)
        findings.take(row, item)
    if not messages:
        raise ValueError(f"{path.name} holds no conversation; {RECORDING}")
    for finding in findings.findings:
        if arguments.json:
            _write_json(finding)
        else:
            where = ", ".join(map(str, finding.rows)) or "at the end"
            show(f"{finding.rule} {finding.requirement} ({finding.side}, {finding.level}), row {where}")
            show(f"    {one_line(finding.text, 300)}")
            if finding.doubtful:
                show("    (perhaps only because lines before it cannot be read)")
    left = findings.count - len(findings.findings)
    say(counted(findings.count, "finding") + (f", {left} of them not shown" if left else ""))
    return FOUND if findings.count or damaged else exits.DONE  # what cannot be read was not judged


def _python(path: Path, arguments: argparse.Namespace) -> int:
    from acpella.inspector.program import as_program

    sys.stdout.write(as_program(path))
    return exits.DONE


def _pytest(path: Path, arguments: argparse.Namespace) -> int:
    from acpella.inspector.program import as_test

    sys.stdout.write(as_test(path))
    return exits.DONE
