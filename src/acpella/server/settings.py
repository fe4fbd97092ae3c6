"""Every limit of a server, by name: defaults, a file, and the environment, which has the last word."""

import difflib
import os
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
    """Where the protocol is spoken."""

    # -- who may come in ---------------------------------------------------------------------

    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    """Names in the `Host` header that are answered, without ports; `*` is any. Without it, a web page could
    reach a server on this machine under a name of its own (DNS rebinding)."""

    allowed_origins: tuple[str, ...] = ()
    """Web pages that may connect, such as `https://app.example.com`; all others are refused."""

    plain_http: bool = False
    """Whether tokens may come without TLS from other machines. Yes only if something else encrypts them: a
    proxy on the way, or a private network."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies that are believed when they say in `X-Forwarded-For` who their client
    is. Anybody else's word does not count."""

    local_users: str = "own"
    """Whose programs on this machine are let in while nobody is asked for credentials: `own`, those of the
    user who runs the server (and root's), or `all`. Whoever is let in acts as that user."""

    roots: tuple[str, ...] = ()
    """Directories that sessions may work in; none named: any."""

    mcp_commands: str = "auto"
    """Whether clients may name MCP servers that are programs, to be started here: `yes`, `no`, or `auto`,
    which is yes only while nobody is asked for credentials. Any command is theirs to run then."""

    mcp_urls: str = "auto"
    """Whether clients may name MCP servers by URL, for the agent to connect to from here: `yes`, `no`, or
    `auto`, as above. They reach whatever this machine reaches then, its own network included."""

    session_owners: str = ""
    """A file that remembers which user made which session of a hosted command; none: memory."""

    record: str = ""
    """A directory that gets a recording of each connection, without secrets; none: no recordings. They hold
    what users and agents say (`docs/how-to/recordings.md`)."""

    # -- how much they may ask -----------------------------------------------------------------

    max_sockets: int = 4096
    """Sockets that are open, whoever has them; fewer if the system allows fewer files. Then one that asks for
    nothing makes room for the next."""

    max_connections: int = 1024
    """Connections in all, those waiting for their client included."""

    max_connections_per_user: int = 512
    """Connections of one user."""

    max_sessions: int = 1024
    """Sessions of one connection that have a stream."""

    max_body: int = 16 * MIB
    """Bytes of one message from a client."""

    max_message: int = 32 * MIB
    """Bytes of one message from an agent."""

    max_id: int = 1024
    """Characters of an id in a header or in a message."""

    max_depth: int = 64
    """How deep the JSON of a client's message may be nested. Deeper ones cost agents their stack."""

    max_header: int = 32 * 1024
    """Bytes of the header lines of a request."""

    max_pending: int = 1024
    """Requests of one connection that wait for their answer."""

    max_prompts: int = 5
    """Prompts of one session that are not over. Agents take one at a time, or let the next wait."""

    max_delayed: int = 128
    """Requests of one connection that wait because its client does not read."""

    requests_per_second: float = 100.0
    """Requests that one user may send in the long run; 0 = any number."""

    request_burst: int = 1000
    """Requests that one user may send at once."""

    failures_per_minute: int = 30
    """Wrong credentials from one address before it is told to wait; 0 = any number."""

    # -- what a hosted command may have ---------------------------------------------------------

    environment: tuple[str, ...] = ("*",)
    """Variables of the server's environment that a hosted command gets, by name or pattern (`ANTHROPIC_*`);
    those that every program needs (`PATH`, `HOME`, …) besides. What is the server's own never passes."""

    command_core: int = 0
    """Bytes of the core dump of a hosted command that crashes, and of what it started. It holds what the
    command knew."""

    command_memory: int = 0
    """Bytes of data of each process of a hosted command (`RLIMIT_DATA`); 0 = any number."""

    command_address_space: int = 0
    """Bytes of addresses of each such process (`RLIMIT_AS`); 0 = any number. Programs such as node reserve
    far more than they use, and do not start with less."""

    command_files: int = 0
    """Files that each such process may have open; 0 = as many as the server may."""

    command_processes: int = 0
    """Processes and threads of the user that the server runs as (`RLIMIT_NPROC`, which root is free of);
    0 = as many as the server may."""

    command_stderr: str = "log"
    """Where what a hosted command writes to stderr goes: `log`, as lines of the logger `acpella.command`,
    cut, without secrets, and not too many; or `off`."""

    # -- what is kept for them -----------------------------------------------------------------

    stream_bytes: int = 1 * MIB
    """Bytes that wait for a client that reads slowly before its agent has to wait."""

    buffer_bytes: int = 64 * MIB
    """Bytes that wait for streams which the client has not opened, or for a client that will come back,
    before its agent has to wait."""

    window_frames: int = 1024
    """Messages kept after they were sent, for a client whose connection breaks."""

    window_bytes: int = 2 * MIB
    """The same in bytes."""

    # -- how long things may take ----------------------------------------------------------------

    header_seconds: float = 10.0
    """For a client to send the header lines of a request, or its first message over a WebSocket."""

    body_seconds: float = 30.0
    """For a client to send the body of a request."""

    initialize_seconds: float = 30.0
    """For an agent to answer `initialize`."""

    stall_seconds: float = 60.0
    """After which a client that reads nothing, although its agent waits for it, loses its connection."""

    keepalive_seconds: float = 15.0
    """Between signs of life on a silent stream."""

    ping_seconds: float = 20.0
    """Between pings on a WebSocket; a client that leaves two of them unanswered is gone."""

    silent_seconds: float = 60.0
    """After which a client whose machine answers nothing counts as gone, also on a stream that has nothing to
    say: TCP asks it now and then. 0 = as the system has it, which is hours."""

    finish_turns: bool = True
    """Whether a turn goes on when its client is gone."""

    idle_seconds: float = 0.0
    """That a client may be there without asking for anything, while no request of its runs; 0 = any time.
    Pings do not count as asking."""

    detach_seconds: float = 1800.0
    """That a connection is kept without its client."""

    drain_seconds: float = 30.0
    """For running turns to end when the server is told to stop."""

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
        known = {field.name: field.default for field in fields(cls)}
        for name in [*values, *chosen]:
            if name not in known:
                raise ValueError(f"no setting {name!r}; {_meant(name, known)}")
        for variable in os.environ:  # one that is mistyped may be a limit that somebody relies on
            name = variable.removeprefix(PREFIX).lower()
            if variable.startswith(PREFIX) and name not in known:
                raise ValueError(
                    f"{variable} is set, but there is no setting {name!r}; {_meant(name, known)}"
                )
        for name, default in known.items():
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


def _meant(name: str, known: dict[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"is {close[0]!r} meant?" if close else f"there are: {', '.join(known)}"


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}") from None
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
