"""Agents of the Google Agent Development Kit."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from acpella.agent import Session
from acpella.errors import InternalError

from .content import Media
from .interface import Adapter, Conversation
from .tools import SessionTool, ToolFailed
from .turn import CURRENT_CALL, AdaptedTurn

__all__ = ["GoogleAdkAdapter"]

CONFIRM = "adk_request_confirmation"
"""The call by which the kit asks whether another call may run."""

WAITING = "requires confirmation"
"""Part of the result that a call has until it is confirmed."""

CANCELLED = "This call was cancelled by the user before it ended."

USER = "user"


class GoogleAdkAdapter(Adapter):
    """Drives `Runner.run_async`. Tools that require confirmation ask the user, and the run goes on."""

    name = "Google ADK"
    package = "google-adk"
    floor = "2.13"
    classes: ClassVar[Sequence[str]] = ("google.adk.agents.base_agent.BaseAgent",)
    options: ClassVar[Sequence[str]] = ("session_service", "run_config")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(target, options)


class _Run:
    """The state of one turn while it runs."""

    def __init__(self, at: AdaptedTurn) -> None:
        self.at = at
        self.partial = False
        self.questions: list[Any] = []
        self.input_tokens = self.output_tokens = 0


class _Conversation(Conversation):
    def __init__(self, agent: Any, options: Mapping[str, Any]) -> None:
        sessions = importlib.import_module("google.adk.sessions")
        self._agent = agent
        self._own = "session_service" not in options
        self._service = options.get("session_service") or sessions.InMemorySessionService()
        self._run_config = options.get("run_config")
        self._opened = ""

    async def reply(self, at: AdaptedTurn) -> None:
        types = importlib.import_module("google.genai.types")
        runs = importlib.import_module("google.adk.agents.run_config")
        run = _Run(at)
        app = importlib.import_module("google.adk.apps").App(
            name=self._agent.name, root_agent=await self._prepared(at), plugins=[_plugin(run)]
        )
        runner = importlib.import_module("google.adk.runners").Runner(app=app, session_service=self._service)
        session_id = await self._open(at, runner.app_name)
        config = self._run_config or runs.RunConfig(streaming_mode=runs.StreamingMode.SSE)
        message = types.Content(role="user", parts=_parts(types, at.parts))
        try:
            while message is not None:
                run.questions.clear()
                events = runner.run_async(
                    user_id=USER, session_id=session_id, new_message=message, run_config=config
                )
                try:
                    async for event in events:
                        await _show(run, event)
                finally:
                    await events.aclose()
                message = await _answers(types, run)
        finally:
            await self._keep(at, runner.app_name, session_id)
        at.tokens(run.input_tokens, run.output_tokens)

    async def _prepared(self, at: AdaptedTurn) -> Any:
        """The agent with the tools of the session and the model that the user chose."""
        changes: dict[str, Any] = {}
        tools = [_native(tool) for tool in await at.tools()]
        if tools and hasattr(self._agent, "tools"):
            changes["tools"] = [*self._agent.tools, *tools]
        if at.model is not None and hasattr(self._agent, "model"):
            changes["model"] = at.model
        return self._agent.clone(update=changes) if changes else self._agent

    # -- memory --------------------------------------------------------------------------------

    async def _open(self, at: AdaptedTurn, app: str) -> str:
        if self._opened == at.session.id:
            return self._opened
        session = await self._service.get_session(app_name=app, user_id=USER, session_id=at.session.id)
        if session is None:
            stored: dict[str, Any] = at.memory.get("session") or {}
            session = await self._service.create_session(
                app_name=app, user_id=USER, session_id=at.session.id, state=stored.get("state")
            )
            event_type = importlib.import_module("google.adk.events").Event
            for event in stored.get("events", ()):
                await self._service.append_event(session, event_type.model_validate(event))
        self._opened = at.session.id
        return self._opened

    async def _keep(self, at: AdaptedTurn, app: str, session_id: str) -> None:
        """Answer calls that were left without a result, and keep what the next process needs."""
        session = await self._service.get_session(app_name=app, user_id=USER, session_id=session_id)
        if session is None:
            return
        answered_ids = {reply.id for event in session.events for reply in event.get_function_responses()}
        for event in list(session.events):
            calls = [call for call in event.get_function_calls() if call.id not in answered_ids]
            if calls and not event.partial:
                await self._service.append_event(session, _cancelled(event, calls))
        if self._own:
            session = await self._service.get_session(app_name=app, user_id=USER, session_id=session_id)
            at.memory["session"] = session.model_dump(mode="json", by_alias=True, exclude_none=True)


def _cancelled(event: Any, calls: list[Any]) -> Any:
    types = importlib.import_module("google.genai.types")
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"error": CANCELLED}
            )
        )
        for call in calls
    ]
    return type(event)(
        author=event.author,
        invocation_id=event.invocation_id,
        content=types.Content(role="user", parts=parts),
    )


def _parts(types: Any, parts: list[str | Media]) -> list[Any]:
    return [
        types.Part(text=part)
        if isinstance(part, str)
        else types.Part(inline_data=types.Blob(data=part.bytes, mime_type=part.mime_type))
        for part in parts
    ]


# -- what comes from the run ---------------------------------------------------------------------


async def _show(run: _Run, event: Any) -> None:
    at = run.at
    for part in (event.content.parts if event.content else None) or ():
        if part.text and (event.partial or not run.partial):  # the last event repeats the whole text
            await (at.think if part.thought else at.say)(part.text)
    run.partial = bool(event.partial)
    if event.partial:
        return
    for call in event.get_function_calls():
        if call.name == CONFIRM:
            run.questions.append(call)
        else:
            await at.calls.pending(call.id, call.name, call.args or {})
    for reply in event.get_function_responses():
        await _end(at, reply)
    usage = event.usage_metadata
    if usage is not None:
        run.input_tokens += usage.prompt_token_count or 0
        run.output_tokens += usage.candidates_token_count or 0
    reason = str(getattr(event.finish_reason, "name", event.finish_reason) or "")
    if reason == "MAX_TOKENS":
        at.stop("max_tokens")
    elif reason in ("SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST"):
        at.stop("refusal")
    elif event.error_code and event.error_message:
        raise InternalError(f"{event.error_code}: {event.error_message}")


async def _end(at: AdaptedTurn, reply: Any) -> None:
    response: dict[str, Any] = reply.response or {}
    error = response.get("error")
    if error is not None and WAITING in str(error):
        return
    run = at.calls.find(reply.id)
    if run is not None and error is None:
        await run.start()
    output = error if error is not None else response.get("result", response)
    await at.calls.end(reply.id, output, failed=error is not None, name=reply.name)


async def _answers(types: Any, run: _Run) -> Any:
    """Ask the user; returns the message with the answers, or None if there are no questions."""
    parts: list[Any] = []
    for question in run.questions:
        details: dict[str, Any] = question.args or {}
        call: dict[str, Any] = details.get("originalFunctionCall", {})
        arguments: dict[str, Any] = call.get("args") or {}
        allowed = await run.at.permit(call.get("id", ""), call.get("name", "tool"), arguments)
        answer = types.FunctionResponse(id=question.id, name=CONFIRM, response={"confirmed": allowed})
        parts.append(types.Part(function_response=answer))
    return types.Content(role="user", parts=parts) if parts else None


def _plugin(run: _Run) -> Any:
    base: Any = importlib.import_module("google.adk.plugins.base_plugin").BasePlugin

    inside: dict[str, _Run] = {}

    class Started(base):
        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
            """Show the events of an agent that is used as a tool, which has a session of its own."""
            if invocation_context.session.id == run.at.session.id:
                return
            _, call_id = CURRENT_CALL.get((run.at, ""))
            nested = inside.get(call_id)
            if nested is None:
                nested = inside[call_id] = _Run(run.at.under(call_id))
            await _show(nested, event)

        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            call_id = tool_context.function_call_id or ""
            if run.at.calls.find(call_id) is not None and tool_context.session.id == run.at.session.id:
                CURRENT_CALL.set((run.at, call_id))
            waits = getattr(tool, "_require_confirmation", False)
            if not waits and run.at.calls.find(call_id) is not None:
                await run.at.calls.start(call_id, tool.name)

    return Started(name="acpella")


def _native(tool: SessionTool) -> Any:
    types = importlib.import_module("google.genai.types")
    base: Any = importlib.import_module("google.adk.tools.base_tool").BaseTool

    class Native(base):
        def _get_declaration(self) -> Any:
            return types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=tool.schema
            )

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            try:
                return {"result": await tool.call(args, tool_context.function_call_id)}
            except ToolFailed as error:
                return {"error": str(error)}

    return Native(name=tool.name, description=tool.description)
