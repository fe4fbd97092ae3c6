"""A DSPy program in an editor: its answer streams, and it sees what was said before."""

import dspy

import acpella

dspy.configure(lm=dspy.LM("openai/gpt-5"))
program = dspy.streamify(
    dspy.Predict("history: dspy.History, question -> answer"),
    stream_listeners=[dspy.streaming.StreamListener("answer", allow_reuse=True)],
)


async def reply(turn):
    said = turn.session.state.setdefault("said", [])
    async for piece in program(question=turn.text, history=dspy.History(messages=said)):
        if isinstance(piece, dspy.streaming.StreamResponse):
            yield piece.chunk
        elif isinstance(piece, dspy.Prediction):
            said.append({"question": turn.text, "answer": piece.answer})


if __name__ == "__main__":
    acpella.run(reply, store="sqlite")
