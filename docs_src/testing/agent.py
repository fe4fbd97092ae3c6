import acpella

agent = acpella.Agent("gardener", local=True)


@agent.on_prompt
async def reply(turn):
    fruit = turn.text.strip()
    async with turn.tool(f"Write {fruit}.txt", kind="edit", pending=True) as call:
        if not await turn.permit(call, f"Write {fruit}.txt"):
            yield "Then I plant nothing."
            return
        await turn.files.write(f"{fruit}.txt", f"one {fruit}\n")
    yield f"I planted one {fruit}."


if __name__ == "__main__":
    agent.run()
