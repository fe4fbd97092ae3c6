import acpella

agent = acpella.Agent("tidy", version="0.3", local=True)


@agent.on_prompt
async def reply(turn):
    command = turn.text.strip()
    async with turn.tool(f"Run {command}", kind="execute", name="run", pending=True) as call:
        if not await turn.permit(call, f"Run {command}", key=command, covers=command):
            yield "Then I do not run it."
            return
        result = await turn.shell.run(command, timeout=60, call=call)
    if result.timed_out:
        yield "It took too long, so I stopped it."
    else:
        yield f"It ended with exit code {result.exit_code}."


if __name__ == "__main__":
    agent.run()
