"""Messages of a hosted command are held where the tap stands behind the server."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspector_pages import run_program

import acpella
from acpella.inspector.control_client import Control
from acpella.inspector.holding import HoldRule
from acpella.inspector.taps import live_taps

pytestmark = pytest.mark.anyio

AGENT = """
import acpella

async def reply(turn):
    yield f"You said: {turn.text}"

acpella.run(reply)
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "agent.py").write_text(AGENT)
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": "",
    }
    inspected = [sys.executable, "-m", "acpella", "inspect", "--", str(tmp_path / "agent.py")]
    with run_program("serve", "--port", "0", "--", *inspected, cwd=tmp_path, env=environment) as url:
        yield url


async def test_a_hosted_command_behind_a_tap_can_be_held(url: str, tmp_path: Path) -> None:
    async with asyncio.timeout(120), acpella.connect(url) as agent:
        session = await agent.new_session(cwd=str(tmp_path))

        async def said() -> str:
            return (await session.prompt("apples")).text

        (tap,) = live_taps(tmp_path / "acpella" / "taps")
        control = Control(tap.control)
        await control.start(HoldRule("method:session/prompt kind:req"))
        turn = asyncio.create_task(said())
        while not control.held:
            await control.changed.wait()
        (held,) = control.held.values()
        await control.act(held["n"], "edit", text=held["text"].replace("apples", "pears"))
        assert await turn == "You said: pears"
        await control.close()
