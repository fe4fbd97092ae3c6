"""The readable form of the results."""

from collections.abc import Iterable, Sequence
from typing import Any

from cases import Budget, Case, Column, Results, Row


def case_table(case: Case, size: str, rows: Sequence[Row], results: Results, failures: dict[Any, str]) -> str:
    """One case: its rows with their medians, or why there are none."""
    title = (
        f"{case.name}: {case.title}"
        if size == "0"
        else f"{case.name}: {size.replace('x', ' × ')} {case.title}"
    )
    lines = [[*case.heads, *(column.title for column in case.columns)]]
    notes: list[str] = []
    for row in rows:
        measured = results.get((case.name, row.pair))
        if measured is not None:
            lines.append([*row.pair, *(_cell(measured, column) for column in case.columns)])
        elif row.missing:
            notes.append(f"{' → '.join(row.pair)}  not measured: {row.missing}")
        else:
            notes.append(f"{' → '.join(row.pair)}  BROKEN: {failures[case.name, row.pair]}")
    table = align(lines, text_columns=2) if len(lines) > 1 else []
    return "\n".join([title, *(f"  {line}" for line in (*table, *notes))])


def budget_table(verdicts: Iterable[tuple[Budget, float | None]]) -> str:
    """The budgets beside what was measured."""
    lines = [["budget", "measured", "wanted", ""]]
    for budget, value in verdicts:
        wanted = f"{'≤' if budget.at_most else '≥'} {budget.limit:g}{budget.unit}"
        if value is None:
            lines.append([budget.text, "-", wanted, "not measured"])
        else:
            lines.append([budget.text, f"{value:.2f}{budget.unit}", wanted, verdict(budget, value)])
    return "\n".join(align(lines, text_columns=1))


def verdict(budget: Budget, value: float) -> str:
    """One word about a budget."""
    return "ok" if budget.met_by(value) else "MISSED"


def align(lines: Sequence[Sequence[str]], *, text_columns: int) -> list[str]:
    """Columns of equal width: so many flush left, the rest flush right but for the last word of a line."""
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    return ["  ".join(_justified(line, widths, text_columns)).rstrip() for line in lines]


def _justified(line: Sequence[str], widths: Sequence[int], text_columns: int) -> Iterable[str]:
    for index, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield cell.ljust(width) if index < text_columns or cell[:1].isalpha() else cell.rjust(width)


def _cell(measured: Any, column: Column) -> str:
    value = measured.get(column.key)
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return f"{value:,.{column.digits}f}"
    return " ".join(value) or "none"
