"""Agents of the Claude Agent SDK: what is adapted is a `ClaudeAgentOptions`."""

import asyncio
import dataclasses
import importlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar, cast

from acpella.agent import Session
from acpella.errors import InternalError

from .content import Media
from .interface import Adapter, Conversation, Declared
from .tools import REFUSED, SessionTool, ToolFailed
from .turn import AdaptedTurn

__all__ = ["ClaudeAgentAdapter"]

log: logging.Logger = logging.getLogger(__name__)

DRAIN = 1.5
"""Seconds for an interrupted turn to end. Its unread messages would be taken for the next answer."""

SERVER = "acpella"
"""The MCP server through which Claude gets the tools of the session."""

PREFIX = f"mcp__{SERVER}__"

PLAN_TOOL = "TodoWrite"


class ClaudeAgentAdapter(Adapter):
    """Keeps one `ClaudeSDKClient` for each session, and resumes it by Claude's own session id."""

    name = "Claude Agent SDK"
    package = "claude-agent-sdk"
    floor = "0.2.182"
    classes: ClassVar[Sequence[str]] = ("claude_agent_sdk.types.ClaudeAgentOptions",)
    options: ClassVar[Sequence[str]] = ("transport",)

    def declare(self, target: Any) -> Declared:
        return Declared(name="claude-agent")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(target, options.get("transport"))


class _Conversation(Conversation):
    def __init__(self, options: Any, transport: Any) -> None:
        self._sdk: Any = importlib.import_module("claude_agent_sdk")
        self._options = options
        self._transport = transport
        self._client: Any = None
        self._model: Any = None
        self._at: AdaptedTurn | None = None
        self._tools: dict[str, SessionTool] = {}

    async def reply(self, at: AdaptedTurn) -> None:
        self._at = at
        self._tools = {tool.name: tool for tool in await at.tools()}
        at.calls.own(PREFIX + name for name in self._tools)
        client = self._client or await self._connect(at)
        if at.model != self._model:
            await client.set_model(at.model)
            self._model = at.model
        try:
            await client.query(_messages(at.parts))
            await _Shown(at).all(client.receive_response())
        except asyncio.CancelledError:
            await self._interrupt(client)
            raise
        except InternalError:  # Claude reported an error; its program still works
            raise
        except Exception:
            await self.close()
            raise

    async def _connect(self, at: AdaptedTurn) -> Any:
        memory = at.memory
        servers: Any = self._options.mcp_servers
        changes: dict[str, Any] = {
            "cwd": str(at.session.cwd),
            "can_use_tool": self._may_use,
            "include_partial_messages": True,
            "forward_subagent_text": True,
            "resume": memory.get("claude"),
            "fork_session": memory.get("session", at.session.id) != at.session.id,
        }
        if at.model is not None:
            changes["model"] = at.model
        if self._tools and isinstance(servers, dict):
            changes["mcp_servers"] = {**servers, SERVER: self._server()}
        options = dataclasses.replace(self._options, **changes)
        more = {} if self._transport is None else {"transport": self._transport(options)}
        client = self._sdk.ClaudeSDKClient(options=options, **more)
        await client.connect()
        self._client, self._model = client, at.model
        memory["session"] = at.session.id
        return client

    async def _interrupt(self, client: Any) -> None:
        try:
            async with asyncio.timeout(DRAIN):
                await client.interrupt()
                async for _ in client.receive_response():
                    pass
        except Exception as error:
            log.info("Claude did not end its turn, so it is started anew: %s", error)
            await self.close()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.disconnect()

    # -- permission and tools ------------------------------------------------------------------

    async def _may_use(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        at = self._at
        if name.removeprefix(PREFIX) in self._tools:  # these tools ask by themselves
            return self._sdk.PermissionResultAllow(updated_input=arguments)
        call_id = context.tool_use_id or f"{name} {arguments}"
        if at is not None and await at.permit(call_id, name, arguments):
            return self._sdk.PermissionResultAllow(updated_input=arguments)
        return self._sdk.PermissionResultDeny(message=REFUSED)

    def _server(self) -> Any:
        tools = [
            self._sdk.SdkMcpTool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema,
                handler=self._handler(tool.name),
            )
            for tool in self._tools.values()
        ]
        return self._sdk.create_sdk_mcp_server(SERVER, tools=tools)

    def _handler(self, name: str) -> Any:
        async def handle(arguments: dict[str, Any]) -> dict[str, Any]:
            at, tool = self._at, self._tools.get(name)
            if at is None or tool is None:
                return _result(f"{name} is not there any more", failed=True)
            try:
                return _result(await tool.call(arguments, self._call_of(at, PREFIX + name)))
            except ToolFailed as error:
                return _result(str(error), failed=True)

        return handle

    def _call_of(self, at: AdaptedTurn, name: str) -> str:
        """The id of the oldest open call of the tool: Claude does not send it to an MCP server."""
        waiting = (call_id for call_id in at.calls.open_ids if at.calls.name_of(call_id) == name)
        return next(waiting, name)


def _result(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "is_error": failed}


async def _messages(parts: list[str | Media]) -> Any:
    blocks = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {"type": "base64", "media_type": part.mime_type, "data": part.data},
        }
        for part in parts
        if isinstance(part, str) or part.kind == "image"
    ]
    yield {
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "parent_tool_use_id": None,
        "session_id": "default",
    }


class _Shown:
    """Shows the messages of one turn."""

    def __init__(self, at: AdaptedTurn) -> None:
        self._at = at
        self._streaming: str | None = None
        self._streamed: set[str | None] = set()
        """The messages whose text came in pieces; others, such as those of sub-agents, come whole."""
        self._used: int = 0
        """Tokens of the last request: how much of the model's window the conversation takes."""

    async def all(self, messages: Any) -> None:
        async for message in messages:
            kind = type(message).__name__
            if kind == "StreamEvent":
                if message.parent_tool_use_id is None:  # what sub-agents say comes in whole messages
                    event = message.event
                    if event["type"] == "content_block_delta":  # most are
                        await self._delta(event["delta"])
                    else:
                        await self._event(self._at, event)
                continue
            parent: str | None = getattr(message, "parent_tool_use_id", None)
            at = self._at.under(parent) if parent else self._at
            match kind:
                case "AssistantMessage" if message.error is None:  # the result says what went wrong
                    for block in message.content:
                        await self._block(at, message.message_id, block)
                case "UserMessage" if not isinstance(message.content, str):
                    for block in message.content:
                        await _tool_result(at, block)
                case "SystemMessage" if message.subtype == "init":
                    self._at.memory["claude"] = message.data.get("session_id")
                case "ResultMessage":
                    await _finish(self._at, message, self._used)
                case _:
                    pass

    def _delta(self, delta: dict[str, Any]) -> Awaitable[None]:
        if delta["type"] == "text_delta":
            self._streamed.add(self._streaming)
            return self._at.say(delta["text"])
        if delta["type"] == "thinking_delta":
            self._streamed.add(self._streaming)
            return self._at.think(delta["thinking"])
        return self._at.say("")

    async def _event(self, at: AdaptedTurn, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._streaming = event["message"].get("id")
            self._used = _window_used(event["message"].get("usage") or {})
        elif kind == "message_delta":
            usage: dict[str, Any] = event.get("usage") or {}
            self._used += usage.get("output_tokens") or 0
        elif kind == "content_block_start":
            block = event["content_block"]
            if block["type"] == "tool_use":
                await _pending(at, block["id"], block["name"], None)

    async def _block(self, at: AdaptedTurn, message_id: str | None, block: Any) -> None:
        match type(block).__name__:
            case "TextBlock" if message_id not in self._streamed:
                await at.say(block.text)
            case "ThinkingBlock" if message_id not in self._streamed:
                await at.think(block.thinking)
            case "ToolUseBlock" | "ServerToolUseBlock":
                await _pending(at, block.id, block.name, block.input)
            case _:
                await _tool_result(at, block)


async def _pending(at: AdaptedTurn, call_id: str, name: str, arguments: dict[str, Any] | None) -> None:
    if name == PLAN_TOOL:
        at.calls.hide(call_id)
        if arguments:
            await at.plan(arguments.get("todos", ()))
    await at.calls.pending(call_id, name, arguments)


async def _tool_result(at: AdaptedTurn, block: Any) -> None:
    call_id = getattr(block, "tool_use_id", None)
    if call_id is None:
        return
    failed = bool(getattr(block, "is_error", False))
    run = at.calls.find(call_id)
    if run is not None and not failed:
        await run.start()  # its start was not reported
    await at.calls.end(call_id, _text_of(block.content), failed=failed)


def _text_of(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    blocks = cast("list[dict[str, Any]]", content)
    texts = [str(block["text"]) for block in blocks if block.get("text")]
    return "\n".join(texts) if texts else blocks


def _window_used(usage: dict[str, Any]) -> int:
    """The input tokens of a request, including cached ones, which also take room in the window."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


async def _finish(at: AdaptedTurn, result: Any, used: int) -> None:
    at.memory["claude"] = result.session_id
    usage: dict[str, Any] = result.usage or {}
    read = usage.get("cache_read_input_tokens") or 0
    at.tokens(usage.get("input_tokens") or 0, usage.get("output_tokens") or 0, cached=read)
    models: dict[str, Any] = result.model_usage or {}
    window: int = max((each.get("contextWindow") or 0 for each in models.values()), default=0)
    if window and used:
        await at.turn.usage(used, window, cost=result.total_cost_usd)
    if result.subtype == "error_max_turns":
        at.stop("max_turn_requests")
    elif result.stop_reason in ("refusal", "max_tokens"):
        at.stop(result.stop_reason)
    elif result.is_error and not str(result.terminal_reason or "").startswith("aborted"):
        raise InternalError(result.result or "; ".join(result.errors or ()) or "Claude could not answer")
