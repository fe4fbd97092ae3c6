"""The first exchange."""

from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_object
from acpella.check.link import Failed
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_answer
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("initialize", "agent", "Initialization", page="initialization")

declare_answer(AREA, "initialize", m.INITIALIZE, rule="R-106", level="must", tck="ACP-INIT-001")


@AREA.audit("capabilities", rule="R-106", level="should", on=("answer initialize",))
def capabilities(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The agent says what it can do, even if that is nothing."""
    present = isinstance(as_object(frame.result).get("agentCapabilities"), dict)
    return OK if present else "the answer to initialize has no agentCapabilities"


@AREA.audit("info", rule="R-105", level="should", on=("answer initialize",), tck="ACP-INIT-004")
def info(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The agent says its name and version."""
    info = as_object(as_object(frame.result).get("agentInfo"))
    return OK if info.get("name") and info.get("version") else "the answer to initialize has no agentInfo"


@AREA.scenario("version-1", rule="R-102", level="must", connection="raw", tck="ACP-INIT-002")
async def version_1(probe: Probe) -> None:
    """An agent that is asked for version 1 agrees to it."""
    reply = await probe.initialize()
    if as_object(reply.result).get("protocolVersion") != 1:
        raise Failed("the agent did not agree to version 1", reply.request, reply)


@AREA.scenario("newer-version", rule="R-102", level="must", connection="raw", tck="ACP-INIT-003")
async def newer_version(probe: Probe) -> None:
    """An agent that is asked for a version it cannot know answers with the newest of its own."""
    info = {"name": "acpella-check", "version": "1"}
    # version 2 requires `info`, should the agent choose it
    params: dict[str, Any] = {
        "protocolVersion": 65535,
        "clientCapabilities": {},
        "clientInfo": info,
        "info": info,
    }
    reply = await probe.link.call("initialize", params)
    version: Any = as_object(reply.result).get("protocolVersion")
    if not isinstance(version, int) or not 0 < version < 65535:
        raise Failed("the agent did not name a version of its own", reply.request, reply)


@AREA.scenario("few-words", rule="R-030", level="must", connection="raw")
async def few_words(probe: Probe) -> None:
    """A client that sends nothing but its version is served."""
    reply = await probe.link.call("initialize", {"protocolVersion": 1})
    if reply.is_error:
        raise Failed("initialize with nothing but a version failed", reply.request, reply)
    session = await probe.new_session()
    await probe.hello(session)


@AREA.scenario("unknown-capabilities", rule="R-030", level="robust", connection="raw")
async def unknown_capabilities(probe: Probe) -> None:
    """Capabilities that the agent does not know are passed over."""
    unknown = {"acpellaUnknown": {"deep": [1, 2]}, "fs": {"acpellaUnknown": True}, "_meta": {"x.test/y": 1}}
    reply = await probe.initialize(unknown)
    if reply.is_error:
        raise Failed("initialize with unknown capabilities failed", reply.request, reply)


@AREA.scenario("null-capabilities", rule="R-032", level="robust", connection="raw")
async def null_capabilities(probe: Probe) -> None:
    """Capabilities that are null are not there."""
    nothing = {"session": None, "elicitation": None, "plan": None}
    reply = await probe.initialize(nothing)
    if reply.is_error:
        raise Failed("initialize with capabilities that are null failed", reply.request, reply)


@AREA.scenario("null-info", rule="R-105", level="robust", connection="raw")
async def null_info(probe: Probe) -> None:
    """A client that sends null for its name is served."""
    params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": None}
    reply = await probe.link.call("initialize", params)
    if reply.is_error:
        raise Failed("initialize with clientInfo null failed", reply.request, reply)


@AREA.scenario("wrong-params", rule="R-101", level="robust", connection="raw")
async def wrong_params(probe: Probe) -> None:
    """`initialize` with a version that is not a number is refused."""
    reply = await probe.link.call("initialize", {"protocolVersion": "newest"})
    if not reply.is_error:
        raise Failed("initialize with the version 'newest' succeeded", reply.request, reply)


@AREA.scenario("twice", rule="R-110", level="robust", connection="rough")
async def twice(probe: Probe) -> None:
    """A second `initialize` is answered, one way or another, and the agent goes on."""
    await probe.initialize()
    await probe.still_works("the agent did not go on after a second initialize")


@AREA.scenario("too-early", rule="R-100", level="robust", connection="raw", transports=("stdio",))
async def too_early(probe: Probe) -> None:
    """A session that is asked for before `initialize` does not stop the agent."""
    await probe.link.call("session/new", {"cwd": probe.directory, "mcpServers": []})
    reply = await probe.initialize()
    if reply.is_error:
        raise Failed("initialize failed after a request that came too early", reply.request, reply)
