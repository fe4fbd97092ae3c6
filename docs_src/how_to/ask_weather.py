import asyncio

import acpella


async def main():
    async with acpella.connect("weather.py") as agent:
        print(await agent.extension("_example/weather", {"city": "Oslo"}))


asyncio.run(main())
