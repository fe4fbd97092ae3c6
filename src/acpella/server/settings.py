"""Every limit of a server, by name: a file overrides defaults, the environment overrides the file."""

import difflib
import os
import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from acpella._variables import Variable

__all__ = ["ServerSettings", "variables"]

MIB = 1024 * 1024

PREFIX = "ACPELLA_SERVER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How much a server takes on, and from whom.

    Each has an environment variable, `ACPELLA_SERVER_` and its name in capitals, and a line of the same name
    in the configuration file (TOML). Lists are separated by commas in the environment.
    """

    path: str = "/acp"
    """The path of the URL under which the protocol is served."""

    # -- who may come in ---------------------------------------------------------------------

    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    """Host names, without ports, that the server answers to; `*` means any. Without this list, a web page
    could reach a server on this machine under a name of its own (DNS rebinding)."""

    allowed_origins: tuple[str, ...] = ()
    """Web pages that may connect, such as `https://app.example.com`. All others are refused."""

    plain_http: bool = False
    """Accept tokens without TLS from other machines. Set it only if something else encrypts them: a proxy on
    the way, or a private network."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` header is believed. Anybody else's is
    ignored."""

    local_users: str = "own"
    """Whose programs on this machine may connect while the server asks for no credentials: `own` (the user
    who runs the server, and root) or `all`. Whoever connects acts as the user who runs the server."""

    roots: tuple[str, ...] = ()
    """Directories that sessions may work in; an empty list allows any."""

    mcp_commands: str = "auto"
    """Whether clients may name MCP servers that are programs to start here: `yes`, `no`, or `auto` (yes only
    while the server asks for no credentials). A client that may do so can run any command."""

    mcp_urls: str = "auto"
    """Whether clients may name MCP servers by URL, which the agent then reaches from here: `yes`, `no`, or
    `auto` (yes only while the server asks for no credentials). Such a client reaches whatever this machine
    reaches, including its private network."""

    session_owners: str = ""
    """A file that remembers which user made which session of a hosted command; empty keeps it in memory."""

    record: str = ""
    """A directory for recordings of all connections, without secrets; empty records nothing. Recordings hold
    what users and agents say (`docs/how-to/recordings.md`)."""

    # -- how much they may ask -----------------------------------------------------------------

    max_sockets: int = 4096
    """The most open sockets in all; fewer if the system allows fewer files. At the limit, an idle socket
    makes room for the next."""

    max_connections: int = 1024
    """The most connections in all, including those that wait for their client to come back."""

    max_connections_per_user: int = 512
    """The most connections of one user."""

    max_sessions: int = 1024
    """The most sessions with a stream in one connection."""

    max_body: int = 16 * MIB
    """The largest message from a client, in bytes."""

    max_message: int = 32 * MIB
    """The largest message from an agent, in bytes."""

    max_id: int = 1024
    """The longest id in a header or a message, in characters."""

    max_depth: int = 64
    """How deeply the JSON of a client's message may be nested. Deeper JSON could overflow a stack."""

    max_header: int = 32 * 1024
    """The most bytes in the headers of one request."""

    max_pending: int = 1024
    """The most requests of one connection that wait for an answer."""

    max_prompts: int = 5
    """The most unfinished prompts in one session. Agents take one at a time, or let the next one wait."""

    max_delayed: int = 128
    """The most requests of one connection that wait because its client does not read."""

    requests_per_second: float = 100.0
    """How many requests per second one user may send in the long run; 0 means no limit."""

    request_burst: int = 1000
    """How many requests one user may send at once."""

    failures_per_minute: int = 30
    """How many wrong credentials per minute one address may send before it has to wait; 0 means no limit."""

    # -- what a hosted command may have ---------------------------------------------------------

    environment: tuple[str, ...] = ("*",)
    """Variables that a hosted command gets from the server's environment, by name or pattern (`ANTHROPIC_*`),
    besides those that every program needs (`PATH`, `HOME`, …). The server's own secrets are never among
    them."""

    command_core: int = 0
    """The largest core dump of a hosted command that crashes, in bytes. A core dump holds what the command
    knew."""

    command_memory: int = 0
    """The most bytes of data in each process of a hosted command (`RLIMIT_DATA`); 0 means no limit."""

    command_address_space: int = 0
    """The most bytes of address space in each process of a hosted command (`RLIMIT_AS`); 0 means no limit.
    Programs such as node reserve far more than they use, and do not start with less."""

    command_files: int = 0
    """The most open files in each process of a hosted command; 0 means the server's own limit."""

    command_processes: int = 0
    """The most processes and threads of the user that the server runs as (`RLIMIT_NPROC`, which does not bind
    root); 0 means the server's own limit."""

    command_stderr: str = "log"
    """What happens to the stderr of a hosted command: `log` writes its lines to the logger `acpella.command`,
    shortened, without secrets and at a limited rate; `off` drops them."""

    # -- what is kept for them -----------------------------------------------------------------

    stream_bytes: int = 1 * MIB
    """How many bytes may wait for a slow client before its agent has to wait."""

    buffer_bytes: int = 64 * MIB
    """How many bytes may wait for a stream that is not open, or for a client that will come back, before the
    agent has to wait."""

    window_frames: int = 1024
    """How many messages are kept after they were sent, in case the client's connection breaks."""

    window_bytes: int = 2 * MIB
    """How many bytes of such messages are kept."""

    # -- how long things may take ----------------------------------------------------------------

    header_seconds: float = 10.0
    """How long a client may take to send the headers of a request, or its first message over a WebSocket."""

    body_seconds: float = 30.0
    """How long a client may take to send the body of a request."""

    initialize_seconds: float = 30.0
    """How long an agent may take to answer `initialize`."""

    stall_seconds: float = 60.0
    """How long a client may read nothing while its agent waits for it; then it is disconnected. One that
    confirms what it reads may come back and go on where it was; any other loses its connection."""

    keepalive_seconds: float = 15.0
    """How often a silent stream carries a sign of life."""

    ping_seconds: float = 20.0
    """How often a WebSocket is pinged; a client that leaves two pings unanswered counts as gone."""

    silent_seconds: float = 60.0
    """How long a client's machine may leave TCP's own probes unanswered before the client counts as gone; 0
    leaves it to the system, which takes hours."""

    finish_turns: bool = True
    """Let a turn go on while its client is away. If not, it is cancelled as soon as the client has no open
    stream, even if the client could come back."""

    idle_seconds: float = 0.0
    """How long a client may stay without sending a request while none of its requests runs; 0 means no limit.
    Pings do not count as requests."""

    detach_seconds: float = 1800.0
    """How long a connection is kept without its client."""

    drain_seconds: float = 30.0
    """How long running turns may take to end after the server is told to stop."""

    node_name: str = ""
    """The name of this node among those with the same store. Responses have it in the cookie
    `acpella_node`, so that a load balancer can keep clients at the node that started their agent."""

    lease_seconds: float = 15.0
    """Other nodes on the same PostgreSQL store take over from a node that was silent for so long."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            expected = cast("type[Any]", type(cast("object", field.default)))
            if expected is float and type(value) is int:
                object.__setattr__(self, field.name, float(value))
            elif expected is tuple:
                if isinstance(value, str) or not all(isinstance(item, str) for item in value):
                    raise ValueError(f"{field.name} must be a list of words, not {value!r}")
                object.__setattr__(self, field.name, tuple(value))
            elif type(value) is not expected:
                raise ValueError(f"{field.name} must be {_WANTED[expected]}, not {value!r}")
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise ValueError(f"{field.name} must not be negative, as {value!r} is")
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("mcp_commands", "mcp_urls"):
            if getattr(self, name) not in ("auto", "yes", "no"):
                raise ValueError(f"{name} is auto, yes or no, not {getattr(self, name)!r}")
        if self.command_stderr not in ("log", "off"):
            raise ValueError(f"command_stderr is log or off, not {self.command_stderr!r}")
        if self.local_users not in ("own", "all"):
            raise ValueError(f"local_users is own or all, not {self.local_users!r}")
        if not self.path.startswith("/") or self.path.endswith("/"):
            raise ValueError(f"path begins with a slash and ends without one, unlike {self.path!r}")
        if not re.fullmatch(r"[A-Za-z0-9._-]{0,64}", self.node_name):
            raise ValueError(f"node_name has up to 64 letters, digits and . _ -, unlike {self.node_name!r}")
        if self.path in _OTHER_PATHS:
            raise ValueError(f"path cannot be {self.path}, where something else is served")

    @classmethod
    def load(cls, file: str | os.PathLike[str] | None = None, **chosen: Any) -> "ServerSettings":
        """The settings of a file, changed by `ACPELLA_SERVER_…` variables, changed by `chosen`.

        Raises:
            ValueError: the file or a variable is not what is needed; the message names it.
        """
        values: dict[str, Any] = {}
        if file is not None:
            values = _read(Path(file))
        defaults = {field.name: field.default for field in fields(cls)}
        for name in [*values, *chosen]:
            if name not in defaults:
                raise ValueError(f"no setting {name!r}; {_meant(name, defaults)}")
        for variable in os.environ:  # one that is mistyped may be a limit that somebody relies on
            name = variable.removeprefix(PREFIX).lower()
            if variable.startswith(PREFIX) and name not in defaults:
                raise ValueError(
                    f"{variable} is set, but there is no setting {name!r}; {_meant(name, defaults)}"
                )
        for name, default in defaults.items():
            variable = PREFIX + name.upper()
            if text := os.environ.get(variable):
                values[name] = _parsed(variable, text, default)
        return cls(**{**values, **chosen})

    def but(self, **changes: Any) -> "ServerSettings":
        """These settings with some changed."""
        return replace(self, **changes)


_WANTED: dict[type, str] = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}

_OTHER_PATHS = ("/healthz", "/readyz", "/metrics", "/message")

_AT_LEAST_ONE = (
    "max_sockets",
    "max_connections",
    "max_connections_per_user",
    "max_sessions",
    "max_body",
    "max_message",
    "max_depth",
    "max_pending",
    "max_prompts",
    "request_burst",
    "stream_bytes",
    "buffer_bytes",
    "window_frames",
    "window_bytes",
)


def variables() -> "list[Variable]":
    """See `acpella._variables`."""
    from acpella._variables import of_settings

    return of_settings(ServerSettings, PREFIX)


def _meant(name: str, defaults: dict[str, Any]) -> str:
    close = difflib.get_close_matches(name, defaults, 1)
    return f"is {close[0]!r} meant?" if close else f"there are: {', '.join(defaults)}"


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    table = values.get("server", values)
    if not isinstance(table, dict):
        raise ValueError(f"{path}: [server] must be a table")
    return cast("dict[str, Any]", table)


def _parsed(variable: str, text: str, default: object) -> Any:
    kind = cast("type[Any]", type(default))
    try:
        if kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                text.lower()
            ]
        if kind is tuple:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        return kind(text)
    except (ValueError, KeyError):
        raise ValueError(f"{variable}={text!r} is not {_WANTED[kind]}") from None
