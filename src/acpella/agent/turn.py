"""One turn: from a prompt to its answer, as the agent's author drives it."""

import asyncio
import copy
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec
from msgspec import UNSET

from acpella.errors import (
    AcpellaError,
    LocalProtocolError,
    RemoteProtocolError,
    RequestCancelled,
    RpcError,
    Unsupported,
)
from acpella.rpc import Method
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AudioContent,
    ContentBlock,
    Cost,
    ElicitationAcceptAction,
    ElicitationFormMode,
    ElicitationPropertySchema,
    ElicitationSchema,
    ElicitationUrlMode,
    EmbeddedResource,
    ImageContent,
    Notice,
    NoticeSeverity,
    PermissionOption,
    Plan,
    PlanEntry,
    PlanEntryPriority,
    PlanEntryStatus,
    RequestPermissionRequest,
    ResourceLink,
    SelectedPermissionOutcome,
    SessionUpdate,
    StopReason,
    TextContent,
    TextResourceContents,
    ToolKind,
    Unknown,
    Usage,
    UsageUpdate,
    methods,
)

from .editor import Files, Shell
from .session import Session
from .tool_call import Location, ToolRun

if TYPE_CHECKING:
    from acpella.local import Jail
    from acpella.sessions import Decision

    from .app import Agent
    from .wire_v1 import WireV1

__all__ = ["Elicited", "Permission", "PlanInHand", "Turn"]

log = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

_OPTIONS = [
    PermissionOption(option_id="allow_once", name="Allow", kind="allow_once"),
    PermissionOption(option_id="allow_always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject_once", name="Reject", kind="reject_once"),
    PermissionOption(option_id="reject_always", name="Always reject", kind="reject_always"),
]

_BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, Unknown)

_STOP_REASONS: tuple[str, ...] = get_args(StopReason)

CLOSE_TIMEOUT = 3.0
"""Seconds to close what a cancelled turn left open at the editor."""


@dataclass(frozen=True, slots=True)
class Elicited:
    """What the user answered: `accept`, `decline`, `cancel` or a word of the editor's (R-372), with the
    values of a form."""

    action: str
    content: dict[str, Any]

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


class Permission:
    """The user's answer, to be awaited. Without `await` it would count as yes, so it refuses to."""

    def __init__(self, asking: Coroutine[Any, Any, bool]) -> None:
        self._asking = asking

    def __await__(self) -> Generator[Any, None, bool]:
        return self._asking.__await__()

    def __bool__(self) -> bool:
        self.close()
        raise TypeError("permission must be awaited: `if await turn.permit(...)`")

    def close(self) -> None:
        """The answer is not wanted any more."""
        self._asking.close()


class PlanInHand:
    """The plan of a turn; every change is shown to the user at once. Entries go by their text."""

    def __init__(self, turn: "Turn", entries: list[PlanEntry]) -> None:
        self._turn = turn
        self._entries = entries

    @property
    def entries(self) -> list[PlanEntry]:
        return list(self._entries)

    async def start(self, content: str) -> None:
        """This is being worked on."""
        await self.set(content, status="in_progress")

    async def done(self, content: str) -> None:
        """This is finished."""
        await self.set(content, status="completed")

    async def add(self, content: str, *, priority: PlanEntryPriority = "medium") -> None:
        """One more thing to do."""
        self._entries.append(PlanEntry(content=content, priority=priority, status="pending"))
        await self.show()

    async def remove(self, content: str) -> None:
        """This is no longer to be done."""
        del self._entries[self._index(content)]
        await self.show()

    async def set(
        self,
        content: str,
        *,
        status: PlanEntryStatus | None = None,
        priority: PlanEntryPriority | None = None,
    ) -> None:
        """Change an entry."""
        index = self._index(content)
        old = self._entries[index]
        self._entries[index] = msgspec.structs.replace(
            old, status=status or old.status, priority=priority or old.priority
        )
        await self.show()

    async def show(self) -> None:
        """Send the whole plan (R-241)."""
        await self._turn.update(Plan(entries=list(self._entries)))

    def _index(self, content: str) -> int:
        for index, entry in enumerate(self._entries):
            if entry.content == content:
                return index
        raise KeyError(f"the plan has no entry {content!r}")


class Turn:
    """A prompt that is being answered.

    `prompt` holds what the user sent, `text` the same as text; `session` is the conversation it belongs to.
    """

    def __init__(self, agent: "Agent", session: Session, prompt: list[ContentBlock]) -> None:
        self.agent = agent
        self.session = session
        self.prompt = prompt
        self.command: str | None = None
        """The slash command that was called, without the slash."""
        self.argument = ""
        """What followed the slash command."""
        self.stop_reason: StopReason = "end_turn"
        self.tokens: Usage | None = None
        """Tokens that this turn took; sent with the answer."""
        self.files = Files(self)
        self.shell = Shell(self)
        self._parent: str | None = None
        self._shared = _Shared()

    # -- what came in --------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The prompt as text: links by name and address, embedded texts between markers."""
        return "\n".join(part for part in map(_as_text, self.prompt) if part)

    @property
    def cancelled(self) -> bool:
        """Whether the user has cancelled; a turn in a thread should look now and then."""
        return self._shared.cancelled

    @property
    def wire(self) -> "WireV1":
        return self.session.wire

    # -- what goes out ---------------------------------------------------------------------

    async def say(self, content: "str | ContentBlock") -> None:
        """Send a piece of the answer."""
        await self.update(AgentMessageChunk(content=_block(content)))

    async def think(self, content: "str | ContentBlock") -> None:
        """Send a piece of reasoning."""
        await self.update(AgentThoughtChunk(content=_block(content)))

    async def update(self, update: SessionUpdate) -> None:
        """Send any `session/update`."""
        if self._shared.over:
            raise LocalProtocolError("this turn is over; use turn.session.update() outside a turn")
        if self._parent is not None:
            update = _nested(update, self._parent)
        await self.session.update(update)

    async def plan(self, *entries: str | PlanEntry) -> PlanInHand:
        """Show what will be done; the plan that comes back can be updated entry by entry."""
        made = [
            PlanEntry(content=entry, priority="medium", status="pending") if isinstance(entry, str) else entry
            for entry in entries
        ]
        plan = PlanInHand(self, made)
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
        return ToolRun(self, title, kind=kind, name=name, locations=locations, input=input, pending=pending)

    def under(self, call: ToolRun) -> "Turn":
        """This turn as a sub-agent sees it: what it sends is shown inside the tool call (C7)."""
        nested = copy.copy(self)
        nested._parent = call.id
        nested.files = Files(nested)
        nested.shell = Shell(nested)
        return nested

    async def notice(
        self, title: str, *, severity: NoticeSeverity = "info", description: str | None = None
    ) -> None:
        """Tell the user something beside the conversation; said as text where notices are unknown."""
        if self.wire.shows_notices:
            await self.update(Notice(severity=severity, title=title, description=description))
        else:
            await self.say(f"*{title}*" + (f" {description}" if description else "") + "\n\n")

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
        self._shared.stop_reason = reason

    def after_reply(self, work: Callable[[], Awaitable[None] | None]) -> None:
        """Do something in the background once the answer was sent."""
        self._shared.after.append(work)

    # -- asking ------------------------------------------------------------------------------

    def permit(
        self,
        call: ToolRun | None,
        title: str | None = None,
        *,
        key: str | None = None,
        covers: str | None = None,
        everywhere: bool = False,
    ) -> "Permission":
        """Ask the user whether the agent may do something: `if await turn.permit(call, "Write a.py"):`.

        "Always" answers are remembered under `key`: by default the tool's name, or the title. They hold in
        the directory of the session, or with `everywhere` in all. `covers` says in words what the key stands
        for; the names of these answers say all that: "Always allow ls in this project". A call that was
        refused ends as failed.
        """
        call = call or self.tool(title or "Continue?")
        key = key or call.name or title or call.title
        return Permission(self._permit(call, title, key, covers, everywhere))

    def remembered(self, key: str, *, everywhere: bool = False) -> "Decision | None":
        """What the user has decided for good about this key, in this project or everywhere."""
        decisions = self.agent.remembered
        general = decisions.get(self._decider(everywhere=True), key)
        if everywhere or general == "deny":
            return general
        return decisions.get(self._decider(everywhere=False), key)

    def _decider(self, *, everywhere: bool) -> str:
        """Under what name decisions are kept: each user of a server decides alone."""
        principal = self.wire.principal
        name = f"{self.agent.name} for {principal}" if principal else self.agent.name
        return name if everywhere else f"{name} in {os.path.realpath(self.session.cwd)}"

    async def _permit(
        self, call: ToolRun, title: str | None, key: str, covers: str | None, everywhere: bool
    ) -> bool:
        remembered = self.remembered(key, everywhere=everywhere)
        if remembered is not None:
            allowed = remembered == "allow"
        else:
            allowed = await self._ask_user(call, title, key, covers, everywhere)
        if allowed:
            await call.start()
        else:
            call.fail()
        return allowed

    async def _ask_user(
        self, call: ToolRun, title: str | None, key: str, covers: str | None, everywhere: bool
    ) -> bool:
        where = "in every project" if everywhere else "in this project"
        options = [
            msgspec.structs.replace(option, name=" ".join(filter(None, [option.name, covers, where])))
            if option.kind in ("allow_always", "reject_always")
            else option
            for option in _OPTIONS
        ]
        request = RequestPermissionRequest(
            session_id=self.session.id, tool_call=call.as_question(title), options=options
        )
        try:
            outcome = (await self.ask(methods.REQUEST_PERMISSION, request, timeout=0)).outcome
        except RequestCancelled:  # another way to say so
            return False
        except RemoteProtocolError as error:
            log.warning("what the editor answered is no permission: %s", error)
            return False
        if not isinstance(outcome, SelectedPermissionOutcome):
            return False
        chosen = next((option.kind for option in _OPTIONS if option.option_id == outcome.option_id), None)
        if chosen in ("allow_always", "reject_always"):
            decision = "allow" if chosen == "allow_always" else "deny"
            self.agent.remembered.remember(self._decider(everywhere=everywhere), key, decision)
        return chosen in ("allow_once", "allow_always")

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
        elicitation = self.wire.client.elicitation
        if elicitation is None or elicitation.form is None:
            raise Unsupported("this editor shows no forms")
        schema = ElicitationSchema(
            properties=dict(properties), required=None if required is None else list(required), title=title
        )
        request = ElicitationFormMode(session_id=self.session.id, message=message, requested_schema=schema)
        return _elicited(await self.ask(methods.CREATE_ELICITATION, request, timeout=0))

    async def elicit_url(self, message: str, url: str, *, elicitation_id: str) -> Elicited:
        """Ask the user to open a page, for logins and payments.

        Raises:
            Unsupported: the editor opens no pages.
        """
        elicitation = self.wire.client.elicitation
        if elicitation is None or elicitation.url is None:
            raise Unsupported("this editor opens no pages")
        request = ElicitationUrlMode(
            session_id=self.session.id, message=message, url=url, elicitation_id=elicitation_id
        )
        return _elicited(await self.ask(methods.CREATE_ELICITATION, request, timeout=0))

    async def ask(self, method: Method[P, R], params: P, *, timeout: float | None = None) -> R:
        """Call the editor. `timeout` in seconds; `Settings.editor_timeout` by default, 0 for none."""
        self.check_going()
        seconds = self.agent.settings.editor_timeout if timeout is None else timeout
        await self.session.shown()
        try:
            while True:
                call = self.wire.connection.call(method, params, timeout=seconds or None)
                answered, answer = await self.session.ask(call)
                if answered:
                    return answer
                if seconds == 0:  # a question to a person, who is not there any more
                    raise RequestCancelled
        except RpcError as error:
            self._shared.refusals.append((error, method.name))
            raise

    # -- for the rest of the package ---------------------------------------------------------

    async def emit(self, item: Any) -> None:
        """Send what a handler yielded or returned."""
        if item is None:
            return
        if isinstance(item, str):
            await self.update(AgentMessageChunk(content=TextContent(text=item)))
            return
        config = getattr(item, "__struct_config__", None)
        if config is not None and config.tag_field == "sessionUpdate":
            await self.update(item)
        else:
            await self.update(AgentMessageChunk(content=_block(item)))

    def full_path(self, path: str | Path) -> str:
        """The absolute path of what is named relative to the session's directory."""
        return os.path.normpath(self.session.cwd / path)

    def jail(self) -> "Jail":
        """This machine's files, fenced in to the session's roots."""
        return self.session.jail()

    def check_going(self) -> None:
        """A handler that ignored its cancellation was left behind: it shall do nothing more."""
        if self._shared.cancelled and self._shared.over:
            raise LocalProtocolError("this turn was cancelled")

    def refused(self, error: RpcError) -> str | None:
        """The request that the editor answered with this error; None if it is the author's own."""
        return next((name for refusal, name in self._shared.refusals if refusal is error), None)

    def track(self, call: ToolRun) -> None:
        self._shared.open_calls[call.id] = call

    def untrack(self, call: ToolRun) -> None:
        self._shared.open_calls.pop(call.id, None)

    def mark_cancelled(self) -> None:
        self._shared.cancelled = True

    @property
    def final_stop_reason(self) -> StopReason:
        """What `stop` said, on this turn or on one nested in it."""
        return self._shared.stop_reason or self.stop_reason

    async def finish(self) -> None:
        """Close what is still open; nothing can be sent afterwards."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                for call in list(self._shared.open_calls.values()):
                    await call.close(failed=True)
        except (AcpellaError, TimeoutError) as error:
            log.info("closing the turn's tool calls: %s", error)
        finally:
            self._shared.over = True

    def run_after(self) -> None:
        """The answer was sent: start what was put off."""
        for work in self._shared.after:
            self.session.start(work)


class _Shared:
    """What a turn and the turns nested in it have in common."""

    def __init__(self) -> None:
        self.cancelled = False
        self.over = False
        self.stop_reason: StopReason | None = None
        self.open_calls: dict[str, ToolRun] = {}
        self.refusals: list[tuple[RpcError, str]] = []
        self.after: list[Callable[[], Awaitable[None] | None]] = []


def _block(content: Any) -> ContentBlock:
    if isinstance(content, str):
        return TextContent(text=content)
    if not isinstance(content, _BLOCKS):
        kind = type(content).__name__
        raise TypeError(f"a message is made of text and content blocks, not {kind}")
    return content


def _as_text(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return f"[{block.name}]({block.uri})"
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return f'<resource uri="{block.resource.uri}">\n{block.resource.text}\n</resource>'
    return ""


def _nested(update: SessionUpdate, parent: str) -> SessionUpdate:
    """The update with the mark that puts it inside a tool call."""
    if not hasattr(update, "meta"):
        return update
    meta = dict(update.meta or {})  # type: ignore[union-attr]
    meta["claudeCode"] = {**meta.get("claudeCode", {}), "parentToolUseId": parent}
    return msgspec.structs.replace(update, meta=meta)  # type: ignore[type-var]


def _elicited(answer: Any) -> Elicited:
    if isinstance(answer, ElicitationAcceptAction):
        return Elicited("accept", dict(answer.content or {}))
    tag = answer.tag if isinstance(answer, Unknown) else answer.__struct_config__.tag
    return Elicited(str(tag), {})
