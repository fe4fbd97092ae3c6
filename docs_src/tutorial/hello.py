import acpella


async def reply(turn):
    yield f"You said: {turn.text}"


acpella.run(reply)
