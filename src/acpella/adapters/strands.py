"""Agents of Strands."""

import asyncio
import base64
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

from acpella.agent import Session
from acpella.errors import InternalError

from .content import Media
from .interface import Adapter, Conversation
from .jsonable import as_text
from .tools import REFUSED, SessionTool, ToolFailed
from .turn import CURRENT_CALL, AdaptedTurn

__all__ = ["StrandsAdapter"]

CANCELLED = "This call was cancelled by the user before it ended."


class StrandsAdapter(Adapter):
    """Drives `agent.stream_async`. Strands' agents do not say which tools need approval: `approve` does, with
    names, or a function of a tool's name and arguments.

    In Strands, one object is one conversation, so the turns of several sessions wait for each other. They do
    not if a function makes an agent for each session.
    """

    name = "Strands"
    package = "strands-agents"
    floor = "1.55"
    classes: ClassVar[Sequence[str]] = ("strands.agent.agent.Agent",)
    options: ClassVar[Sequence[str]] = ("approve",)

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(_shared(target), _approval(options.get("approve", ())))


def _approval(approve: Any) -> Callable[[str, Mapping[str, Any]], bool]:
    if callable(approve):
        return cast("Callable[[str, Mapping[str, Any]], bool]", approve)
    names = set(cast("Iterable[str]", approve))
    return lambda name, arguments: name in names


class _Run:
    """The state of one turn while it runs."""

    def __init__(self, at: AdaptedTurn, needs_approval: Callable[[str, Mapping[str, Any]], bool]) -> None:
        self.at = at
        self.needs_approval = needs_approval
        self.ended: dict[str, Any] = {}
        """Results by call id, including those of calls whose siblings were cancelled."""


_CURRENT: ContextVar[_Run] = ContextVar("acpella_strands_run")


class _Shared:
    """One agent object, which one turn at a time can use."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.lock = asyncio.Lock()
        hooks = importlib.import_module("strands.hooks")
        agent.hooks.add_callback(hooks.BeforeToolCallEvent, _before_tool)
        agent.hooks.add_callback(hooks.AfterToolCallEvent, _after_tool)


_known: "WeakKeyDictionary[Any, _Shared]" = WeakKeyDictionary()


def _shared(agent: Any) -> _Shared:
    if agent not in _known:
        _known[agent] = _Shared(agent)
    return _known[agent]


class _Conversation(Conversation):
    def __init__(self, shared: _Shared, needs_approval: Callable[[str, Mapping[str, Any]], bool]) -> None:
        self._shared = shared
        self._needs_approval = needs_approval

    async def reply(self, at: AdaptedTurn) -> None:
        async with self._shared.lock:
            await self._reply(at, self._shared.agent)

    async def _reply(self, at: AdaptedTurn, agent: Any) -> None:
        run = _Run(at, self._needs_approval)
        model, before = agent.model, dict(agent.event_loop_metrics.accumulated_usage)
        handler = agent.callback_handler
        if type(handler).__name__ == "PrintingCallbackHandler":  # the default; the editor shows it already
            agent.callback_handler = _print_nothing
        registry = agent.tool_registry
        tools = await at.tools()
        agent.messages[:] = _decoded(at.memory.get("messages", []))
        if at.model is not None:
            agent.model = at.model
        for tool in tools:
            registry.register_tool(_native(tool))
        token = _CURRENT.set(run)
        result: Any = None
        try:
            async for event in agent.stream_async(_content(at.parts)):
                if "data" in event:  # text; most events are either text or raw ones of the provider
                    await at.say(event["data"])
                elif "event" not in event:
                    result = event.get("result", result)
                    await _show(at, event)
        finally:
            _CURRENT.reset(token)
            agent.model, agent.callback_handler = model, handler
            for tool in tools:
                registry.registry.pop(tool.name, None)
                registry.dynamic_tools.pop(tool.name, None)
            at.memory["messages"] = _encoded(_repaired(list(agent.messages), run.ended))
        usage = agent.event_loop_metrics.accumulated_usage  # counted over the lifetime of the object
        at.tokens(
            usage["inputTokens"] - before["inputTokens"], usage["outputTokens"] - before["outputTokens"]
        )
        _stop(at, result)


def _print_nothing(**event: Any) -> None:
    pass


def _stop(at: AdaptedTurn, result: Any) -> None:
    reason = getattr(result, "stop_reason", None)
    if reason == "max_tokens":
        at.stop("max_tokens")
    elif reason in ("content_filtered", "guardrail_intervened"):
        at.stop("refusal")
    elif reason == "interrupt":
        raise InternalError("this agent waits for an answer that acpella cannot give; use approve= instead")


# -- what comes from the agent -------------------------------------------------------------------


async def _show(at: AdaptedTurn, event: Mapping[str, Any]) -> None:
    if "data" in event:
        await at.say(event["data"])
    elif event.get("reasoningText"):
        await at.think(event["reasoningText"])
    elif "current_tool_use" in event:
        use = event["current_tool_use"]
        if use.get("toolUseId") and use.get("name"):
            await at.calls.pending(use["toolUseId"], use["name"])
    elif "tool_stream_event" in event:
        inner = event["tool_stream_event"]
        if isinstance(inner.get("data"), dict):  # an agent that the tool runs
            await _show_nested(at.under(inner["tool_use"]["toolUseId"]), inner["data"])


async def _show_nested(at: AdaptedTurn, event: Mapping[str, Any]) -> None:
    """Show what an agent without our hooks does."""
    message: dict[str, Any] = event.get("message") or {}
    for block in message.get("content", ()):
        if "toolUse" in block:
            use = block["toolUse"]
            await at.calls.start(use["toolUseId"], use["name"], use.get("input"))
        elif "toolResult" in block:
            await _end(at, block["toolResult"])
    await _show(at, event)


async def _end(at: AdaptedTurn, result: Mapping[str, Any]) -> None:
    texts = [block["text"] for block in result.get("content", ()) if "text" in block]
    output = "\n".join(texts) if texts else as_text(result.get("content"))
    await at.calls.end(result["toolUseId"], output, failed=result.get("status") == "error")


async def _before_tool(event: Any) -> None:
    run = _CURRENT.get(None)
    if run is None:
        return
    use = event.tool_use
    call_id, name = use["toolUseId"], use["name"]
    arguments: dict[str, Any] = use.get("input") or {}
    await run.at.calls.pending(call_id, name, arguments)
    if not run.needs_approval(name, arguments):
        await run.at.calls.start(call_id, name, arguments)
    elif not await run.at.permit(call_id, name, arguments):
        event.cancel_tool = REFUSED
    CURRENT_CALL.set((run.at, call_id))


async def _after_tool(event: Any) -> None:
    run = _CURRENT.get(None)
    if run is None:
        return
    result = event.result
    run.ended[result["toolUseId"]] = result
    await _end(run.at, result)


# -- what goes to the agent ------------------------------------------------------------------------


def _content(parts: list[str | Media]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [
        {"text": part}
        if isinstance(part, str)
        else {"image": {"format": part.mime_type.partition("/")[2], "source": {"bytes": part.bytes}}}
        for part in parts
        if isinstance(part, str) or part.kind == "image"
    ]


def _native(tool: SessionTool) -> Any:
    async def call(use: Any, **kwargs: Any) -> dict[str, Any]:
        status = "success"
        try:
            text = await tool.call(use["input"], use["toolUseId"])
        except ToolFailed as error:
            status, text = "error", str(error)
        return {"toolUseId": use["toolUseId"], "status": status, "content": [{"text": text}]}

    tool_class = importlib.import_module("strands.tools.tools").PythonAgentTool
    spec = {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.schema}}
    return tool_class(tool.name, spec, call)


# -- memory ----------------------------------------------------------------------------------------


def _repaired(messages: list[Any], ended: Mapping[str, Any]) -> list[Any]:
    """The conversation with a result for each call in its last message: providers refuse others."""
    if not messages or messages[-1]["role"] != "assistant":
        return messages
    uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
    if not uses:
        return messages
    results = [
        ended.get(use["toolUseId"])
        or {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": CANCELLED}]}
        for use in uses
    ]
    return [*messages, {"role": "user", "content": [{"toolResult": result} for result in results]}]


def _encoded(value: Any) -> Any:
    """The value as JSON, with bytes (pictures) in Base64."""
    if isinstance(value, str):  # most are
        return value
    if isinstance(value, bytes):
        return {"__bytes__": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _encoded(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_encoded(item) for item in cast("list[Any]", value)]
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if set(table) == {"__bytes__"}:
            return base64.b64decode(table["__bytes__"])
        return {key: _decoded(item) for key, item in table.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in cast("list[Any]", value)]
    return value
