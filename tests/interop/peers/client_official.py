"""Drives any agent with the official Python SDK: `client_official.py STEPS COMMAND…`; prints what it saw.

COMMAND may be a URL. STEPS is a JSON list of {"do": "new" | "load" | "list" | "mode" | "prompt" | "again",
…}, where "again" is a new connection, and "until" of a load is text to wait for; events come as JSON lines.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities


def tell(**event: Any) -> None:
    print(json.dumps(event), flush=True)


class Client(acp.Client):
    """Shows every update, allows everything, serves files of the disk."""

    def on_connect(self, conn: acp.Agent) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        tell(event="update", update=update.model_dump(mode="json", by_alias=True, exclude_none=True))
        if UNTIL and UNTIL in update.model_dump_json():
            ARRIVED.set()
        if CANCEL_ON and CANCEL_ON in update.model_dump_json():
            await CONNECTION.cancel(session_id=session_id)

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        kinds = [option.kind for option in options]
        tell(event="permission", title=tool_call.title, kinds=kinds)
        chosen = next(option for option in options if option.kind == ANSWER)
        outcome = {"outcome": "selected", "optionId": chosen.option_id}
        return acp.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> Any:
        tell(event="read", path=path)
        return acp.ReadTextFileResponse(content=await asyncio.to_thread(Path(path).read_text, "utf-8"))

    async def write_text_file(self, content: str, path: str, session_id: str, **_: Any) -> Any:
        tell(event="write", path=path)
        await asyncio.to_thread(Path(path).write_text, content, "utf-8")
        return acp.WriteTextFileResponse()


@asynccontextmanager
async def connected(command: list[str]) -> AsyncIterator[Any]:
    if command[0].startswith("http"):
        from acp.http import create_http_stream

        transport = create_http_stream(command[0])
    elif command[0].startswith("ws"):
        from acp.ws import create_websocket_stream

        transport = await create_websocket_stream(command[0])
    else:
        spawned = acp.spawn_agent_process(
            Client(), *command, env=os.environ, transport_kwargs={"stderr": None}, use_unstable_protocol=True
        )
        async with spawned as (connection, _process):
            yield connection
        return
    connection = acp.connect_to_agent(Client(), transport, use_unstable_protocol=True)
    try:
        yield connection
    finally:
        await connection.close()


async def main(steps: list[dict[str, Any]], command: list[str]) -> None:
    session_id = ""
    while steps:
        session_id, steps = await converse(session_id, steps, command)


async def converse(session_id: str, steps: list[dict[str, Any]], command: list[str]) -> Any:
    global CONNECTION, CANCEL_ON, ANSWER, UNTIL
    async with connected(command) as connection:
        CONNECTION = connection
        offers = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
        hello = await connection.initialize(protocol_version=1, client_capabilities=offers)
        tell(event="initialized", **hello.model_dump(mode="json", by_alias=True, exclude_none=True))
        for number, step in enumerate(steps, 1):
            CANCEL_ON, ANSWER = step.get("cancel_on", ""), step.get("answer", "allow_once")
            cwd, UNTIL = step.get("cwd", os.getcwd()), step.get("until", "")
            ARRIVED.clear()
            match step["do"]:
                case "new":
                    made = await connection.new_session(cwd=cwd, mcp_servers=[])
                    session_id = made.session_id
                    tell(event="new", **made.model_dump(mode="json", by_alias=True, exclude_none=True))
                case "load":
                    await connection.load_session(cwd=cwd, session_id=session_id, mcp_servers=[])
                    tell(event="loaded")
                    if UNTIL:
                        await ARRIVED.wait()
                case "list":
                    listed = await connection.list_sessions(cwd=cwd)
                    tell(event="list", ids=[one.session_id for one in listed.sessions])
                case "mode":
                    await connection.set_session_mode(mode_id=step["mode"], session_id=session_id)
                    tell(event="mode_set")
                case "prompt":
                    blocks = [acp.schema.TextContentBlock(type="text", text=step["text"])]
                    answer = await connection.prompt(session_id=session_id, prompt=blocks)
                    tell(event="stop", reason=answer.stop_reason)
                case "again":
                    return session_id, steps[number:]
    return session_id, []


CONNECTION: Any = None
CANCEL_ON = ""
UNTIL = ""
ARRIVED = asyncio.Event()
ANSWER = "allow_once"

if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
