import os

import acpella

agent = acpella.Agent("fragile", version="1.0", store="sqlite")


@agent.on_prompt
async def reply(turn):
    if turn.text == "crash":
        os._exit(1)
    seen = turn.session.state.setdefault("seen", [])
    seen.append(turn.text)
    yield f"I remember: {', '.join(seen)}"


if __name__ == "__main__":
    agent.run()
