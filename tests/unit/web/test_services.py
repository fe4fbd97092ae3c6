"""What the page sees of the commands that an agent runs."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acpella.rpc.relay import read_frame
from acpella.web.shared.services import LocalServices
from acpella.web.shared.session import SharedSession

pytestmark = pytest.mark.anyio

PRINTS = """
for number in range(40):
    print(number, "x" * 100, flush=True)
print("LAST LINE", flush=True)
"""


async def test_output_beyond_what_the_agent_keeps_is_shown(tmp_path: Path) -> None:
    """The agent may ask for the end of the output alone. The page stopped at that many characters."""
    session = SharedSession("s", owner="mira", cwd=str(tmp_path), changed=lambda one: None)
    services = LocalServices(writes=True)
    command = {"command": sys.executable, "args": ["-c", PRINTS], "outputByteLimit": 500}
    params: dict[str, Any] = {"sessionId": "s", **command}
    request = {"jsonrpc": "2.0", "id": 1, "method": "terminal/create", "params": params}
    try:
        await services.serve(session, read_frame(msgspec.json.encode(request)))
        async with asyncio.timeout(60):
            while not any("exit" in event for event in events(session)):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
    finally:
        await services.close()
    assert "LAST LINE" in "".join(event.get("data", "") for event in events(session))


def events(session: SharedSession) -> list[dict[str, Any]]:
    return [msgspec.json.decode(event) for event in session.log.after(0, 1_000_000)[1]]
