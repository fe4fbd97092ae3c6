import acpella

agent = acpella.Agent("tidy", version="0.1", local=True)


@agent.on_prompt
async def reply(turn):
    path = turn.text.strip()
    async with turn.tool(f"Read {path}", kind="read", locations=[path]) as call:
        try:
            text = await turn.files.read(path)
        except FileNotFoundError:
            call.fail()
            yield f"I cannot find {path}."
            return
        call.show(text)

    untidy = [n for n, line in enumerate(text.splitlines(), 1) if line != line.rstrip()]
    if untidy:
        yield f"{path} has trailing spaces (line {', '.join(map(str, untidy))})."
    else:
        yield f"{path} is tidy."


if __name__ == "__main__":
    agent.run()
