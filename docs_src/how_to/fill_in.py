import asyncio

import acpella
from acpella.client import defaults_of
from acpella.schema import ElicitationUrlMode


async def on_elicit(request):
    if isinstance(request, ElicitationUrlMode):
        return False  # this program opens no pages
    return defaults_of(request)


async def main():
    async with acpella.connect("branch.py", on_elicit=on_elicit) as agent:
        session = await agent.new_session(cwd=".")
        print((await session.prompt("deploy")).text)


asyncio.run(main())
