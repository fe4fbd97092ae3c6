"""JSON-RPC as the agent speaks it."""

import asyncio

import msgspec

from acpella.check.conversation import CheckedConversation, CheckedFrame
from acpella.check.link import Failed, Gone, NotOffered, Unproved
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_messages
from acpella.transport import ProcessChannel

__all__ = ["AREA"]

AREA = Area("messages", "agent", "Messages", page="overview")

declare_messages(AREA)


@AREA.audit(
    "starts-silent", rule="R-100", level="should", on=("request", "notification"), page="initialization"
)
def starts_silent(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The agent sends nothing of its own before `initialize` was answered."""
    if talk.initialized is not None:
        return OK
    return f"{frame.method} was sent before initialize was answered"


@AREA.scenario("string-id", rule="R-010", level="must", connection="raw", tck="ACP-JSONRPC-001")
async def string_id(probe: Probe) -> None:
    """A request whose id is a string is answered with the same string."""
    request = probe.link.begin("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, id="a-1")
    await _answered(probe, request)


@AREA.scenario("large-id", rule="R-010", level="robust", connection="raw")
async def large_id(probe: Probe) -> None:
    """A request whose id is the largest whole number of 53 bits is answered with that number."""
    request = probe.link.begin("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, id=2**53 - 1)
    await _answered(probe, request)


@AREA.scenario("zero-id", rule="R-010", level="must", connection="raw", tck="ACP-JSONRPC-001")
async def zero_id(probe: Probe) -> None:
    """A request whose id is 0 is answered with 0."""
    request = probe.link.begin("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, id=0)
    await _answered(probe, request)


async def _answered(probe: Probe, request: CheckedFrame) -> None:
    try:
        await probe.link.reply_to(request)
    except Gone:
        raise  # it says how the agent ended
    except Failed as failure:
        others = [frame for frame in probe.link.heard if frame.kind == "response"]
        raise Failed(
            f"the request with the id {request.id!r} got no answer with that id",
            request,
            *others,
            timing=failure.timing and not others,
        ) from None


@AREA.scenario("unknown-method", rule="R-011", level="should", tck="ACP-JSONRPC-004", page="extensibility")
async def unknown_method(probe: Probe) -> None:
    """A request for a method that does not exist fails with -32601."""
    reply = await probe.link.call("acpella/does_not_exist", {})
    if reply.code != -32601:
        raise Failed("a request for an unknown method did not fail with -32601", reply.request, reply)


@AREA.scenario("custom-request", rule="R-027", level="must", tck="ACP-EXT-001", page="extensibility")
async def custom_request(probe: Probe) -> None:
    """A custom request that the agent does not know is answered."""
    await probe.link.call("_acpella.check/unknown", {"text": "hi"})


@AREA.scenario("custom-request-code", rule="R-027", level="should", page="extensibility")
async def custom_request_code(probe: Probe) -> None:
    """A custom request that the agent does not know fails with -32601."""
    reply = await probe.link.call("_acpella.check/unknown", {"text": "hi"})
    if reply.code != -32601:
        raise Failed("an unknown custom request did not fail with -32601", reply.request, reply)


async def _not_answered(probe: Probe, method: str, params: object) -> None:
    mark = probe.link.mark()
    sent = probe.link.notify(method, params)
    await probe.still_works(f"the agent did not go on after the notification {method}")
    await probe.link.quiet(0.1)
    stray = [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]
    if stray:
        raise Failed(f"the notification {method} was answered", sent, *stray)


@AREA.scenario("unknown-notification", rule="R-009", level="must", tck="ACP-JSONRPC-003")
async def unknown_notification(probe: Probe) -> None:
    """A notification that the agent does not know is not answered."""
    await _not_answered(probe, "acpella/does_not_exist", {})


@AREA.scenario("custom-notification", rule="R-028", level="should", page="extensibility")
async def custom_notification(probe: Probe) -> None:
    """A custom notification that the agent does not know is ignored."""
    await _not_answered(probe, "_acpella.check/unknown", {})


@AREA.scenario("protocol-notification", rule="R-015", level="must", page="cancellation")
async def protocol_notification(probe: Probe) -> None:
    """A notification whose method begins with `$/` is not answered."""
    await _not_answered(probe, "$/acpella_unknown", {})


@AREA.scenario("bad-notification", rule="R-009", level="must", tck="ACP-JSONRPC-003")
async def bad_notification(probe: Probe) -> None:
    """A notification with wrong parameters is not answered, not even with an error."""
    await _not_answered(probe, "session/cancel", {"sessionId": 7})


@AREA.scenario("stray-response", rule="R-014", level="must")
async def stray_response(probe: Probe) -> None:
    """A response to a request that was never made is dropped without an answer."""
    mark = probe.link.mark()
    sent = probe.link.send({"jsonrpc": "2.0", "id": "acpella-stray", "result": {}})
    await probe.still_works("the agent did not go on after a stray response")
    await probe.link.quiet(0.1)
    stray = [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]
    if stray:
        raise Failed("a response was answered", sent, *stray)


@AREA.scenario("usable-after-error", rule="R-012", level="should", tck="ACP-JSONRPC-005")
async def usable_after_error(probe: Probe) -> None:
    """After a request that failed, the connection works as before."""
    if not probe.answers_unknown:
        raise Unproved(
            "the agent does not answer requests that it does not know; see messages.custom-request"
        )
    await probe.link.call("acpella/does_not_exist", {})
    session = await probe.new_session()
    await probe.hello(session)


@AREA.scenario(
    "in-pieces", rule="R-002", level="must", connection="raw", transports=("stdio",), page="transports"
)
async def in_pieces(probe: Probe) -> None:
    """A message that arrives in several pieces is read as one."""
    params = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "größe", "version": "1"}}
    data = msgspec.json.encode(probe.link.request_message("initialize", params))
    request = probe.link.note(data)
    cut = data.index("ö".encode()) + 1  # in the middle of a character
    for piece in (data[:10], data[10:cut], data[cut:], b"\n"):
        probe.link.write(piece)
        await asyncio.sleep(0.02)
    await probe.link.reply_to(request)


@AREA.scenario("two-at-once", rule="R-002", level="must", transports=("stdio",), page="transports")
async def two_at_once(probe: Probe) -> None:
    """Two messages that arrive in one piece are both read."""
    both = [probe.harmless(word) for word in ("one", "two")]
    lines = [msgspec.json.encode(message) for message in both]
    requests = [probe.link.note(line) for line in lines]
    probe.link.write(b"\n".join(lines) + b"\n")
    for request in requests:
        await probe.link.reply_to(request)


@AREA.scenario("exit-at-end", rule="T-004", level="should", connection="fresh", transports=("stdio",),
               tck="ACP-SHUTDOWN-001", page="transports")  # fmt: skip
async def exit_at_end(probe: Probe) -> None:
    """The agent ends by itself when its stdin is closed."""
    if not isinstance(probe.channel, ProcessChannel):
        raise NotOffered("the agent is not a process of ours")
    await probe.channel.close_input()
    if not await probe.link.wait_for_end(5):
        raise Failed("the agent runs on 5 seconds after its stdin was closed", timing=True)


@AREA.scenario("custom-params", rule="R-024", level="should", tck="ACP-META-001", page="extensibility")
async def foreign_meta(probe: Probe) -> None:
    """`_meta` with keys that the agent does not know changes nothing."""
    meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "acpella.check/x": [1]}
    session = await probe.new_session(_meta=meta)
    turn = probe.begin(session, probe.profile.text("hello"), _meta=meta)
    answer = await turn.end()
    if answer.is_error:
        raise Failed("a prompt with _meta failed", turn.request, answer)
