"""A loop of your own around Anthropic's API: the history is yours, and acpella keeps it with the session."""

import anthropic

import acpella

client = anthropic.AsyncAnthropic()


async def reply(turn):
    history = turn.session.state.setdefault("messages", [])
    history.append({"role": "user", "content": turn.text})
    async with client.messages.stream(model="claude-sonnet-5", max_tokens=4096, messages=history) as stream:
        async for piece in stream.text_stream:
            yield piece
        history.append({"role": "assistant", "content": await stream.get_final_text()})


if __name__ == "__main__":
    acpella.run(reply, store="sqlite")
