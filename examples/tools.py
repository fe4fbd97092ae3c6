"""Reads, asks, writes and runs: through the editor where it offers that, else on this machine.

Try: `count words in README.md`, `shout notes.txt`, `run ls -l`.
"""

import acpella

agent = acpella.Agent("tools", version="1.0", local=True)


@agent.on_prompt
async def reply(turn: acpella.Turn):
    verb, _, rest = turn.text.partition(" ")
    match verb.lower():
        case "count":
            yield await count_words(turn, rest.removeprefix("words in ").strip())
        case "shout":
            yield await shout(turn, rest.strip())
        case "run":
            result = await turn.shell.run(rest)
            yield f"It ended with code {result.exit_code}." if not result.timed_out else "It took too long."
        case _:
            yield "I know `count words in FILE`, `shout FILE` and `run COMMAND`."


async def count_words(turn: acpella.Turn, path: str) -> str:
    async with turn.tool(f"Read {path}", kind="read", locations=[path]) as call:
        try:
            text = await turn.files.read(path)
        except FileNotFoundError:
            call.fail(f"There is no {path}.")
            return f"There is no {path}."
        call.show(text[:2000])
    return f"{path} has {len(text.split())} words."


async def shout(turn: acpella.Turn, path: str) -> str:
    try:
        old = await turn.files.read(path)
    except FileNotFoundError:
        return f"There is no {path}."
    async with turn.tool(f"Shout {path}", kind="edit", name="shout", locations=[path], pending=True) as call:
        call.diff(path, old, old.upper())
        await call.progress()
        if not await turn.permit(call, f"Write {path}"):
            call.fail("The user said no.")
            return "Then I will be quiet."
        await turn.files.write(path, old.upper())
    return "DONE."


if __name__ == "__main__":
    agent.run()
