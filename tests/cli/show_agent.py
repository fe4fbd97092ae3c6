"""An agent for tests of the terminal: each prompt is the name of something to show."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

from acpella import Agent, Choice, Mode, Select, Toggle
from acpella.schema import (
    AgentMessageChunk,
    BooleanPropertySchema,
    Content,
    EnumOption,
    ImageContent,
    IntegerPropertySchema,
    MultiSelectPropertySchema,
    Notice,
    ResourceLink,
    StringPropertySchema,
    Terminal,
    TextContent,
    TitledMultiSelectItems,
    ToolCall,
    ToolCallProgress,
    Unknown,
)

agent = Agent(
    "shower",
    version="1.0",
    images=True,
    store="sqlite",
    modes=[Mode("code", "Code"), Mode("plan", "Plan", "Reads only"), Mode("yolo", "Yolo")],
    options=[
        Select("model", "Model", [Choice("small", "Small"), Choice("large", "Large")], category="model"),
        Toggle("loud", "Loud", default=False),
    ],
)

MARKDOWN = """# A heading

Some **bold** words and `code`, with a [link](https://example.com/there).

- first
- second

```python
def answer():
    return 42
```

| a | b |
|---|---|
| 1 | 2 |

The end.
"""
NOVELTY = b'{"sessionUpdate":"novelty","what":1}'
NASTY = "before \x1b]0;owned\x07\x1b[2J\x1b[Hafter \x9b31mred\x1b[0m done"
OLD = "".join(f"line {number}\n" for number in range(1, 31))


@agent.on_prompt
async def reply(turn):
    name, _, rest = turn.text.partition(" ")
    show = SHOWS.get(name)
    if show is None:
        yield f"You said: {turn.text} [{', '.join(type(block).__name__ for block in turn.prompt)}]"
        return
    async for text in show(turn, rest):
        yield text


async def markdown(turn, rest):
    for start in range(0, len(MARKDOWN), 7):
        yield MARKDOWN[start : start + 7]
        await asyncio.sleep(0.002)


async def nasty(turn, rest):
    for char in NASTY:
        yield char
    async with turn.tool("evil \x1b[2J title", kind="read"):
        pass
    await turn.update(ToolCall(tool_call_id="t", title="\x1b]0;owned\x07ok", kind="read", status="completed"))


async def wide(turn, rest):
    yield "漢字かな交じり文 " * 40 + "\n\n" + "x" * 3000 + " end of the long line 👩‍👩‍👧\n"


async def tools(turn, rest):
    plan = await turn.plan("look", "change", "run")
    await plan.start("look")
    async with turn.tool("Read notes", kind="read", locations=["notes.txt"]):
        await asyncio.sleep(0.05)
    await plan.done("look")
    async with turn.tool("Edit notes", kind="edit", locations=["notes.txt"]) as call:
        call.diff("notes.txt", OLD, OLD.replace("line 17", "line seventeen"))
    await plan.done("change")
    async with turn.tool("make test", kind="execute") as call:
        call.show("\n".join(f"output {n}" for n in range(1, 10_001)))
        call.fail()
    await turn.think("Is that **enough**?")
    yield "All *done*."
    await turn.usage(used=5000, size=200_000)


async def foreign(turn, rest):
    """FIELD-NOTES 4: a terminal that the client never made."""
    meta = {"terminal_info": {"terminal_id": "t1", "cwd": "/"}}
    await turn.update(
        ToolCall(
            tool_call_id="c1",
            title="ls /nowhere",
            kind="execute",
            content=[Terminal(terminal_id="t1")],
            meta=meta,
        )
    )
    for data in ("no such ", "directory\n"):
        meta = {"terminal_output": {"terminal_id": "t1", "data": data}}
        await turn.update(ToolCallProgress(tool_call_id="c1", status="in_progress", meta=meta))
    meta = {"terminal_exit": {"terminal_id": "t1", "exit_code": 3, "signal": None}}
    await turn.update(ToolCallProgress(tool_call_id="c1", status="completed", meta=meta))
    yield "That failed."


async def shell(turn, rest):
    result = await turn.shell.run(rest)
    yield f"code {result.exit_code}"


async def things(turn, rest):
    await turn.update(AgentMessageChunk(content=ImageContent(data="QUJD" * 1000, mime_type="image/png")))
    await turn.update(AgentMessageChunk(content=ResourceLink(uri="file:///a/b.txt", name="b.txt", size=2048)))
    await turn.update(Notice(severity="warning", title="Low on tokens", description="10 left"))
    block = Content(content=TextContent(text="boom: it broke"))
    await turn.update(
        ToolCall(tool_call_id="x", title="Fetch", kind="fetch", status="failed", content=[block])
    )
    await turn.update(Unknown(tag="novelty", raw=NOVELTY))
    yield "seen"


async def ask(turn, rest):
    async with turn.tool("Edit notes", kind="edit", name=f"edit{rest}", locations=["notes.txt"]) as call:
        call.diff("notes.txt", "quiet\n", "LOUD\n")
        allowed = await turn.permit(call, "Write notes.txt", key=f"key{rest}")
    yield f"allowed: {allowed}"


async def ask_many(turn, rest):
    async def one(number):
        return await turn.permit(None, f"Question {number}", key=f"q{number}")

    answers = await asyncio.gather(*(one(number) for number in range(int(rest or 3))))
    yield f"answers: {answers}"


async def trick(turn, rest):
    words = "echo this is harmless " * 12 + "; rm -rf everything"
    allowed = await turn.permit(None, f"Run {words}", key="trick", covers=words)
    yield f"allowed: {allowed}"


async def form(turn, rest):
    answer = await turn.elicit(
        "Tell me about the release",
        {
            "name": StringPropertySchema(title="Name", min_length=2),
            "size": StringPropertySchema(title="Size", enum=["small", "large"], default="small"),
            "count": IntegerPropertySchema(title="Count", minimum=1, maximum=5),
            "sure": BooleanPropertySchema(title="Sure"),
            "parts": MultiSelectPropertySchema(
                title="Parts",
                items=TitledMultiSelectItems(
                    any_of=[EnumOption(const="c", title="Core"), EnumOption(const="d", title="Docs")]
                ),
            ),
            "note": StringPropertySchema(title="Note"),
        },
        required=["name", "count", "sure"],
    )
    yield f"form: {answer.action} {answer.content}"


async def page(turn, rest):
    answer = await turn.elicit_url("Log in, please", "https://example.com/login", elicitation_id="e1")
    yield f"page: {answer.action}"


async def slow(turn, rest):
    yield "I begin"
    for number in range(600):
        await asyncio.sleep(0.05)
        yield f" {number}"


async def stubborn(turn, rest):
    """Says when it starts, then waits for the cancel."""
    yield "I wait.\n\n"
    await asyncio.sleep(60)


async def die(turn, rest):
    yield "Goodbye"
    sys.stderr.write("last words \x1b]0;owned\x07\n")
    sys.stderr.flush()
    await asyncio.sleep(0.1)
    os.kill(os.getpid(), signal.SIGKILL)


async def long(turn, rest):
    yield "```python\n"
    for number in range(300):
        yield f"value_{number} = {number}\n"
    yield "```\nAfter the code.\n"


async def limit(turn, rest):
    yield "As far as I got"
    turn.stop("max_tokens")


async def several(turn: Any, rest: str) -> AsyncIterator[str]:
    for name in rest.split():
        async for text in SHOWS[name](turn, ""):
            yield text + "\n\n"


SHOWS: dict[str, Any] = {
    "several": several,
    "markdown": markdown,
    "nasty": nasty,
    "wide": wide,
    "tools": tools,
    "foreign": foreign,
    "shell": shell,
    "things": things,
    "ask": ask,
    "many": ask_many,
    "trick": trick,
    "form": form,
    "page": page,
    "slow": slow,
    "stubborn": stubborn,
    "die": die,
    "long": long,
    "limit": limit,
}


@agent.command("history", "What was said before")
async def history(turn):
    yield "nothing much"


@agent.command("help", "The agent's own help")
async def help_command(turn):
    yield "help of the agent"


if __name__ == "__main__":
    agent.run()
