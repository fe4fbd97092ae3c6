"""What a hosted command writes to stderr is in the log, and cannot be taken for anything else there."""

import json
import logging
import sys
from pathlib import Path

import pytest

from acpella.server.command_log import AT_ONCE, CommandLog
from acpella.server.logs import _Json, _Lines
from server.serving import HELLO, eventually, serving, socket, ws_url

pytestmark = pytest.mark.anyio

LOUD = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "_say":
        sys.stderr.write(m["params"]["text"])
        sys.stderr.flush()
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": 1}}), flush=True)
"""

FORGED = (
    "2026-11-16 03:30:00,000 INFO acpella.audit: connection opened (user=root)\r\n"
    "\x1b[2J\x1b[31mAuthorization: Bearer sk-live-SECRETSECRET\u2028x\n"
    '"}\n{"level": "INFO", "logger": "acpella.audit"}\n' + "é" * 50_000 + "\nno end"
)


@pytest.fixture
def loud(tmp_path: Path) -> list[str]:
    program = tmp_path / "loud.py"
    program.write_text(LOUD)
    return [sys.executable, str(program)]


def told(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "acpella.command"]


async def test_stderr_of_a_command_is_lines_of_the_log(
    loud: list[str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "acpella.command")
    async with serving(loud) as server:
        async with socket(ws_url(server)) as client:
            await client.call(0, "initialize", HELLO)
            await client.call(1, "_say", {"text": FORGED})
            await eventually(lambda: len(told(caplog)) >= 5, "it is logged")
        await eventually(lambda: "no end" in told(caplog)[-1].getMessage(), "the last words are logged")
    records = told(caplog)
    assert len(records) == 6
    for record in records:
        facts = record.facts  # type: ignore[attr-defined]
        assert len(facts["connection"]) == 8
        for line in (_Lines("%(name)s: %(message)s").format(record), _Json().format(record)):
            assert len(line.splitlines()) == 1
            assert "\x1b" not in line and "SECRET" not in line
            assert len(line) < 15_000
        assert _Lines("%(name)s: %(message)s").format(record).startswith("acpella.command: ")
        assert json.loads(_Json().format(record))["logger"] == "acpella.command"
        assert len(record.getMessage()) <= 2000
    assert "connection opened" not in capfd.readouterr().err.replace("acpella.command", "")


async def test_stderr_of_a_command_can_be_switched_off(
    loud: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "acpella.command")
    async with serving(loud, limits={"command_stderr": "off"}) as server:
        async with socket(ws_url(server)) as client:
            await client.call(0, "initialize", HELLO)
            await client.call(1, "_say", {"text": "one\n"})
    assert told(caplog) == []


def test_a_flood_is_cut_and_what_is_left_out_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "acpella.command")
    now = 0.0
    output = CommandLog("ab12", clock=lambda: now)
    for _ in range(20):
        output(b"x" * 100_000)  # a line without an end is not kept whole
    output(b"\n" + b"line\n" * 20_000)
    assert len(told(caplog)) == AT_ONCE
    now = 1.0
    output(b"again\n" * 50)
    texts = [record.getMessage() for record in told(caplog)[AT_ONCE:]]
    assert texts[0] == f"… {20_001 - AT_ONCE} lines left out"
    assert texts[1:] == ["again"] * 10
    output.end()
    assert told(caplog)[-1].getMessage() == "… 40 lines left out"
