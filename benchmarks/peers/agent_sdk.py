"""The stream of agent_acpella.py through the agent SDK: `agent_sdk.py [DATABASE]`."""

import sys

import acpella

agent = acpella.Agent("benchmark", store=sys.argv[1] if len(sys.argv) > 1 else None)


@agent.on_prompt
async def reply(turn):
    for number in range(int(turn.text.split()[1])):
        yield f"token {number} "


agent.run()
