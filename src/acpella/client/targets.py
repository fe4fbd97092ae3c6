"""From what a user names to a channel: a command, a Python file, a URL, a name in the settings, an agent."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from acpella._processes import has_directory, join_command, split_command
from acpella._redact import redact
from acpella._references import absolute_reference, is_reference
from acpella.errors import TransportError
from acpella.rpc import Channel, ChannelInfo
from acpella.transport import ProcessChannel, memory_pair

from .settings import ClientSettings

if TYPE_CHECKING:
    from acpella.transport.endpoint import Endpoint

__all__ = [
    "InProcess",
    "Servable",
    "Target",
    "file_of",
    "find_endpoint",
    "identity_of",
    "is_name",
    "open_endpoint",
    "open_target",
    "resolve_command",
]

_SCHEMES = ("http://", "https://", "ws://", "wss://")


@runtime_checkable
class Servable(Protocol):
    """An agent object that can be served in this process, such as `acpella.Agent`."""

    @property
    def name(self) -> str: ...

    async def serve_on(self, channel: Channel) -> None: ...


Target: TypeAlias = "str | Path | Sequence[str] | Servable | Channel"
"""A command, a list of words, a Python file, a URL, a name of the settings, an `Agent`, or a channel."""


class InProcess:
    """A channel to an agent object, which is served for as long as the channel is open."""

    def __init__(self, agent: Servable) -> None:
        self.about: ChannelInfo = ChannelInfo(identity=agent.name)
        self._agent = agent
        self._here, self._there = memory_pair()
        self._serving: asyncio.Task[None] | None = None

    async def open(self, receiver: Any, *, write_high: int) -> None:
        self._serving = asyncio.get_running_loop().create_task(self._agent.serve_on(self._there))
        await self._here.open(receiver, write_high=write_high)

    def write(self, data: bytes | bytearray) -> None:
        self._here.write(data)

    def pause_reading(self) -> None:
        self._here.pause_reading()

    def resume_reading(self) -> None:
        self._here.resume_reading()

    async def close(self) -> None:
        await self._here.close()
        if self._serving is not None:
            await asyncio.wait([self._serving], timeout=5)
            self._serving.cancel()


def find_endpoint(
    target: Target,
    *,
    settings: ClientSettings | None = None,
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
) -> "tuple[str, Endpoint] | None":
    """A short name of a remote agent and where it is; None if the target is not a URL.

    Raises:
        TransportError: the URL or a header cannot be used.
    """
    listed = settings is not None and isinstance(target, str) and target in settings.agents
    if not isinstance(target, str) or not (listed or target.lower().startswith(_SCHEMES)):
        return None
    from acpella.transport.endpoint import Endpoint

    if settings is not None and target in settings.agents and settings.agents[target].url:
        server = settings.agents[target]
        header_names = {name.lower() for name in headers or {}}
        if token is not None:
            header_names.add("authorization")
        own_headers = {
            name: value for name, value in server.headers.items() if name.lower() not in header_names
        }
        return target, Endpoint.of(
            server.url,
            headers={**own_headers, **(headers or {})},
            token=token,
            of_environment=not server.of_project,
        )
    if listed:
        return None
    endpoint = Endpoint.of(target, headers=headers, token=token)
    return endpoint.host, endpoint


def open_endpoint(
    endpoint: "Endpoint", *, on_link: Callable[[bool], None] | None = None, identity: str = ""
) -> Channel:
    """A new channel to a remote agent."""
    if endpoint.is_websocket:
        from acpella.transport.websocket import WebSocketChannel

        return WebSocketChannel(endpoint, on_link=on_link, identity=identity)
    from acpella.transport.http import HttpChannel

    return HttpChannel(endpoint, on_link=on_link, identity=identity)


def open_target(
    target: Target,
    *,
    settings: ClientSettings | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
) -> tuple[str, Channel]:
    """A short name of the agent, and the channel to it, which tells the agent's `identity`."""
    if isinstance(target, Servable):
        return target.name, InProcess(target)
    if isinstance(target, Channel):
        return "agent", target
    identity = identity_of(target, settings, cwd=cwd)
    remote = find_endpoint(target, settings=settings, headers=headers, token=token)
    if remote is not None:
        return remote[0], open_endpoint(remote[1], identity=identity)
    if headers or token is not None:
        raise TransportError("headers and a token make sense only for an agent behind a URL")
    name, command, own = resolve_command(target, settings)
    overlay = {**own, **(env or {})}
    channel = ProcessChannel(command, cwd=cwd, env=overlay or None, on_stderr=on_stderr, identity=identity)
    return name, channel


def is_name(target: str) -> bool:
    """Whether a word may be a name of the settings: not a URL, a file, or a command of several words."""
    word = target.strip()
    return (
        not is_reference(word)
        and not word.lower().startswith(_SCHEMES)
        and len(word.split()) == 1
        and not Path(word).is_file()
    )


def identity_of(
    target: Target, settings: ClientSettings | None = None, *, cwd: str | os.PathLike[str] | None = None
) -> str:
    """What tells an agent from all others, for answers that hold for this one alone; without secrets.

    The name of the settings; otherwise the whole path or command, as other programs have the same short name.
    Empty for a channel of which nothing is known.
    """
    if isinstance(target, Servable):
        return target.name
    if isinstance(target, Channel):
        about = target.about
        if not about.identity and about.process is not None:
            return identity_of(about.process.command, cwd=about.process.cwd)
        return about.identity
    if isinstance(target, str) and settings is not None and target in settings.agents:
        return target
    if isinstance(target, str) and target.lower().startswith(_SCHEMES):
        return redact(target)
    if isinstance(target, str | os.PathLike) and (path := file_of(target)) is not None:
        return path
    if isinstance(target, str) and is_reference(target):
        return absolute_reference(target)
    try:
        words = split_command(target) if isinstance(target, str) else list(cast("Sequence[str]", target))
    except (TypeError, ValueError):
        return ""
    where = os.path.abspath(cwd or os.curdir)
    # `python agent.py` is another program in another directory
    files = [os.path.normpath(os.path.join(where, word)) for word in words]
    return redact(join_command(f if os.path.isfile(f) else w for w, f in zip(words, files, strict=True)))


def resolve_command(
    target: str | Path | Sequence[str], settings: ClientSettings | None
) -> tuple[str, list[str], dict[str, str]]:
    """A short name of the agent, the words that start it, and variables to set for it."""
    if isinstance(target, str) and settings is not None and target in settings.agents:
        server = settings.agents[target]
        return target, [server.command, *server.args], dict(server.env)
    command = _command(target, settings)
    return _short_name(command), command, {}


def file_of(target: "str | os.PathLike[str]") -> str | None:
    """The whole path of the file that a target names; None for a command.

    As in a shell, a word without a slash is a program on the PATH: a file of that name in a repository must
    not take its place. Python files are the exception, and what is a path by its type.
    """
    if isinstance(target, str) and not (
        (has_directory(target) or target.endswith(".py")) and os.path.isfile(target)
    ):
        return None
    return os.path.abspath(target)


def _command(target: str | Path | Sequence[str], settings: ClientSettings | None) -> list[str]:
    if isinstance(target, str | os.PathLike) and (path := file_of(target)) is not None:
        if path.endswith(".py"):
            if not os.path.exists(path):
                raise TransportError(f"no file {os.fspath(target)}")
            return [sys.executable, path]
        return [path]
    if isinstance(target, str) and is_reference(target):
        file = target.rpartition(":")[0]
        if file.endswith(".py") and not os.path.isfile(file):
            raise TransportError(f"no file {file}")
        # a program of its own: what the file imports, prints and breaks stays there
        return [sys.executable, "-m", "acpella", "agent", absolute_reference(target)]
    if isinstance(target, str):
        try:
            command = split_command(target)
        except ValueError as error:
            raise TransportError(f"cannot read the command {target!r}: {error}") from None
        if not command:
            raise TransportError("the command is empty")
        if len(command) == 1 and command[0].endswith(".py"):
            raise TransportError(f"no file {command[0]}")
        if len(command) == 1:
            from shutil import which

            from .names import hint_for

            if which(command[0]) is None and (hint := hint_for(command[0], settings or ClientSettings())):
                raise TransportError(f"there is no agent {command[0]!r}; {hint}")
        return command
    if not isinstance(target, list | tuple):
        raise TypeError(f"an agent is named by a command, a list, a file or a settings name, not {target!r}")
    return list(target)


def _short_name(command: Sequence[str]) -> str:
    """The program, or the script it runs; never its arguments, which may hold secrets."""
    interpreters = ("python", "python3", "node", "uv", "uvx", "npx", Path(sys.executable).name)
    if list(command[1:4]) == ["-m", "acpella", "agent"] and len(command) > 4:
        return Path(command[4]).name
    words = [Path(word).name for word in command if not word.startswith("-")]
    if len(words) > 1 and words[0] in interpreters:
        return words[1]
    return words[0] if words else "agent"
