"""`Agent`: what an author declares, and how it is run."""

import asyncio
import inspect
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from acpella.errors import LocalProtocolError, RpcError
from acpella.rpc import Channel
from acpella.schema import AvailableCommand, Meta, TextContent, UnstructuredCommandInput
from acpella.sessions import (
    LiveSessions,
    RememberedPermissions,
    Store,
    StoreError,
    export_session,
    import_session,
    open_store,
)

from .declare import EnvLogin, Login, Mode, Option, Select, TerminalLogin, Tool
from .guards import check_history, new_session_id
from .handlers import PromptHandler
from .session import MODE_OPTION, Session
from .settings import Settings
from .turn import Turn
from .wire_v1 import ASKING, WireV1

__all__ = ["Agent", "run"]

log = logging.getLogger(__name__)

CLOSE_GRACE = 1.0
"""Seconds for the author's `on_close`. Without it, one that hangs keeps sessions and the process alive."""

EXIT_GRACE = 0.3
"""Seconds for what a handler has left running, tasks and threads, to end with the agent."""

READING_FAILED = 70
"""Exit code after a fault of our own, as sysexits.h has it: an editor must not take it for a normal end."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    description: str
    hint: str | None
    handler: PromptHandler

    def to_wire(self) -> AvailableCommand:
        hint = None if self.hint is None else UnstructuredCommandInput(hint=self.hint)
        return AvailableCommand(name=self.name, description=self.description, input=hint)


class _Door:
    """Lets one request at a time open or remove a session; gone with the last who uses it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class Agent:
    """An agent for any ACP editor. Only a prompt handler is needed; what else is declared is what it offers.

    agent = Agent("fixer", version="1.0", store="sqlite")

    @agent.on_prompt
    async def reply(turn):
        yield f"You said: {turn.text}"

    agent.run()
    """

    def __init__(
        self,
        name: str = "agent",
        *,
        version: str = "0",
        title: str | None = None,
        store: Store | str | Path | None = None,
        modes: Sequence[Mode | str] = (),
        options: Sequence[Option] = (),
        logins: Sequence[Login | EnvLogin | TerminalLogin] = (),
        tools: Sequence[Tool] = (),
        images: bool = False,
        audio: bool = False,
        mcp: Sequence[Literal["http", "sse"]] = (),
        local: bool = False,
        meta: Meta | None = None,
        unstable: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Declare an agent.

        `store` keeps sessions: "memory", "sqlite" (a file of the user's), a path, or a `Store`. The first of
        `modes` is the default. `images` and `audio` say what prompts may carry besides text, links and
        embedded files; `mcp` which MCP transports besides stdio the agent connects to. With `local`, files
        and commands of this machine, inside the session's directories, stand in for what the editor lacks.
        `unstable=False` keeps everything off the wire that only the unstable schema of ACP knows. `settings`
        are the values of `Settings`; the environment has the last word.
        """
        self.name = name
        self.version = version
        self.title = title
        self.modes = [Mode(mode, mode.capitalize()) if isinstance(mode, str) else mode for mode in modes]
        self.options = list(options)
        self.logins = list(logins)
        self.tools = list(tools)
        self.images = images
        self.audio = audio
        self.mcp = frozenset(mcp)
        self.local = local
        self.meta = dict(meta or {})
        self.settings = Settings.from_environment(**{"unstable": unstable, **(settings or {})})
        self.store = open_store(store, name=name)
        self.remembered = RememberedPermissions(self.settings.remembered_in())
        self.commands: dict[str, _Command] = {}
        self.request_handlers: dict[str, Any] = {}
        self.notification_handlers: dict[str, Any] = {}
        self._check_declared()
        self.log_file: Path | None = None
        """Where `run` logs to, if it is a file."""
        self._prompt_handler: PromptHandler | None = None
        self._hooks: dict[str, Callable[..., Any]] = {}
        self._logged_in: dict[str, bool] = {}  # by user: who has logged in or out
        self._sessions: LiveSessions[Session] = LiveSessions(
            self._unload,
            lambda session: session.busy,
            max_sessions=self.settings.max_sessions,
            idle_seconds=self.settings.session_idle_timeout or None,
        )
        self._doors: dict[str, _Door] = {}
        self._opened = asyncio.Lock()
        self._is_open = False
        self._reaper: asyncio.Task[None] | None = None

    def _check_declared(self) -> None:
        for what, names in (
            ("mode", [mode.id for mode in self.modes]),
            ("option", [option.id for option in self.options] + [MODE_OPTION] * bool(self.modes)),
            ("login", [login.id for login in self.logins]),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"declared twice: {what} {', '.join(sorted(twice))}")

    # -- declaring handlers ----------------------------------------------------------------

    def on_prompt(self, handler: F) -> F:
        """Answers prompts. A coroutine, an async generator that yields text, content or updates, or a plain
        function or generator, which runs in a thread and gets a turn whose methods block."""
        self._prompt_handler = _checked(handler)
        return handler

    def command(self, name: str, description: str, *, hint: str | None = None) -> Callable[[F], F]:
        """Answers prompts that begin with `/name`; what was typed behind it is `turn.argument`."""
        if not name or name != name.strip().lstrip("/") or any(c.isspace() for c in name):
            raise ValueError(f"a command's name is one word without a slash, not {name!r}")

        def register(handler: F) -> F:
            self.commands[name] = _Command(name, description, hint, _checked(handler))
            return handler

        return register

    def on_request(self, method: str) -> Callable[[F], F]:
        """Answers an extension method of yours; its name begins with `_`."""
        return self._extension(method, self.request_handlers)

    def on_notification(self, method: str) -> Callable[[F], F]:
        """Hears an extension notification of yours; its name begins with `_`."""
        return self._extension(method, self.notification_handlers)

    def _extension(self, method: str, table: dict[str, Any]) -> Callable[[F], F]:
        if not method.startswith("_"):
            raise ValueError(f"an extension method begins with `_`, unlike {method!r}")

        def register(handler: F) -> F:
            async def call(params: Any) -> Any:
                result = handler(params)
                return await result if inspect.isawaitable(result) else result

            table[method] = call
            return handler

        return register

    @asynccontextmanager
    async def session(self, session_id: str) -> AsyncGenerator[Session]:
        """A session of the editor whose request is being answered, for handlers of extension methods.

        It stays in memory for the `async with` block; sessions of other editors are not found.

        Raises:
            ResourceNotFound: the editor has no such session open.
            LocalProtocolError: no request is being answered.
        """
        wire = ASKING.get(None)
        if wire is None:
            raise LocalProtocolError("agent.session() is for handlers of extension requests")
        async with wire.using(session_id) as session:
            yield session

    def on_session(self, hook: F) -> F:
        """Called with every session that is opened: new, loaded, resumed, forked, or back in memory."""
        return self._hook("session", hook)

    def on_close(self, hook: F) -> F:
        """Called with every session that is closed or unloaded."""
        return self._hook("close", hook)

    def on_mode(self, hook: F) -> F:
        """Called with the session and the new mode."""
        return self._hook("mode", hook)

    def on_option(self, hook: F) -> F:
        """Called with the session, the option's id and its new value."""
        return self._hook("option", hook)

    def on_logout(self, hook: F) -> F:
        """Called when the user logs out."""
        return self._hook("logout", hook)

    def is_logged_in(self, check: F) -> F:
        """Says whether the user is logged in, for agents that keep credentials themselves."""
        return self._hook("logged_in", check)

    def _hook(self, name: str, hook: F) -> F:
        self._hooks[name] = hook
        return hook

    async def _call_hook(self, name: str, *args: Any) -> Any:
        hook = self._hooks.get(name)
        if hook is None:
            return None
        result = hook(*args)
        return await result if inspect.isawaitable(result) else result

    # -- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Speak ACP on stdin and stdout until the editor goes away, or SIGINT or SIGTERM comes.

        Raises:
            SystemExit: with the code 70 when reading failed through a fault of acpella's own.
        """
        from .logs import logging_failures

        with logging_failures(self.name) as self.log_file:
            self._run_on_stdio()

    def _run_on_stdio(self) -> None:
        if self._prompt_handler is None:
            raise ValueError("the agent has no prompt handler; decorate one with @agent.on_prompt")
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(
                f"{self.name} speaks ACP on stdin and stdout, for an editor to start. To try it here: "
                f'acpella run -a {shlex.quote(shlex.join(sys.argv))} "hi"\n'
            )
        exit_codes: list[int] = []
        deadline = threading.Timer(EXIT_GRACE, _leave_behind, args=[exit_codes])
        deadline.daemon = True
        try:
            asyncio.run(self._run(deadline, exit_codes))
        finally:
            deadline.cancel()
        if exit_codes:
            raise SystemExit(exit_codes[0])

    async def _run(self, deadline: threading.Timer, exit_codes: list[int]) -> None:
        from acpella.transport import StdioChannel

        try:
            failure = await self._serve(StdioChannel(), signals=True)
            if failure is not None:
                where = "" if self.log_file is None else f" The log says why: {self.log_file}"
                sys.stderr.write(
                    f"{self.name} had to stop: it failed to read a message of the editor.{where}\n"
                )
                exit_codes.append(READING_FAILED)
        finally:
            await self.close()
            deadline.start()

    async def serve_on(
        self,
        channel: Channel,
        *,
        principal: str = "",
        signals: bool = False,
        log_first: bool = False,
        is_detached: Callable[[], bool] | None = None,
        roots: Sequence[str] = (),
    ) -> None:
        """Serve one editor over any channel until it goes away. Many may be served at once.

        The store is opened with the first; `close` lets go of it. With `signals`, SIGINT and SIGTERM end
        the turns, then the connection. With `log_first`, an update is sent only after the store has it.
        `is_detached` tells whether the editor is away though the channel stays open; then another connection
        of the same user may take over a session in the middle of a turn. With `roots`, its sessions work
        beneath these directories only.
        """
        await self._serve(
            channel,
            signals=signals,
            principal=principal,
            log_first=log_first,
            is_detached=is_detached,
            roots=roots,
        )

    async def _serve(self, channel: Channel, *, signals: bool, **options: Any) -> Exception | None:
        """Serve one editor; gives the fault of our own that ended it, if one did."""
        await self._open()
        wire = WireV1(self, channel, **options)
        if signals:
            self._stop_on_signals(wire)
        await wire.run()
        return wire.connection.failure

    async def close(self) -> None:
        """Let go of the store. Safe to call twice."""
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        if self.store is not None and self._is_open:
            self._is_open = False
            await self.store.close()

    async def _open(self) -> None:
        async with self._opened:
            if self.store is None or self._is_open:
                return
            await self.store.open()
            self._is_open = True
            self._reaper = asyncio.get_running_loop().create_task(self._sessions.run_reaper())

    def _stop_on_signals(self, wire: WireV1) -> None:
        loop = asyncio.get_running_loop()
        stopping: list[asyncio.Task[None]] = []

        def stop() -> None:
            stopping.append(loop.create_task(wire.shutdown()))

        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, stop)
            except NotImplementedError:  # Windows
                pass

    # -- for the rest of the package -----------------------------------------------------------

    @property
    def model_option(self) -> str | None:
        """The id of the option that chooses the model, for `session/set_model`."""
        models = (o.id for o in self.options if isinstance(o, Select) and o.category == "model")
        return next(models, None)

    def handler_for(self, turn: Turn) -> PromptHandler:
        """The command that the prompt calls, or the prompt handler."""
        typed = next((block.text for block in turn.prompt if isinstance(block, TextContent)), "").lstrip()
        if typed.startswith("/") and not typed[1:2].isspace():
            words = typed[1:].split(maxsplit=1)
            command = self.commands.get(words[0]) if words else None
            if command is not None:
                turn.command = command.name
                turn.argument = words[1].strip() if len(words) > 1 else ""
                return command.handler
        if self._prompt_handler is None:
            raise ValueError("the agent has no prompt handler")
        return self._prompt_handler

    async def logged_in(self, principal: str = "") -> bool:
        if "logged_in" in self._hooks:
            return bool(await self._call_hook("logged_in"))
        known = self._logged_in.get(principal)
        if known is None:
            return any(isinstance(login, EnvLogin) and not login.missing for login in self.logins)
        return known

    def set_logged_in(self, value: bool, principal: str = "") -> None:
        self._logged_in[principal] = value

    async def log_out(self, principal: str = "") -> None:
        self._logged_in[principal] = False
        await self._call_hook("logout")

    async def mode_changed(self, session: Session, mode_id: str) -> None:
        await self._call_hook("mode", session, mode_id)

    async def option_changed(self, session: Session, option_id: str, value: Any) -> None:
        await self._call_hook("option", session, option_id, value)

    # -- sessions in memory ----------------------------------------------------------------------

    def live(self, session_id: str) -> Session | None:
        return self._sessions.get(session_id)

    def live_sessions(self) -> list[Session]:
        return [session for session_id in self._sessions if (session := self._sessions.get(session_id))]

    async def settled(self, session_id: str) -> None:
        """Wait for a session that is being unloaded."""
        await self._sessions.settle(session_id)

    @asynccontextmanager
    async def alone(self, session_id: str) -> AsyncGenerator[None]:
        """Open or remove a session while nobody else does, on any connection."""
        door = self._doors.setdefault(session_id, _Door())
        door.users += 1
        try:
            async with door.lock:
                yield
        finally:
            door.users -= 1
            if not door.users:
                del self._doors[session_id]

    async def admit(self, session: Session) -> None:
        """Keep a session in memory; one that the author's hook refuses is let go again."""
        session.users += 1  # not unloaded before it was of any use
        try:
            await self._sessions.add(session.id, session)
            await self._call_hook("session", session)
        except BaseException:
            self._sessions.remove(session.id)
            await self._let_go(session, save=False)
            raise
        finally:
            session.users -= 1

    async def forget(self, session: Session, *, save: bool = True) -> None:
        """Let a session go: nothing of it stays in memory."""
        self._sessions.remove(session.id)
        await session.stop_background()
        try:
            async with asyncio.timeout(CLOSE_GRACE):
                await self._call_hook("close", session)
        except Exception:
            log.exception("on_close failed for session %s", session.id)
        await self._let_go(session, save=save)

    async def _let_go(self, session: Session, *, save: bool) -> None:
        if session.recorder is None or self.store is None:
            return
        session.recorder.close()
        try:
            if save:
                await session.save()
        except StoreError as error:
            log.error("session %s was not saved: %s", session.id, error)
        try:
            await self.store.release(session.recorder.lease)
        except StoreError as error:
            log.warning("session %s was not given back: %s", session.id, error)

    async def _unload(self, session: Session) -> None:
        session.wire.park(session)
        await self.forget(session)

    async def export_session(self, session_id: str, *, principal: str = "") -> dict[str, Any]:
        """A session as one portable JSON document."""
        store = self._need_store()
        record = await store.get(session_id, principal=principal)
        events = [event async for page in store.read(session_id, principal=principal) for event in page]
        return export_session(record, events)

    async def import_session(self, document: Any, *, principal: str = "") -> str:
        """Add a session from such a document; gives its new id."""
        store = self._need_store()
        imported, events = import_session(document)
        check_history(imported.cwd, [body for kind, body in events if kind == "update"])
        await self.check_room(principal)
        record = imported.to_record(new_session_id(), principal=principal)
        lease = await store.create(record, events)
        await store.release(lease)
        return record.id

    async def check_room(self, principal: str) -> None:
        """Raises `RpcError` when this user has as many sessions in the store as they may."""
        room = self.settings.max_stored_sessions
        cursor: str | None = None
        while room and self.store is not None:
            page = await self.store.list(principal=principal, cursor=cursor, limit=room)
            room -= len(page.sessions)
            cursor = page.next_cursor
            if room <= 0:
                most = self.settings.max_stored_sessions
                raise RpcError(f"{most} sessions are kept for you already; delete some first", code=-32001)
            if cursor is None:
                return

    def _need_store(self) -> Store:
        if self.store is None:
            raise StoreError("the agent keeps no sessions; give it a store")
        return self.store


def _checked(handler: F) -> F:
    """Refuses what cannot be called with a turn, before an editor finds out."""
    if not callable(handler):
        raise TypeError(f"a prompt handler is a function that takes a turn, not {handler!r}")
    try:
        inspect.signature(handler).bind(None)
    except ValueError:
        pass  # some callables do not tell
    except TypeError:
        raise TypeError(f"the prompt handler {handler!r} must take one argument, the turn") from None
    return handler


def _leave_behind(exit_codes: list[int]) -> None:
    """A task or a thread of a handler does not end, and would keep the process alive."""
    log.warning("a prompt handler has left something running; ending without it")
    logging.shutdown()
    os._exit(exit_codes[0] if exit_codes else 0)


def run(handler: Callable[..., Awaitable[Any] | Any], **options: Any) -> None:
    """Run an agent that is one function: `acpella.run(reply)`. Options are those of `Agent`."""
    options.setdefault("name", Path(inspect.getfile(handler)).stem if inspect.isroutine(handler) else "agent")
    from .logs import logging_failures

    with logging_failures(options["name"]):
        agent = Agent(**options)
        agent.on_prompt(handler)
    agent.run()
