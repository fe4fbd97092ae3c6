"""An agent that uses MCP servers as the prompt says, in the way the coding agent would."""

import asyncio
import base64
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acpella.agent import Agent
from acpella.coder.mcp_tools import mcp_tools
from acpella.coder.tool import ToolError
from acpella.mcp import SessionServers, transports

HERE = Path(__file__).parent
PLAIN = str(HERE / "plain.py")
SDK = str(HERE / "sdk_server.py")


def agent_with_servers(**options: Any) -> Agent:
    """`tools` lists the tools, `NAME JSON` calls one of them and says what the model would see."""
    agent = Agent("tested", local=True, mcp=transports())
    sessions = SessionServers(agent, **options)
    agent.on_session(sessions.open)
    agent.on_close(sessions.close)

    @agent.on_prompt
    async def reply(turn: Any) -> str:
        tools = {tool.spec.name: tool for tool in await mcp_tools(sessions.of(turn.session), turn)}
        name, _, given = turn.text.partition(" ")
        if name == "tools":
            keys = [tool.announce({}, turn.session.cwd).permission_key for tool in tools.values()]
            listed = [(tool.spec.name, tool.danger, tool.kind) for tool in tools.values()]
            return json.dumps([[*each, key] for each, key in zip(listed, keys, strict=True)])
        tool, arguments = tools[name], json.loads(given or "{}")
        announced = tool.announce(arguments, turn.session.cwd)
        async with turn.tool(announced.title, kind=tool.kind, name=name, input=arguments) as call:
            try:
                output = await tool.run(turn, call, arguments)
            except ToolError as error:
                call.fail()
                return f"ToolError: {error}"
        return json.dumps([msgspec.to_builtins(part) for part in output.content])

    return agent


def stdio(*args: str, name: str = "srv", env: dict[str, str] | None = None) -> dict[str, Any]:
    """The entry of our stdio server for `session/new`."""
    variables = [{"name": key, "value": value} for key, value in (env or {}).items()]
    return {"name": name, "command": sys.executable, "args": list(args), "env": variables}


def url(
    kind: str, address: str, headers: Sequence[tuple[str, str]] = (), name: str = "srv"
) -> dict[str, Any]:
    given = [{"name": key, "value": value} for key, value in headers]
    return {"type": kind, "name": name, "url": address, "headers": given}


async def use(editor: Any, session: str, prompt: str) -> Any:
    """Send a prompt; returns what the agent said, parsed if it is JSON."""
    editor.forget()
    await editor.prompt(session, prompt)
    said = editor.updates("agent_message_chunk")[-1]["content"]["text"]  # warnings come before
    try:
        return json.loads(said)
    except ValueError:
        return said


async def texts(editor: Any, session: str, prompt: str) -> str:
    """Send a prompt; returns the text that the model would see."""
    said = await use(editor, session, prompt)
    return said if isinstance(said, str) else "".join(part.get("text", "") for part in said)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something outside of this process."""
    deadline = time.monotonic() + 8
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def of_group(pid: int) -> list[int]:
    """The living processes of a process group."""
    found: list[int] = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            found.append(int(each))
    return found


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
