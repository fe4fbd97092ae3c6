"""Daemons seen from outside: finding one, starting one, asking one."""

import contextlib
import logging
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from acpella._plain_json import as_dict
from acpella._processes import kill_tree
from acpella.errors import TransportError

from ..state import paths
from . import methods
from .address import DaemonAddress, started_ticks, sweep, unix_socket

__all__ = [
    "Config",
    "InUse",
    "NotWanted",
    "agent_pid_of",
    "ended_again_and_again",
    "find",
    "log_tail",
    "pid_of",
    "query",
    "reach",
    "status",
    "stop",
    "tell_noise",
]

log: logging.Logger = logging.getLogger(__name__)

IDLE = 300.0
"""Seconds after which a daemon that nobody uses ends."""

START_WITHIN = 20.0
"""Seconds for a daemon to be there; it is, long before its agent is."""

ANSWER_WITHIN = 2.0
"""Seconds for a daemon to answer about itself."""

READY_WITHIN = 400.0
"""Seconds for a daemon to have its agent ready; its own limits are shorter."""

ATTACH_TRIES = 5
"""How often a daemon that ended just when it was found is started anew."""

MAX_LOG = 256 * 1024
"""Bytes of a daemon's log that are kept."""


class Config(msgspec.Struct, kw_only=True):
    """What a daemon needs to know. Handed over through a pipe: nobody else sees it, and no file holds it."""

    key: str
    agent: str
    target: str | list[str]
    command: list[str] = []
    """The command that the target stands for; empty if the target is not a command."""
    env: dict[str, str] = {}
    url: str = ""
    """Where an agent of the settings is, if it is a URL."""
    headers: dict[str, str] = {}
    of_project: bool = False
    """Whether a project's settings name that URL."""
    cwd: str
    where: str
    session_id: str = ""
    mcp_servers: list[dict[str, Any]] = []
    idle: float = IDLE

    @property
    def identity(self) -> str:
        """What tells the agent from all others; two programs may have one short name."""
        from acpella.client.targets import identity_of

        if self.target == self.agent:  # a name of the settings, or a command that is just a word
            return self.agent
        return identity_of(self.target, cwd=self.where) or self.agent


class InUse(TransportError):
    """The session is open in a command that has its agent to itself."""


class NotWanted(Exception):
    """Another shell has cancelled what waited."""


def find(key: str) -> socket.socket | None:
    """A connection to the daemon of a session, if it has one."""
    address = DaemonAddress.read(paths.daemons() / f"{key}.json")
    if address is None:
        return None
    connected = unix_socket()
    connected.settimeout(ANSWER_WITHIN)
    try:
        connected.connect(address.socket)
    except OSError:
        connected.close()
        return None
    return connected


def reach(
    config: Config,
    *,
    on_wait: Callable[[str], None] | None = None,
    until: float | None = None,
    prompt: str = "",
) -> socket.socket:
    """A connection to the daemon of a session, which is started if there is none.

    If a command has the session to itself, `on_wait` is called, and this waits for that command to end, but
    not beyond `until` on the monotonic clock; without `on_wait` it does not wait. `prompt` is what waits.

    Raises:
        InUse: there is such a command.
        NotWanted: the prompt was cancelled while it waited.
        TransportError: the daemon cannot be started; says why.
        TimeoutError: the command did not end.
    """
    deadline = time.monotonic() + START_WITHIN
    while True:
        connected = find(config.key)
        if connected is not None:
            state = status(config.key) or {}
            if "alone" in state:
                with connected:
                    _wait_for(state, connected, on_wait, until, prompt)
                deadline = time.monotonic() + START_WITHIN
                continue
            if state.get("stuck"):
                connected.close()
                raise TransportError(
                    "the session's background process does not answer; `acpella status --stop` ends it"
                )
            connected.setblocking(False)
            return connected
        sweep()
        report = _start(config)
        if report.startswith("error"):
            raise TransportError(f"the session cannot be kept alive: {report.removeprefix('error ')}")
        if report == "busy":  # another shell has just started one, or one is about to end
            time.sleep(0.03)
        if time.monotonic() > deadline:
            log_file = paths.daemons() / f"{config.key}.log"
            raise TransportError(f"the session's background process does not answer; its log is {log_file}")


def _wait_for(
    state: dict[str, Any],
    connected: socket.socket,
    on_wait: Callable[[str], None] | None,
    until: float | None,
    prompt: str,
) -> None:
    """Wait until the command that has the session to itself has ended."""
    text = f"the session is open in `{state['alone']}` (process {state.get('pid')})"
    if on_wait is None:
        raise InUse(f"{text}; close that first")
    on_wait(text)
    connected.settimeout(None if until is None else max(until - time.monotonic(), 0.001))
    from acpella.rpc.message import write_request

    with contextlib.suppress(ConnectionError):
        connected.sendall(write_request(b"0", methods.WAIT, {"prompt": prompt}) + b"\n")
        if connected.recv(1):  # an answer, before the end
            raise NotWanted


def _start(config: Config) -> str:
    """Start a daemon that outlives this process; returns what it said."""
    try:
        log = paths.private(paths.daemons()) / f"{config.key}.log"
        if log.exists() and log.stat().st_size > MAX_LOG:
            log.replace(log.with_suffix(".log.1"))
        stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise TransportError(f"sessions cannot be kept: {error}; set XDG_STATE_HOME") from None
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "acpella.cli.daemon.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C in this terminal is not for it
        )
    finally:
        os.close(stderr)
    assert process.stdin is not None and process.stdout is not None
    with process.stdout, contextlib.suppress(BrokenPipeError):
        with process.stdin:
            process.stdin.write(msgspec.json.encode(config))
        ready, _, _ = select.select([process.stdout], [], [], START_WITHIN)
        report = process.stdout.readline().decode("utf-8", "replace").strip() if ready else ""
        if report in ("busy", "") or report.startswith("error"):
            _reap(process)
        else:
            process.returncode = 0  # it stays; nobody here waits for it
        if report:
            return report
    return f"error the background process could not be started:\n{log_tail(config.key)}".rstrip()


def _reap(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=2)


def ended_again_and_again(key: str) -> str:
    """What to say when `ATTACH_TRIES` were in vain."""
    return f"the session's background process ended again and again\n{log_tail(key)}"


def log_tail(key: str, lines: int = 10) -> str:
    """The last lines of a daemon's log."""
    try:
        text = (paths.daemons() / f"{key}.log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def query(key: str, method: str, params: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Ask a daemon about itself, without an event loop; None if there is none."""
    connected = find(key)
    if connected is None:
        return None
    from acpella.rpc.message import write_request  # imports asyncio, which is not needed without a daemon
    from acpella.rpc.relay import read_frame

    with connected:
        try:
            connected.sendall(write_request(b"0", method, params or {}) + b"\n")
            data = b""
            while not data.endswith(b"\n") and (piece := connected.recv(65536)):
                data += piece
        except TimeoutError:
            return {"stuck": True}
        except OSError:
            return None
    response = read_frame(data)
    if response.kind != "response" or response.is_error:
        return None
    return as_dict(msgspec.json.decode(response.envelope.result))


def status(key: str) -> dict[str, Any] | None:
    """What a daemon says of itself; None if there is none."""
    return query(key, methods.STATUS)


def pid_of(key: str) -> int | None:
    """The process id of a session's process, which may hang; None if no process has the session."""
    address = DaemonAddress.read(paths.daemons() / f"{key}.json")
    return None if address is None else address.pid


def agent_pid_of(key: str) -> int | None:
    """The process of a session's agent; None if there is none, or if it is not on this machine."""
    address = DaemonAddress.read(paths.daemons() / f"{key}.json")
    if address is None or not address.agent_ticks or started_ticks(address.agent_pid) != address.agent_ticks:
        return None  # it has ended, and its number may be another program's by now
    return address.agent_pid or None


def stop(key: str, *, within: float = 10.0) -> bool:
    """End the daemon of a session and its agent; False if there was none."""
    path = paths.daemons() / f"{key}.json"
    address = DaemonAddress.read(path)
    reply = query(key, methods.STOP)
    if reply is None or address is None:
        sweep()
        return False

    def is_there() -> bool:  # the next one may have taken the session by now
        current = DaemonAddress.read(path)
        return current is not None and (current.pid, current.ticks) == (address.pid, address.ticks)

    deadline = time.monotonic() + (0 if reply.get("stuck") else within)
    while is_there() and time.monotonic() < deadline:
        time.sleep(0.02)
    if is_there():  # stuck: its agent is ended by `sweep`
        if address.ticks and started_ticks(address.pid) == address.ticks:
            kill_tree(address.pid)
            while started_ticks(address.pid) == address.ticks and time.monotonic() < deadline + within:
                time.sleep(0.02)
        sweep()
    return True


def tell_noise(params: dict[str, Any]) -> None:
    """The agent behind a daemon printed something that is not a message."""
    log.warning("skipped a line that is not a message: %s", params.get("text"))
