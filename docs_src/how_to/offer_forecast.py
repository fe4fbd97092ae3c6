import asyncio

import acpella


async def forecast(params):
    return {"sky": f"clear over {params['city']}"}


async def main():
    async with acpella.connect("forecast.py", requests={"_example/forecast": forecast}) as agent:
        session = await agent.new_session(cwd=".")
        print((await session.prompt("Oslo")).text)


asyncio.run(main())
