"""What is measured, between whom, and what the numbers should be."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from programs import ACPELLA, PEERS, PYTHON_SDK, RAW, TYPESCRIPT_SDK, programs

Pair = tuple[str, str]
Results = Mapping[tuple[str, Pair], Mapping[str, Any]]
"""Medians of each measured row, by case and pair."""

OURS = (ACPELLA, ACPELLA)
PYTHON_PAIR = (PYTHON_SDK, PYTHON_SDK)
TYPESCRIPT_PAIR = (TYPESCRIPT_SDK, TYPESCRIPT_SDK)
RAW_PAIR = (RAW, RAW)
MIXED = {
    PYTHON_PAIR: ((ACPELLA, PYTHON_SDK), (PYTHON_SDK, ACPELLA)),
    TYPESCRIPT_PAIR: ((ACPELLA, TYPESCRIPT_SDK), (TYPESCRIPT_SDK, ACPELLA)),
}
PAIRS = (OURS, PYTHON_PAIR, TYPESCRIPT_PAIR, *MIXED[PYTHON_PAIR], *MIXED[TYPESCRIPT_PAIR])

ROOT = "acpella"
CORE = "acpella.rpc,acpella.schema,acpella.transport"
OFFICIAL = "acp"

ALLOWED = {"msgspec", "typing_extensions"}
"""What an import may bring along; msgspec itself imports typing_extensions where that is installed."""


@dataclass(frozen=True, slots=True)
class Column:
    """A number that a case reports."""

    key: str
    title: str
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a case's table: a pair, the command that measures it, or why it cannot."""

    pair: Pair
    command: tuple[str, ...]
    missing: str
    one_core: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A thing to measure; sizes are what the client programs take as their second argument."""

    name: str
    title: str
    columns: tuple[Column, ...]
    size: str = "0"
    quick_size: str = "0"
    pairs: tuple[Pair, ...] = PAIRS
    heads: Pair = ("client", "agent")
    order: str = ""  # what the programs call the case, if not by its name
    one_core: bool = False

    def rows(self, *, quick: bool) -> list[Row]:
        """What to run, once a repetition."""
        size = self.quick_size if quick else self.size
        return [self._row(pair, size) for pair in self.pairs]

    def _row(self, pair: Pair, size: str) -> Row:
        if self.name == "import":
            program, module = (programs()[pair[0]], pair[1])
            command = (
                programs()[RAW].interpreter,
                str(PEERS / "import_cost.py"),
                module,
                program.interpreter,
            )
            return Row(pair, command, program.missing)
        client, agent = (programs()[name] for name in pair)
        missing = [program.missing for program in (client, agent) if program.missing]
        if self.one_core and not hasattr(os, "sched_setaffinity"):
            missing.append("this system cannot hold processes on one core")
        command = (*client.client, self.order or self.name, size, *agent.agent)
        return Row(pair, command, missing[0] if missing else "", self.one_core)


CPU = (Column("client_cpu_us", "client CPU µs", 1), Column("agent_cpu_us", "agent CPU µs", 1))
RATE = Column("updates_per_second", "updates/s")
TRIP = (Column("p50_us", "p50 µs"), Column("mean_us", "mean µs"), *CPU)

CASES = (
    Case("stream", "updates in one turn", (RATE, *CPU), "100000", "20000", (*PAIRS, RAW_PAIR)),
    Case("yield", "updates in one turn, the sender yields after each", (RATE, *CPU), "30000", "10000"),
    Case(
        "roundtrip",
        "fs/read_text_file calls, one after the other, during a turn",
        TRIP,
        "3000",
        "1000",
    ),
    Case(
        "roundtrip-pinned",
        "calls as above, both processes on one core: without what waking the other core costs",
        TRIP,
        "3000",
        "1000",
        order="roundtrip",
        one_core=True,
    ),
    Case(
        "image",
        "characters of base64 in one image block",
        (Column("to_agent_ms", "to agent ms", 1), Column("to_client_ms", "to client ms", 1)),
        "10000000",
        "10000000",
    ),
    Case(
        "fairness",
        "sessions × updates, all at once on one connection",
        (
            Column("seconds", "seconds", 3),
            RATE,
            Column("to_one_session", "to one session", 2),
            Column("slowest_to_mean", "slowest/mean", 2),
        ),
        "200x500",
        "200x100",
    ),
    Case(
        "start",
        "spawn until initialize is answered, seen by a client without an SDK",
        (Column("wall_ms", "wall ms", 1), Column("cpu_ms", "CPU ms", 1), Column("rss_mib", "RSS MiB", 1)),
        pairs=((RAW, ACPELLA), (RAW, PYTHON_SDK), (RAW, TYPESCRIPT_SDK)),
    ),
    Case(
        "import",
        "CPU beyond a bare interpreter",
        (Column("cpu_ms", "CPU ms", 1), Column("third_party", "third-party modules")),
        pairs=((ACPELLA, ROOT), (ACPELLA, CORE), (PYTHON_SDK, OFFICIAL)),
        heads=("SDK", "module"),
    ),
)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a number should be; `measure` fails with KeyError when a row it needs was not measured."""

    text: str
    case: str
    measure: Callable[[Results], float]
    limit: float
    unit: str = "×"
    at_most: bool = False

    def met_by(self, value: float) -> bool:
        """Whether the value, rounded as it is shown, keeps the budget."""
        value = round(value, 2)
        return value <= self.limit if self.at_most else value >= self.limit


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times better a pair is than another: 2 is twice the rate, or half the time."""

    case: str
    key: str
    label: str
    less_is_better: bool = True

    def budget(self, pair: Pair, other: Pair, limit: float) -> Budget:
        """The pair is so many times better than the other."""
        text = f"{self.label}: {_spoken(pair)} against {_spoken(other)}"
        return Budget(text, self.case, lambda results: self._ratio(results, pair, other), limit)

    def _ratio(self, results: Results, pair: Pair, other: Pair) -> float:
        value, against = (results[self.case, each][self.key] for each in (pair, other))
        return against / value if self.less_is_better else value / against


STREAM = Comparison("stream", RATE.key, "stream", less_is_better=False)
YIELD = Comparison("yield", RATE.key, "yield", less_is_better=False)
ROUNDTRIP = Comparison("roundtrip", "p50_us", "round trip p50")
PINNED = Comparison("roundtrip-pinned", "p50_us", "round trip p50 on one core")
TO_AGENT = Comparison("image", "to_agent_ms", "image to agent")
TO_CLIENT = Comparison("image", "to_client_ms", "image to client")
FAIRNESS = Comparison("fairness", "seconds", "200 sessions")
START = Comparison("start", "cpu_ms", "start CPU")


def budgets() -> Iterator[Budget]:
    """What acpella promises of its speed."""
    yield STREAM.budget(OURS, PYTHON_PAIR, 15)
    yield STREAM.budget(OURS, RAW_PAIR, 0.35)
    yield STREAM.budget(OURS, TYPESCRIPT_PAIR, 1.01)  # "faster", to two digits
    yield YIELD.budget(OURS, PYTHON_PAIR, 4)
    yield ROUNDTRIP.budget(OURS, PYTHON_PAIR, 2.5)
    yield PINNED.budget(OURS, PYTHON_PAIR, 2.5)
    yield TO_AGENT.budget(OURS, PYTHON_PAIR, 1.5)
    yield TO_CLIENT.budget(OURS, PYTHON_PAIR, 1.5)
    yield FAIRNESS.budget(OURS, PYTHON_PAIR, 10)
    yield _value("fairness", OURS, "to_one_session", "200 sessions: time against one session alone", 1.3, "×")
    yield _value("fairness", OURS, "slowest_to_mean", "200 sessions: slowest against the mean", 2, "×")
    yield START.budget((RAW, ACPELLA), (RAW, PYTHON_SDK), 4)
    yield _value("start", (RAW, ACPELLA), "rss_mib", "start: resident memory of the agent", 30, " MiB")
    for module in (ROOT, CORE):
        yield _value("import", (ACPELLA, module), "cpu_ms", f"import {module}: CPU", 120, " ms")
        yield _strangers(module)
    for comparison in (STREAM, YIELD, ROUNDTRIP, PINNED, TO_AGENT, TO_CLIENT, FAIRNESS):
        for official, mixed in MIXED.items():
            yield from (comparison.budget(pair, official, 1) for pair in mixed)


def _value(case: str, pair: Pair, key: str, text: str, limit: float, unit: str) -> Budget:
    return Budget(text, case, lambda results: results[case, pair][key], limit, unit, at_most=True)


def _strangers(module: str) -> Budget:
    def count(results: Results) -> float:
        return len(set(results["import", (ACPELLA, module)]["third_party"]) - ALLOWED)

    return Budget(f"import {module}: third-party modules but msgspec", "import", count, 0, "", at_most=True)


def _spoken(pair: Pair) -> str:
    client, agent = pair
    return f"{client} pair" if client == agent else f"{client} → {agent}"
