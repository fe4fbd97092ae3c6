"""A conversation as the agent's author sees it."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from acpella.rpc.message import replace_surrogates
from acpella.schema import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    McpServer,
    Notice,
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionInfoUpdate,
    SessionModeState,
    SessionNotification,
    SessionUpdate,
    UsageUpdate,
    methods,
)
from acpella.sessions import SessionChanges, SessionRecord, StoreError

from .declare import Toggle
from .log_first import LogFirst
from .recorder import Recorder

if TYPE_CHECKING:
    from acpella.local import Jail

    from .app import Agent
    from .turn import Turn
    from .wire_v1 import WireV1

__all__ = ["Session"]

log = logging.getLogger(__name__)

MODE_OPTION = "mode"
"""Id of the config option that mirrors the modes (R-301)."""

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
"""Updates that tell a state which is told anew when a session is loaded, not something that happened."""


class Session:
    """One conversation with one editor. `state` is yours: a JSON dictionary that is kept with the session."""

    def __init__(
        self,
        agent: "Agent",
        wire: "WireV1",
        record: SessionRecord,
        *,
        recorder: Recorder | None,
        directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
    ) -> None:
        self.id = record.id
        self.cwd = Path(record.cwd)
        self.directories = [Path(directory) for directory in directories or []]
        """Further roots that the editor opened for this session."""
        self.mcp_servers = mcp_servers or []
        self.state: dict[str, Any] = record.state
        self.title = record.title
        self.turn: Turn | None = None
        """The turn that is running."""
        self.users = 0
        """Requests that work with it right now."""
        self._agent = agent
        self._wire = wire
        self._recorder = recorder
        self._mode = record.settings.get("mode")
        chosen = record.settings.get("options")
        options = cast("dict[str, Any]", chosen) if isinstance(chosen, dict) else {}  # imported, perhaps
        self._values: dict[str, Any] = {
            option.id: value
            for option in agent.options
            if option.allows(value := options.get(option.id, option.initial))
        }
        self._saved_state = msgspec.json.encode(self.state)
        self._saved_title: str | None = self.title
        self._told_title: str | None = self.title
        self._background: set[asyncio.Task[None]] = set()
        self._after_log = LogFirst(recorder, self._send) if wire.log_first and recorder is not None else None
        self._real = self._find_roots()
        self._moving: asyncio.Event | None = None
        self._moved: asyncio.Future[None] | None = None  # somebody wants to hear of a move

    # -- what it is ----------------------------------------------------------------------

    @property
    def roots(self) -> list[Path]:
        """The directories that the session is about: `cwd` first."""
        return [self.cwd, *self.directories]

    def _find_roots(self) -> list[str]:
        """Where the roots really are; whoever swaps one for a link later gets nowhere."""
        found = [os.path.realpath(root) for root in self.roots]
        self._wire.check_inside(found)
        return found

    def jail(self) -> "Jail":
        """This machine's files, fenced in to the session's roots."""
        from acpella.local import Jail

        return Jail(self.roots, real=self._real)

    @property
    def mode(self) -> str | None:
        """The id of the current mode; None if the agent declared none."""
        modes = self._agent.modes
        if not modes:
            return None
        return self._mode if any(mode.id == self._mode for mode in modes) else modes[0].id

    def option(self, option_id: str) -> Any:
        """The current value of an option."""
        for option in self._agent.options:
            if option.id == option_id:
                return self._values.get(option_id, option.initial)
        raise KeyError(f"the agent declared no option {option_id!r}")

    # -- what the agent may change ---------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """Switch the mode and tell the editor. Raises `ValueError` for a mode that was not declared."""
        if not any(mode.id == mode_id for mode in self._agent.modes):
            known = ", ".join(mode.id for mode in self._agent.modes) or "none"
            raise ValueError(f"no mode {mode_id!r}; there are: {known}")
        before, self._mode = self._mode, mode_id
        try:
            await self._settings_changed()
        except StoreError:
            self._mode = before
            raise
        await self.update(CurrentModeUpdate(current_mode_id=mode_id))
        await self.update(ConfigOptionUpdate(config_options=self.config_options()))
        await self._agent.mode_changed(self, mode_id)

    async def set_option(self, option_id: str, value: Any) -> None:
        """Set an option and tell the editor. Raises `ValueError` for what was not declared."""
        if option_id == MODE_OPTION and self._agent.modes:
            await self.set_mode(value)
            return
        option = next((option for option in self._agent.options if option.id == option_id), None)
        if option is None:
            known = ", ".join(option.id for option in self._agent.options) or "none"
            raise ValueError(f"no option {option_id!r}; there are: {known}")
        if isinstance(option, Toggle):
            value = option.parsed(value)
        if not option.allows(value):
            wanted = "true or false" if isinstance(option, Toggle) else ", ".join(option.values)
            raise ValueError(f"{option_id} cannot be {value!r}; it can be: {wanted}")
        before = dict(self._values)
        self._values[option_id] = value
        try:
            await self._settings_changed()
        except StoreError:
            self._values = before
            raise
        await self.update(ConfigOptionUpdate(config_options=self.config_options()))
        await self._agent.option_changed(self, option_id, value)

    async def set_title(self, title: str) -> None:
        """Name the session and tell the editor."""
        self.title = replace_surrogates(title)  # half an emoji has no UTF-8
        await self.save()
        await self.tell_title()

    async def tell_title(self) -> None:
        """Tell the editor the title if it does not know it yet."""
        if self.title != self._told_title:
            self._told_title = self.title
            await self.update(SessionInfoUpdate(title=self.title))

    async def change_directory(self, path: str) -> None:
        """Work in another directory from now on."""
        before, self.cwd = self.cwd, Path(path)
        try:
            self._real = self._find_roots()
        except BaseException:
            self.cwd = before
            raise
        if self._recorder is not None:
            await self._recorder.flush(changes=SessionChanges(cwd=path))

    async def update(self, update: SessionUpdate) -> None:
        """Send any update, also outside a turn; kept back from an editor that does not know its kind."""
        while self._moving is not None:
            await self._moving.wait()
        size = 0
        if self._recorder is not None and update.__class__ not in _NOT_HISTORY:
            size = self._recorder.add(update)
        if self._after_log is None:
            await self._send(update)
        else:
            await self._after_log.show(update, size)

    async def shown(self) -> None:
        """Wait until every update was sent, so that what follows comes after them."""
        if self._after_log is not None:
            await self._after_log.settled()

    async def _send(self, update: SessionUpdate) -> None:
        if update.__class__ in self._wire.hidden:
            return
        await self._wire.connection.notify(
            methods.UPDATE, SessionNotification(session_id=self.id, update=update)
        )

    def start(self, work: Callable[[], Awaitable[None] | None]) -> None:
        """Run something in the background; it is cancelled when the session is closed."""
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

    # -- for the rest of the package ---------------------------------------------------------

    @property
    def recorder(self) -> Recorder | None:
        return self._recorder

    @property
    def wire(self) -> "WireV1":
        return self._wire

    @asynccontextmanager
    async def moving(self) -> AsyncGenerator[None]:
        """While it goes to another connection, nothing happens in it."""
        self._moving = asyncio.Event()
        try:
            yield
        finally:
            self._moving.set()
            self._moving = None

    def move_to(self, wire: "WireV1") -> None:
        """Its editor is on that connection now; what was asked of the one before is void."""
        self._wire = wire
        if self._after_log is not None:
            self._after_log.forget()
        if self._moved is not None:
            self._moved.set_result(None)
            self._moved = None

    async def ask(self, asking: Awaitable[Any]) -> tuple[bool, Any]:
        """Wait for the editor's answer, or until the session has gone to another editor: (False, None)."""
        if not self._wire.may_detach:
            return True, await asking
        if self._moved is None:
            self._moved = asyncio.get_running_loop().create_future()
        moved = self._moved
        answer = asyncio.ensure_future(asking)
        try:
            await asyncio.wait({answer, moved}, return_when=asyncio.FIRST_COMPLETED)
            return (True, answer.result()) if answer.done() else (False, None)
        finally:
            answer.cancel()

    @property
    def busy(self) -> bool:
        """Whether it must stay in memory."""
        return self.users > 0 or self.turn is not None or bool(self._background) or self._recorder is None

    def mode_state(self) -> SessionModeState | None:
        modes = self._agent.modes
        if not modes:
            return None
        assert self.mode is not None
        return SessionModeState(current_mode_id=self.mode, available_modes=[mode.to_wire() for mode in modes])

    def config_options(self) -> list[SessionConfigOption]:
        """Every option with its value, as this editor may see them (R-302)."""
        toggles = self._wire.shows_toggles
        options: list[SessionConfigOption] = []
        if self._agent.modes:
            assert self.mode is not None
            options.append(
                SessionConfigSelect(
                    id=MODE_OPTION,
                    name="Mode",
                    category="mode",
                    current_value=self.mode,
                    options=[
                        SessionConfigSelectOption(value=m.id, name=m.name, description=m.description)
                        for m in self._agent.modes
                    ],
                )
            )
        options += [
            option.to_wire(self._values.get(option.id, option.initial))
            for option in self._agent.options
            if toggles or not isinstance(option, Toggle)
        ]
        return options

    def settings(self) -> dict[str, Any]:
        return {"mode": self.mode, "options": dict(self._values)}

    async def save(self, *, turn: bytes | None = None) -> None:
        """Write everything that was not written yet.

        Raises:
            StoreError: it could not be written, or the state is no JSON; then the rest was written.
        """
        if self._recorder is None:
            return
        title = self.title
        try:
            state = msgspec.json.encode(self.state)
        except (TypeError, ValueError, RecursionError) as error:
            await self._recorder.flush(turn=turn)
            raise StoreError(f"the state of the session cannot be kept, it is no JSON: {error}") from None
        changes = None
        if state != self._saved_state or title != self._saved_title:
            changes = SessionChanges(state=self.state, title=title)
        await self._recorder.flush(turn=turn, changes=changes)
        self._saved_state, self._saved_title = state, title

    async def stop_background(self) -> None:
        if self._after_log is not None:
            await self._after_log.close(1)
        for task in list(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(list(self._background), timeout=1)

    async def _settings_changed(self) -> None:
        if self._recorder is not None:
            await self._recorder.flush(changes=SessionChanges(settings=self.settings()))
