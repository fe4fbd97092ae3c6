"""Agents of the Claude Agent SDK, with a program in Claude's place that follows a script."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport

from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True

_kept: dict[str, Seen] = {}
"""Conversations by Claude's session id, like those that its program keeps on disk."""

_agents: dict[int, "tuple[Any, Fake]"] = {}


class Fake:
    """The settings of the program in Claude's place: its script, its tools, its sub-agent."""

    def __init__(self, script: Script, tools: Iterable[Callable[..., Any]], approve: Iterable[str]) -> None:
        self.script = script
        self.tools = {tool.__name__: tool for tool in tools}
        self.approve = set(approve)
        self.inner: Fake | None = None


class FakeClaude(Transport):
    """Speaks the protocol of Claude's program."""

    def __init__(self, fake: Fake, options: ClaudeAgentOptions) -> None:
        self._fake = fake
        self._options = options
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._turn: asyncio.Task[None] | None = None
        self._model = options.model or ""
        self._message_id = ""
        self._remote: list[str] = []
        before = _load(options.resume) if options.resume else Seen()
        self._seen = before
        self._id = str(uuid.uuid4()) if options.fork_session or not options.resume else options.resume

    async def connect(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass

    async def close(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
        self._out.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._out.get()) is not None:
            yield message

    async def write(self, data: str) -> None:
        for line in data.splitlines():
            message = json.loads(line)
            if message["type"] == "control_request":
                request = message["request"]
                if request["subtype"] == "interrupt" and self._turn is not None:
                    self._turn.cancel()
                if request["subtype"] == "set_model":
                    self._model = request["model"]
                response = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                self._out.put_nowait({"type": "control_response", "response": response})
            elif message["type"] == "control_response":
                answer = message["response"]
                self._asked.pop(answer["request_id"]).set_result(answer.get("response") or {})
            elif message["type"] == "user":
                self._turn = asyncio.create_task(self._run(message["message"]["content"]))

    async def _ask(self, **request: Any) -> Any:
        request_id = str(uuid.uuid4())
        self._asked[request_id] = asyncio.get_running_loop().create_future()
        self._out.put_nowait({"type": "control_request", "request_id": request_id, "request": request})
        return await self._asked[request_id]

    async def _mcp(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self._ask(subtype="mcp_message", server_name="acpella", message=message)
        return answer["mcp_response"]["result"]

    async def _run(self, content: str | list[dict[str, Any]]) -> None:
        seen = self._seen
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        seen.user += [block["text"] for block in content if block["type"] == "text"]
        seen.images += [block["source"]["media_type"] for block in content if block["type"] == "image"]
        self._out.put_nowait({"type": "system", "subtype": "init", "session_id": self._id})
        aborted = False
        try:
            if "acpella" in self._options.mcp_servers:
                info = {"name": "fake", "version": "1"}
                await self._mcp("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
                self._remote = [tool["name"] for tool in (await self._mcp("tools/list"))["tools"]]
            await self._talk(self._fake, seen, None)
        except asyncio.CancelledError:
            aborted = True
            for call in seen.dangling:  # Claude's program answers them itself
                seen.results[call] = "interrupted"
        _save(self._id, seen)
        self._out.put_nowait(
            {
                "type": "result", "subtype": "error_during_execution" if aborted else "success",
                "duration_ms": 1, "duration_api_ms": 1, "is_error": aborted, "num_turns": 1,
                "session_id": self._id, "total_cost_usd": 0.1,
                "usage": {"input_tokens": 7, "output_tokens": 5},
                **({"terminal_reason": "aborted_streaming"} if aborted else {}),
            }
        )  # fmt: skip

    async def _talk(self, fake: Fake, seen: Seen, parent: str | None) -> str:
        while True:
            shown = Seen(list(seen.user), list(seen.assistant), list(seen.calls), dict(seen.results))
            shown.images = list(seen.images)
            shown.tools = [*fake.tools, *self._remote]
            shown.model = self._model
            text = ""
            calls: list[Call] = []
            self._message_id = f"msg_{uuid.uuid4()}"
            if parent is None:
                usage = {"input_tokens": 7, "output_tokens": 1}
                self._event({"type": "message_start", "message": {"id": self._message_id, "usage": usage}})
            for piece in fake.script.next(shown):
                if isinstance(piece, str):
                    text += piece
                    if parent is None:  # what a sub-agent says comes in whole messages
                        self._delta({"type": "text_delta", "text": piece})
                elif isinstance(piece, Think):
                    self._delta({"type": "thinking_delta", "thinking": piece.text})
                elif isinstance(piece, Call):
                    calls.append(piece)
                elif isinstance(piece, Wait):
                    piece.reached.set()
                    await asyncio.Event().wait()
            blocks: list[Any] = [{"type": "text", "text": text}] if text else []
            blocks += [
                {"type": "tool_use", "id": c.id, "name": self._name(c), "input": c.arguments} for c in calls
            ]
            self._message("assistant", blocks, parent)
            seen.assistant += [text] if text else []
            seen.calls += [call.id for call in calls]
            if not calls:
                return text
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._call(fake, seen, call, parent))

    def _name(self, call: Call) -> str:
        return f"mcp__acpella__{call.name}" if call.name in self._remote else call.name

    async def _call(self, fake: Fake, seen: Seen, call: Call, parent: str | None) -> None:
        failed = False
        if call.name in fake.approve:
            answer = await self._ask(
                subtype="can_use_tool", tool_name=call.name, input=call.arguments, tool_use_id=call.id
            )
            if answer["behavior"] == "deny":
                self._result(seen, call, answer["message"], True, parent)
                return
        try:
            if call.name in self._remote:
                result = await self._mcp("tools/call", name=call.name, arguments=call.arguments)
                text, failed = result["content"][0]["text"], bool(result.get("isError"))
            elif call.name == "delegate" and fake.inner is not None:
                text = await self._talk(fake.inner, Seen(user=[call.arguments["task"]]), call.id)
            else:
                tool = fake.tools[call.name](**call.arguments)
                text = str(await tool if asyncio.iscoroutine(tool) else tool)
        except Exception as error:
            text, failed = str(error), True
        self._result(seen, call, text, failed, parent)

    def _result(self, seen: Seen, call: Call, text: str, failed: bool, parent: str | None) -> None:
        seen.results[call.id] = text
        block = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": failed}
        self._message("user", [block], parent)

    def _message(self, role: str, blocks: list[Any], parent: str | None) -> None:
        message = {"role": role, "content": blocks, "model": "fake", "id": self._message_id}
        self._out.put_nowait({"type": role, "message": message, "parent_tool_use_id": parent})

    def _delta(self, delta: dict[str, Any]) -> None:
        self._event({"type": "content_block_delta", "index": 0, "delta": delta})

    def _event(self, event: dict[str, Any]) -> None:
        about = {"uuid": "u", "session_id": self._id, "parent_tool_use_id": None}
        self._out.put_nowait({"type": "stream_event", "event": event, **about})


def _file(session_id: str) -> Path | None:
    home = os.environ.get("XDG_DATA_HOME")
    return Path(home, f"claude-{session_id}.json") if home else None


def _save(session_id: str, seen: Seen) -> None:
    _kept[session_id] = seen
    if (file := _file(session_id)) is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(vars(seen)), encoding="utf-8")


def _load(session_id: str) -> Seen:
    file = _file(session_id)
    kept = _kept.get(session_id)
    if kept is None and file is not None:
        kept = Seen(**json.loads(file.read_text(encoding="utf-8")))
    assert kept is not None, f"Claude has no session {session_id}"
    return Seen(**json.loads(json.dumps(vars(kept))))


def model(script: Script, name: str = "scripted") -> str:
    return name


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    made = ClaudeAgentOptions()
    _agents[id(made)] = made, Fake(script, tools, approve)
    return made


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    made = agent(script)
    _agents[id(made)][1].inner = Fake(inner, tools, ())
    return made


def options(agent: Any) -> dict[str, Any]:
    return {"transport": lambda options: FakeClaude(_agents[id(agent)][1], options)}
