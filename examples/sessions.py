"""Remembers: sessions on disk, modes, options and slash commands."""

from acpella import Agent, Choice, Mode, Select, Toggle, Turn

agent = Agent(
    "sessions",
    version="1.0",
    store="sqlite",
    modes=[Mode("polite", "Polite"), Mode("blunt", "Blunt", "Says what it thinks")],
    options=[
        Select("model", "Model", [Choice("small", "Small"), Choice("large", "Large")], category="model"),
        Toggle("count", "Count prompts", default=True),
    ],
)


@agent.on_prompt
async def reply(turn: Turn):
    history = turn.session.state.setdefault("history", [])
    history.append(turn.text)
    greeting = "You were kind enough to write" if turn.session.mode == "polite" else "You wrote"
    yield f"{greeting}: {turn.text}"
    if turn.session.option("count"):
        yield f"\n\nThat was prompt {len(history)}, answered by the {turn.session.option('model')} model."


@agent.command("history", "What you asked so far")
async def history(turn: Turn):
    for number, text in enumerate(turn.session.state.get("history", []), 1):
        yield f"{number}. {text}\n"


@agent.command("mode", "Change the mode", hint="polite or blunt")
async def mode(turn: Turn):
    try:
        await turn.session.set_mode(turn.argument)
    except ValueError as error:
        yield str(error)
    else:
        yield f"The mode is {turn.argument} now."


if __name__ == "__main__":
    agent.run()
