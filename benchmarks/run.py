"""Measure acpella's protocol core beside the official SDKs: real processes, real pipes, one run.

`python benchmarks/run.py` prints a JSON line for each case and pair, then one for each budget; the same as
a table goes to stderr. Slow is never a failure: the exit code is 1 only when a program broke.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from cases import CASES, Budget, Case, Pair, Results, Row, budgets
from programs import environment, programs
from table import budget_table, case_table, verdict

RUN_TIMEOUT = 120
"""Seconds after which one run of one pair is broken; without it a hanging peer stops everything."""

ERROR_LINES = 6
"""How much of a broken program's stderr is shown."""

Key = tuple[str, Pair]


class Benchmark:
    """Runs the chosen cases and keeps what they said."""

    def __init__(self, cases: Sequence[Case], *, repeat: int, quick: bool) -> None:
        self._repeat = repeat
        self._quick = quick
        self._runs: defaultdict[Key, list[dict[str, Any]]] = defaultdict(list)
        self.rows = {case.name: case.rows(quick=quick) for case in cases}
        self.failures: dict[Key, str] = {}

    def measure(self, case: Case) -> None:
        """Run all pairs in turn, again and again, so that a noisy moment hits all alike."""
        for repetition in range(self._repeat):
            for row in self.rows[case.name]:
                key = (case.name, row.pair)
                if row.missing or key in self.failures:
                    continue
                _show_progress(f"{case.name} {repetition + 1}/{self._repeat}: {' → '.join(row.pair)}")
                try:
                    self._runs[key].append(_run(row))
                except RuntimeError as error:
                    self.failures[key] = str(error)
        _show_progress("")

    def results(self) -> Results:
        """Medians of everything that ran."""
        return {key: _medians(runs) for key, runs in self._runs.items() if key not in self.failures}

    def records(self, case: Case) -> Iterator[dict[str, Any]]:
        """The case's JSON lines."""
        results = self.results()
        for row in self.rows[case.name]:
            names = dict(zip((head.lower() for head in case.heads), row.pair, strict=True))
            yield {"case": case.name, **names, "size": self.size(case), **self._outcome(case, row, results)}

    def _outcome(self, case: Case, row: Row, results: Results) -> dict[str, Any]:
        key = (case.name, row.pair)
        if row.missing:
            return {"not_measured": row.missing}
        if key in self.failures:
            return {"broken": self.failures[key]}
        return {
            "runs": len(self._runs[key]),
            **{name: _rounded(value) for name, value in results[key].items()},
        }

    def size(self, case: Case) -> str:
        """What the clients were told."""
        return case.quick_size if self._quick else case.size

    def verdicts(self) -> list[tuple[Budget, float | None]]:
        """Each budget of a case that ran, with its number if there is one."""
        results = self.results()
        return [(budget, _value(budget, results)) for budget in budgets() if budget.case in self.rows]


def _run(row: Row) -> dict[str, Any]:
    try:
        done = subprocess.run(
            row.command,
            capture_output=True,
            encoding="utf-8",
            env=environment(),
            timeout=RUN_TIMEOUT,
            preexec_fn=_stay_on_one_core if row.one_core else None,  # the agent inherits it
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no result within {RUN_TIMEOUT} s") from None
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {_tail(done.stderr)}")
    return json.loads(done.stdout)


def _stay_on_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _tail(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip("~^ ")]
    return " | ".join(lines[-ERROR_LINES:])


def _medians(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: _median([run[key] for run in runs]) for key in runs[0]}


def _median(values: list[Any]) -> Any:
    return median(values) if all(isinstance(value, int | float) for value in values) else values[-1]


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _value(budget: Budget, results: Results) -> float | None:
    try:
        return budget.measure(results)
    except KeyError:  # a row it needs was not measured
        return None


def _budget_record(budget: Budget, value: float | None) -> dict[str, Any]:
    bound = "at_most" if budget.at_most else "at_least"
    outcome = "not measured" if value is None else verdict(budget, value)
    return {"budget": budget.text, "measured": _rounded(value), bound: budget.limit, "verdict": outcome}


def _machine(*, repeat: int, quick: bool) -> dict[str, Any]:
    found = {program.name: program.version or program.missing for program in programs().values()}
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 2),  # others at work bend the ratios
        "python": platform.python_version(),
        "repeat": repeat,
        "quick": quick,
        **{name: version for name, version in found.items() if version},
    }


def _show_progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _arguments() -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description="Measure acpella's protocol core beside the official SDKs.")
    parser.add_argument(
        "--repeat", type=int, default=5, metavar="N", help="runs of each pair; medians are shown"
    )
    parser.add_argument("--quick", action="store_true", help="smaller numbers, for a first look")
    parser.add_argument("--only", type=lambda text: text.split(","), default=names, metavar=",".join(names))
    parser.add_argument("--table", action="store_true", help="the table on stdout instead of the JSON lines")
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - set(names):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    return arguments


def main() -> int:
    """Measure, print, and say whether something broke."""
    arguments = _arguments()
    cases = [case for case in CASES if case.name in arguments.only]
    benchmark = Benchmark(cases, repeat=arguments.repeat, quick=arguments.quick)

    def emit(record: dict[str, Any]) -> None:
        if not arguments.table:
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
            sys.stdout.flush()

    emit(_machine(repeat=arguments.repeat, quick=arguments.quick))
    for case in cases:
        benchmark.measure(case)
        for record in benchmark.records(case):
            emit(record)
    verdicts = benchmark.verdicts()
    for budget, value in verdicts:
        emit(_budget_record(budget, value))

    results = benchmark.results()
    tables = [
        case_table(case, benchmark.size(case), benchmark.rows[case.name], results, benchmark.failures)
        for case in cases
    ]
    output = sys.stdout if arguments.table else sys.stderr
    output.write("\n\n".join([*tables, budget_table(verdicts)]) + "\n")
    return 1 if benchmark.failures else 0


if __name__ == "__main__":
    sys.exit(main())
