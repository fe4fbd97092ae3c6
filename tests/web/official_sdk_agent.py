"""An agent on the official Python SDK that shows whatever a prompt names."""

import asyncio
import json
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.helpers import (
    start_tool_call,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message_text,
    update_tool_call,
    update_user_message_text,
)

STORE = Path.home() / "official-sessions.json"
MODES = {"code": "Code", "plan": "Plan"}
DEPTHS = {"low": "Low", "high": "High"}
ANSWERS = {
    "allow_once": "Allow", "allow_always": "Always allow", "reject_once": "Reject",
}  # fmt: skip
FIELDS = {"name": {"type": "string", "title": "Name", "minLength": 2}}


def modes(current: str = "code") -> schema.SessionModeState:
    known = [schema.SessionMode(id=key, name=name) for key, name in MODES.items()]
    return schema.SessionModeState(current_mode_id=current, available_modes=known)


def depth(current: str = "low") -> list[Any]:
    choices = [{"value": key, "name": name} for key, name in DEPTHS.items()]
    option = {"id": "depth", "name": "Depth", "type": "select", "currentValue": current, "options": choices}
    return [schema.SessionConfigOptionSelect.model_validate(option)]


class PageAgent(acp.Agent):
    def __init__(self) -> None:
        self._said: dict[str, list[list[str]]] = json.loads(STORE.read_text()) if STORE.exists() else {}
        self._cancelled: dict[str, asyncio.Event] = {}
        self._always: set[str] = set()
        self._calls = 0

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        capabilities = schema.AgentCapabilities(
            load_session=True, prompt_capabilities=schema.PromptCapabilities(image=True)
        )
        return acp.InitializeResponse(protocol_version=protocol_version, agent_capabilities=capabilities)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        session_id = f"o{len(self._said) + 1}"
        self._said[session_id] = []
        return acp.NewSessionResponse(session_id=session_id, modes=modes(), config_options=depth())

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        for prompt, answer in self._said[session_id]:
            await self._client.session_update(session_id, update_user_message_text(prompt))
            await self._client.session_update(session_id, update_agent_message_text(answer))
        return acp.LoadSessionResponse(modes=modes(), config_options=depth())

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> acp.SetSessionModeResponse:
        return acp.SetSessionModeResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> Any:
        return schema.SetSessionConfigOptionResponse(config_options=depth(value))

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled[session_id].set()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> acp.PromptResponse:
        self._cancelled[session_id] = asyncio.Event()
        verb, _, rest = prompt[0].text.partition(" ")
        kinds = ", ".join(block.type for block in prompt)
        shows = {
            "ask": self._ask,
            "diff": self._diff,
            "terminal": self._terminal,
            "form": self._form,
            "read": self._read,
        }
        if verb == "wait":
            await self._say(session_id, "I wait")
            await self._cancelled[session_id].wait()
            return acp.PromptResponse(stop_reason="cancelled")
        show = shows.get(verb)
        answer = await show(session_id, rest) if show is not None else f"You said: {prompt[0].text} [{kinds}]"
        await self._say(session_id, answer)
        self._said[session_id].append([prompt[0].text, answer])
        STORE.write_text(json.dumps(self._said))
        return acp.PromptResponse(stop_reason="end_turn")

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, update_agent_message_text(text))

    def _edit(self) -> Any:
        self._calls += 1
        content = [tool_diff_content("notes.txt", "LOUD\n", "quiet\n")]
        return start_tool_call(f"c{self._calls}", "Edit notes", kind="edit", content=content)

    async def _ask(self, session_id: str, rest: str) -> str:
        call = self._edit()
        await self._client.session_update(session_id, call)
        if rest in self._always:
            return "allowed"
        answer = await self._client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(tool_call_id=call.tool_call_id),
            options=[
                schema.PermissionOption.model_validate({"optionId": kind, "kind": kind, "name": name})
                for kind, name in ANSWERS.items()
            ],
        )
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        if chosen == "allow_always":
            self._always.add(rest)
        return chosen

    async def _diff(self, session_id: str, rest: str) -> str:
        call = self._edit()
        await self._client.session_update(session_id, call)
        await self._client.session_update(session_id, update_tool_call(call.tool_call_id, status="completed"))
        return "changed"

    async def _terminal(self, session_id: str, rest: str) -> str:
        made = await self._client.create_terminal(session_id=session_id, command="sh", args=["-c", rest])
        self._calls += 1
        content = [tool_terminal_ref(made.terminal_id)]
        call = start_tool_call(f"c{self._calls}", rest, kind="execute", content=content)
        await self._client.session_update(session_id, call)
        ended = await self._client.wait_for_terminal_exit(session_id=session_id, terminal_id=made.terminal_id)
        await self._client.session_update(session_id, update_tool_call(call.tool_call_id, status="completed"))
        await self._client.release_terminal(session_id=session_id, terminal_id=made.terminal_id)
        return f"code {ended.exit_code}"

    async def _read(self, session_id: str, rest: str) -> str:
        return (await self._client.read_text_file(session_id=session_id, path=rest)).content

    async def _form(self, session_id: str, rest: str) -> str:
        wanted = {"type": "object", "properties": FIELDS, "required": ["name"]}
        mode = schema.ElicitationFormSessionMode.model_validate(
            {"sessionId": session_id, "requestedSchema": wanted}
        )
        answer = await self._client.create_elicitation(message="Who are you?", mode=mode)
        return json.dumps(answer.model_dump(mode="json", exclude_none=True))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(PageAgent(), use_unstable_protocol=True))
