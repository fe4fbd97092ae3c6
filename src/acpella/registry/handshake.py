"""Starting an agent in an empty home and greeting it, as the registry's own check does (G-053)."""

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from acpella._processes import kill_tree, start
from acpella._protocol_versions import PROTOCOL_VERSION
from acpella._redact import redact
from acpella._version import __version__
from acpella.errors import AcpellaError, stderr_note

__all__ = ["HandshakeFailed", "HandshakeReply", "greet", "login_kinds"]

ANSWERED_WITHIN = 120.0
LARGEST_ANSWER = 1024 * 1024
"""The most bytes of an answer to `initialize`; an agent that never stops writing would fill the memory."""

_PASSED = (
    *("PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC"),
    *("PATHEXT", "WINDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
"""The variables of this environment that an agent gets: no keys, and no home with credentials in it."""


_LAUNCHERS = {
    "uvx": "UV_CACHE_DIR",
    "uv": "UV_CACHE_DIR",
    "npx": "npm_config_cache",
    "npm": "npm_config_cache",
}
"""Programs that download a package before they start it, and the variable that says where they keep it."""


class HandshakeFailed(AcpellaError):
    """An agent did not answer `initialize` as it must."""

    def __init__(self, message: str, stderr_tail: str = "", *, timed_out: bool = False) -> None:
        self.reason = message
        self.timed_out = timed_out
        super().__init__(message + stderr_note(stderr_tail))


@dataclass(frozen=True, slots=True)
class HandshakeReply:
    """How an agent answered `initialize`."""

    result: Mapping[str, Any]
    seconds: float

    @property
    def agent(self) -> str:
        """The name and version that the agent gives."""
        info: Any = self.result.get("agentInfo")
        table = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
        words = [table.get("title") or table.get("name"), table.get("version")]
        return " ".join(word for word in words if isinstance(word, str))


def login_kinds(result: Mapping[str, Any]) -> dict[str, str]:
    """The logins that an agent offers: `agent`, `terminal` or another kind, by their ids (G-050)."""
    methods: Any = result.get("authMethods")
    kinds: dict[str, str] = {}
    for method in cast("list[Any]", methods) if isinstance(methods, list) else []:
        if not isinstance(method, dict):
            continue
        table = cast("dict[str, Any]", method)
        meta: Any = table.get("_meta")
        marks = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        kind: Any = table.get("type")
        if not isinstance(kind, str):
            kind = "terminal" if "terminal-auth" in marks else "agent"
        kinds[str(table.get("id", ""))] = kind
    return kinds


def greet(
    command: Sequence[str], env: Mapping[str, str] | None = None, *, within: float = ANSWERED_WITHIN
) -> HandshakeReply:
    """Start a command in an empty home, greet it, read the first line that it writes, and end it.

    Raises:
        HandshakeFailed: the line is not the answer, or there is none in time.
    """
    with tempfile.TemporaryDirectory(prefix="acpella-check-", ignore_cleanup_errors=True) as sandbox:
        passed = {
            name: value
            for name, value in os.environ.items()
            if name.upper() in _PASSED or name.upper().startswith("LC_")
        }
        home = {"HOME": sandbox, "USERPROFILE": sandbox, "TERM": "dumb", **_package_cache(command[0])}
        with open(os.path.join(sandbox, ".stderr"), "w+b") as errors:
            began = time.monotonic()
            try:
                process = start(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=sandbox,
                    env={**passed, **home, **(env or {})},
                )
            except (OSError, ValueError) as error:
                raise HandshakeFailed(f"it cannot be started: {error}") from None
            try:
                line = _first_line(process, within)
                seconds = time.monotonic() - began
                if line is None:
                    raise HandshakeFailed(_too_late(command[0], within), timed_out=True)
                return HandshakeReply(_result(line, process), seconds)
            except HandshakeFailed as error:
                raise HandshakeFailed(error.reason, _tail(errors), timed_out=error.timed_out) from None
            finally:
                kill_tree(process.pid)
                process.wait()
                for stream in (process.stdin, process.stdout):
                    if stream is not None:
                        stream.close()


def _first_line(process: "subprocess.Popen[bytes]", within: float) -> bytes | None:
    """The first line of stdout; None if there was none in time, empty if the agent ended without one."""
    request: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": {"name": "acpella", "version": __version__},
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
                "auth": {"terminal": True},
                "_meta": {"terminal_output": True, "terminal-auth": True},
            },
        },
    }
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        line = b""
        try:
            while b"\n" not in line and len(line) < LARGEST_ANSWER and (piece := stdout.read(64 * 1024)):
                line += piece
        except (OSError, ValueError):
            pass  # closed after the timeout
        lines.put(line.partition(b"\n")[0] or line[:1])  # a blank line is kept, as it differs from no output

    threading.Thread(target=read, name="first line", daemon=True).start()
    try:
        stdin.write(msgspec.json.encode(request) + b"\n")
    except OSError:
        pass  # it has ended, and may have said why
    try:
        return lines.get(timeout=within)
    except queue.Empty:
        return None


def _launcher(program: str) -> str | None:
    name = os.path.basename(program).lower().removesuffix(".exe").removesuffix(".cmd")
    return name if name in _LAUNCHERS else None


def _package_cache(program: str) -> dict[str, str]:
    """The variable for a launcher's own cache; in the empty home it would download the package again."""
    name = _launcher(program)
    if name is None:
        return {}
    variable = _LAUNCHERS[name]
    directory = os.environ.get(variable)
    if directory:
        return {variable: directory}
    is_npm = variable == "npm_config_cache"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return {variable: os.path.join(local, "npm-cache" if is_npm else os.path.join("uv", "cache"))}
    if is_npm:
        return {variable: os.path.expanduser("~/.npm")}
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return {variable: os.path.join(caches, "uv")}


def _too_late(program: str, within: float) -> str:
    text = f"it has not answered `initialize` within {within:g} s"
    name = _launcher(program)
    if name is None:
        return text
    return (
        f"{text}, in which {name} may have had to download it; what is downloaded is kept, so check again, "
        "or give it longer with --timeout"
    )


def _result(line: bytes, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    if not line:
        try:
            code = process.wait(2)
        except subprocess.TimeoutExpired:
            raise HandshakeFailed("it closed its output without an answer") from None
        raise HandshakeFailed(f"it ended with code {code} and without an answer")
    excerpt = redact(line[:120].decode("utf-8", "replace").strip())
    try:
        answer: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise HandshakeFailed(f"its first line on stdout is not the answer but: {excerpt}")
    table = cast("dict[str, Any]", answer)
    if table.get("error") is not None:
        raise HandshakeFailed(f"it answers `initialize` with an error: {excerpt}")
    if table.get("id") != 1 or not isinstance(table.get("result"), dict):
        raise HandshakeFailed(f"its first message is not the answer to `initialize` but: {excerpt}")
    return cast("dict[str, Any]", table["result"])


def _tail(errors: Any) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - 4096))
    return redact(errors.read().decode("utf-8", "replace"))
