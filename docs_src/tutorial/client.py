import asyncio

import acpella
from acpella.schema import AgentMessageChunk, TextContent, ToolCall


async def main():
    async with acpella.connect("hello.py") as agent:
        session = await agent.new_session(cwd=".")
        async for update in session.prompt("hi"):
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                print(update.content.text, end="")
            elif isinstance(update, ToolCall):
                print(f"[{update.title}]")
    print()


asyncio.run(main())
