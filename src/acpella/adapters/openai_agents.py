"""Agents of the OpenAI Agents SDK."""

import importlib
import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, cast

from acpella.agent import Session

from .content import Media
from .interface import Adapter, Conversation
from .jsonable import as_text
from .tools import REFUSED, SessionTool, ToolFailed
from .turn import CURRENT_CALL, AdaptedTurn

__all__ = ["OpenAiAgentsAdapter", "show_events"]

FAILED = "An error occurred while running the tool"
"""The beginning of the SDK's own text for a tool that raised; there is no other sign of the failure."""

RAW = "raw_response_event"
TEXT = "response.output_text.delta"

CANCELLED = "This call was cancelled by the user before it ended."


class OpenAiAgentsAdapter(Adapter):
    """Drives `Runner.run_streamed`. Tools that need approval ask the user, and the run is resumed."""

    name = "OpenAI Agents SDK"
    package = "openai-agents"
    floor = "0.21"
    classes: ClassVar[Sequence[str]] = ("agents.agent.AgentBase",)
    options: ClassVar[Sequence[str]] = ("context", "run_config", "max_turns")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(target, session, options)


class _Run:
    """The state of one turn while it runs."""

    def __init__(self, at: AdaptedTurn, items: list[Any]) -> None:
        self.at = at
        self.items = items
        """The conversation as it would be given to the next run, were this one cut off here."""
        self.failed: set[str] = set()
        self.first_agent = True


_CURRENT: ContextVar[_Run] = ContextVar("acpella_openai_agents_run")


class _Conversation(Conversation):
    def __init__(self, agent: Any, session: Session, options: Mapping[str, Any]) -> None:
        self._agent = agent
        context = options.get("context")
        self._options = {
            "context": context(session) if callable(context) else context,
            **({"max_turns": options["max_turns"]} if "max_turns" in options else {}),
        }
        self._run_config = options.get("run_config")

    async def reply(self, at: AdaptedTurn) -> None:
        sdk = importlib.import_module("agents")
        run = _Run(at, [*at.memory.get("items", []), {"role": "user", "content": _content(at.parts)}])
        tools = [_native(sdk, run, tool) for tool in await at.tools()]
        agent = self._start_agent(at.memory.get("agent"))
        if tools:
            agent = agent.clone(tools=[*agent.tools, *tools])
        options = {**self._options, "hooks": _hooks(sdk, run), "run_config": self._config(sdk, at)}
        token = _CURRENT.set(run)
        result: Any = None
        run_input: Any = run.items.copy()
        try:
            while run_input is not None:
                result = sdk.Runner.run_streamed(agent, run_input, **options)
                try:
                    async for event in result.stream_events():
                        # most events are pieces of text, so many that a detour through `_show` would matter
                        if event.type == RAW and event.data.type == TEXT:
                            await at.say(event.data.delta)
                        else:
                            await _show(run, at, event)
                finally:
                    result.cancel()  # no effect on a run that is over
                run_input = await _resumed(run, result)
            run.items = result.to_input_list()
            at.memory["agent"] = result.last_agent.name
        except sdk.MaxTurnsExceeded as error:
            at.stop("max_turn_requests")
            await at.turn.notice("The limit of this agent was reached", description=str(error))
        except (sdk.InputGuardrailTripwireTriggered, sdk.OutputGuardrailTripwireTriggered) as error:
            at.stop("refusal")
            await at.say(str(error))
        finally:
            _CURRENT.reset(token)
            at.memory["items"] = _repaired(run.items)
        await _finish(at, result)

    def _start_agent(self, name: str | None) -> Any:
        """The agent that the last turn was handed over to, or the first one."""
        seen: list[Any] = [self._agent]
        for agent in seen:
            if agent.name == name:
                return agent
            for handoff in agent.handoffs:
                if hasattr(handoff, "handoffs") and handoff not in seen:
                    seen.append(handoff)
        return self._agent

    def _config(self, sdk: Any, at: AdaptedTurn) -> Any:
        if at.model is None:
            return self._run_config
        import dataclasses

        config = self._run_config or sdk.RunConfig()
        return dataclasses.replace(config, model=at.model)


async def _finish(at: AdaptedTurn, result: Any) -> None:
    if result is None:
        return
    output = result.final_output
    if output is not None and not isinstance(output, str):  # text was shown as it came
        await at.say(as_text(output))
    usage = result.context_wrapper.usage
    cached = getattr(usage.input_tokens_details, "cached_tokens", None)
    thought = getattr(usage.output_tokens_details, "reasoning_tokens", None)
    at.tokens(usage.input_tokens, usage.output_tokens, cached=cached, thought=thought)


def _content(parts: list[str | Media]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": part.url, "detail": "auto"}
        for part in parts
        if isinstance(part, str) or part.kind == "image"
    ]


def _repaired(items: list[Any]) -> list[Any]:
    """The conversation with a result for each call: providers refuse calls without one."""
    answered_ids = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    whole: list[Any] = []
    for item in items:
        whole.append(item)
        if item.get("type") == "function_call" and item["call_id"] not in answered_ids:
            whole.append({"type": "function_call_output", "call_id": item["call_id"], "output": CANCELLED})
    return whole


# -- what comes from the run -------------------------------------------------------------------


async def _show(run: _Run, at: AdaptedTurn, event: Any) -> None:
    match event.type:
        case "raw_response_event":
            await _show_raw(at, event.data)
        case "run_item_stream_event":
            await _show_item(run, at, event.name, event.item)
        case _:
            pass


async def _show_raw(at: AdaptedTurn, data: Any) -> None:
    match data.type:
        case "response.output_text.delta":
            await at.say(data.delta)
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            await at.think(data.delta)
        case "response.refusal.delta":
            await at.say(data.delta)
            at.stop("refusal")
        case "response.output_item.added" if data.item.type == "function_call":
            if not data.item.name.startswith("transfer_to_"):
                await at.calls.pending(data.item.call_id, data.item.name)
        case _:
            pass


async def _show_item(run: _Run, at: AdaptedTurn, name: str, item: Any) -> None:
    if at is run.at and name in (
        "message_output_created",
        "tool_called",
        "tool_output",
        "reasoning_item_created",
    ):
        run.items.append(_plain(item.to_input_item()))
    match name:
        case "tool_called":
            call_id, tool, arguments = _call_of(item.raw_item)
            await at.calls.pending(call_id, tool, arguments)
        case "tool_output":
            call_id = _field(item.raw_item, "call_id") or ""
            text = as_text(item.output)
            failed = call_id in run.failed or text.startswith(FAILED)
            await at.calls.end(call_id, item.output, failed=failed)
        case "handoff_occured" | "handoff_occurred":
            async with at.turn.tool(f"Hand over to {item.target_agent.name}", kind="switch_mode"):
                pass
        case _:
            pass


def _call_of(raw: Any) -> tuple[str, str, dict[str, Any]]:
    """Id, tool and arguments of a call; hosted tools have other forms."""
    call_id = _field(raw, "call_id") or _field(raw, "id") or ""
    name = _field(raw, "name") or _field(raw, "type") or "tool"
    raw_arguments = _field(raw, "arguments")
    try:
        arguments = json.loads(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments
    except ValueError:
        arguments = {"arguments": raw_arguments}
    return call_id, name, cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


def _field(raw: Any, name: str) -> Any:
    return cast("dict[str, Any]", raw).get(name) if isinstance(raw, dict) else getattr(raw, name, None)


def _plain(item: Any) -> dict[str, Any]:
    if isinstance(item, dict):
        return cast("dict[str, Any]", item)
    return item.model_dump(exclude_unset=True, mode="json")


async def show_events(event: Any) -> None:
    """For an agent as a tool: `helper.as_tool("help", "Helps", on_stream=show_events)`.

    What the helper says and does is shown inside the tool's call. Without an editor it does nothing.
    """
    run = _CURRENT.get(None)
    call = event["tool_call"]
    if run is not None and call is not None:
        await _show(run, run.at.under(call.call_id), event["event"])


# -- approvals and tools -------------------------------------------------------------------------


async def _resumed(run: _Run, result: Any) -> Any:
    """Ask the user; returns the state to resume with, or None if there is nothing to ask."""
    if not result.interruptions:
        return None
    state = result.to_state()
    for item in result.interruptions:
        call_id, name, arguments = _call_of(item.raw_item)
        if await run.at.permit(call_id, name, arguments):
            state.approve(item)
        else:
            run.failed.add(call_id)
            state.reject(item, rejection_message=REFUSED)
    return state


def _hooks(sdk: Any, run: _Run) -> Any:
    class Hooks(sdk.RunHooks):  # type: ignore[misc, name-defined]
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            call_id = getattr(context, "tool_call_id", None)
            if call_id and run.at.calls.find(call_id) is not None:
                await run.at.calls.start(call_id, tool.name)
                CURRENT_CALL.set((run.at, call_id))

    return Hooks()


def _native(sdk: Any, run: _Run, tool: SessionTool) -> Any:
    async def invoke(context: Any, arguments: str) -> str:
        try:
            return await tool.call(json.loads(arguments or "{}"), context.tool_call_id)
        except (ToolFailed, ValueError) as error:
            run.failed.add(context.tool_call_id)
            return str(error)

    return sdk.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
