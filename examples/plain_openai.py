"""A loop of your own around OpenAI's API: the history is yours, and acpella keeps it with the session."""

import openai

import acpella

client = openai.AsyncOpenAI()


async def reply(turn):
    history = turn.session.state.setdefault("messages", [])
    history.append({"role": "user", "content": turn.text})
    answer = ""
    async for chunk in await client.chat.completions.create(model="gpt-5", messages=history, stream=True):
        piece = chunk.choices[0].delta.content if chunk.choices else None
        if piece:
            answer += piece
            yield piece
    history.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    acpella.run(reply, store="sqlite")
