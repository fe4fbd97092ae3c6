"""New sessions: what they are made with."""

import asyncio
import os
import sys
import time
from typing import Any

from acpella.check import mcp_server
from acpella.check.conversation import CheckedConversation, CheckedFrame, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.probe import Probe, exists
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_answer
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("sessions", "agent", "New sessions", page="session-setup")

declare_answer(AREA, "new", m.NEW_SESSION, rule="R-140", level="must", tck="ACP-SESSION-001")


@AREA.audit("id-new", rule="R-140", level="must", on=("answer session/new", "answer session/fork"),
            tck="ACP-SESSION-002")  # fmt: skip
def id_new(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A new session has an id that no other session of the connection has."""
    id = as_object(frame.result).get("sessionId")
    earlier = talk.sessions.get(id) if isinstance(id, str) else None
    if earlier is not None and earlier.setup is not None:
        return f"the new session has the id {id!r}, which another one has"
    return OK


@AREA.audit("id-not-empty", rule="R-140", level="must", on=("answer session/new",), tck="ACP-SESSION-001")
def id_not_empty(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The id of a session is not empty."""
    return OK if as_object(frame.result).get("sessionId") != "" else "the id of the session is empty"


@AREA.scenario("new", rule="R-108", level="must", tck="ACP-SESSION-001")
async def new(probe: Probe) -> None:
    """`session/new` makes a session."""
    await probe.new_session()


@AREA.scenario("relative-cwd", rule="R-020", level="should", page="overview")
async def relative_cwd(probe: Probe) -> None:
    """A working directory that is not absolute is refused."""
    reply = await probe.link.call("session/new", {"cwd": "some/where", "mcpServers": []})
    if not reply.is_error:
        raise Failed("a session with a relative cwd was made", reply.request, reply)


@AREA.scenario("missing-cwd", rule="R-146", level="should")
async def missing_cwd(probe: Probe) -> None:
    """A session without a working directory is refused with -32602."""
    reply = await probe.link.call("session/new", {"mcpServers": []})
    if reply.code != -32602:
        raise Failed("session/new without cwd did not fail with -32602", reply.request, reply)


@AREA.scenario("null-servers", rule="R-153", level="robust")
async def null_servers(probe: Probe) -> None:
    """`mcpServers` that is null is read as an empty list."""
    reply = await probe.link.call("session/new", {"cwd": probe.directory, "mcpServers": None})
    if reply.is_error:
        raise Failed("session/new with mcpServers null failed", reply.request, reply)


@AREA.scenario("mcp-stdio", rule="R-153", level="should", transports=("stdio",))
async def mcp_stdio(probe: Probe) -> None:
    """The agent starts an MCP server that speaks stdio, at the latest with the first prompt."""
    seen = probe.new_path()
    command = [sys.executable, "-I", "-S", mcp_server.__file__, str(seen)]  # `-m` would take longer to load
    if os.name == "posix":  # on a busy machine even Python takes long to start
        command = ["/bin/sh", "-c", 'echo started >"$0"; exec "$@"', str(seen), *command]
    server = {
        "name": "acpella-check",
        "command": command[0],
        "args": command[1:],
        "env": [{"name": "CHECK_VALUE", "value": "1"}],
    }
    session = await probe.new_session(mcpServers=[server])
    await probe.hello(session)
    deadline = time.monotonic() + probe.link.patience / 5
    while not seen.exists():
        if time.monotonic() > deadline:
            requests = [f for f in probe.link.sent if f.method == "session/new"][-1:]
            raise Failed("the MCP server was not started", *requests, timing=True)
        await asyncio.sleep(0.05)


@AREA.scenario("more-directories", rule="R-148", level="capability", tck="ACP-ADDDIRS-001")
async def more_directories(probe: Probe) -> None:
    """An agent that offers additional directories takes an absolute one."""
    probe.offered("sessionCapabilities.additionalDirectories")
    await probe.new_session(additionalDirectories=[probe.new_directory()])


@AREA.scenario("relative-directory", rule="R-150", level="capability")
async def relative_directory(probe: Probe) -> None:
    """An additional directory that is not absolute is refused, not left out."""
    probe.offered("sessionCapabilities.additionalDirectories")
    params: dict[str, Any] = {
        "cwd": probe.directory,
        "mcpServers": [],
        "additionalDirectories": ["some/where"],
    }
    reply = await probe.link.call("session/new", params)
    if not reply.is_error:
        raise Failed("a relative additional directory was accepted", reply.request, reply)


@AREA.scenario("cwd", rule="R-146", level="capability", needs=("run",))
async def cwd(probe: Probe) -> None:
    """Commands run in the working directory of the session, not in that of the agent's process."""
    probe.must_name("run", "command")
    marker = f"check-{len(probe.link.heard)}-here.txt"
    directory = probe.new_directory()
    reply = await probe.link.call("session/new", {"cwd": directory, "mcpServers": []})
    turn = await probe.provoke(probe.session_id(reply), "run", command=f"touch {marker}")
    if exists(os.path.join(directory, marker)):
        return
    elsewhere = os.path.join(probe.directory, marker)
    if exists(elsewhere) or exists(marker):
        raise Failed("a command ran in another directory than the session's", reply.request, turn.request)
    raise Unproved("the agent did not run the command")


@AREA.scenario("unknown-session", rule="R-200", level="robust", tck="ACP-INFO-UNKNOWNSESSION-001",
               page="prompt-turn")  # fmt: skip
async def unknown_session(probe: Probe) -> None:
    """A prompt for a session that does not exist fails."""
    turn = probe.begin("acpella-does-not-exist", probe.profile.text("hello"))
    reply = await turn.end()
    if not reply.is_error:
        raise Failed("a prompt for an unknown session succeeded", turn.request, reply)


@AREA.scenario("two-at-once", rule="R-108", level="must")
async def two_at_once(probe: Probe) -> None:
    """Two sessions of one connection work at the same time, and both turns end."""
    first, second = await probe.new_session(), await probe.new_session()
    turns = [probe.begin(session, probe.profile.text("hello")) for session in (first, second)]
    for turn in turns:
        answer = await turn.end()
        if answer.is_error:
            raise Failed("a turn failed while another session was busy", turn.request, answer)
