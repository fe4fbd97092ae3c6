"""The ways to log in at an agent: by itself, in a terminal, with environment variables."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import msgspec

from acpella._processes import inherited_environment, join_command
from acpella._protocol_versions import PROTOCOL_VERSION
from acpella._redact import redact
from acpella.errors import Unsupported
from acpella.rpc import PeerProcess
from acpella.schema import AuthMethod, AuthMethodEnvVar, AuthMethodTerminal, InitializeResponse, decode

__all__ = ["RunLogin", "TerminalCommand", "methods_in", "missing_variables", "run_here", "terminal_command"]

RunLogin: TypeAlias = "Callable[[TerminalCommand], Awaitable[int | None]]"
"""Shows a program to the user in a terminal and waits; returns its exit code, None for no clean end."""


@dataclass(frozen=True, slots=True)
class TerminalCommand:
    """What to run in a terminal so that the user can log in."""

    command: Sequence[str]
    env: Mapping[str, str]
    """Laid over this program's environment."""
    label: str
    cwd: str | None = None

    def __str__(self) -> str:
        return redact(join_command(self.command))


def terminal_command(
    method: AuthMethod,
    agent: PeerProcess | None,
    *,
    replace_args: bool = False,
) -> TerminalCommand | None:
    """The program of a login in a terminal; None if the method is another kind.

    Most name arguments to add to the `agent`'s own command (R-123); some, in `_meta`, a command of their own.
    With `replace_args` the arguments stand instead of the agent's, as the agent registry has it.

    Raises:
        Unsupported: the agent was not started from here, so that its command is not known (R-124).
    """
    meta = method.meta or {}
    own = meta.get("terminal-auth")
    if isinstance(own, dict):
        login = cast("dict[str, Any]", own)
        if isinstance(program := login.get("command"), str) and program:
            words = [program, *_words(login.get("args"))]
            label = login.get("label")
            title = label if isinstance(label, str) else method.name
            cwd = None if agent is None else agent.cwd
            return TerminalCommand(words, _variables(login.get("env")), title, cwd)
    if isinstance(method, AuthMethodTerminal):
        args, variables = list(method.args), dict(method.env)
    elif meta.get("type") == "terminal":
        args, variables = _words(meta.get("args")), _variables(meta.get("env"))
    else:
        return None
    if agent is None:
        raise Unsupported(
            f"the login {method.name!r} runs the agent's own program, which is not on this machine"
        )
    words = [agent.command[0], *args] if replace_args else [*agent.command, *args]
    return TerminalCommand(words, {**agent.env, **variables}, method.name, agent.cwd)


def missing_variables(method: AuthMethod, env: Mapping[str, str]) -> list[str]:
    """Variables that a login needs and that are set nowhere."""
    if not isinstance(method, AuthMethodEnvVar):
        return []
    return [v.name for v in method.vars if not v.optional and not (env.get(v.name) or os.environ.get(v.name))]


def methods_in(data: Any) -> list[AuthMethod]:
    """The ways to log in that an error names in its `data`, as some agents do."""
    listed = cast("dict[str, Any]", data).get("authMethods") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return []
    hello = msgspec.json.encode({"protocolVersion": PROTOCOL_VERSION, "authMethods": listed})
    try:
        return decode(InitializeResponse, hello).auth_methods
    except (msgspec.ValidationError, ValueError):
        return []


async def run_here(login: TerminalCommand) -> int | None:
    """Run the login in this program's own terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Unsupported(f"this login needs a terminal; run it in one: {login}")
    try:
        process = await asyncio.create_subprocess_exec(
            *login.command, env={**inherited_environment(), **login.env}, cwd=login.cwd
        )
    except OSError as error:
        raise Unsupported(f"cannot start the login `{login}`: {error}") from error
    try:
        return await process.wait()
    except BaseException:
        if process.returncode is None:
            process.kill()
        raise


def _words(value: Any) -> list[str]:
    return [str(word) for word in cast("list[Any]", value)] if isinstance(value, list) else []


def _variables(value: Any) -> dict[str, str]:
    table = cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
    return {str(name): str(text) for name, text in table.items()}
