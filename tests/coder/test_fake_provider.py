"""The scripted provider as a process, as other tests use it."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from acpella.coder.models import TextDelta
from acpella.coder.models.model_names import open_model
from coder import fake_provider
from coder.models.asking import asked, joined

pytestmark = pytest.mark.anyio


async def test_it_serves_a_script_and_records_what_was_asked(tmp_path: Path) -> None:
    script, record = tmp_path / "turns.json", tmp_path / "asked.jsonl"
    script.write_text(json.dumps(["one", {"text": "two"}]), encoding="utf-8")
    command = [sys.executable, fake_provider.__file__, "--script", str(script), "--record", str(record)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            url = (await process.stdout.readline()).decode().strip()
        model = open_model("compatible:m", {"ACPELLA_COMPATIBLE_BASE_URL": f"{url}/v1"})
        anthropic = open_model("anthropic:m", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url})
        assert [joined(await asked(one), TextDelta) for one in (model, anthropic)] == ["one", "two"]
    finally:
        process.terminate()
        await process.wait()
    paths = [json.loads(line)["path"] for line in record.read_text(encoding="utf-8").splitlines()]
    assert paths == ["/v1/chat/completions", "/v1/messages"]
