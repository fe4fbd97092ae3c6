"""What a client may ask of the agent behind a server: whose sessions, in which directories, what tools."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from .credentials import Scope
from .settings import ServerSettings

__all__ = [
    "REOPENING",
    "Owners",
    "Params",
    "Policy",
    "Violation",
    "check_scopes",
    "missing",
    "read_params",
]

log = logging.getLogger(__name__)

OWNERS = 100_000
"""Sessions whose owner is remembered. Without it, the table of a busy server grows without end."""

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests that say where a session works."""

REOPENING = frozenset({"session/load", "session/resume"})

READING = REOPENING | {
    "initialize",
    "authenticate",
    "auth/status",
    "session/list",
    "session/status",
    "$/cancel_request",
}
"""What needs no more than the scope `read`. Not `logout`, which logs out the user's other clients too."""

APPROVING = frozenset({"session/set_mode", "session/set_config_option"})
"""What needs `approve` beside `prompt`: who chooses a mode that asks nothing has approved everything."""

FORBIDDEN = -32003
"""Of no standard. -32000 would make clients ask for a login, which cannot help here (R-127)."""


class Params(msgspec.Struct, frozen=True, gc=False):
    """What is looked at in the parameters of a client's message."""

    session_id: Any = msgspec.field(default=None, name="sessionId")
    cwd: Any = None
    directories: Any = msgspec.field(default=None, name="additionalDirectories")
    mcp_servers: Any = msgspec.field(default=None, name="mcpServers")
    server: Any = None
    path: Any = None

    @property
    def session(self) -> str | None:
        return self.session_id if isinstance(self.session_id, str) else None


_params = msgspec.json.Decoder(Params)
_NOTHING = Params()


def read_params(raw: bytes | msgspec.Raw) -> Params:
    """The parameters; what is no object has nothing to look at."""
    if not raw:
        return _NOTHING
    try:
        return _params.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NOTHING


class Violation(Exception):
    """The answer that the client gets instead of the agent's."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


def missing(scope: Scope, why: str = "") -> Violation:
    """For what a credential does not allow."""
    text = f"this needs a token with the scope {scope!r}"
    return Violation(FORBIDDEN, f"{text}: {why}" if why else text, {"scope": scope})


def check_scopes(method: str, params: Params, scopes: frozenset[Scope]) -> None:
    """Raises `Violation` for what needs a scope that is not there."""
    if method not in READING and "prompt" not in scopes:
        raise missing("prompt")
    if method in APPROVING and "approve" not in scopes:
        raise missing("approve")
    if method in REOPENING and params.mcp_servers and "prompt" not in scopes:
        raise missing("prompt", "MCP servers would be started")


class Owners:
    """Which user made which session, for commands that know no users."""

    def __init__(self, file: str = "") -> None:
        self._owners: OrderedDict[str, str] = OrderedDict()
        self._file = Path(file).expanduser() if file else None
        if self._file is not None and self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                user, _, session_id = line.partition("\t")
                self._owners[session_id] = user

    def owner(self, session_id: str) -> str | None:
        return self._owners.get(session_id)

    def made(self, session_id: str, principal: str) -> None:
        """A new session; what had the id before is gone."""
        if self._owners.get(session_id) == principal:
            return
        self._owners[session_id] = principal
        if len(self._owners) > OWNERS:
            self._owners.popitem(last=False)
        if self._file is not None and "\n" not in session_id:
            try:
                with open(
                    self._file, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
                ) as file:
                    file.write(f"{principal}\t{session_id}\n")
            except OSError as error:
                log.warning("%s cannot be written: %s", self._file, error)


class Policy:
    """Looks at what a client sends before the agent sees it."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        one_user: Callable[[], bool],
        asks_for_credentials: bool,
        owners: Owners | None,
    ) -> None:
        self._roots = [Path(os.path.realpath(os.path.expanduser(root))) for root in settings.roots]
        self._one_user = one_user
        self._commands = _decided(settings.mcp_commands, asks_for_credentials)
        self._urls = _decided(settings.mcp_urls, asks_for_credentials)
        self._owners = owners

    @property
    def rewrites(self) -> bool:
        """Whether something is checked here that a hosted command might read otherwise."""
        rules = self._roots or not self._commands or not self._urls
        return self._owners is not None and bool(not self._one_user() or rules)

    @property
    def filters_lists(self) -> bool:
        return self._owners is not None and not self._one_user()

    @property
    def takes_urls(self) -> bool:
        return self._urls

    def offered(self, result: Any) -> Any:
        """An answer to `initialize` without what this server refuses."""
        offers = _part(_part(result, "agentCapabilities"), "mcpCapabilities")
        for kind in ("http", "sse"):
            if kind in offers:
                offers[kind] = False
        return result

    def check(self, method: str, params: Params, principal: str) -> None:
        """Raises `Violation` for what this user must not ask."""
        session = params.session
        if session is not None and not self.may_use(session, principal):
            raise Violation(-32002, "no such session")
        if method in OPENING:
            self._check_places([params.cwd, *_items(params.directories)])
            self._check_servers(params.mcp_servers)
        elif method == "_agent/working_dir/update":
            self._check_places([params.path])
        elif method == "_agent/mcp/add":
            self._check_servers([params.server])

    def may_use(self, session_id: str, principal: str) -> bool:
        if self._owners is None or self._one_user():
            return True
        return self._owners.owner(session_id) == principal

    def made(self, session_id: str, principal: str) -> None:
        if self._owners is not None:
            self._owners.made(session_id, principal)

    def filtered(self, result: dict[str, Any], principal: str) -> dict[str, Any]:
        """A list of sessions without those of others."""
        sessions = result.get("sessions")
        if not isinstance(sessions, list):
            return result
        mine = [
            session
            for session in cast("list[dict[str, Any]]", sessions)
            if self.may_use(str(session.get("sessionId")), principal)
        ]
        return {**result, "sessions": mine}

    def _check_places(self, places: list[Any]) -> None:
        for place in places:
            if self._roots and isinstance(place, str) and not self._is_inside(place):
                raise Violation(-32602, f"this server's sessions may not work in {place!r}")

    def _check_servers(self, servers: Any) -> None:
        """MCP servers run programs here, or make this machine ask any address that it can reach."""
        kinds = {_kind_of(server) for server in _items(servers)}
        if not self._commands and "command" in kinds:
            raise Violation(-32602, "this server starts no MCP servers that clients name")
        if not self._urls and "url" in kinds:
            raise Violation(-32602, "this server connects to no MCP servers that clients name")

    def _is_inside(self, place: str) -> bool:
        if "\0" in place or not os.path.isabs(place):
            return False
        real = Path(os.path.realpath(place))
        return any(real == root or root in real.parents for root in self._roots)


def _part(value: Any, key: str) -> dict[str, Any]:
    part = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", part) if isinstance(part, dict) else {}


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _decided(setting: str, asks_for_credentials: bool) -> bool:
    return setting == "yes" or (setting == "auto" and not asks_for_credentials)


def _kind_of(server: object) -> str:
    """What an MCP server needs of this machine; those of the type `acp` need only their client."""
    if not isinstance(server, dict):
        return ""
    if "command" in server:
        return "command"
    return "url" if "url" in server else ""
