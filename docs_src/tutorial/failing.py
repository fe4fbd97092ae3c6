import acpella

agent = acpella.Agent("careful", version="1.0")


@agent.on_prompt
async def reply(turn):
    match turn.text.strip():
        case "login":
            raise acpella.AuthRequired()
        case "long":
            turn.stop("max_tokens")
            yield "This answer was cut because the model ran out of"
        case "bug":
            raise ValueError("this text stays in the log")
        case _:
            yield "Try `login`, `long` or `bug`."


if __name__ == "__main__":
    agent.run()
