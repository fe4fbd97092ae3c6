"""Agents of pydantic-ai: `Agent` and everything else that is an `AbstractAgent`."""

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from acpella.agent import Session

from .content import Media
from .interface import Adapter, Conversation, Declared
from .jsonable import as_text
from .tools import REFUSED, SessionTool, ToolFailed
from .turn import CURRENT_CALL, AdaptedTurn

if TYPE_CHECKING:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext

__all__ = ["PydanticAiAdapter", "show_events"]

CANCELLED = "This call was cancelled by the user before it ended."


class PydanticAiAdapter(Adapter):
    """Drives `agent.run_stream_events`. Tools that require approval ask the user while the run goes on."""

    name = "pydantic-ai"
    package = "pydantic-ai-slim"
    floor = "2.26"
    classes: ClassVar[Sequence[str]] = ("pydantic_ai.agent.abstract.AbstractAgent",)
    options: ClassVar[Sequence[str]] = ("deps", "usage_limits", "model_settings")

    def declare(self, target: Any) -> Declared:
        return Declared(name=target.name or "agent", audio=True)

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(target, session, options)


class _Conversation(Conversation):
    def __init__(self, agent: Any, session: Session, options: Mapping[str, Any]) -> None:
        self._agent = agent
        self._options = dict(options)
        deps = self._options.get("deps")
        if callable(deps):
            self._options["deps"] = deps(session)

    async def reply(self, at: AdaptedTurn) -> None:
        from pydantic_ai.exceptions import UsageLimitExceeded
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        history = ModelMessagesTypeAdapter.validate_python(at.memory.get("messages", []))
        handle = self._agent.run_stream_events(
            _prompt(at.parts),
            message_history=history or None,
            model=at.model,
            toolsets=_toolsets(await at.tools()),
            capabilities=_capabilities(at),
            **self._options,
        )
        events: Any = None
        try:
            async with handle as events:
                await _show(at, events, self._agent)
        except UsageLimitExceeded as error:
            at.stop("max_tokens" if "token" in str(error) else "max_turn_requests")
            await at.turn.notice("The limit of this agent was reached", description=str(error))
        finally:
            # the messages of a cancelled run are complete only after the block
            if events is not None and (messages := _messages(events)):
                messages += _missing_results(messages)
                at.memory["messages"] = ModelMessagesTypeAdapter.dump_python(messages, mode="json")


def _messages(events: Any) -> list[Any]:
    from pydantic_ai.exceptions import UserError

    try:
        return list(events.all_messages())
    except UserError:  # the run has not begun
        return []


def _missing_results(messages: list[Any]) -> list[Any]:
    """Results for calls that were left without one: not every version of pydantic-ai adds them itself."""
    from pydantic_ai.messages import ModelRequest, ToolReturnPart

    parts = [part for message in messages for part in message.parts]
    answered_ids = {p.tool_call_id for p in parts if p.part_kind in ("tool-return", "retry-prompt")}
    calls = [p for p in parts if p.part_kind == "tool-call" and p.tool_call_id not in answered_ids]
    if not calls:
        return []
    return [ModelRequest(parts=[ToolReturnPart(c.tool_name, CANCELLED, c.tool_call_id) for c in calls])]


# -- what comes from the agent ---------------------------------------------------------------


async def _show(at: AdaptedTurn, events: AsyncIterable[Any], agent: Any) -> None:
    async for event in events:
        match event.event_kind:
            case "part_start":
                if event.part.part_kind in ("text", "thinking"):
                    await _piece(at, event.part.part_kind, event.part.content)
            case "part_delta":
                if event.delta.part_delta_kind in ("text", "thinking"):
                    await _piece(at, event.delta.part_delta_kind, event.delta.content_delta)
            case "function_tool_call":
                part = event.part
                await at.calls.pending(part.tool_call_id, part.tool_name, part.args_as_dict())
            case "function_tool_result":
                await _end(at, event)
            case "output_tool_call":
                at.calls.hide(event.part.tool_call_id)
            case "agent_run_result":
                await _finish(at, event.result, at.model or getattr(agent, "model", None))
            case _:  # newer versions may have more events
                call_id = getattr(event, "tool_call_id", None)
                if event.event_kind == "custom" and call_id:
                    await at.calls.progress(call_id, as_text(getattr(event, "data", None)))


async def _piece(at: AdaptedTurn, kind: str, text: str | None) -> None:
    await (at.say if kind == "text" else at.think)(text or "")


async def _end(at: AdaptedTurn, event: Any) -> None:
    part = getattr(event, "part", None) or event.result
    failed = part.part_kind == "retry-prompt" or getattr(part, "outcome", "success") != "success"
    output = part.model_response() if part.part_kind == "retry-prompt" else part.content
    await at.calls.end(part.tool_call_id, output, failed=failed, name=part.tool_name)


async def _finish(at: AdaptedTurn, result: Any, model: Any) -> None:
    if not isinstance(result.output, str):  # text was shown as it came
        await at.say(as_text(result.output))
    usage = result.usage
    at.tokens(usage.input_tokens, usage.output_tokens, cached=usage.cache_read_tokens)
    last = result.response
    size = getattr(model, "context_window", None)
    if isinstance(size, int) and last.usage.input_tokens:
        await at.turn.usage(last.usage.input_tokens + last.usage.output_tokens, size)
    if last.finish_reason == "length":
        at.stop("max_tokens")
    elif last.finish_reason == "content_filter":
        at.stop("refusal")


async def show_events(context: "RunContext[Any]", events: AsyncIterable[Any]) -> None:
    """For an agent that a tool runs: `await helper.run(task, event_stream_handler=show_events)`.

    What the helper says and does is shown inside the tool's call. Without an editor it does nothing.
    """
    turn = CURRENT_CALL.get(None)
    if turn is None:
        async for _ in events:
            pass
        return
    at, call_id = turn
    await _show(at.under(call_id), events, None)


# -- what goes to the agent ------------------------------------------------------------------


def _prompt(parts: list[str | Media]) -> Any:
    from pydantic_ai.messages import BinaryContent

    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [
        part if isinstance(part, str) else BinaryContent(part.bytes, media_type=part.mime_type)
        for part in parts
    ]


def _capabilities(at: AdaptedTurn) -> list[Any]:
    from pydantic_ai import ToolDenied
    from pydantic_ai.capabilities import AbstractCapability

    class InEditor(AbstractCapability[Any]):
        """Asks for approvals, shows when a tool starts, and sets `CURRENT_CALL` for it and its sub-agents."""

        async def handle_deferred_tool_calls(
            self, ctx: "RunContext[Any]", *, requests: "DeferredToolRequests"
        ) -> "DeferredToolResults | None":
            if not requests.approvals:
                return None
            answers: dict[str, bool | ToolDenied] = {}
            for call in requests.approvals:
                allowed = await at.permit(call.tool_call_id, call.tool_name, call.args_as_dict())
                answers[call.tool_call_id] = True if allowed else ToolDenied(REFUSED)
            return requests.build_results(approvals=answers)

        async def wrap_tool_execute(
            self, ctx: "RunContext[Any]", *, call: Any, tool_def: Any, args: Any, handler: Any
        ) -> Any:
            await at.calls.start(call.tool_call_id, call.tool_name, call.args_as_dict())
            token = CURRENT_CALL.set((at, call.tool_call_id))
            try:
                return await handler(args)
            finally:
                CURRENT_CALL.reset(token)

        # the inherited method is a generator through which every event would have to pass
        def wrap_run_event_stream(
            self, ctx: "RunContext[Any]", *, stream: AsyncIterable[Any]
        ) -> AsyncIterable[Any]:
            return stream

        @property
        def has_wrap_run_event_stream(self) -> bool:
            return False

    return [InEditor()]


def _toolsets(tools: list[SessionTool]) -> list[Any] | None:
    if not tools:
        return None
    from pydantic_ai import FunctionToolset, Tool

    native_tools = [
        Tool.from_schema(_function(tool), tool.name, tool.description, tool.schema, takes_ctx=True)
        for tool in tools
    ]
    return [FunctionToolset(native_tools)]


def _function(tool: SessionTool) -> Callable[..., Any]:
    from pydantic_ai import RunContext

    async def call(ctx: RunContext[Any], **arguments: Any) -> str:
        try:
            return await tool.call(arguments, ctx.tool_call_id or "")
        except ToolFailed as error:
            from pydantic_ai.exceptions import ToolFailed as Failed

            raise Failed(str(error)) from None

    return call
