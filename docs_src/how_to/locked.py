import os

import acpella
from acpella import EnvLogin

agent = acpella.Agent("locked", version="1.0", logins=[EnvLogin("key", "API key", ["EXAMPLE_API_KEY"])])


@agent.on_prompt
async def reply(turn):
    if not os.environ.get("EXAMPLE_API_KEY"):
        raise acpella.AuthRequired()
    yield "You are in."


if __name__ == "__main__":
    agent.run()
