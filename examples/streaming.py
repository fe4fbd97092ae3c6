"""Streams its answer word by word, with thoughts, a plan and usage, as a model would."""

import asyncio

import acpella

agent = acpella.Agent("streaming", version="1.0")


@agent.on_prompt
async def reply(turn: acpella.Turn):
    plan = await turn.plan("think about the question", "answer it")
    await plan.start("think about the question")
    await turn.think(f"The user wrote {len(turn.text)} characters.")
    await plan.done("think about the question")

    await plan.start("answer it")
    for word in f"Let me repeat that slowly: {turn.text}".split():
        yield word + " "
        await asyncio.sleep(0.01)
    await plan.done("answer it")
    await turn.usage(used=len(turn.text) // 4, size=200_000)


if __name__ == "__main__":
    agent.run()
