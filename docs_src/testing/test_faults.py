import asyncio

import acpella
from acpella.testing import FaultyChannel, ScriptedAgent, faults, repeat, say
from acpella.transport import ProcessChannel


def test_small_pieces_and_garbage(tmp_path):
    agent = ScriptedAgent().on("kiwi", repeat(10, say("green ")))

    async def conversation():
        bad = FaultyChannel(
            ProcessChannel(agent.command), faults.split(3), faults.garbage(share=0.2, way="in"), seed=7
        )
        async with acpella.connect(bad) as gardener:
            session = await gardener.new_session(tmp_path)
            return await session.prompt("kiwi")

    assert asyncio.run(conversation()).text == "green " * 10
