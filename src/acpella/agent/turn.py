"""One turn: from a prompt to its answer, as the agent's author drives it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from msgspec import UNSET

from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ContentBlock,
    Cost,
    ElicitationPropertySchema,
    EmbeddedResource,
    Notice,
    NoticeSeverity,
    PlanEntry,
    ResourceLink,
    SessionUpdate,
    StopReason,
    TextContent,
    TextResourceContents,
    ToolKind,
    Usage,
    UsageUpdate,
)

from .files import Files
from .plan import PlanInHand
from .questions import Elicited, Permission, elicit_form, elicit_page, permit, remembered_decision
from .session import Session, notice_as_text
from .shell import Shell
from .tool_call import Location, ToolRun
from .turn_core import TurnCore, block

if TYPE_CHECKING:
    from acpella.sessions import Decision

__all__ = ["Turn"]

_STOP_REASONS: tuple[str, ...] = get_args(StopReason)


class Turn:
    """A prompt that is being answered.

    `prompt` holds what the user sent, `text` the same as text; `session` is the conversation it belongs to.
    """

    def __init__(
        self, core: TurnCore, prompt: list[ContentBlock], *, command: str | None = None, argument: str = ""
    ) -> None:
        self.prompt = prompt
        self.command = command
        """The slash command that was called, without the slash."""
        self.argument = argument
        """What followed the slash command."""
        self.stop_reason: StopReason = "end_turn"
        self.tokens: Usage | None = None
        """Tokens that this turn took; sent with the answer."""
        self.files: Files = Files(core)
        self.shell: Shell = Shell(core)
        self._core = core

    # -- what came in --------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The conversation that it belongs to."""
        return self._core.session.session

    @property
    def text(self) -> str:
        """The prompt as text: links by name and address, embedded texts between markers."""
        return "\n".join(part for part in map(_as_text, self.prompt) if part)

    @property
    def cancelled(self) -> bool:
        """Whether the user has cancelled; a turn in a thread should look now and then."""
        return self._core.cancelled

    # -- what goes out ---------------------------------------------------------------------

    async def say(self, content: "str | ContentBlock") -> None:
        """Send a piece of the answer."""
        piece = TextContent(text=content) if isinstance(content, str) else block(content)
        await self._core.update(AgentMessageChunk(content=piece))

    async def think(self, content: "str | ContentBlock") -> None:
        """Send a piece of reasoning."""
        await self._core.update(AgentThoughtChunk(content=block(content)))

    async def update(self, update: SessionUpdate) -> None:
        """Send any `session/update`."""
        await self._core.update(update)

    async def plan(self, *entries: str | PlanEntry) -> PlanInHand:
        """Show what will be done; the plan that comes back can be updated entry by entry."""
        to_do = [
            PlanEntry(content=entry, priority="medium", status="pending") if isinstance(entry, str) else entry
            for entry in entries
        ]
        plan = PlanInHand(self._core, to_do)
        await plan.show()
        return plan

    def tool(
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        locations: Sequence[Location] = (),
        input: Any = UNSET,
        pending: bool = False,
    ) -> ToolRun:
        """A tool call for `async with`: announced on entering, completed or failed on leaving.

        Say `pending` if it has to be permitted first; it is in progress when `permit` says yes.
        """
        return ToolRun(
            self._core, title, kind=kind, name=name, locations=locations, input=input, pending=pending
        )

    def under(self, call: ToolRun) -> "Turn":
        """This turn as a sub-agent sees it: what it sends is shown inside the tool call (C7)."""
        nested = Turn(self._core.under(call.id), self.prompt, command=self.command, argument=self.argument)
        nested.stop_reason, nested.tokens = self.stop_reason, self.tokens
        return nested

    async def notice(
        self, title: str, *, severity: NoticeSeverity = "info", description: str | None = None
    ) -> None:
        """Tell the user something beside the conversation; said as text where notices are unknown."""
        if self._core.capabilities.shows(Notice):
            await self.update(Notice(severity=severity, title=title, description=description))
        else:
            await self.update(notice_as_text(title, description))

    async def usage(self, used: int, size: int, *, cost: float | None = None, currency: str = "USD") -> None:
        """Show how full the context window is, and what the session has cost so far."""
        price = None if cost is None else Cost(amount=cost, currency=currency)
        await self.update(UsageUpdate(used=used, size=size, cost=price))

    async def title(self, title: str) -> None:
        """Name the session."""
        await self.session.set_title(title)

    def stop(self, reason: StopReason) -> None:
        """Answer with this stop reason when the handler returns. `ValueError` if ACP has no such reason."""
        if reason not in _STOP_REASONS:
            raise ValueError(f"no stop reason {reason!r}; there are: {', '.join(_STOP_REASONS)}")
        self.stop_reason = reason
        self._core.stop(reason)

    def after_reply(self, work: Callable[[], Awaitable[None] | None]) -> None:
        """Do something in the background once the answer was sent."""
        self._core.after_reply(work)

    # -- asking ------------------------------------------------------------------------------

    def permit(
        self,
        call: ToolRun | None,
        title: str | None = None,
        *,
        key: str | None = None,
        covers: str | None = None,
        everywhere: bool = False,
    ) -> Permission:
        """Ask the user whether the agent may do something: `if await turn.permit(call, "Write a.py"):`.

        "Always" answers are remembered under `key`: by default this very question with the call's paths. They
        hold in the directory of the session, or with `everywhere` in all. `covers` says in words what the key
        stands for; the names of these answers say all that: "Always allow ls in this project". A call that
        was refused ends as failed.
        """
        call = call or self.tool(title or "Continue?")
        if key is None:  # a tool's name would cover calls that nobody was asked about
            key = " ".join([title or call.title, *(location.path for location in call.locations)])
            covers = covers or "exactly this"
        return Permission(permit(self._core, call, title, key, covers=covers, everywhere=everywhere))

    def remembered(self, key: str, *, everywhere: bool = False) -> "Decision | None":
        """What the user has decided for good about this key, in this project or everywhere."""
        return remembered_decision(self._core, key, everywhere=everywhere)

    async def elicit(
        self,
        message: str,
        properties: Mapping[str, ElicitationPropertySchema],
        *,
        required: Sequence[str] | None = None,
        title: str | None = None,
    ) -> Elicited:
        """Ask the user to fill in a form. Never ask for secrets this way (R-363).

        Raises:
            Unsupported: the editor shows no forms.
        """
        return await elicit_form(self._core, message, properties, required=required, title=title)

    async def elicit_url(self, message: str, url: str, *, elicitation_id: str) -> Elicited:
        """Ask the user to open a page, for logins and payments.

        Raises:
            Unsupported: the editor opens no pages.
        """
        return await elicit_page(self._core, message, url, elicitation_id=elicitation_id)

    async def extension(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Call an extension method of the editor, whose name begins with `_`; returns its result.

        `timeout` in seconds; `Settings.editor_timeout` by default, 0 for none.

        Raises:
            RpcError: what the editor answered; `MethodNotFound` if it has no such method.
        """
        return await self._core.call_extension(_extension(method), params, timeout=timeout)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send an extension notification to the editor, whose name begins with `_`."""
        await self._core.notify_extension(_extension(method), params)


def _extension(method: str) -> str:
    if not method.startswith("_"):
        raise ValueError(f"an extension method begins with `_`, unlike {method!r}")
    return method


def _as_text(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return f"[{block.name}]({block.uri})"
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return f'<resource uri="{block.resource.uri}">\n{block.resource.text}\n</resource>'
    return ""
