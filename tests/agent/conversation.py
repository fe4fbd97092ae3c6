"""A conversation for tests of sessions: an agent that counts, and what an editor shows of it."""

from typing import Any

from acpella.agent import Agent, Mode, Select, Toggle
from acpella.sessions import Store
from agent.editor import FakeEditor, Json, agent_of


async def converse(turn: Any) -> Any:
    """Count the prompts, and send a thought, a tool call, a plan and a message."""
    state = turn.session.state
    state["count"] = state.get("count", 0) + 1
    await turn.think("let me think")
    async with turn.tool("Look", locations=["a.py"]) as call:
        call.show("seen")
    await turn.plan("answer")
    yield f"{turn.text} is number "
    yield f"{state['count']}"


def conversing(store: Store, **options: Any) -> Agent:
    return agent_of(
        converse,
        store=store,
        modes=[Mode("ask", "Ask"), Mode("code", "Code")],
        options=[Select("model", "Model", ["small", "large"], category="model"), Toggle("fast", "Fast")],
        **options,
    )


BOOLEANS: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}


def history(editor: FakeEditor) -> list[Json]:
    """The conversation as an editor shows it: chunks of one message joined, states left out."""
    shown: list[Json] = []
    for update in editor.updates():
        kind = update["sessionUpdate"]
        if kind == "user_message_chunk":
            update = {name: value for name, value in update.items() if name != "messageId"}
        if kind in ("session_info_update", "current_mode_update", "config_option_update", "usage_update"):
            continue
        if kind.endswith("chunk") and shown and shown[-1]["sessionUpdate"] == kind:
            shown[-1]["content"]["text"] += update["content"]["text"]
        else:
            shown.append(
                {**update, **({"content": dict(update["content"])} if kind.endswith("chunk") else {})}
            )
    return shown
