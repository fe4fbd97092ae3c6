"""What a client may ask of the agent behind a server: whose sessions, in which directories, what tools."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import msgspec

from acpella.errors import RpcError
from acpella.rpc.message import UNREADABLE, mend_surrogates
from acpella.server.settings import ServerSettings

from .credentials import Scope
from .json_members import MAX_MEMBERS, Doubtful, items, members, near, value

__all__ = [
    "REOPENING",
    "AccessPolicy",
    "Owners",
    "Params",
    "Violation",
    "check_form",
    "check_scopes",
    "missing",
    "needs_session",
    "read_params",
]

log: logging.Logger = logging.getLogger(__name__)

OWNERS = 100_000
"""Sessions whose owner is remembered. Without it, the table of a busy server grows without end."""

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests that say where a session works."""

REOPENING = frozenset({"session/load", "session/resume"})

WITHOUT_SESSION = frozenset({"session/new", "session/list"})
"""Methods `session/…` that are not about an existing session."""

CHECKED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(OPENING, ("cwd", "additionalDirectories", "mcpServers")),
    "_agent/working_dir/update": ("path",),
    "_agent/mcp/add": ("server",),
}
"""Parameters that rules are about, beside `sessionId`."""

OF_REQUESTS = ("jsonrpc", "id", "method", "params")
OF_ANSWERS = ("jsonrpc", "id", "result", "error")

READING = REOPENING | {
    "initialize",
    "authenticate",
    "auth/status",
    "session/list",
    "session/status",
    "$/cancel_request",
    "_acpella/sessions",
    "_acpella/session/watch",
    "_acpella/session/unwatch",
}
"""What needs no more than the scope `read`. Not `logout`, which logs out the user's other clients too."""

APPROVING = frozenset({"session/set_mode", "session/set_config_option", "_session/import"})
"""What needs `approve` beside `prompt`: choosing a mode that asks nothing approves everything. What is
imported brings its mode and options with it."""

FORBIDDEN = -32003
"""Not a standard code. -32000 would make clients ask for a login, which cannot help here (R-127)."""


def needs_session(method: str | None) -> bool:
    """Whether a message is about an existing session."""
    return method is not None and method.startswith("session/") and method not in WITHOUT_SESSION


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
_raw_params = msgspec.json.Decoder(dict[str, msgspec.Raw])
_WIRE_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Params)}
_NOTHING = Params()


def read_params(raw: bytes | msgspec.Raw) -> Params:
    """The parameters; a value that is not an object has nothing to check."""
    if not raw:
        return _NOTHING
    try:
        return _params.decode(raw)
    except UNREADABLE:
        return _read_each(mend_surrogates(bytes(raw)))


def _read_each(raw: bytes) -> Params:
    """The same where one of them cannot be read, such as `1e400`: the others count all the same."""
    try:
        members = _raw_params.decode(raw)
    except UNREADABLE:
        return _NOTHING
    return Params(**{name: value(members[wire]) for name, wire in _WIRE_NAMES.items() if wire in members})


class Violation(RpcError):
    """The answer that the client gets instead of the agent's."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message, data=data, code=code)


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


def check_form(frame: bytes, method: str | None) -> None:
    """Raises `Violation` for a message that the agent might read differently from what was checked here.

    Some agents read JSON in a way of their own, so this refuses keys that occur twice, keys that differ from
    the checked ones only in case, `_` or `-`, and requests that are also answers. The bytes pass unchanged.
    """
    mended = mend_surrogates(frame)  # as long as before
    try:
        whole = members(mended)
        allowed, others = (OF_ANSWERS, OF_REQUESTS) if method is None else (OF_REQUESTS, OF_ANSWERS)
        _check_names(whole, (*OF_REQUESTS, *OF_ANSWERS))
        if both := [name for name in others if name in whole and name not in allowed]:
            raise Doubtful(f"{both[0]!r} does not belong here")
        if method is None:
            return
        raw = bytes(whole.get("params", b""))
        if raw in (b"", b"null"):
            return
        if not raw.startswith(b"{"):
            raise Violation(-32602, "params must be an object")
        params = members(raw)
        checked = ("sessionId", *CHECKED.get(method, ()))
        _check_names(params, checked)
        if mended != frame and any(b"\\ufffd" in bytes(params.get(name, b"")) for name in checked):
            raise Doubtful("half a character")
        for server in _raw_servers(params):
            _check_names(members(server), ("type", "command", "url"))
    except Doubtful as doubt:
        raise Violation(-32600, f"this message could be read in two ways: {doubt}") from None


def _raw_servers(params: dict[str, msgspec.Raw]) -> list[bytes]:
    """The objects that tell of MCP servers; other values are refused elsewhere."""
    many = bytes(params.get("mcpServers", b""))
    servers = items(many) if many.startswith(b"[") else []
    if len(servers) > MAX_MEMBERS:
        raise Violation(-32602, f"mcpServers may have at most {MAX_MEMBERS} entries")
    return [one for one in (*servers, bytes(params.get("server", b""))) if one.startswith(b"{")]


def _check_names(present: dict[str, msgspec.Raw], names: tuple[str, ...]) -> None:
    if (key := near(present, names)) is not None:
        raise Doubtful(f"{key[:50]!r} is spelt otherwise")


class Owners:
    """Which user made which session, for commands that do not tell users apart."""

    def __init__(self, file: str = "", *, owners: Iterable[tuple[str, str]] = ()) -> None:
        """`owners` are sessions with their owners that somebody else remembered, the oldest first."""
        self._owners: OrderedDict[str, str] = OrderedDict(owners)
        self._file = Path(file).expanduser() if file else None
        if self._file is not None and self._file.exists():
            for line in self._file.read_bytes().split(b"\n"):  # ids may have other line separators in them
                user, _, session_id = line.decode("utf-8", "replace").partition("\t")
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
                with open(self._file, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                    file.write(f"{principal}\t{session_id}\n".encode("utf-8", "replace"))
            except OSError as error:
                log.warning("%s cannot be written: %s", self._file, error)


class AccessPolicy:
    """Looks at what a client sends before the agent sees it."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        one_user: Callable[[], bool],
        asks_for_credentials: bool,
        owners: Owners | None,
        is_shared: Callable[[str, str], bool] | None = None,
    ) -> None:
        """`is_shared` tells whether a user was let into somebody else's session."""
        self._roots = [Path(os.path.realpath(os.path.expanduser(root))) for root in settings.roots]
        for root, real in zip(settings.roots, self._roots, strict=True):
            if not real.is_dir():
                raise ValueError(f"root {root}: there is no such directory")
        self._one_user = one_user
        self._commands = _decided(settings.mcp_commands, asks_for_credentials)
        self._urls = _decided(settings.mcp_urls, asks_for_credentials)
        self._owners = owners
        self._is_shared = is_shared

    @property
    def is_strict(self) -> bool:
        """Whether something is checked here that a hosted command might read otherwise."""
        rules = self._roots or not self._commands or not self._urls
        return self._owners is not None and bool(not self._one_user() or rules)

    @property
    def filters_lists(self) -> bool:
        return self._owners is not None and not self._one_user()

    @property
    def takes_urls(self) -> bool:
        return self._urls

    def offered(self, result: bytes | msgspec.Raw) -> msgspec.Raw:
        """An answer to `initialize` without what this server refuses; its other values as they are."""
        try:
            whole = _raw_params.decode(result)
            capabilities = _raw_params.decode(whole["agentCapabilities"])
            offers = _raw_params.decode(capabilities["mcpCapabilities"])
        except (*UNREADABLE, KeyError):
            return msgspec.Raw(bytes(result))  # it offers nothing that can be read here
        offers |= {kind: msgspec.Raw(b"false") for kind in ("http", "sse") if kind in offers}
        capabilities["mcpCapabilities"] = _encoded(offers)
        return _encoded({**whole, "agentCapabilities": _encoded(capabilities)})

    def check(self, method: str, params: Params, principal: str) -> None:
        """Raises `Violation` for what this user must not ask."""
        session = params.session
        if session is not None and not self.may_use(session, principal):
            raise Violation(-32002, "no such session")
        if session is None and self.filters_lists:
            if needs_session(method) or params.session_id is not None:
                raise Violation(-32602, "sessionId must be a string")
        if method in OPENING:
            self._check_place("cwd", params.cwd)
            for place in _list("additionalDirectories", params.directories) if self._roots else ():
                self._check_place("each of additionalDirectories", place)
            self._check_servers(params.mcp_servers)
        elif method == "_agent/working_dir/update":
            self._check_place("path", params.path)
        elif method == "_agent/mcp/add":
            self._check_servers([params.server])

    def may_use(self, session_id: str, principal: str) -> bool:
        if self._owners is None or self._one_user():
            return True
        if self._owners.owner(session_id) == principal:
            return True
        return self._is_shared is not None and self._is_shared(session_id, principal)

    def made(self, session_id: str, principal: str) -> None:
        if self._owners is not None:
            self._owners.made(session_id, principal)

    def filtered(self, result: bytes | msgspec.Raw, principal: str) -> msgspec.Raw:
        """A list of sessions without those of others. Raises `Violation` if it cannot be read."""
        try:
            whole = _raw_params.decode(mend_surrogates(bytes(result)))
            sessions = items(whole.get("sessions", b"[]"))
        except (*UNREADABLE, Doubtful):
            raise Violation(-32603, "the agent's list of sessions cannot be read") from None
        mine = [
            msgspec.Raw(one) for one in sessions if self.may_use(read_params(one).session or "", principal)
        ]
        return _encoded({**whole, "sessions": _encoded(mine)})

    def _check_place(self, name: str, place: object) -> None:
        if not self._roots:
            return
        if not isinstance(place, str):  # whatever the agent makes of it, it is not below a root
            raise Violation(-32602, f"{name} must be a string")
        if not self._is_inside(place):
            raise Violation(-32602, f"this server's sessions may not work in {place!r}")

    def _check_servers(self, servers: Any) -> None:
        """MCP servers run programs here, or make this machine ask any address that it can reach."""
        if self._commands and self._urls:
            return
        kinds: set[str] = set()
        for server in _list("mcpServers", servers):
            kinds |= _kinds_of(server)
        if not self._commands and "command" in kinds:
            raise Violation(-32602, "this server starts no MCP servers that clients name")
        if not self._urls and "url" in kinds:
            raise Violation(-32602, "this server connects to no MCP servers that clients name")

    def _is_inside(self, place: str) -> bool:
        if "\0" in place or not os.path.isabs(place):
            return False
        real = Path(os.path.realpath(place))
        return any(real == root or root in real.parents for root in self._roots)


def _encoded(value: "dict[str, msgspec.Raw] | list[msgspec.Raw]") -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _list(name: str, value: object) -> list[Any]:
    """A parameter that may be left out. Raises `Violation`."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Violation(-32602, f"{name} must be a list")
    entries = cast("list[Any]", value)
    if len(entries) > MAX_MEMBERS:  # each costs a look at the disk
        raise Violation(-32602, f"{name} may have at most {MAX_MEMBERS} entries")
    return entries


def _decided(setting: str, asks_for_credentials: bool) -> bool:
    return setting == "yes" or (setting == "auto" and not asks_for_credentials)


def _kinds_of(server: object) -> set[str]:
    """What an MCP server needs of this machine; those of the type `acp` need only their client.

    Raises `Violation` if that cannot be determined.
    """
    if isinstance(server, dict):
        fields = cast("dict[str, Any]", server)
        needs = {kind for kind in ("command", "url") if kind in fields}
        if needs or fields.get("type") == "acp":
            return needs
    raise Violation(-32602, "this server takes only MCP servers with a command, a url, or the type acp")
