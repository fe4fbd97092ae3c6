import acpella

agent = acpella.Agent("tidy", version="0.5", store="sqlite")


@agent.on_prompt
async def reply(turn):
    seen = turn.session.state.setdefault("seen", [])
    seen.append(turn.text)
    yield f"That was prompt {len(seen)}. The first one was: {seen[0]}"


if __name__ == "__main__":
    agent.run()
