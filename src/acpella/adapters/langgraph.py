"""Graphs of LangGraph: those that LangChain's `create_agent` and deepagents make, and your own."""

import base64
import importlib
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, cast

from acpella.agent import Session
from acpella.errors import InternalError

from .content import Media
from .interface import Adapter, Conversation, Declared
from .jsonable import as_text
from .langgraph_messages import missing_results, shown_blocks
from .tools import REFUSED, SessionTool, ToolFailed
from .turn import CURRENT_CALL, AdaptedTurn

__all__ = ["LangGraphAdapter", "session_middleware"]

STREAMS = ["messages", "updates", "tools", "tasks", "custom"]

PLAN_TOOL = "write_todos"


class LangGraphAdapter(Adapter):
    """Drives `graph.astream`. Interrupts of approval middleware ask the user; others get the next prompt."""

    name = "LangGraph"
    package = "langgraph"
    floor = "1.2"
    classes: ClassVar[Sequence[str]] = ("langgraph.pregel.main.Pregel",)
    options: ClassVar[Sequence[str]] = ("config", "context")

    def declare(self, target: Any) -> Declared:
        if "messages" not in target.channels:
            keys = sorted(str(key) for key in target.channels if not str(key).startswith(("__", "branch:")))
            raise TypeError(f"a graph needs the key `messages` to talk with; this one has: {', '.join(keys)}")
        name = target.name
        return Declared(name=name if name and name != "LangGraph" else "agent")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        return _Conversation(target, session, options)


class _Run:
    """The state of one turn while it runs."""

    def __init__(self, at: AdaptedTurn, tools: list[SessionTool]) -> None:
        self.at = at
        self.tools = {tool.name: tool for tool in tools}
        self.reached = False
        """Whether the middleware ran, which adds the tools and the model of the session."""
        self.window: int | None = None
        self.announced: dict[str, tuple[str, dict[str, Any]]] = {}
        self.asked: set[str] = set()
        self.call_of_task: dict[str, str] = {}
        self.names: dict[tuple[str, int], str] = {}
        self.streamed: set[str] = set()
        self.interrupts: dict[str, Any] = {}
        self.input_tokens = self.output_tokens = self.last_input = 0

    def place(self, namespace: Sequence[str]) -> AdaptedTurn:
        """The turn, or the nested one inside the tool call that this namespace belongs to."""
        for part in reversed(namespace):
            call_id = self.call_of_task.get(part.rpartition(":")[2])
            if call_id is not None:
                return self.at.under(call_id)
        return self.at

    def find_call(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """The id of a call that is asked about without its id."""
        for call_id, announced in self.announced.items():
            if announced == (name, arguments) and call_id not in self.asked | set(self.over):
                self.asked.add(call_id)
                return call_id
        return None

    @property
    def over(self) -> list[str]:
        return [call_id for call_id in self.announced if self.at.calls.is_over(call_id)]


_CURRENT: ContextVar[_Run] = ContextVar("acpella_langgraph_run")


class _Conversation(Conversation):
    def __init__(self, graph: Any, session: Session, options: Mapping[str, Any]) -> None:
        self._own = graph.checkpointer is None or graph.checkpointer is True
        if self._own:
            saver = importlib.import_module("langgraph.checkpoint.memory").InMemorySaver()
            graph = graph.copy(update={"checkpointer": saver})
        self._graph = graph
        self._options = options
        self._session = session
        self._thread = ""
        self._told = False

    async def reply(self, at: AdaptedTurn) -> None:
        run = _Run(at, await at.tools())
        config = await self._config(at)
        context = self._options.get("context")
        more = {} if context is None else {"context": context(at.session) if callable(context) else context}
        types = importlib.import_module("langgraph.types")
        limit = importlib.import_module("langgraph.errors").GraphRecursionError
        waiting = at.memory.pop("interrupt", None)
        graph_input: Any = {"messages": [{"role": "user", "content": _content(at.parts)}]}
        if waiting is not None:
            graph_input = types.Command(resume={waiting: at.text})
        token = _CURRENT.set(run)
        try:
            while graph_input is not None:
                run.interrupts.clear()
                parts = self._graph.astream(
                    graph_input, config, stream_mode=STREAMS, subgraphs=True, version="v2", **more
                )
                async for part in parts:
                    if part["type"] == "messages":  # most are
                        at_part = run.place(part["ns"]) if part["ns"] else at
                        await _message(run, at_part, part["data"][0])
                    else:
                        await _show(run, part["type"], part["ns"], part["data"])
                answers = await _answers(run)
                graph_input = None if answers is None else types.Command(resume=answers)
        except limit as error:
            at.stop("max_turn_requests")
            await at.turn.notice("The limit of this agent was reached", description=str(error))
        finally:
            _CURRENT.reset(token)
            await self._keep(at, config)
        at.tokens(run.input_tokens, run.output_tokens)
        if run.window and run.last_input:
            await at.turn.usage(run.last_input, run.window)
        await self._tell_unreached(run)

    # -- memory ------------------------------------------------------------------------------

    async def _config(self, at: AdaptedTurn) -> dict[str, Any]:
        """The configuration with the thread of this session, into which stored messages are loaded."""
        own_config: dict[str, Any] = dict(self._options.get("config") or {})
        memory = at.memory

        def of(thread: str) -> dict[str, Any]:
            return {**own_config, "configurable": {**own_config.get("configurable", {}), "thread_id": thread}}

        config = of(at.session.id)
        if self._thread != at.session.id:
            if self._own and "values" in memory:
                await self._graph.aupdate_state(config, _loaded(memory["values"]), as_node="__start__")
            elif not self._own and memory.get("thread", at.session.id) != at.session.id:  # a fork
                before = await self._graph.aget_state(of(memory["thread"]))
                await self._graph.aupdate_state(config, before.values, as_node="__start__")
            self._thread = at.session.id
        memory["thread"] = at.session.id
        return config

    async def _keep(self, at: AdaptedTurn, config: dict[str, Any]) -> None:
        """Answer calls that were left without a result, and keep what the next process needs."""
        state = await self._graph.aget_state(config)
        if "interrupt" not in at.memory:
            missing = missing_results(state)
            if missing:
                node = "tools" if "tools" in self._graph.nodes else None
                await self._graph.aupdate_state(config, {"messages": missing}, as_node=node)
                state = await self._graph.aget_state(config)
        if self._own:
            at.memory["values"] = _dumped(state.values)

    async def _tell_unreached(self, run: _Run) -> None:
        ignored = [
            *(["the chosen model"] if run.at.model else []),
            *(["tools of the editor"] if run.tools else []),
        ]
        if ignored and not run.reached and not self._told:
            self._told = True
            await run.at.turn.notice(
                f"This agent cannot use {' and '.join(ignored)}",
                severity="warning",
                description="Its author can add session_middleware() of acpella.adapters.langgraph to it.",
            )


def _dumped(values: Any) -> list[str]:
    serializer = importlib.import_module("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()
    kind, data = serializer.dumps_typed(values)
    return [kind, base64.b64encode(data).decode()]


def _loaded(stored: Sequence[str]) -> Any:
    serializer = importlib.import_module("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()
    return serializer.loads_typed((stored[0], base64.b64decode(stored[1])))


def _content(parts: list[str | Media]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": part.kind, "base64": part.data, "mime_type": part.mime_type}
        for part in parts
    ]


# -- what comes from the graph -----------------------------------------------------------------


async def _show(run: _Run, kind: str, namespace: Sequence[str], data: Any) -> None:
    at = run.place(namespace)
    match kind:
        case "updates":
            await _update(run, at, data)
        case "tools":
            await _tool(run, at, data)
        case "tasks":
            if data["name"] == "tools" and "input" in data:
                run.call_of_task[data["id"]] = _call_of_task(data["input"])
        case "custom":
            await at.think(data if isinstance(data, str) else "")
        case _:
            pass


def _call_of_task(task_input: Any) -> str:
    """The id of the call that a task of the tools' node runs; the form differs between versions."""
    first: Any = (
        next(iter(cast("list[Any]", task_input)), None) if isinstance(task_input, list) else task_input
    )
    if not isinstance(first, dict):
        return ""
    call = cast("dict[str, Any]", first)
    return str(call.get("tool_call", call).get("id", ""))


async def _message(run: _Run, at: AdaptedTurn, message: Any) -> None:
    kind = message.type
    if kind == "tool":
        await at.calls.end(
            message.tool_call_id, message.content, failed=message.status == "error", name=message.name
        )
        return
    if kind not in ("ai", "AIMessageChunk"):
        return
    if kind == "ai" and message.id in run.streamed:
        return
    run.streamed.add(message.id)
    for block, text in shown_blocks(message):
        await (at.say if block == "text" else at.think)(text)
    for chunk in getattr(message, "tool_call_chunks", ()):
        if chunk.get("id") and chunk.get("name"):
            await _pending(run, at, chunk["id"], chunk["name"], None)
    usage = message.usage_metadata
    if usage:
        run.input_tokens += usage["input_tokens"]
        run.output_tokens += usage["output_tokens"]
        run.last_input = usage["input_tokens"] or run.last_input
    about: dict[str, Any] = message.response_metadata or {}
    reason = about.get("finish_reason") or about.get("stop_reason")
    if reason in ("length", "max_tokens"):
        run.at.stop("max_tokens")
    elif reason in ("content_filter", "refusal"):
        run.at.stop("refusal")


async def _update(run: _Run, at: AdaptedTurn, data: Mapping[str, Any]) -> None:
    for node, change in data.items():
        if node == "__interrupt__":
            run.interrupts.update({interrupt.id: interrupt.value for interrupt in change})
        elif isinstance(change, dict):
            table = cast("dict[str, Any]", change)
            if isinstance(table.get("todos"), list):
                await at.plan(table["todos"])
            messages = table.get("messages")
            for message in cast("list[Any]", messages) if isinstance(messages, list) else []:
                for call in getattr(message, "tool_calls", None) or ():
                    await _pending(run, at, call["id"], call["name"], call["args"])


async def _pending(
    run: _Run, at: AdaptedTurn, call_id: str, name: str, arguments: dict[str, Any] | None
) -> None:
    if name == PLAN_TOOL:
        at.calls.hide(call_id)
    if arguments is not None:
        run.announced.setdefault(call_id, (name, arguments))
    await at.calls.pending(call_id, name, arguments)


async def _tool(run: _Run, at: AdaptedTurn, data: Mapping[str, Any]) -> None:
    call_id = data["tool_call_id"]
    match data["event"]:
        case "tool-started":
            raw_input: Any = data.get("input")
            name, arguments = run.announced.get(call_id, (data["tool_name"], raw_input))
            await at.calls.start(call_id, name, arguments)
        case "tool-output-delta":
            await at.calls.progress(call_id, as_text(data.get("delta")))
        case "tool-finished":
            output = data["output"]
            if getattr(output, "type", None) == "tool":
                await at.calls.end(call_id, output.content, failed=output.status == "error")
        case "tool-error":
            await at.calls.end(call_id, data.get("message"), failed=True)
        case _:
            pass


# -- interrupts ----------------------------------------------------------------------------------


async def _answers(run: _Run) -> dict[str, Any] | None:
    """Ask the user; returns what to resume with, or None if there is nothing to resume yet."""
    answers: dict[str, Any] = {}
    for interrupt_id, value in run.interrupts.items():
        table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if "action_requests" in table:
            decisions = [await _decision(run, request) for request in table["action_requests"]]
            answers[interrupt_id] = {"decisions": decisions}
        elif table.get("type") == "tool_approval":
            answers[interrupt_id] = await _decision(run, table, table.get("tool_call_id"))
        else:
            run.at.memory["interrupt"] = interrupt_id
            await run.at.say(as_text(table.get("question") or table.get("message") or value))
    return answers or None


async def _decision(run: _Run, request: Mapping[str, Any], call_id: str | None = None) -> dict[str, Any]:
    name = str(request.get("name") or request.get("tool_name") or "tool")
    arguments: dict[str, Any] = request.get("args") or {}
    call_id = call_id or run.find_call(name, arguments) or f"{name} {as_text(arguments)}"
    if await run.at.permit(call_id, name, arguments):
        return {"type": "approve"}
    return {"type": "reject", "message": REFUSED}


# -- tools and models of the session -------------------------------------------------------------


def session_middleware() -> Any:
    """Middleware for `create_agent` and `create_deep_agent`. An agent cannot be changed once it is made, so
    this gives it the tools of the session's MCP servers and of the editor, and the model that the user chose.
    Outside of an editor it does nothing.
    """
    base: Any = importlib.import_module("langchain.agents.middleware").AgentMiddleware
    structured = importlib.import_module("langchain_core.tools").StructuredTool
    tool_message = importlib.import_module("langchain_core.messages").ToolMessage

    def native(tool: SessionTool) -> Any:
        async def call(**arguments: Any) -> str:
            raise InternalError("the middleware calls it")

        return structured(
            name=tool.name, description=tool.description, args_schema=tool.schema, coroutine=call
        )

    class SessionMiddleware(base):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            run = _CURRENT.get(None)
            if run is None:
                return await handler(request)
            run.reached = True
            changes: dict[str, Any] = {}
            if run.tools:
                changes["tools"] = [*request.tools, *map(native, run.tools.values())]
            if run.at.model is not None:
                changes["model"] = _model(run.at.model)
            request = request.override(**changes) if changes else request
            profile: dict[str, Any] = getattr(request.model, "profile", None) or {}
            run.window = profile.get("max_input_tokens")
            return await handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            run = _CURRENT.get(None)
            if run is None:
                return await handler(request)
            called = request.tool_call
            tool = run.tools.get(called["name"]) if request.tool is None else None
            token = CURRENT_CALL.set((run.at, called["id"]))
            try:
                if tool is None:
                    return await handler(request)
                status, text = "success", await tool.call(called["args"], called["id"])
            except ToolFailed as error:
                status, text = "error", str(error)
            finally:
                CURRENT_CALL.reset(token)
            return tool_message(text, tool_call_id=called["id"], name=called["name"], status=status)

    return SessionMiddleware()


def _model(model: Any) -> Any:
    """The model with this name; anything but a name is returned unchanged."""
    if not isinstance(model, str):
        return model
    return importlib.import_module("langchain.chat_models").init_chat_model(model)
