"""`Agent`: what an author declares, and how it is run."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from acpella.errors import LocalProtocolError
from acpella.rpc import Channel
from acpella.schema import Meta
from acpella.sessions import Store, StoreError, cluster_of, open_store

from .connection import EditorConnection
from .declare import EnvLogin, Login, Mode, Option, TerminalLogin, Tool
from .definition import Command, Definition
from .logins import Logins
from .open_sessions import OpenSessions
from .program import run_program, stop_on_signals
from .service import CURRENT_SERVICE
from .session import Session
from .session_inbox import SessionInbox
from .settings import Settings
from .stored_sessions import StoredSessions

__all__ = ["Agent", "run"]

F = TypeVar("F", bound=Callable[..., Any])


class Agent:
    """An agent for any ACP editor. It needs a prompt handler; what else you declare, it offers to editors.

    ```python
    agent = Agent("fixer", version="1.0", store="sqlite")

    @agent.on_prompt
    async def reply(turn):
        yield f"You said: {turn.text}"

    agent.run()
    ```
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
        With `unstable=False`, nothing is sent that only ACP's unstable schema defines. `settings` are values
        of `Settings`, which environment variables override.
        """
        session_store = open_store(store, name=name)
        self._definition = Definition(
            name,
            version=version,
            title=title,
            modes=modes,
            options=options,
            logins=logins,
            tools=tools,
            images=images,
            audio=audio,
            mcp=mcp,
            local=local,
            meta=meta,
            settings={"unstable": unstable, **(settings or {})},
            keeps_sessions=session_store is not None,
        )
        self._logins = Logins(self._definition)
        self._use(session_store)
        self._opening = asyncio.Lock()
        self._is_open = False
        self._tasks: list[asyncio.Task[None]] = []

    def _use(self, store: Store | None) -> None:
        most = self.settings.max_stored_sessions
        self._store = store
        self._open_sessions = OpenSessions(self._definition, store)
        self._stored_sessions = None if store is None else StoredSessions(store, max_stored_sessions=most)

    # -- what was declared -------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def version(self) -> str:
        return self._definition.version

    @property
    def modes(self) -> Sequence[Mode]:
        """The modes that users can switch between; the first is the default."""
        return tuple(self._definition.modes)

    @property
    def options(self) -> Sequence[Option]:
        """What users can set."""
        return tuple(self._definition.options)

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, in the order of their declaration."""
        return tuple(self._definition.commands.values())

    @property
    def settings(self) -> Settings:
        """The limits, with what the environment says."""
        return self._definition.settings

    @property
    def store(self) -> Store | None:
        """Where sessions are kept. Whoever hosts an agent may choose another store, before it is served."""
        return self._store

    @store.setter
    def store(self, store: Store) -> None:
        if self._is_open:
            raise LocalProtocolError("the store is in use; choose it before the agent is served")
        self._definition.keeps_sessions = True
        self._use(store)

    # -- declaring handlers ----------------------------------------------------------------

    def on_prompt(self, handler: F) -> F:
        """Answers prompts. A coroutine, an async generator that yields text, content or updates, or a plain
        function or generator, which runs in a thread and gets a turn whose methods block."""
        self._definition.prompt_handler = _checked(handler)
        return handler

    def command(self, name: str, description: str, *, hint: str | None = None) -> Callable[[F], F]:
        """Answers prompts that begin with `/name`; what was typed behind it is `turn.argument`."""
        if not name or name != name.strip().lstrip("/") or any(c.isspace() for c in name):
            raise ValueError(f"a command's name is one word without a slash, not {name!r}")

        def register(handler: F) -> F:
            command = Command(name, description, hint, _checked(handler))
            self._definition.commands[name] = command
            return handler

        return register

    def on_request(self, method: str) -> Callable[[F], F]:
        """Answers an extension method of yours; its name begins with `_`."""
        return self._extension(method, self._definition.request_handlers)

    def on_notification(self, method: str) -> Callable[[F], F]:
        """Hears an extension notification of yours; its name begins with `_`."""
        return self._extension(method, self._definition.notification_handlers)

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
        service = CURRENT_SERVICE.get(None)
        if service is None:
            raise LocalProtocolError("agent.session() is for handlers of extension requests")
        async with service.using(session_id) as core:
            yield core.session

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
        self._definition.hooks.setdefault(name, []).append(hook)
        return hook

    # -- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Speak ACP on stdin and stdout until the editor goes away, or SIGINT or SIGTERM comes.

        Raises:
            SystemExit: with the code 70 when reading failed through a fault of acpella's own.
        """
        from .logs import logging_failures

        with logging_failures(self.name) as self._definition.log_file:
            if self._definition.prompt_handler is None:
                raise ValueError("the agent has no prompt handler; decorate one with @agent.on_prompt")
            run_program(self._definition, self._serve_on_stdio, self.close)

    async def _serve_on_stdio(self) -> Exception | None:
        from acpella.transport import StdioChannel

        return await self._serve(StdioChannel(), signals=True)

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

        The first one opens the store; `close` closes it. With `signals`, SIGINT and SIGTERM end
        the turns, then the connection. With `log_first`, an update is sent only after the store has it.
        `is_detached` returns whether the editor is away although the channel is open; if so, another
        connection of the same user may take over a session in the middle of a turn. With `roots`, its
        sessions work beneath these directories only.
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
        """Serve one editor. Returns the internal error that ended the connection, if one did."""
        await self.open()
        connection = EditorConnection(
            self._definition,
            channel,
            open_sessions=self._open_sessions,
            stored_sessions=self._stored_sessions,
            logins=self._logins,
            **options,
        )
        if signals:
            stop_on_signals(connection.shutdown)
        return await connection.run()

    async def close(self) -> None:
        """Close the store. Safe to call twice."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if self._store is not None and self._is_open:
            self._is_open = False
            if tasks:
                await asyncio.wait(tasks)
            if self._stored.cluster is not None:
                await self._stored.cluster.close()
            await self._store.close()

    async def open(self) -> None:
        """Open the store, which the first connection does otherwise. Safe to call twice.

        Raises:
            StoreError: it cannot be opened; says why.
        """
        async with self._opening:
            if self._store is None:
                return
            if not self._is_open:
                await self._store.open()
                self._is_open = True
            if self._stored.cluster is not None:
                return
            cluster = cluster_of(self._store)
            await cluster.open()
            self._stored.cluster = cluster
            create = asyncio.get_running_loop().create_task
            inbox = SessionInbox(cluster, self._open_sessions)
            self._tasks = [create(self._open_sessions.run_reaper()), create(inbox.run())]

    # -- sessions as documents ---------------------------------------------------------------

    async def export_session(self, session_id: str, *, principal: str = "") -> dict[str, Any]:
        """A session as one portable JSON document."""
        return await self._stored.export_session(session_id, principal)

    async def import_session(self, document: Any, *, principal: str = "") -> str:
        """Add a session from a document that `export_session` made. Returns its new id."""
        return await self._stored.import_session(document, principal)

    @property
    def _stored(self) -> StoredSessions:
        if self._stored_sessions is None:
            raise StoreError("the agent keeps no sessions; give it a store")
        return self._stored_sessions


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


def run(handler: Callable[..., Awaitable[Any] | Any], **options: Any) -> None:
    """Run an agent that is one function: `acpella.run(reply)`. Options are those of `Agent`."""
    options.setdefault("name", Path(inspect.getfile(handler)).stem if inspect.isroutine(handler) else "agent")
    from .logs import logging_failures

    with logging_failures(options["name"]):
        agent = Agent(**options)
        agent.on_prompt(handler)
    agent.run()
