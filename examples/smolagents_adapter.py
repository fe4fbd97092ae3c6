"""An adapter for smolagents in 60 lines: `acpella.adapters` has the interface, this shows what it takes.

A package registers it under the entry-point group "acpella.adapters", with the name "smolagents".
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from acpella.adapters import AdaptedTurn, Adapter, Conversation, Declared
from acpella.agent import Session


class SmolagentsAdapter(Adapter):
    name = "smolagents"
    package = "smolagents"
    floor = "1.26"
    classes = ("smolagents.agents.MultiStepAgent",)
    approvals = False  # smolagents asks nobody

    def declare(self, target: Any) -> Declared:
        return Declared(name=target.name or "agent", images=False)

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return Steps(target)


class Steps(Conversation):
    """Runs the agent in a thread, and shows what it yields."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    async def reply(self, at: AdaptedTurn) -> None:
        said: list[list[str]] = at.memory.setdefault("said", [])
        before = "".join(f"User: {question}\nYou: {answer}\n" for question, answer in said)
        events = iter(self.agent.run(before + at.text, stream=True, reset=True))
        answer = ""
        try:
            while (event := await asyncio.to_thread(next, events, None)) is not None:
                answer = await self.show(at, event) or answer
        finally:  # also when the user has cancelled
            self.agent.interrupt()
            said.append([at.text, answer])

    async def show(self, at: AdaptedTurn, event: Any) -> str | None:
        match type(event).__name__:
            case "ToolCall" if event.name != "final_answer":
                given: Any = event.arguments
                arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {"code": given}
                await at.calls.start(event.id, event.name, arguments)
            case "ToolOutput" if not event.is_final_answer:
                await at.calls.end(event.id, event.output)
            case "ActionStep":
                for call_id in at.calls.open_ids:  # a tool that failed has no output, only an error
                    await at.calls.end(
                        call_id, str(event.error or event.observations or ""), failed=bool(event.error)
                    )
            case "FinalAnswerStep":
                answer = "".join(str(event.output))  # smolagents has a `str` of its own, which is no JSON
                await at.say(answer)
                return answer
            case _:
                pass
        return None
