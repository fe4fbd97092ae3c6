import asyncio

import acpella


async def reply(turn):
    plan = await turn.plan("read the question", "answer it")

    await turn.think(f"The prompt has {len(turn.text.split())} words.")
    await plan.done("read the question")

    for word in f"You said: {turn.text}".split():
        yield word + " "
        await asyncio.sleep(0.05)  # a model would need this long as well
    await plan.done("answer it")


acpella.run(reply)
