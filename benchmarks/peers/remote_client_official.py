"""The benchmark client on the official Python SDK: `remote_client_official.py URL UPDATES`. Prints JSON."""

import asyncio
import json
import resource
import sys
import time
from typing import Any

import acp
from acp.schema import AgentMessageChunk, TextContentBlock


class BenchmarkClient(acp.Client):
    def __init__(self) -> None:
        self.seen = self.characters = 0
        self.wanted = -1
        self.all_seen = asyncio.Event()

    def on_connect(self, conn: acp.Agent) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        assert isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContentBlock)
        self.seen += 1
        self.characters += len(update.content.text)
        if self.seen == self.wanted:
            self.all_seen.set()


async def main(url: str, updates: int) -> None:
    if url.startswith("ws"):
        from acp.ws import create_websocket_stream

        transport = await create_websocket_stream(url)
    else:
        from acp.http import create_http_stream

        transport = create_http_stream(url)
    client = BenchmarkClient()
    connection = acp.connect_to_agent(client, transport)
    await connection.initialize(protocol_version=1)
    session = (await connection.new_session(cwd="/tmp", mcp_servers=[])).session_id

    async def stream(count: int) -> None:
        client.seen = client.characters = 0
        client.wanted = count
        client.all_seen.clear()
        await connection.prompt(
            session_id=session, prompt=[acp.schema.TextContentBlock(type="text", text=f"stream {count}")]
        )
        await client.all_seen.wait()  # its answers may overtake its updates

    await stream(50)
    start, cpu = time.perf_counter(), time.process_time()
    await stream(updates)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert (client.seen, client.characters) == (updates, updates * len("update 00000000 of a stream of text"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {"updates_per_second": updates / seconds, "client_cpu_us": cpu / updates * 1e6, "kib": peak}
        )
    )
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
