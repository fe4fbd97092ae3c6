"""Agents that tests run as processes: `program.py NAME [STORE]`."""

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import acpella
from acpella.agent import Agent, log_writer

store = sys.argv[2] if len(sys.argv) > 2 else None
agent = Agent("program", store=store, local=True)


async def reply(turn: Any) -> Any:
    """Does what the prompt says."""
    verb, _, rest = turn.text.partition(" ")
    if verb == "say":
        yield rest
    elif verb == "wait":
        yield "begun"
        await asyncio.get_running_loop().create_future()
    elif verb == "stream":
        while True:
            yield "begun"
            await asyncio.sleep(0)
    elif verb == "ignore":
        yield "begun"
        while True:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                pass
    elif verb == "thread":
        yield "begun"
        await asyncio.to_thread(time.sleep, 100)
    elif verb == "permit":
        yield "begun"
        await turn.permit(None, "May I?")
    elif verb == "run":
        yield "begun"
        result = await turn.shell.run(rest)
        yield f" {result.exit_code} {result.output}"
    elif verb == "print":
        print("printed", rest)
        print("to stderr", file=sys.stderr)
        yield "printed"
    elif verb == "fail":
        raise RuntimeError("this belongs into the log")
    elif verb == "count":
        state = turn.session.state
        state["count"] = state.get("count", 0) + 1
        yield f"{rest} {state['count']}"


def block(turn: Any) -> None:
    """A plain function that does not check whether it was cancelled."""
    turn.say("begun")
    time.sleep(100)


async def stream(turn: Any) -> Any:
    """The reply that the kill test kills: chunks and tool calls, with a little time between them."""
    name = turn.text
    turn.session.state["last"] = name
    for part in range(3):
        yield f"<{name}.{part}>"
        async with turn.tool(f"tool {name}.{part}") as call:
            await asyncio.sleep(0.0005)
            call.show(f"{name}.{part}")
    yield f"<{name}.end>"


def break_reading() -> None:
    """As if reading `session/new` had a bug."""
    from acpella.schema import methods

    def fail(method: Any, raw: Any) -> Any:
        if method.name == "session/new":
            raise KeyError("a bug")
        return read_params(method, raw)

    read_params = methods.Method.read_params
    setattr(methods.Method, "read_params", fail)  # noqa: B010 - it is no method of its own, says the type checker


def keep_thread(turn: Any) -> None:
    """Leaves a thread of its own running until a file is there."""
    file = Path(turn.text)

    def wait() -> None:
        while not file.exists():
            time.sleep(0.01)

    threading.Thread(target=wait, name="a thread of mine", daemon=False).start()
    turn.say("begun")


match sys.argv[1]:
    case "goes on":
        agent.on_prompt(reply)
        agent.run()
        sys.exit(3)
    case "keep":
        agent.on_prompt(keep_thread)
        agent.run()
    case "broken":
        break_reading()
        agent.on_prompt(reply)
        agent.run()
    case "function":
        acpella.run(reply, name="function")
    case "block":
        agent.on_prompt(block)
        agent.run()
    case "stream":
        log_writer.FLUSH_AFTER = 0.003  # turns that are killed are kept in part
        agent.on_prompt(stream)
        agent.run()
    case _:
        agent.on_prompt(reply)
        agent.run()
