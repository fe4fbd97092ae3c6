"""A few faults of each kind under load, by the code of `benchmarks/cluster.py`, which is the long form."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

PLAN = ("kill", "cut", "kill", "freeze")


def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("cluster_benchmark", BENCHMARKS / "cluster.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cluster_benchmark", module)
    spec.loader.exec_module(module)
    return module


async def test_nothing_is_lost_or_doubled_by_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each update once and in order, each prompt begun once, what was seen is in the log, no process left."""
    path = list(sys.path)
    try:
        prove = benchmark(monkeypatch).measure
        is_well = await prove(0.0, 3, 1, 2.0, str(tmp_path), plan=PLAN, official=())
    finally:
        sys.path[:] = path
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert is_well, found
    assert sum(found["faults"].values()) == len(PLAN)
    assert found["outcomes"]["whole"] > 0
