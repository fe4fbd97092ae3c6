"""What can be hosted: an `Agent` object in this process, or any command that speaks ACP on stdio."""

import asyncio
import fnmatch
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from acpella._processes import is_own_secret
from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc import Channel, Receiver
from acpella.transport import ProcessChannel, ProcessLimits, memory_pair

from .command_log import CommandLog
from .settings import ServerSettings

if TYPE_CHECKING:
    from acpella.agent import Agent
    from acpella.sessions import Cluster, PostgresStore

__all__ = [
    "AgentFactory",
    "CommandFactory",
    "InProcessFactory",
    "RunningAgent",
    "SharedFactory",
    "WrappedFactory",
    "command_environment",
]

log: logging.Logger = logging.getLogger(__name__)

WRITE_HIGH = 256 * 1024
"""Bytes that may wait for an agent before its client has to wait."""

END_GRACE = 5.0
"""Seconds for an agent in this process to let go of its sessions."""


class RunningAgent(Protocol):
    """The agent of one connection."""

    @property
    def channel(self) -> Channel: ...

    async def close(self) -> None:
        """End it; safe to call twice."""
        ...


class AgentFactory(Protocol):
    """Makes an agent for each connection."""

    checks_owners: bool
    """Whether it keeps the sessions of different users apart by itself."""

    async def start(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        """A new agent that talks to the receiver. Raises `AcpellaError` when it cannot be started."""
        ...

    async def close(self) -> None:
        """Let go of what all of them share."""
        ...


@runtime_checkable
class SharedFactory(Protocol):
    """A factory whose sessions other nodes may serve, too."""

    @property
    def shared_store(self) -> "PostgresStore | None":
        """Where they are kept; None if that is this node's alone."""
        ...

    async def open(self) -> None:
        """Open the store before the first connection needs it. Raises `StoreError`."""
        ...

    def stays_here(self, greeting: bytes) -> bool:
        """Whether only this node can serve the connection that begins with this `initialize`."""
        ...

    async def join(self, cluster: "Cluster") -> None:
        """The store is open, and other nodes may have it, too. Raises `StoreError`."""
        ...


class WrappedFactory:
    """The base of a factory around another one: passes on everything but `start`."""

    def __init__(self, factory: AgentFactory) -> None:
        self._factory = factory
        self.checks_owners: bool = factory.checks_owners

    @property
    def shared_store(self) -> "PostgresStore | None":
        """The store of the factory, which other nodes may have, too."""
        return self._factory.shared_store if isinstance(self._factory, SharedFactory) else None

    async def open(self) -> None:
        """Open the store. Raises `StoreError`."""
        if isinstance(self._factory, SharedFactory):
            await self._factory.open()

    def stays_here(self, greeting: bytes) -> bool:
        """Whether only this node can serve the connection that begins with this `initialize`."""
        return isinstance(self._factory, SharedFactory) and self._factory.stays_here(greeting)

    async def join(self, cluster: "Cluster") -> None:
        """Let the inner factory join the other nodes. Raises `StoreError`."""
        if isinstance(self._factory, SharedFactory):
            await self._factory.join(cluster)

    async def close(self) -> None:
        """Let go of what all agents share."""
        await self._factory.close()


class InProcessFactory:
    """One `Agent` for all connections; each is served over memory."""

    checks_owners = True

    def __init__(self, agent: "Agent", *, roots: Sequence[str] = ()) -> None:
        """`roots`: where sessions may work; none named: anywhere."""
        self._serve = partial(agent.serve_on, log_first=True, roots=roots)
        self._agent = agent

    async def start(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        agent = _InProcessAgent(partial(self._serve, principal=principal, is_detached=is_detached), receiver)
        await agent.start()
        return agent

    @property
    def shared_store(self) -> "PostgresStore | None":
        """The store that other nodes may have, too."""
        from acpella.sessions import PostgresStore

        store = self._agent.store
        return store if isinstance(store, PostgresStore) else None

    async def open(self) -> None:
        """Open the store before the first connection needs it. Raises `StoreError`."""
        await self._agent.open()

    def stays_here(self, greeting: bytes) -> bool:
        """Never: everything is in the store, so any node can serve the connection."""
        return False

    async def join(self, cluster: "Cluster") -> None:
        """Nothing is to be done: what nodes have to know of each other's sessions is in the store."""

    async def close(self) -> None:
        await self._agent.close()


class _InProcessAgent:
    def __init__(self, serve: Callable[[Channel], Awaitable[None]], receiver: Receiver) -> None:
        self.channel, self._theirs = memory_pair()
        self._serve_on = serve
        self._receiver = receiver
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.channel.open(self._receiver, write_high=WRITE_HIGH)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        try:
            await self._serve_on(self._theirs)
        except AcpellaError as error:
            log.error("the agent cannot serve: %s", error)
            self._receiver.ended(
                ConnectionClosed("the agent could not be started; the server's log says why")
            )
        except Exception:
            log.exception("the agent failed")
            self._receiver.ended(ConnectionClosed("the agent failed; the server's log says why"))
        finally:
            await self._theirs.close()

    async def close(self) -> None:
        await self.channel.close()
        if self._task is None:
            return
        await asyncio.wait([self._task], timeout=END_GRACE)
        if not self._task.done():
            log.warning("an agent does not let go of its connection and is left behind")
            self._task.cancel()


class CommandFactory:
    """A process for each connection."""

    checks_owners = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        settings: ServerSettings | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`settings` say what the command may have: its environment and its limits; `env` is added to the
        former. `on_stderr` gets what it writes there, instead of the log."""
        if isinstance(command, str) or not command:
            raise ValueError("a command is a list of words: the program and its arguments")
        self.command: list[str] = [os.fspath(word) for word in command]
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._settings = settings or ServerSettings()
        self._env = dict(env or {})

    async def start(
        self, receiver: Receiver, principal: str, is_detached: Callable[[], bool]
    ) -> RunningAgent:
        settings = self._settings
        command_log = CommandLog(getattr(receiver, "label", "")) if settings.command_stderr == "log" else None
        channel = ProcessChannel(
            self.command,
            cwd=self._cwd,
            env={**command_environment(os.environ, settings.environment), **self._env},
            inherit_env=False,
            on_stderr=_each(self._on_stderr or command_log, getattr(receiver, "stderr", None)),
            limits=ProcessLimits(
                core=settings.command_core,
                memory=settings.command_memory or None,
                address_space=settings.command_address_space or None,
                files=settings.command_files or None,
                processes=settings.command_processes or None,
            ),
        )
        await channel.open(receiver, write_high=WRITE_HIGH)
        return _CommandAgent(channel, command_log)

    async def close(self) -> None:
        pass


def _each(*listeners: Callable[[bytes], None] | None) -> Callable[[bytes], None] | None:
    """Whoever wants to know what a command writes to its stderr: its log, its recording."""
    present = [listener for listener in listeners if listener is not None]
    if len(present) < 2:
        return present[0] if present else None

    def tell(data: bytes) -> None:
        for listener in present:
            listener(data)

    return tell


class _CommandAgent:
    def __init__(self, channel: ProcessChannel, command_log: CommandLog | None) -> None:
        self.channel = channel
        self._command_log = command_log

    async def close(self) -> None:
        try:
            await self.channel.close()
        finally:
            if self._command_log is not None:
                self._command_log.end()


ALWAYS_PASSED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM"),
    *("TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "USERPROFILE"),
    *("APPDATA", "LOCALAPPDATA", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Variables that hardly any program works without."""

WITHHELD = (
    "ACPELLA_SERVER_*",
    *(f"ACPELLA*{word}*" for word in ("DSN", "DATABASE", "SECRET")),
)
"""What a child must not learn: how to become a user of this server, or where its sessions are kept."""


def command_environment(environment: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """The variables that a hosted command gets."""
    allowed_names = _matching((*ALWAYS_PASSED, *allowed))
    withheld = _matching(WITHHELD)
    return {
        name: value
        for name, value in environment.items()
        if allowed_names(name.upper())
        and not withheld(name.upper())
        and not is_own_secret(name, value)
        and not _has_address(name.upper(), value)
    }


def _has_address(name: str, value: str) -> bool:
    """A store that is a file may be the command's own; a database's address has our password in it."""
    return name.startswith("ACPELLA_STORE") and "://" in value


def _matching(patterns: Sequence[str]) -> Callable[[str], object]:
    return re.compile("|".join(fnmatch.translate(pattern.upper()) for pattern in patterns)).match
