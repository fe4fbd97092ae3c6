import asyncio

import acpella
from acpella.recording import RecordedFrame, read


async def main() -> None:
    agent = acpella.Agent("echo")

    @agent.on_prompt
    async def reply(turn: acpella.Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    async with acpella.connect(agent, record="echo.jsonl") as connected:
        session = await connected.new_session(".")
        await session.prompt("hello")

    for item in read("echo.jsonl"):
        if isinstance(item, RecordedFrame):
            print(item.time, item.direction, item.message)


asyncio.run(main())
