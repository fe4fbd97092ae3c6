import acpella
from acpella.schema import StringPropertySchema

agent = acpella.Agent("deploy", version="1.0")


@agent.on_prompt
async def reply(turn):
    try:
        answer = await turn.elicit(
            "Which branch?", {"branch": StringPropertySchema(title="Branch", default="main")}
        )
    except acpella.Unsupported:
        yield "This editor cannot show a form. Please write the branch."
        return
    if answer.accepted:
        yield f"I deploy {answer.content['branch']}."
    else:
        yield "Then I deploy nothing."


if __name__ == "__main__":
    agent.run()
