"""The benchmark client on acpella: `remote_client_acpella.py URL UPDATES`. Prints one JSON line."""

import asyncio
import json
import resource
import sys
import time

import acpella
from acpella.schema import AgentMessageChunk, TextContent


async def main(url: str, updates: int) -> None:
    async with acpella.connect(url) as agent:
        session = await agent.new_session("/tmp")
        await session.prompt("stream 50")
        seen = characters = 0
        start, cpu = time.perf_counter(), time.process_time()
        async for update in session.prompt(f"stream {updates}"):
            assert isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
            seen += 1
            characters += len(update.content.text)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert (seen, characters) == (updates, updates * len("update 00000000 of a stream of text"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {"updates_per_second": updates / seconds, "client_cpu_us": cpu / updates * 1e6, "kib": peak}
        )
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
