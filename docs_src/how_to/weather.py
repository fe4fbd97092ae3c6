import acpella

agent = acpella.Agent("weather", version="1.0")


@agent.on_request("_example/weather")
async def weather(params):
    return {"sky": "clear", "city": params["city"]}


@agent.on_prompt
async def reply(turn):
    yield "Ask me for the weather."


if __name__ == "__main__":
    agent.run()
