"""Many sessions asked for in one go, as a client that does not wait for answers."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import acpella
agent = acpella.Agent("many", version="1")
@agent.command("hi", "Says hi")
async def hi(turn): yield "hi"
@agent.on_prompt
async def reply(turn): yield "yes"
agent.run()
"""

SESSIONS = 1000


def test_commands_are_announced_after_the_answer_however_many_sessions_are_asked_for(tmp_path: Path) -> None:
    """An announcement for a session that the client does not know yet is lost there."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    params = {"cwd": str(tmp_path), "mcpServers": []}
    asked = [
        {"jsonrpc": "2.0", "id": n, "method": "session/new", "params": params} for n in range(1, SESSIONS + 1)
    ]
    text = "".join(json.dumps(message) + "\n" for message in [hello, *asked])
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"HOME": str(tmp_path), "PATH": "", "ACPELLA_MAX_SESSIONS": str(2 * SESSIONS)},
    ) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        agent.stdin.write(text.encode())
        agent.stdin.flush()
        answered: set[str] = set()
        announced: set[str] = set()
        for line in agent.stdout:
            message = json.loads(line)
            if message.get("method") == "session/update":
                session = message["params"]["sessionId"]
                assert session in answered
                announced.add(session)
            elif message.get("id"):
                answered.add(message["result"]["sessionId"])
            if len(announced) == SESSIONS:
                break
        agent.stdin.close()
    assert len(answered) == SESSIONS
