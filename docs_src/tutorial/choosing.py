import acpella
from acpella import Mode, Select

agent = acpella.Agent(
    "tidy",
    version="0.4",
    local=True,
    modes=[Mode("check", "Check"), Mode("fix", "Fix", "Writes what it finds")],
    options=[Select("width", "Line width", ["80", "100", "120"])],
)


@agent.on_prompt
async def reply(turn):
    width = int(turn.session.option("width"))
    text = await turn.files.read(turn.text.strip())
    long_lines = [n for n, line in enumerate(text.splitlines(), 1) if len(line) > width]
    yield f"{len(long_lines)} lines are longer than {width} characters."
    if turn.session.mode == "fix" and long_lines:
        yield " I would wrap them now."


@agent.command("width", "Change the line width", hint="80, 100 or 120")
async def width(turn):
    await turn.session.set_option("width", turn.argument)
    yield f"Lines may have {turn.argument} characters from now on."


if __name__ == "__main__":
    agent.run()
