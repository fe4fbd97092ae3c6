"""The benchmark agent behind acpella's server. Prints its port."""

import asyncio
import sys

from acpella import Agent, Turn
from acpella.server import Runner, ServerSettings

agent = Agent("bench")


@agent.on_prompt
async def stream(turn: Turn) -> None:
    """`stream N`: so many updates. `pace N S`: one every S seconds."""
    words = turn.text.split()
    for number in range(int(words[1])):
        await turn.say(f"update {number:08d} of a stream of text")
        if words[0] == "pace":
            await asyncio.sleep(float(words[2]))


async def main() -> None:
    settings = ServerSettings(requests_per_second=0, max_connections=4096, max_connections_per_user=4096)
    runner = Runner(agent, port=0, settings=settings)
    runner.bind()
    print(runner.port, flush=True)
    await runner.run()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
