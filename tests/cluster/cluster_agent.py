"""The agent that the nodes of these tests serve: it does what the prompt says, and notes what it began."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import acpella

agent = acpella.Agent("noting", version="1", local=True)

NOTES = Path(os.environ.get("NOTES", "notes"))


def note(word: str) -> None:
    with NOTES.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {word}\n")


@agent.on_prompt
async def reply(turn: Any) -> None:
    """`count N PAUSE`, `stamp N PAUSE`, `flood N`, `blobs N SIZE`, `ask`, `tool`, `child`, `shell SECONDS`,
    `die`; else the words are repeated."""
    note(turn.text)
    verb, _, rest = turn.text.partition(" ")
    if verb == "count":
        number, pause = rest.split()[:2]
        for each in range(int(number)):
            await turn.say(f"<{each}>")
            await asyncio.sleep(float(pause))
    elif verb == "stamp":
        number, pause = rest.split()[:2]
        for _ in range(int(number)):
            await turn.say(f"<{time.monotonic_ns()}>")
            await asyncio.sleep(float(pause))
    elif verb == "flood":
        for each in range(int(rest.split()[0])):
            await turn.say(f"<{each}>")
    elif verb == "blobs":
        number, size = rest.split()[:2]
        for each in range(int(number)):
            await turn.say(f"<{each}>" + "x" * int(size))
    elif verb == "shell":
        await turn.shell.run(["sleep", rest.split()[0]], local=True)
    elif verb == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "ask":
        await turn.say("yes" if await turn.permit(None, "Do it?") else "no")
    elif verb == "tool":
        async with turn.tool("A long job", kind="execute"):
            await turn.say("working")
            await asyncio.sleep(float((rest or "3600").split()[0]))
    elif verb == "child":
        async with turn.tool("A child", kind="execute"):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "import time; time.sleep(3600)", start_new_session=True
            )
            note(f"child {process.pid}")
            await turn.say("working")
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
    else:
        await turn.say(turn.text)
