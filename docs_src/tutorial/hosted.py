import acpella

agent = acpella.Agent("hello", version="1.0", store="sqlite")


@agent.on_prompt
async def reply(turn):
    yield f"You said: {turn.text}"


if __name__ == "__main__":
    agent.run()
