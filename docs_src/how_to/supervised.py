import asyncio

from acpella import ConnectionClosed
from acpella.client import Restarts, Supervisor


async def main():
    async with Supervisor(restarts=Restarts(budget=5, window=60)) as agents:
        helper = agents.start("helper", "fragile.py")
        session = await helper.new_session(".")
        await (await session.prompt("my name is Ada"))
        try:
            await (await session.prompt("crash"))
        except ConnectionClosed as error:
            print("It died:", error)
        print((await (await session.prompt("who am I?"))).text)


asyncio.run(main())
