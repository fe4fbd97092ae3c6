"""Examines an agent step by step, as a client would use it."""

import shlex
import time
from typing import Any

from acpella._processes import join_command
from acpella._redact import redact
from acpella.client import ClientSession, ClientSettings, ConnectedAgent, Permissions, Timeouts, connect
from acpella.client.targets import open_target
from acpella.errors import AcpellaError, AuthRequired, ConnectionClosed
from acpella.rpc import Channel, Noise
from acpella.schema import AuthMethodEnvVar, AuthMethodTerminal, SessionConfigBoolean, Unknown
from acpella.transport import ProcessChannel

from ... import exits
from ...failures import report
from ...session.announcements import commands
from ...session.discard import discard
from ...terminal.output import show

__all__ = ["examine"]

STDERR_LINES = 5
"""Lines of an agent's stderr that are shown when something fails."""

COMMANDS_WITHIN = 1.0
"""Seconds in which an agent announces its commands, if it has any."""


async def examine(target: str, settings: ClientSettings, *, timeout: float = 30.0) -> int:
    """Report what works; returns the exit code."""
    noise: list[Noise] = []
    began = time.monotonic()
    step = "start"
    channel: Channel | None = None
    try:
        name, channel = open_target(target, settings=settings)
        show(f"{name}")
        agent = connect(
            channel,
            settings=ClientSettings(),
            permissions=Permissions("deny-all"),
            timeouts=Timeouts(startup=timeout),
            on_noise=noise.append,
        )
        agent.name = name
        async with agent:
            _hello(agent, time.monotonic() - began)
            step = "session/new"
            code = await _session(agent, _option(target))
            if noise:
                show(f"! it wrote {len(noise)} lines to stdout that are not ACP: {noise[0].excerpt[:80]!r}")
            tail = channel.about.stderr_tail.strip().splitlines()
            if tail:
                show(f"· on stderr, last: {tail[-1][:100]}")
        return code
    except (AcpellaError, TimeoutError, OSError) as error:
        show(f"✗ {step} failed: {str(error) or type(error).__name__}")
        _advise(step, target, channel, error)
        return exits.code_for(error)


def _advise(step: str, target: str, channel: "Channel | None", error: BaseException) -> None:
    """What to do about a failure that its own text does not explain."""
    tail = "" if channel is None else channel.about.stderr_tail.strip()
    if tail and tail.splitlines()[-1] not in str(error):
        show("  The last lines it wrote to stderr:")
        for line in tail.splitlines()[-STDERR_LINES:]:
            show(f"    {line}")
    if step == "session/new":
        show("  It speaks ACP, but it makes no session here. Try another directory, and look at its own log.")
        command = f"acpella run -v {_option(target)} --record talk.jsonl hi"
        show(f"  `{command}` shows its stderr and keeps every message.")
    elif not isinstance(channel, ProcessChannel) or channel.pid is None:
        return
    elif "ModuleNotFoundError" in tail:
        show(f"  {redact(channel.command[0])} lacks this module. Install it there, or start the agent")
        show("  with the Python of the environment that has it.")
    elif tail and isinstance(error, ConnectionClosed):
        show("  It failed while it started. Its own words above say why.")
    elif not tail:
        show(f"  Start it by hand to see what it says: {redact(join_command(channel.command))}")
        show("  An agent prints nothing at first: it waits for a message on stdin.")


def _option(target: str) -> str:
    """How other commands name this agent."""
    return f"-a {shlex.quote(redact(target))}"


def _hello(agent: ConnectedAgent, seconds: float) -> None:
    hello, info = agent.hello, agent.info
    who = "an agent without a name"
    if info is not None:
        version = "" if info.version == "0" else info.version  # 0 is what an author gets who gave none
        who = f"{info.title or info.name} {version}".rstrip()
    show(f"✓ starts, and answers after {seconds:.2f} s: {who}, ACP version {hello.protocol_version}")
    can = agent.capabilities
    sessions = can.session_capabilities
    offered = {
        "load": can.load_session,
        **{
            name: getattr(sessions, name) is not None
            for name in ("resume", "list", "fork", "close", "delete", "additional_directories")
        },
    }
    _say("sessions", [name.replace("_", " ") for name, has in offered.items() if has], "only new ones")
    if not (can.load_session or sessions.resume is not None):
        show("  ! a conversation ends with the agent's process; `acpella run -s NAME` keeps it alive")
    prompts, mcp = can.prompt_capabilities, can.mcp_capabilities
    takes = [("images", prompts.image), ("audio", prompts.audio), ("files", prompts.embedded_context)]
    _say("prompts", ["text", "links", *(what for what, has in takes if has)])
    _say("MCP servers", ["stdio", *(what for what, has in (("http", mcp.http), ("sse", mcp.sse)) if has)])
    for method in agent.auth_methods:
        show(f"· login {method.id}: {_how(method)}")


def _how(method: Any) -> str:
    """How to log in, in words."""
    text = method.name + (f" ({method.description})" if method.description else "")
    if isinstance(method, AuthMethodEnvVar):
        names = ", ".join(variable.name for variable in method.vars if not isinstance(variable, Unknown))
        return f"{text}; start it with {names} set"
    if isinstance(method, AuthMethodTerminal):
        return f"{text}; run its command in a terminal with: {' '.join(method.args)}"
    return text


async def _session(agent: ConnectedAgent, option: str) -> int:
    began = time.monotonic()
    try:
        session = await agent.new_session(
            "."
        )  # where it is to work: some refuse other places, or know this one
    except AuthRequired as error:
        show("✗ makes no session without a login")
        return report(error, agent=option)
    show(f"✓ makes a session here, in {time.monotonic() - began:.2f} s")
    await _commands(session)
    try:
        await discard(agent, session)
    except (AcpellaError, TimeoutError) as error:
        show(f"! the session cannot be closed or deleted: {error}")
    return exits.DONE


async def _commands(session: ClientSession) -> None:
    if session.modes is not None:
        _say("modes", [mode.id for mode in session.modes.available_modes])
    options = [option for option in session.options if not isinstance(option, Unknown)]
    _say("options", [f"{o.id} (on or off)" if isinstance(o, SessionConfigBoolean) else o.id for o in options])
    await commands(session, within=COMMANDS_WITHIN)
    _say("commands", ["/" + command.name for command in session.commands])


def _say(what: str, items: list[str], nothing: str = "") -> None:
    if items or nothing:
        show(f"· {what}: {', '.join(items) or nothing}")
