"""A conversation: `Session` for the agent's author, over the `SessionCore` that the package works with."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from acpella.rpc.message import replace_surrogates
from acpella.schema import (
    AgentMessageChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    McpServer,
    Notice,
    NoticeSeverity,
    SessionInfoUpdate,
    SessionUpdate,
    TextContent,
    UsageUpdate,
)
from acpella.sessions import SessionChanges, SessionRecord, StoreError

from .choices import MODE_OPTION, Choices
from .definition import Definition
from .editor import Editor, Parked
from .log_first import LogFirst
from .log_writer import LogWriter
from .open_questions import OpenQuestions
from .operations import OpenedSession, Workplace
from .running import RunningPrompt

if TYPE_CHECKING:
    from acpella.local import Jail

__all__ = ["Session", "SessionCore", "notice_as_text"]

log: logging.Logger = logging.getLogger(__name__)

_NOT_HISTORY = frozenset(
    {
        AvailableCommandsUpdate,
        ConfigOptionUpdate,
        CurrentModeUpdate,
        Notice,
        SessionInfoUpdate,
        UsageUpdate,
    }
)
"""Updates that describe a state, not an event: the state is sent again when a session is loaded."""

_FOR_WATCHERS = _NOT_HISTORY - {AvailableCommandsUpdate}
"""Those of them that watching editors do not get otherwise."""


class SessionCore:
    """What a session is and does. `session` is the same for the author."""

    def __init__(
        self,
        definition: Definition,
        editor: Editor,
        record: SessionRecord,
        workplace: Workplace,
        *,
        log_writer: LogWriter | None,
    ) -> None:
        self.id: str = record.id
        self.cwd: Path = Path(workplace.cwd)
        self.directories: list[Path] = [Path(directory) for directory in workplace.directories]
        self.mcp_servers: list[McpServer] = list(workplace.mcp_servers)
        self.state: dict[str, Any] = record.state
        self.title: str | None = record.title
        self.choices: Choices = Choices(definition.modes, definition.options, record.settings)
        self.prompt: RunningPrompt | None = None
        """The prompt that is running."""
        self.users = 0
        """Requests that work with it right now."""
        self.editor: Editor = editor
        self.log_writer = log_writer
        self.questions: OpenQuestions = OpenQuestions()
        """What it asks people right now."""
        self.session: Session = Session(self)
        self._definition = definition
        self._saved_state = msgspec.json.encode(self.state)
        self._saved_title: str | None = self.title
        self._told_title: str | None = self.title
        self._background: set[asyncio.Task[None]] = set()
        self._after_log = (
            LogFirst(log_writer, self._show) if editor.log_first and log_writer is not None else None
        )
        self._real_roots = self._find_roots()
        self._moving: asyncio.Event | None = None
        self._moved: asyncio.Future[None] | None = None  # somebody wants to hear of a move

    # -- where it works ------------------------------------------------------------------

    @property
    def roots(self) -> list[Path]:
        return [self.cwd, *self.directories]

    def _find_roots(self) -> list[str]:
        """The real paths of the roots; a root that is swapped for a link later is refused."""
        real = [os.path.realpath(root) for root in self.roots]
        self.editor.check_inside(real)
        return real

    def jail(self) -> "Jail":
        from acpella.local import Jail

        return Jail(self.roots, real=self._real_roots)

    def full_path(self, path: str | Path) -> str:
        return os.path.normpath(self.cwd / path)

    async def change_directory(self, path: str) -> None:
        before, self.cwd = self.cwd, Path(path)
        try:
            self._real_roots = self._find_roots()
        except BaseException:
            self.cwd = before
            raise
        if self.log_writer is not None:
            await self.log_writer.flush(changes=SessionChanges(cwd=path))

    def park(self) -> None:
        """Note what its editor needs to open it again; what the editor misses until then is in the log."""
        assert self.log_writer is not None
        directories = [str(path) for path in self.directories]
        workplace = Workplace(str(self.cwd), directories, list(self.mcp_servers))
        self.editor.parked[self.id] = Parked(workplace, self.log_writer.last_seq)

    # -- what is chosen ------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        before = self.choices.to_settings()
        self.choices.choose_mode(mode_id)
        await self._keep_choices(before)
        for update in self.editor.codec.choices_changed(self.choices, mode=True):
            await self.update(update)
        await self._definition.call_hook("mode", self.session, mode_id)

    async def set_option(self, option_id: str, value: Any) -> None:
        if option_id == MODE_OPTION and self.choices.modes:
            await self.set_mode(value)
            return
        before = self.choices.to_settings()
        value = self.choices.choose(option_id, value)
        await self._keep_choices(before)
        for update in self.editor.codec.choices_changed(self.choices, mode=False):
            await self.update(update)
        await self._definition.call_hook("option", self.session, option_id, value)

    async def _keep_choices(self, before: dict[str, Any]) -> None:
        if self.log_writer is None:
            return
        try:
            await self.log_writer.flush(changes=SessionChanges(settings=self.choices.to_settings()))
        except StoreError:
            self.choices.restore(before)
            raise

    def opened(self) -> OpenedSession:
        """What its editor is told of it."""
        return OpenedSession(self.id, self.choices, is_prompting=self.prompt is not None)

    # -- what is shown -------------------------------------------------------------------

    def update(self, update: SessionUpdate) -> Awaitable[None]:
        if self._moving is not None or self._after_log is not None:
            return self._update_in_order(update)
        if self.log_writer is not None and update.__class__ not in _NOT_HISTORY:
            self.log_writer.add(update)
        return self.editor.show(self.id, update)

    async def _update_in_order(self, update: SessionUpdate) -> None:
        """The same when it must not go to the editor right now."""
        while self._moving is not None:
            await self._moving.wait()
        size = 0
        if self.log_writer is not None:
            if update.__class__ not in _NOT_HISTORY:
                size = self.log_writer.add(update)
            elif self._after_log is not None and update.__class__ in _FOR_WATCHERS:
                size = self.log_writer.add_state(update)
        if self._after_log is None:
            await self.editor.show(self.id, update)
        else:
            await self._after_log.show(update, size)

    async def _show(self, update: SessionUpdate) -> None:
        await self.editor.show(self.id, update)

    async def notice(self, title: str, *, severity: NoticeSeverity, description: str | None) -> None:
        if self.editor.capabilities.shows(Notice) or self.prompt is None:
            await self.update(Notice(severity=severity, title=title, description=description))
        else:
            await self.update(notice_as_text(title, description))

    async def all_shown(self) -> None:
        """Wait until every update was sent, so that what follows comes after them."""
        if self._after_log is not None:
            await self._after_log.settled()

    async def set_title(self, title: str) -> None:
        self.title = replace_surrogates(title)  # half an emoji has no UTF-8
        await self.save()
        await self.tell_title()

    async def tell_title(self) -> None:
        """Tell the editor the title if it does not know it yet."""
        if self.title != self._told_title:
            self._told_title = self.title
            await self.update(SessionInfoUpdate(title=self.title))

    async def tell_commands(self) -> None:
        """Tell the editor the slash commands."""
        commands = [command.to_wire() for command in self._definition.commands.values()]
        update = self.editor.codec.commands(commands)
        if update is not None:
            await self.update(update)

    # -- its life ------------------------------------------------------------------------

    @property
    def in_use(self) -> bool:
        """Whether somebody works with it right now."""
        return self.users > 0 or self.prompt is not None

    @property
    def busy(self) -> bool:
        """Whether it must stay in memory."""
        return self.in_use or bool(self._background) or self.log_writer is None

    def start(self, work: Callable[[], Awaitable[None] | None]) -> None:
        task = asyncio.get_running_loop().create_task(self._run_quietly(work), name=f"work of {self.id}")
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _run_quietly(self, work: Callable[[], Awaitable[None] | None]) -> None:
        try:
            result = work()
            if result is not None:
                await result
            await self.save()
        except Exception:
            log.exception("background work of session %s failed", self.id)

    async def stop_background(self) -> None:
        if self._after_log is not None:
            await self._after_log.close(1)
        for task in list(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(list(self._background), timeout=1)

    async def save(self, *, turn: bytes | None = None) -> None:
        """Write everything that was not written yet, with the answer that ends a turn.

        Raises:
            StoreError: it could not be written, or the state is no JSON; then the rest was written.
        """
        if self.log_writer is None:
            return
        title = self.title
        try:
            state = msgspec.json.encode(self.state)
        except (TypeError, ValueError, RecursionError) as error:
            await self.log_writer.flush(turn=turn)
            raise StoreError(f"the state of the session cannot be kept, it is not JSON: {error}") from None
        changes = None
        if state != self._saved_state or title != self._saved_title:
            changes = SessionChanges(state=self.state, title=title)
        await self.log_writer.flush(turn=turn, changes=changes)
        self._saved_state, self._saved_title = state, title

    # -- when its editor comes back on another connection ----------------------------------

    @asynccontextmanager
    async def moving(self) -> AsyncGenerator[None]:
        """Hold updates back while the session moves to another connection."""
        self._moving = asyncio.Event()
        try:
            yield
        finally:
            self._moving.set()
            self._moving = None

    def move_to(self, editor: Editor) -> None:
        """Its editor is on that connection now; what was asked of the one before is void."""
        self.editor = editor
        if self._after_log is not None:
            self._after_log.forget()
        if self._moved is not None:
            self._moved.set_result(None)
            self._moved = None

    async def answer_of(self, call: Awaitable[Any]) -> tuple[bool, Any]:
        """Wait for the editor's answer, or until the session has gone to another editor: (False, None)."""
        if not self.editor.may_detach:
            return True, await call
        if self._moved is None:
            self._moved = asyncio.get_running_loop().create_future()
        moved = self._moved
        answer = asyncio.ensure_future(call)
        try:
            await asyncio.wait({answer, moved}, return_when=asyncio.FIRST_COMPLETED)
            return (True, answer.result()) if answer.done() else (False, None)
        finally:
            answer.cancel()


def notice_as_text(title: str, description: str | None) -> AgentMessageChunk:
    """A notice for editors that know none."""
    text = f"*{title}*" + (f" {description}" if description else "") + "\n\n"
    return AgentMessageChunk(content=TextContent(text=text))


class Session:
    """One conversation with one editor."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    # -- what it is ----------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The id that the editor knows the session by."""
        return self._core.id

    @property
    def cwd(self) -> Path:
        """The directory that the session works in."""
        return self._core.cwd

    @property
    def directories(self) -> list[Path]:
        """Further roots that the editor opened for this session."""
        return self._core.directories

    @property
    def roots(self) -> list[Path]:
        """The directories that the session is about: `cwd` first."""
        return self._core.roots

    @property
    def mcp_servers(self) -> list[McpServer]:
        """The MCP servers that the editor wants the agent to connect to."""
        return self._core.mcp_servers

    @mcp_servers.setter
    def mcp_servers(self, servers: list[McpServer]) -> None:
        self._core.mcp_servers = servers

    @property
    def state(self) -> dict[str, Any]:
        """Yours: a JSON dictionary that is kept with the session."""
        return self._core.state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._core.state = state

    @property
    def title(self) -> str | None:
        """Its name in the editor's list; `set_title` changes it."""
        return self._core.title

    @property
    def mode(self) -> str | None:
        """The id of the current mode; None if the agent declared none."""
        return self._core.choices.mode

    def option(self, option_id: str) -> Any:
        """The current value of an option. Raises `KeyError` for one that was not declared."""
        return self._core.choices.value(option_id)

    def full_path(self, path: str | Path) -> str:
        """The absolute path of what is named relative to the session's directory."""
        return self._core.full_path(path)

    def jail(self) -> "Jail":
        """This machine's files, fenced in to the session's roots."""
        return self._core.jail()

    def shows(self, kind: type) -> bool:
        """Whether the editor knows this kind of update: `session.shows(Notice)`. Others are kept from it."""
        return self._core.editor.capabilities.shows(kind)

    # -- what the agent may change ---------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """Switch the mode and tell the editor. Raises `ValueError` for a mode that was not declared."""
        await self._core.set_mode(mode_id)

    async def set_option(self, option_id: str, value: Any) -> None:
        """Set an option and tell the editor. Raises `ValueError` for what was not declared."""
        await self._core.set_option(option_id, value)

    async def set_title(self, title: str) -> None:
        """Name the session and tell the editor."""
        await self._core.set_title(title)

    async def change_directory(self, path: str) -> None:
        """Work in another directory from now on."""
        await self._core.change_directory(path)

    async def update(self, update: SessionUpdate) -> None:
        """Send any update, also outside a turn; kept back from an editor that does not know its kind."""
        await self._core.update(update)

    async def notice(
        self, title: str, *, severity: NoticeSeverity = "info", description: str | None = None
    ) -> None:
        """Tell the user something outside the conversation. If the editor does not support notices, it is
        sent as text during a turn, and dropped otherwise."""
        await self._core.notice(title, severity=severity, description=description)

    async def save(self) -> None:
        """Write what was not written yet, `state` included. The end of each turn does so, too.

        Raises:
            StoreError: it could not be written, or the state is no JSON; then the rest was written.
        """
        await self._core.save()

    def start(self, work: Callable[[], Awaitable[None] | None]) -> None:
        """Run something in the background; it is cancelled when the session is closed."""
        self._core.start(work)
