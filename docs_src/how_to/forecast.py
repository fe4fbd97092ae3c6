import acpella

agent = acpella.Agent("forecast", version="1.0")


@agent.on_prompt
async def reply(turn):
    forecast = await turn.extension("_example/forecast", {"city": turn.text})
    await turn.notify("_example/seen", {"city": turn.text})  # no answer is expected
    yield f"Tomorrow: {forecast['sky']}"


if __name__ == "__main__":
    agent.run()
