import acpella

agent = acpella.Agent("tidy", version="0.2", local=True)


@agent.on_prompt
async def reply(turn):
    path = turn.text.strip()
    try:
        old = await turn.files.read(path)
    except FileNotFoundError:
        yield f"I cannot find {path}."
        return

    new = "".join(line.rstrip() + "\n" for line in old.splitlines())
    if new == old:
        yield f"{path} is tidy."
        return

    async with turn.tool(f"Tidy {path}", kind="edit", name="tidy", locations=[path], pending=True) as call:
        call.diff(path, old, new)
        if not await turn.permit(call, f"Write {path}"):
            yield "Then I leave it as it is."
            return
        await turn.files.write(path, new)
    yield f"I tidied {path}."


if __name__ == "__main__":
    agent.run()
