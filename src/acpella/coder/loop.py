"""The loop: ask the model, show what it says, run the tools it wants, until it is done."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.errors import ConnectionClosed, LocalProtocolError, RemoteProtocolError, RpcError, Unsupported
from acpella.local import CommandError, JailError
from acpella.schema import StopReason

from .compaction import compact
from .history import History, fitted
from .models import (
    AssistantMessage,
    ContextOverflow,
    Model,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    Retrying,
    Stop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
)
from .modes import asks, in_sandbox, is_confined, offered, refusal
from .prompt import system_prompt
from .session_tools import SessionTools, ToolTally
from .tool import Announcement, CoderTool, ToolError
from .tools._builtin import BuiltIn

__all__ = ["Loop", "Pace"]

log: logging.Logger = logging.getLogger(__name__)

FULL = 0.8
"""Share of the context window at which the conversation is summarized."""

AT_ONCE = 8
"""Tools that run at the same time."""

USES = 64
"""Tool uses of one answer that are run; a model that asks for more has lost its way."""

NAME_CHARS = 128
"""Characters of a tool's name that are shown; no tool has more, but a model may ask for any."""

StopWord = Literal["end", "tool_use", "max_tokens", "refusal"]

_EXPECTED = (
    ToolError,
    JailError,
    CommandError,
    Unsupported,
    RpcError,
    RemoteProtocolError,  # an answer of the editor that cannot be read
    OSError,
    TimeoutError,
)
"""What a tool may fail with; the model is told and goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How far one turn may go."""

    max_requests: int = 50
    """Model requests of one turn; then it stops with `max_turn_requests`."""
    helper_requests: int = 25
    """The same for a helper."""
    max_tokens: int = 8192
    """Tokens of one answer."""


class Loop:
    """One turn of the agent, or of a helper inside it."""

    def __init__(
        self,
        turn: Turn,
        session_tools: SessionTools,
        model: Model,
        history: History,
        *,
        pace: Pace,
        tally: ToolTally,
        notes: str = "",
        thinking: Any = "off",
        auto_approve: Callable[[], bool] = lambda: False,
        helper: bool = False,
    ) -> None:
        self._turn = turn
        self._session_tools = session_tools
        self._model = model
        self._history = history
        self._pace = pace
        self._notes = notes
        self._thinking = thinking
        self._auto_approve = auto_approve
        self._helper = helper
        self._tally = tally
        self._tools: dict[str, CoderTool] = {}
        self.answer: str = ""
        """The text of the model's last answer."""

    async def run(self) -> StopReason:
        """Go on until the model is done; returns the reason to stop.

        Raises:
            ModelError: the model cannot go on; the history holds all that happened before.
        """
        limit = self._pace.helper_requests if self._helper else self._pace.max_requests
        for _ in range(limit):
            word, uses = await self._call_model_with_room()
            if word in ("refusal", "max_tokens"):
                self._history.settle("not run: the answer was cut off")
                return word
            if not uses:
                return "end_turn"
            await self._use_all(uses)
            if not self._helper:
                await self._turn.session.save()  # a crash loses at most one step
        return "max_turn_requests"

    # -- the model -----------------------------------------------------------------------------

    async def _call_model_with_room(self) -> tuple[StopWord, list[ToolUse]]:
        """Ask the model; summarize the conversation when it does not fit."""
        if self._history.tokens > self._model.context_window * FULL and len(self._history) > 1:
            await self._make_room()
        try:
            return await self._call_model()
        except ContextOverflow:
            await self._make_room()
        try:
            return await self._call_model()
        except ContextOverflow as error:
            self._history.add(_ModelReply().broken_off("no answer: the conversation is too long"))
            raise ModelError(
                f"the conversation does not fit into {self._model.name}, not even summarized; shorten "
                "the prompt, start anew with /clear, or choose a model with a larger window with /model"
            ) from error

    async def _make_room(self) -> None:
        await compact(self._turn, self._model, self._history, running=True)

    async def _call_model(self) -> tuple[StopWord, list[ToolUse]]:
        tools = await self._session_tools.all_tools(self._turn)
        if self._helper:  # the plan is the agent's own, and one level of helpers is enough
            tools = [tool for tool in tools if tool.spec.name not in ("delegate", "plan")]
        self._tools = {tool.spec.name: tool for tool in tools}
        tools = offered(self._turn.session.mode, tools)
        request = ModelRequest(
            system=system_prompt(self._turn, tools, self._notes, helper=self._helper),
            messages=fitted(self._history.messages, self._model.accepts),
            tools=[tool.spec for tool in tools],
            max_tokens=self._pace.max_tokens,
            thinking=self._thinking,
        )
        reply = _ModelReply()
        try:
            async with aclosing(self._model.stream(request)) as events:
                await self._listen(events, reply)
        except ContextOverflow:
            raise
        except asyncio.CancelledError:
            self._history.add(reply.broken_off("interrupted by the user"))
            raise
        except ModelError:
            self._history.add(reply.broken_off("broken off: the model failed"))
            raise
        self._history.add(reply.message())
        if reply.usage is not None:
            self._history.count(reply.usage.input + reply.usage.output)
            self._tally.input += reply.usage.input
            self._tally.output += reply.usage.output
            self._tally.cached += reply.usage.cached
        self.answer = reply.text
        return reply.stop, reply.uses

    async def _listen(self, events: AsyncGenerator[ModelEvent, None], reply: "_ModelReply") -> None:
        async for event in events:
            reply.take(event)
            if isinstance(event, TextDelta) and event.text:
                # a helper's words do not answer the user
                await (self._turn.think(event.text) if self._helper else self._turn.say(event.text))
            elif isinstance(event, ThinkingDelta) and event.text:
                await self._turn.think(event.text)
            elif isinstance(event, Retrying):
                await self._turn.notice(
                    f"{event.reason}; trying again in {event.seconds:.0f} s", severity="warning"
                )

    # -- the tools -------------------------------------------------------------------------------

    async def _use_all(self, uses: list[ToolUse]) -> None:
        """Run the tools: harmless ones that follow each other at once, the others one after the other."""
        results: list[ToolMessage | None] = [None] * len(uses)
        room = asyncio.Semaphore(AT_ONCE)

        async def use(index: int) -> None:
            async with room:
                results[index] = await self._use(uses[index])

        try:
            for batch in _batches(uses[:USES], self._tools, self._turn.session.mode):
                if len(batch) == 1:
                    await use(batch[0])
                    continue
                async with asyncio.TaskGroup() as group:
                    for index in batch:
                        group.create_task(use(index))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            for index, (one, result) in enumerate(zip(uses, results, strict=True)):
                why = "the turn was interrupted" if index < USES else f"at most {USES} tools run per answer"
                self._history.add(result or _failed(one, f"not run: {why}"))

    async def _use(self, use: ToolUse) -> ToolMessage:
        tool = self._tools.get(use.name)
        if tool is None or use.invalid:
            why = (
                f"the arguments could not be read: {use.invalid}"
                if tool is not None
                else f"there is no tool {use.name[:NAME_CHARS]!r}; there are: {', '.join(self._tools)}"
            )
            name = use.name[:NAME_CHARS]
            async with self._turn.tool(name or "(no name)", name=name) as call:
                call.fail(why)
            return _failed(use, why)
        announced = tool.announce(use.arguments, self._turn.session.cwd)
        arguments = use.arguments
        if sandboxed := self._is_sandboxed(tool):
            announced, arguments = in_sandbox(announced), {**arguments, "sandbox": True}
        elif is_confined(tool) and "sandbox" in arguments:
            arguments = {
                **arguments,
                "sandbox": False,
            }  # the model's own word for it; clients remember what they see
        asking = asks(self._turn.session.mode, tool)
        run = self._turn.tool(
            announced.title,
            kind=tool.kind,
            name=use.name,
            locations=announced.locations,
            input=arguments,
            pending=asking,
        )
        async with run as call:
            try:
                if not asking:
                    return await self._run(tool, call, use)
                async with self._session_tools.alone:
                    work = self._run_with_permission(tool, call, use, announced, sandboxed)
                    return await self._session_tools.guard(tool, work)
            except _EXPECTED as error:
                why = _in_words(error)
            except (ConnectionClosed, LocalProtocolError):
                raise  # there is nobody left to work for
            except Exception:
                log.exception("the tool %s failed", use.name)
                why = "the tool failed; the log of the agent says why"
            call.fail(why)
            return _failed(use, why)

    async def _run_with_permission(
        self, tool: CoderTool, call: ToolRun, use: ToolUse, announcement: Announcement, sandboxed: bool
    ) -> ToolMessage:
        if sandboxed != self._is_sandboxed(tool):  # while others had their turn
            raise ToolError(f"not run: the mode was switched to `{self._turn.session.mode}` meanwhile")
        self._check_mode(tool)
        if isinstance(tool, BuiltIn):
            await tool.preview(self._turn, call, use.arguments)
        if not await self._may(call, announcement, use.name):
            return _failed(use, "the user refused this; do not try it again, ask what to do instead")
        self._check_mode(tool)  # it may have changed while the user was asked
        await call.start()
        return await self._run(tool, call, use)

    async def _run(self, tool: CoderTool, call: ToolRun, use: ToolUse) -> ToolMessage:
        output = await tool.run(self._turn, call, use.arguments)
        content = list(output.content) or [Text("done")]
        return ToolMessage(use.id, content)

    def _check_mode(self, tool: CoderTool) -> None:
        why = refusal(self._turn.session.mode, tool)
        if why is not None:
            raise ToolError(why)

    def _is_sandboxed(self, tool: CoderTool) -> bool:
        return is_confined(tool) and self._session_tools.in_sandbox

    async def _may(self, call: ToolRun, announcement: Announcement, name: str) -> bool:
        key = announcement.permission_key or name
        wider = announcement.wider_key
        if wider and self._turn.remembered(key) is None and self._turn.remembered(wider) is not None:
            key = wider
        if self._auto_approve() and self._turn.remembered(key) != "deny":
            return True
        return await self._turn.permit(call, key=key, covers=announcement.covers)


class _ModelReply:
    """An answer of the model, as far as it has come."""

    def __init__(self) -> None:
        self.usage: ModelUsage | None = None
        self.stop: StopWord = "end"
        self._parts: list[Text | Thinking | ToolUse] = []
        self._kind: type[Text] | type[Thinking] = Text
        self._pieces: list[str] = []  # of the part that is being streamed

    def take(self, event: ModelEvent) -> None:
        if isinstance(event, TextDelta):
            self._add(Text, event.text)
        elif isinstance(event, ThinkingDelta):
            self._add(Thinking, event.text)
            if event.signature:  # the end of this thought, perhaps one without words
                self._parts.append(Thinking("".join(self._pieces), event.signature))
                self._pieces = []
        elif isinstance(event, ToolUse):
            self._close()
            self._parts.append(event)
        elif isinstance(event, ModelUsage):
            self.usage = event
        elif isinstance(event, Stop):
            self.stop = event.reason

    def _add(self, kind: type[Text] | type[Thinking], text: str) -> None:
        if kind is not self._kind:
            self._close()
            self._kind = kind
        if text:
            self._pieces.append(text)

    def _close(self) -> None:
        if self._pieces:
            self._parts.append(self._kind("".join(self._pieces)))
            self._pieces = []

    @property
    def parts(self) -> list[Text | Thinking | ToolUse]:
        self._close()
        return self._parts

    @property
    def uses(self) -> list[ToolUse]:
        return [part for part in self.parts if isinstance(part, ToolUse)]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    def message(self) -> AssistantMessage:
        """The answer as it is kept; providers refuse empty ones."""
        has_text = any(
            isinstance(part, ToolUse) or (isinstance(part, Text) and part.text) for part in self.parts
        )
        return AssistantMessage(self.parts if has_text else [*self.parts, Text("(no answer)")])

    def broken_off(self, why: str) -> AssistantMessage:
        """The part that came before it broke off: no tool use, which nobody would answer."""
        return AssistantMessage([Text(f"{self.text} [{why}]".lstrip())])


def _batches(uses: list[ToolUse], tools: dict[str, CoderTool], mode: str | None) -> list[list[int]]:
    """Indexes of uses that may run together, in order."""
    batches: list[list[int]] = []
    together = False
    for index, use in enumerate(uses):
        tool = tools.get(use.name)
        harmless = tool is None or not asks(mode, tool)
        if harmless and together:
            batches[-1].append(index)
        else:
            batches.append([index])
        together = harmless
    return batches


def _failed(use: ToolUse, why: str) -> ToolMessage:
    return ToolMessage(use.id, [Text(why)], is_error=True)


def _in_words(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"no such file: {error.filename or error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, TimeoutError):
        return str(error) or "it took too long"
    return error.reason if isinstance(error, RpcError) else str(error)
