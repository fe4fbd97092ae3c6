"""`run`, `login`, `check`, `export`: installed agents at work."""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella._processes import inherited_environment
from acpella._redact import redact
from acpella.client.installed import Installed, find_installed, list_installed
from acpella.client.names import find_by_name, registry_id
from acpella.client.settings import AgentServer

from ... import exits
from ...failures import guarded
from ...state.installing import offer_install
from ...terminal.confirming import can_ask, confirm
from ...terminal.output import one_line, say, show, show_json

if TYPE_CHECKING:
    from acpella.client import ConnectedAgent
    from acpella.client.login import TerminalCommand
    from acpella.registry.submission import SubmissionFinding

__all__ = ["check_agent", "export", "log_in", "log_out", "run_agent"]


def _server(name: str, *, yes: bool) -> AgentServer:
    """An agent that is installed, or is after one question."""
    agent = find_by_name(name)
    if agent is not None:
        return agent.server
    server = offer_install(name, yes=yes)
    if server is None:
        raise ValueError(f"{name} is not installed, and the registry does not list it")
    return server


def run_agent(arguments: argparse.Namespace) -> int:
    """`acpella registry run ID`: become the agent."""
    server = _server(arguments.agent, yes=arguments.yes)
    command = [server.command, *server.args, *arguments.args]
    env = {**inherited_environment(), **server.env}
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":
        return subprocess.call(command, env=env)
    os.execve(command[0], command, env)


# -- login -------------------------------------------------------------------------------------------


def log_in(arguments: argparse.Namespace) -> int:
    """`acpella registry login ID`."""
    server = _server(arguments.agent, yes=arguments.yes)

    async def work(agent: "ConnectedAgent") -> int:
        methods = agent.auth_methods
        if not methods:
            say(f"{agent.name} needs no login")
            return exits.DONE
        method = arguments.method or _pick([(m.id, m.name, m.description or "") for m in methods])
        if method is None:
            return exits.CANCELLED
        await agent.authenticate(method, run=_run_login, replace_args=arguments.replace_args)
        say(f"logged in at {agent.name}")
        return exits.DONE

    return _with_agent(arguments.agent, server, work)


def log_out(agent_id: str) -> int:
    """Let an agent forget its login; one that cannot is not an error."""
    installed = find_installed(agent_id)
    assert installed is not None

    async def work(agent: "ConnectedAgent") -> int:
        from acpella.errors import Unsupported

        try:
            await agent.logout()
        except Unsupported as error:
            say(str(error))
        return exits.DONE

    return _with_agent(agent_id, installed.server, work)


def _with_agent(name: str, server: AgentServer, work: Any) -> int:
    from acpella.client import ClientSettings, Permissions, connect

    async def talk() -> int:
        settings = ClientSettings(agents={name: server})
        async with connect(
            name, settings=settings, files=False, permissions=Permissions("deny-all")
        ) as agent:
            return await work(agent)

    return guarded(talk)


def _pick(methods: list[tuple[str, str, str]]) -> str | None:
    """Which login; the only one needs no question."""
    if len(methods) == 1:
        return methods[0][0]
    if not can_ask():
        raise ValueError(f"say which login with --method: {', '.join(m[0] for m in methods)}")
    for number, (name, title, about) in enumerate(methods, 1):
        show(f"  {number}  {one_line(title)}  {one_line(about)} ({one_line(name)})")
    sys.stdout.flush()
    sys.stderr.write("which one? ")
    sys.stderr.flush()
    typed = sys.stdin.readline().strip()
    if typed.isdecimal() and 1 <= int(typed) <= len(methods):
        return methods[int(typed) - 1][0]
    return typed if typed in [m[0] for m in methods] else None


async def _run_login(login: "TerminalCommand") -> int | None:
    """Show the program and run it in this terminal; if it fails, ask whether the user is logged in."""
    from acpella.client.login import run_here

    say(f"this login runs: {login}")
    try:
        code = await run_here(login)
    except KeyboardInterrupt:
        code = 130
    if code != 0 and can_ask():
        return 0 if confirm(f"the login program ended with code {code}; are you logged in?") else code
    return code


# -- check -------------------------------------------------------------------------------------------


def check_agent(arguments: argparse.Namespace) -> int:
    """`acpella registry check`: the rules of the registry, applied to an agent."""
    from acpella.registry.submission import check_directory

    target: list[str] = arguments.target
    if target[:1] != ["--"] and len(target) == 1 and (Path(target[0]) / "agent.json").is_file():
        findings = check_directory(Path(target[0]), online=not arguments.offline)
        return _tell(target[0], findings, arguments)
    name, command, env = _command(target)
    return _tell(name, _greeted(command, env, arguments.timeout), arguments)


def _command(target: list[str]) -> tuple[str, list[str], dict[str, str]]:
    if not target:
        return "the built-in agent", [sys.executable, "-m", "acpella", "agent"], {}
    if target[0] == "--":
        if len(target) == 1:
            raise ValueError("say the command after --")
        return redact(shlex.join(target[1:])), target[1:], {}
    from acpella.client.names import with_known
    from acpella.client.settings import ClientSettings
    from acpella.client.targets import resolve_command

    if len(target) == 1:
        _, command, env = resolve_command(target[0], with_known(ClientSettings(), target[0]))
    else:
        command, env = target, {}
    return redact(shlex.join(target)), command, env


def _greeted(command: list[str], env: dict[str, str], timeout: float) -> "list[SubmissionFinding]":
    from acpella._protocol_versions import PROTOCOL_VERSION
    from acpella.registry.handshake import HandshakeFailed, greet, login_kinds
    from acpella.registry.submission import SubmissionFinding

    greeting = None
    for attempt in (1, 2):  # as the registry does: a first start may have to download something
        try:
            greeting = greet(command, env, within=timeout)
            break
        except HandshakeFailed as error:
            if attempt == 2 or error.timed_out:
                return [SubmissionFinding("error", str(error))]
    assert greeting is not None
    who = f" as {greeting.agent}" if greeting.agent else ""
    findings = [
        SubmissionFinding("ok", f"its first line answers `initialize`{who}, after {greeting.seconds:.1f} s")
    ]
    version = greeting.result.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        findings.append(
            SubmissionFinding(
                "error", f"it answers version {PROTOCOL_VERSION} of the protocol with {version!r}"
            )
        )
    kinds = login_kinds(greeting.result)
    driven = [f"{name} ({kind})" for name, kind in kinds.items() if kind in ("agent", "terminal")]
    if driven:
        findings.append(SubmissionFinding("ok", f"a client can drive its login: {', '.join(driven)}"))
    elif kinds:
        names = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
        findings.append(
            SubmissionFinding("error", f"no client can drive its logins: {names}; it needs agent or terminal")
        )
    else:
        findings.append(
            SubmissionFinding("error", "it offers no login; authMethods needs one of type agent or terminal")
        )
    return findings


def _tell(name: str, findings: "list[SubmissionFinding]", arguments: argparse.Namespace) -> int:
    passed = not any(finding.level == "error" for finding in findings)
    if arguments.json:
        listed = [finding._asdict() for finding in findings]
        show_json({"target": name, "passed": passed, "findings": listed})
    else:
        show(name)
        for finding in findings:
            show({"ok": "✓", "warning": "!", "error": "✗"}[finding.level] + " " + finding.text)
    return exits.DONE if passed else exits.REFUSED


# -- export ------------------------------------------------------------------------------------------


def export(arguments: argparse.Namespace) -> int:
    """`acpella registry export zed|jetbrains`."""
    chosen = [_found(name) for name in arguments.agents] or list_installed()
    if not chosen:
        raise ValueError("no agent is installed; `acpella registry install ID` installs one")
    servers = {one.receipt.id: _lines(one, arguments) for one in chosen}
    where = {
        "zed": "the settings of Zed (`zed: open settings`)",
        "jetbrains": "~/.jetbrains/acp.json",
    }[arguments.editor]
    say(f"for {where}:")
    show_json({"agent_servers": servers})
    return exits.DONE


def _found(name: str) -> Installed:
    installed = find_installed(registry_id(name))
    if installed is None:
        raise ValueError(f"{name} is not installed; `acpella registry install {name}` installs it")
    return installed


def _lines(installed: Installed, arguments: argparse.Namespace) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "custom"} if arguments.editor == "zed" else {}
    if arguments.direct:
        server = installed.server
        return {**entry, "command": server.command, "args": server.args, "env": server.env}
    # through us, so that updates need no change of the editor's settings; on Unix it becomes the agent
    args = ["-m", "acpella", "registry", "run", installed.receipt.id]
    return {**entry, "command": sys.executable, "args": args, "env": {}}
