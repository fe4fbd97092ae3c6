import asyncio

import acpella
from acpella import Permissions, Rule, Workspace

permissions = Permissions(
    "allow-reads",
    rules=[
        Rule("deny", kinds=["edit"], paths=["*/migrations/*"]),
        Rule("allow", kinds=["edit"]),
    ],
)


async def main():
    async with acpella.connect("agent.py", permissions=permissions, files=Workspace(write=True)) as agent:
        session = await agent.new_session(cwd=".")
        for path in ("notes.txt", "migrations/1.sql"):
            print((await session.prompt(path)).text)


asyncio.run(main())
