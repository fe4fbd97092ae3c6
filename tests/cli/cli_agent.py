"""An agent that does what the prompt says, and logs what happened to it.

cli_agent.py LOG [--store] [--login]
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from acpella import Agent, EnvLogin

log = Path(sys.argv[1])
agent = Agent(
    "scripted",
    version="1",
    store="sqlite" if "--store" in sys.argv else None,
    logins=[EnvLogin("key", "API key", ["SCRIPTED_KEY"])] if "--login" in sys.argv else [],
)


def note(what: str, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps([what, text, os.getpid()]) + "\n")


@agent.on_prompt
async def reply(turn):
    text = turn.text
    word, _, rest = text.partition(" ")
    note("begin", text)
    try:
        if word == "wait":  # until there is a file of that name
            yield "waiting\n"
            while not os.path.exists(rest):  # noqa: ASYNC110, ASYNC240 - files are what processes share
                await asyncio.sleep(0.01)
        elif word == "die":
            print("something broke inside", file=sys.stderr, flush=True)
            os._exit(7)
        elif word == "read":
            yield await turn.files.read(rest)
        elif word == "write":
            await turn.files.write(rest, "written")
        elif word == "ask":
            async with turn.tool("Do " + rest, kind="edit", name=rest, locations=[rest]) as call:
                yield "allowed" if await turn.permit(call, "Do " + rest) else "not allowed"
            return
        elif word == "command":  # one that lives in a session of its own, and is not ended by the agent
            command = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
            note("pid", str(command.pid))
            yield "runs\n"
            await asyncio.sleep(600)
        elif word == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if rest:
                note("pid", str(subprocess.Popen(rest.split(), start_new_session=True).pid))  # noqa: ASYNC220
            yield "stubborn\n"
            while True:
                time.sleep(1)  # noqa: ASYNC251 - deaf to everything
        yield f"{text} by {os.getpid()}"
    except asyncio.CancelledError:
        note("cancelled", text)
        raise
    finally:
        note("end", text)


agent.run()
