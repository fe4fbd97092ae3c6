"""`AdaptedTurn`: what an adapter drives while a prompt is answered."""

from collections.abc import Awaitable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acpella._plain_json import as_dict, as_int
from acpella.agent import Session, ToolRun, Turn
from acpella.errors import InvalidRequest
from acpella.rpc.writing import SENT
from acpella.schema import PlanEntry, StopReason, Usage

from .calls import Calls
from .content import Media, prompt_parts
from .jsonable import plain
from .permissions import PermissionKey, may_run
from .present import Presentation
from .tools import SessionTool, editor_tools, mcp_tools

if TYPE_CHECKING:
    from acpella.mcp import McpServers

__all__ = ["CURRENT_CALL", "FORMAT", "MEMORY", "AdaptedTurn", "TurnOptions"]

CURRENT_CALL: ContextVar["tuple[AdaptedTurn, str]"] = ContextVar("acpella_current_call")
"""The turn, and the framework's id of the tool call that runs in this context: what it starts is shown
inside the call."""

MEMORY = "adapter"
"""The key of the session's state that holds what an adapter remembers."""

FORMAT = 1
"""The version of the memory, which is stored with it. Memory of a newer version is not touched."""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """The author's options, which apply to all turns."""

    framework: str
    present: Mapping[str, Presentation] = field(default_factory=dict[str, Presentation])
    permission_key: PermissionKey | None = None
    editor_tools: bool = False
    models: Mapping[str, Any] = field(default_factory=dict[str, Any])


class AdaptedTurn:
    """A turn with what every framework needs for it.

    `turn` is the turn itself, `calls` its tool calls by the framework's ids, `memory` what is kept with the
    session.
    """

    def __init__(
        self,
        turn: Turn,
        options: TurnOptions,
        servers: "McpServers | None" = None,
        *,
        calls: Calls | None = None,
    ) -> None:
        self.turn = turn
        self.calls: Calls = calls or Calls(turn, options.present)
        self._options = options
        self._servers = servers

    # -- what came in ------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        return self.turn.session

    @property
    def parts(self) -> list[str | Media]:
        """The prompt as texts and media."""
        return prompt_parts(self.turn.prompt)

    @property
    def text(self) -> str:
        """The prompt as text."""
        return self.turn.text

    @property
    def model(self) -> Any:
        """The model that the user chose, as the author gave it; None if there is no choice."""
        if not self._options.models:
            return None
        return self._options.models[self.session.option("model")]

    @property
    def memory(self) -> dict[str, Any]:
        """What is kept with the session, as JSON. All keys but `framework` and `format` are yours.

        Raises:
            InvalidRequest: a newer acpella wrote it, and this one would spoil it.
        """
        memory: dict[str, Any] = as_dict(self.session.state.get(MEMORY))
        if memory.get("framework") != self._options.framework:
            memory = self.session.state[MEMORY] = {"framework": self._options.framework, "format": FORMAT}
        elif as_int(memory.get("format")) > FORMAT:
            raise InvalidRequest(
                "a newer acpella remembered this session; update acpella to go on with it, or begin a new one"
            )
        return memory

    # -- what goes out -----------------------------------------------------------------------

    def say(self, text: str) -> Awaitable[None]:
        """Send a piece of the answer."""
        # not a coroutine, because every token of a model passes here
        return self.turn.say(text if type(text) is str else plain(text)) if text else SENT

    def think(self, text: str) -> Awaitable[None]:
        """Send a piece of reasoning."""
        return self.turn.think(text if type(text) is str else plain(text)) if text else SENT

    async def plan(self, todos: Iterable[Mapping[str, Any]]) -> None:
        """Show a to-do list: entries with `content` and `status`."""
        entries: list[PlanEntry] = []
        for todo in todos:
            status = todo.get("status")
            entries.append(
                PlanEntry(
                    content=str(todo.get("content", "")),
                    priority="medium",
                    status=status if status in ("in_progress", "completed") else "pending",
                )
            )
        await self.turn.plan(*entries)

    def under(self, call_id: str) -> "AdaptedTurn":
        """The turn for a sub-agent, whose work is shown inside a call; this turn if the call is not open."""
        run = self.calls.find(call_id)
        if run is None:
            return self
        nested = self.turn.under(run)
        calls = Calls(nested, self._options.present, self.calls)
        return AdaptedTurn(nested, self._options, self._servers, calls=calls)

    def stop(self, reason: StopReason) -> None:
        """Answer with this stop reason."""
        self.turn.stop(reason)

    def tokens(
        self, input_tokens: int, output_tokens: int, *, cached: int | None = None, thought: int | None = None
    ) -> None:
        """Set how many tokens this turn took."""
        self.turn.tokens = Usage(
            total_tokens=input_tokens + output_tokens,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_read_tokens=cached or None,
            thought_tokens=thought or None,
        )

    # -- tools -------------------------------------------------------------------------------

    async def tools(self) -> list[SessionTool]:
        """The tools that the session has for the model: those of MCP servers, and the editor's if enabled."""
        tools = editor_tools(self) if self._options.editor_tools else []
        if self._servers is not None:
            tools += await mcp_tools(self, self._servers)
        self.calls.own(tool.name for tool in tools)
        return tools

    async def permit(
        self, call_id: str, name: str, arguments: Mapping[str, Any], *, question: str | None = None
    ) -> bool:
        """Ask whether a tool may run, unless the mode or an earlier answer says so. A call that may is
        shown as in progress, one that may not as failed."""
        run: ToolRun | None = await self.calls.pending(call_id, name, arguments)
        if run is None:  # hidden, or over
            run = self.turn.tool(question or name, name=name)
        key = self._options.permission_key
        return await may_run(self.turn, run, name, arguments, key=key, question=question)
