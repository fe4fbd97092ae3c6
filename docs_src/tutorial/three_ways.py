import acpella


async def generator(turn):
    yield "Hello!"


async def coroutine(turn):
    await turn.say("Hello!")


def plain_function(turn):
    turn.say("Hello!")


if __name__ == "__main__":
    acpella.run(plain_function)
