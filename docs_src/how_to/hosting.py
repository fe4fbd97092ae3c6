import hmac
import os

from fastapi import FastAPI

import acpella

agent = acpella.Agent("hello", version="1.0", store="sqlite")


@agent.on_prompt
async def reply(turn):
    yield f"You said: {turn.text}"


def check(requester):
    wanted = "Bearer " + os.environ["TEAM_TOKEN"]
    given = requester.headers.get("authorization", "")
    return "team" if hmac.compare_digest(given, wanted) else None


agents = acpella.server.asgi(agent, auth=check)
app = FastAPI(lifespan=agents.lifespan)
app.mount("/agents", agents)
