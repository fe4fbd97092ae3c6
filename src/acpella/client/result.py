"""What a turn gave: the updates of an agent folded into text, tool calls, a plan."""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommand,
    AvailableCommandsUpdate,
    Content,
    Plan,
    PlanEntry,
    PlanItems,
    PlanRemoved,
    PlanUpdate,
    PromptResponse,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallContent,
    ToolCallLocation,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
    Usage,
    UsageUpdate,
)

__all__ = ["Messages", "Result", "ToolCallState", "command_in", "plan_entries"]

OUTPUT_KEPT = 1024 * 1024
"""Characters of a terminal's output that are kept. Without it, an agent that runs `yes` fills the memory."""


class Messages:
    """Tells where one message of an agent ends and the next begins."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._line_ends = 2  # at the end of what was said; 2 at the start, where no gap is due
        self._interrupted = False

    def interrupt(self) -> None:
        """Something else came; what is said from now on is another message."""
        self._interrupted = True

    def gap(self, message_id: str | None, text: str) -> str:
        """The line ends that are missing for a blank line before a chunk that begins another message."""
        if not text:
            return ""
        another, ends = self._interrupted, self._line_ends
        if message_id is not None and message_id != self._id:
            another = another or self._id is not None
            self._id = message_id
        self._interrupted = False
        rest = text.rstrip("\n")
        self._line_ends = len(text) - len(rest) + (0 if rest else ends)
        if not another or ends >= 2:
            return ""
        return "\n" * (2 - ends - (len(text) - len(text.lstrip("\n"))))


def command_in(raw_input: Any) -> str:
    """The command that the input of a tool call names; empty if it names none."""
    raw = cast("dict[str, Any]", raw_input) if isinstance(raw_input, dict) else {}
    for name in ("command", "cmd"):
        value = raw.get(name)
        if isinstance(value, list):
            words = [str(word) for word in cast("list[Any]", value)]
            if len(words) == 3 and words[1] in ("-c", "-lc"):  # a shell, for the sake of what it runs
                return words[2]
            return " ".join(words)
        if isinstance(value, str) and value:
            return value
    return ""


@dataclass(slots=True)
class ToolCallState:
    """A tool call with all its updates applied (R-261)."""

    id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    """`pending`, `in_progress`, `completed`, `failed`; `cancelled` if the turn was cancelled first;
    `unfinished` if the turn ended and the agent never reported the outcome of the call."""
    name: str | None = None
    content: list[ToolCallContent] = field(default_factory=list[ToolCallContent])
    locations: list[ToolCallLocation] = field(default_factory=list[ToolCallLocation])
    raw_input: Any = msgspec.UNSET
    raw_output: Any = msgspec.UNSET
    terminal_output: str = ""
    """What the agent's own terminals wrote, if it tells in `_meta`; the last `OUTPUT_KEPT` characters."""
    terminal_exit: dict[str, Any] | None = None
    """`exit_code` and `signal` of such a terminal, when it has ended."""

    @property
    def is_open(self) -> bool:
        """Whether the call has not ended yet."""
        return self.status in ("pending", "in_progress")

    @property
    def command(self) -> str:
        """The command that the call runs, if its input names one."""
        return command_in(self.raw_input)

    def apply(self, update: ToolCall | ToolCallUpdate) -> None:
        """Take over what the update sets; lists are replaced whole."""
        for name in ("title", "kind", "status", "name", "content", "locations"):
            value = getattr(update, name)
            if value is not None:
                setattr(self, name, value)
        if update.raw_input is not msgspec.UNSET:
            self.raw_input = update.raw_input
        if update.raw_output is not msgspec.UNSET:
            self.raw_output = update.raw_output
        if update.meta:
            self._note_terminal(update.meta)

    def _note_terminal(self, meta: dict[str, Any]) -> None:
        """Keep the output of commands that the agent runs itself, in terminals it reports in `_meta`."""
        output, ended = meta.get("terminal_output"), meta.get("terminal_exit")
        if isinstance(output, dict) and isinstance(data := cast("dict[str, Any]", output).get("data"), str):
            self.terminal_output = (self.terminal_output + data)[-OUTPUT_KEPT:]
        if isinstance(ended, dict):
            self.terminal_exit = cast("dict[str, Any]", ended)

    def to_update(self) -> ToolCallUpdate:
        """Everything that is known of the call, as one update."""
        status = "failed" if self.status in ("cancelled", "unfinished") else self.status
        return ToolCallUpdate(
            tool_call_id=self.id,
            title=self.title or None,
            name=self.name,
            kind=cast("ToolKind", self.kind),
            status=cast("ToolCallStatus", status),
            content=self.content,
            locations=self.locations,
            raw_input=self.raw_input,
            raw_output=self.raw_output,
        )


def _input_in(content: list[ToolCallContent]) -> dict[str, Any] | None:
    """What goes into a call, if that is what its content is: one text with a JSON object."""
    texts = [item.content for item in content if isinstance(item, Content)]
    if len(texts) != 1 or not isinstance(texts[0], TextContent):
        return None
    try:
        return msgspec.json.decode(texts[0].text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None


class Result:
    """What is known of a turn, complete when it has ended."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None
        """None while the turn runs."""
        self.tool_calls: dict[str, ToolCallState] = {}
        self.plan: list[PlanEntry] = []
        self.usage: Usage | None = None
        """Tokens of this turn, if the agent tells."""
        self.context: UsageUpdate | None = None
        """How full the context window is, if the agent tells."""
        self.commands: list[AvailableCommand] | None = None
        self.refused: int = 0
        """Questions of the agent that were answered with no."""
        self._text: list[str] = []
        self._messages = Messages()
        self._thoughts: list[str] = []

    @property
    def text(self) -> str:
        """The agent's answer; a blank line stands between its messages."""
        return "".join(self._text)

    @property
    def thoughts(self) -> str:
        """The agent's reasoning."""
        return "".join(self._thoughts)

    def __repr__(self) -> str:
        return (
            f"Result(stop_reason={self.stop_reason!r}, text={self.text!r}, tool_calls={len(self.tool_calls)})"
        )

    def fold(self, update: SessionUpdate) -> None:
        """Take an update in."""
        if type(update) is AgentMessageChunk:  # most of a turn; a check by class is quicker than isinstance
            content = update.content
            if type(content) is TextContent:
                if gap := self._messages.gap(update.message_id, content.text):
                    self._text.append(gap)
                self._text.append(content.text)
        elif isinstance(update, AgentThoughtChunk):
            if isinstance(update.content, TextContent):
                self._thoughts.append(update.content.text)
        elif isinstance(update, ToolCall | ToolCallUpdate):
            self.fold_tool_call(update)
        elif (entries := plan_entries(update)) is not None:
            self.plan = entries
        elif isinstance(update, UsageUpdate):
            self.context = update
        elif isinstance(update, AvailableCommandsUpdate):
            self.commands = list(update.available_commands)

    def fold_tool_call(self, update: ToolCall | ToolCallUpdate) -> None:
        """Apply an update to its call, which is created if it was never announced."""
        call = self.tool_calls.get(update.tool_call_id)
        if call is None:
            call = self.tool_calls[update.tool_call_id] = ToolCallState(update.tool_call_id)
            self._messages.interrupt()
        call.apply(update)

    def asked_about(self, update: ToolCallUpdate) -> ToolCallUpdate:
        """The call that a question is about, with all that is known of it.

        Some agents send nothing but the id of the call. And Kimi shortens the command in its question: the
        full one is in the earlier content of the call, as JSON, which the text of the question replaces.
        """
        state = self.tool_calls.get(update.tool_call_id)
        content_before = [] if state is None else state.content
        self.fold_tool_call(update)
        call = self.tool_calls[update.tool_call_id].to_update()
        if call.raw_input is not msgspec.UNSET and call.raw_input is not None:
            return call
        if (raw_input := _input_in(content_before)) is not None:
            return msgspec.structs.replace(call, raw_input=raw_input)
        content = call.content or []
        lost = [item for item in content_before if isinstance(item, Content) and item not in content]
        return msgspec.structs.replace(call, content=[*lost, *content])

    def reject_tool_call(self, tool_call_id: str) -> None:
        """The user said no."""
        self.refused += 1
        call = self.tool_calls.get(tool_call_id)
        if call is not None and call.is_open:
            call.status = "failed"

    def close_tool_calls(self, status: Literal["cancelled", "unfinished"] = "cancelled") -> None:
        """The turn is over, or cancelled (R-207): what had not ended never will."""
        for call in self.tool_calls.values():
            if call.is_open:
                call.status = status

    def end(self, response: PromptResponse) -> None:
        """Take in the answer to the prompt: the turn is over."""
        self.stop_reason = response.stop_reason
        self.usage = response.usage
        self.close_tool_calls("cancelled" if response.stop_reason == "cancelled" else "unfinished")


def plan_entries(update: object) -> list[PlanEntry] | None:
    """The steps of the plan as they are after an update; None if it is not about a plan of steps."""
    if isinstance(update, Plan):
        return list(update.entries)
    if isinstance(update, PlanUpdate) and isinstance(update.plan, PlanItems):
        return list(update.plan.entries)
    return [] if isinstance(update, PlanRemoved) else None
