"""The settings file: which agents and MCP servers there are."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec

from acpella import _directories as directories

from .jsonc import parse
from .settings_source import SettingsError, UntrustedSettings, read_settings

__all__ = [
    "AgentServer",
    "ClientSettings",
    "user_settings",
]


_TOP = ("agent_servers", "mcp_servers", "daemon_idle", "owner_idle", "registry")
_AGENT = ("command", "args", "env", "url", "headers")

ALIKE = 0.8
"""How alike a key must be to one of ours to count as a slip: `agent_server` is, Zed's own keys are not."""


@dataclass(frozen=True, slots=True)
class AgentServer:
    """How an agent is started, or where it is: one of `command` and `url` is given."""

    command: str = ""
    args: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every request to the URL."""
    of_project: bool = False
    """A project's file names the URL: it gets no token that the user has for other servers."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What the file says. The shape is the one that Zed uses: `agent_servers`, and `mcp_servers`.

    It is JSON, in which comments and trailing commas are allowed.
    """

    agents: dict[str, AgentServer] = field(default_factory=dict[str, AgentServer])
    mcp_servers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    path: Path | None = None
    """The file, or the first of several."""
    files: tuple[Path, ...] = ()
    """Everything that was read."""
    origins: dict[str, Path] = field(default_factory=dict[str, Path])
    """Which file names which agent."""

    def suggest(self, name: str) -> str:
        """A hint for a name that is not there."""
        from difflib import get_close_matches

        close = get_close_matches(name, self.agents, n=1, cutoff=0.5)
        if close:
            return f"did you mean {close[0]!r}?"
        return f"there are: {', '.join(sorted(self.agents))}" if self.agents else ""

    def origin(self, agent: str) -> Path | None:
        """The file that names an agent; None for what no file names, such as the built-in one."""
        path = self.origins.get(agent)
        return path.absolute() if path is not None else None

    @classmethod
    def find(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] = ".",
        on_untrusted: Callable[[UntrustedSettings], None] | None = None,
    ) -> "ClientSettings":
        """The file `path` alone; without it, the file of the project, and what the user's own adds to that.

        `on_untrusted` is called for a project's file that the user has not agreed to; that file is left out.

        Raises:
            UntrustedSettings: there is such a file and no `on_untrusted`, or `path` is one.
            SettingsError: a file is missing although it was named, or is malformed.
        """
        from .trust import is_project, project_file, read_trusted

        if path is not None:
            file = Path(path)
            return cls.parse(read_trusted(file), file) if is_project(file) else cls.load(file)
        project = project_file(cwd)
        settings: list[ClientSettings] = []
        if project is not None:
            try:
                settings.append(cls.parse(read_trusted(project), project))
            except UntrustedSettings as error:
                if on_untrusted is None:
                    raise
                on_untrusted(error)
        return cls._merged([*settings, cls.of_user()])

    @classmethod
    def _merged(cls, sources: "list[ClientSettings]") -> "ClientSettings":
        """The first file that has an agent or an MCP server of a name wins."""
        files = tuple(file for source in sources for file in source.files)
        merged = cls(path=files[0].absolute() if files else None, files=files)
        names: set[object] = set()
        for source in sources:
            for name, server in source.agents.items():
                if name not in merged.agents:
                    merged.agents[name] = server
                    merged.origins[name] = source.origins[name]
            merged.mcp_servers.extend(s for s in source.mcp_servers if s.get("name") not in names)
            names |= {s.get("name") for s in source.mcp_servers}
        return merged

    @classmethod
    def of_user(cls) -> "ClientSettings":
        """The user's own settings alone; empty if there are none. Raises `SettingsError`."""
        return cls.load(user_settings()) if user_settings().is_file() else cls()

    @classmethod
    def load(cls, path: Path) -> "ClientSettings":
        """Read one file. Raises `SettingsError`."""
        return cls.parse(read_settings(path), path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> "ClientSettings":
        """What the bytes of a file say. Raises `SettingsError`, which names `path`."""
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SettingsError(f"{path} cannot be read: {error}") from None
        try:
            value = parse(text)
        except ValueError as error:
            raise SettingsError(f"{path}: {error}") from None
        return cls._from_json(value, path)

    @classmethod
    def _from_json(cls, value: Any, path: Path) -> "ClientSettings":
        top = _table(value, str(path))
        _check_keys(top, _TOP, f"{path}: ")
        from .trust import is_project

        of_project = is_project(path)
        agents: dict[str, AgentServer] = {}
        for name, entry in _table(top.get("agent_servers", {}), f"{path}: agent_servers").items():
            if not _is_of_registry(entry, f"{path}: agent_servers.{name}"):
                agents[name] = _agent(entry, f"{path}: agent_servers.{name}", of_project)
        servers = top.get("mcp_servers", [])
        if isinstance(servers, dict):
            table = cast("dict[str, Any]", servers)
            servers = [{"name": n, **_table(e, f"{path}: mcp_servers.{n}")} for n, e in table.items()]
        if not isinstance(servers, list):
            raise SettingsError(f"{path}: mcp_servers must be a list or an object")
        listed = cast("list[Any]", servers)
        checked = [_table(entry, f"{path}: mcp_servers[{i}]") for i, entry in enumerate(listed)]
        return cls(agents, checked, path, (path,), dict.fromkeys(agents, path))


def user_settings() -> Path:
    """Where the user's own settings are."""
    return directories.config() / "settings.json"


def _is_of_registry(entry: Any, where: str) -> bool:
    """Whether an entry says, as in Zed, that its name is an id of the registry: such agents need no settings.

    An agent is not installed just because a file names it.
    """
    table = _table(entry, where)
    if table.get("type") != "registry":
        return False
    if more := sorted({"command", "args", "env", "url", "headers"} & table.keys()):
        raise SettingsError(
            f"{where}: an agent of the registry has no {more[0]} here; "
            "`acpella registry run ID` as its command takes args and env"
        )
    return True


def _agent(entry: Any, where: str, of_project: bool) -> AgentServer:
    table = _table(entry, where)
    _check_keys(table, _AGENT, f"{where}.")
    if "url" in table:
        return _remote(table, where, of_project)
    if "headers" in table:
        raise SettingsError(f"{where}.headers makes sense only with a url")
    command = table.get("command")
    if isinstance(command, dict):  # Zed has also written {"command": {"path": …, "args": …}}
        inner = _table(command, f"{where}.command")
        table = {**table, **{k: v for k, v in inner.items() if k != "path"}}
        command = inner.get("path")
    if not isinstance(command, str) or not command:
        raise SettingsError(f"{where}.command must be a command")
    args = table.get("args", [])
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in cast("list[Any]", args)):
        raise SettingsError(f"{where}.args must be a list of strings")
    try:
        env = msgspec.convert(table.get("env") or {}, dict[str, str])
    except msgspec.ValidationError:
        raise SettingsError(f"{where}.env must be an object of strings") from None
    return AgentServer(os.path.expanduser(command), cast("list[str]", args), env)


def _remote(table: dict[str, Any], where: str, of_project: bool) -> AgentServer:
    url = table["url"]
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://", "ws://", "wss://")):
        raise SettingsError(f"{where}.url must be a http, https, ws or wss URL")
    if more := sorted({"command", "args", "env"} & table.keys()):
        raise SettingsError(f"{where}: an agent behind a url has no {more[0]}")
    headers = table.get("headers", {})
    if not isinstance(headers, dict):
        raise SettingsError(f"{where}.headers must be an object of strings")
    for name, value in cast("dict[str, Any]", headers).items():
        if not isinstance(value, str):  # the value may be a secret: it is not shown
            raise SettingsError(f"{where}.headers.{name} must be a string")
    return AgentServer(url=url, headers=cast("dict[str, str]", headers), of_project=of_project)


def _check_keys(table: dict[str, Any], allowed: tuple[str, ...], where: str) -> None:
    """Other keys are other programs' business, unless they look like one of ours that is missing."""
    from difflib import get_close_matches

    missing = [key for key in allowed if key not in table]
    for key in table:
        if key not in allowed and (near := get_close_matches(key.lower(), missing, n=1, cutoff=ALIKE)):
            raise SettingsError(f"{where}{key} means nothing; did you mean {near[0]!r}?")


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{where} must be an object")
    return cast("dict[str, Any]", value)
