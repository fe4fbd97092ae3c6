"""What real peers send by mistake. The protocol is silent on most of it; a robust agent survives it."""

from typing import Any

import msgspec

from acpella.check.conversation import CheckedFrame
from acpella.check.link import Failed, Unproved
from acpella.check.probe import Probe
from acpella.check.requirement import Area

__all__ = ["AREA"]

AREA = Area("robust", "agent", "Robustness", page="transports")
STDIO = ("stdio",)


async def _survives(probe: Probe, line: bytes, what: str, *, end: bytes = b"\n") -> list[CheckedFrame]:
    """Check that the agent still works after a line; returns the responses that answer no request of ours."""
    mark = probe.link.mark()
    sent = probe.link.send_bytes(line, end=end)
    try:
        await probe.still_works(f"the agent did not go on after {what}")
    except Failed as failure:
        raise type(failure)(failure.text, sent, timing=failure.timing) from None
    session = await probe.new_session()
    await probe.hello(session)
    return [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]


async def _answers(probe: Probe, line: bytes, what: str, code: int) -> None:
    mark = probe.link.mark()
    sent = probe.link.send_bytes(line)
    reply = await probe.link.find(
        lambda f: f.kind == "response" and f.id is None, f"an error with a null id after {what}",
        since=mark, within=2, about=(sent,),
    )  # fmt: skip
    if reply.code != code:
        raise Failed(f"{what} was answered with {reply.code}, not {code}", sent, reply)


@AREA.scenario("not-json", rule="R-012", level="robust", connection="rough", transports=STDIO,
               tck="ACP-INFO-PARSE-001")  # fmt: skip
async def not_json(probe: Probe) -> None:
    """The agent works on after a line that is not JSON."""
    await _survives(probe, b"this is not json", "a line that is not JSON")


@AREA.scenario("not-json-answer", rule="R-012", level="info", connection="rough", transports=STDIO,
               tck="ACP-INFO-PARSE-001")  # fmt: skip
async def not_json_answer(probe: Probe) -> None:
    """A line that is not JSON is answered with -32700 and a null id."""
    await _answers(probe, b"this is not json", "a line that is not JSON", -32700)


@AREA.scenario("no-message", rule="R-012", level="robust", connection="rough", transports=STDIO,
               tck="ACP-INFO-INVALIDREQ-001")  # fmt: skip
async def no_message(probe: Probe) -> None:
    """The agent works on after an object that is not a message."""
    await _survives(probe, b'{"foo":"bar"}', "an object that is not a message")


@AREA.scenario("not-an-object", rule="R-012", level="robust", connection="rough", transports=STDIO)
async def not_an_object(probe: Probe) -> None:
    """The agent works on after JSON that is not an object."""
    await _survives(probe, b"42", "a number")


@AREA.scenario("not-an-object-answer", rule="R-012", level="info", connection="rough", transports=STDIO)
async def not_an_object_answer(probe: Probe) -> None:
    """JSON that is not an object is answered with -32600 and a null id."""
    await _answers(probe, b"42", "a number", -32600)


@AREA.scenario("batch", rule="R-013", level="robust", connection="rough", transports=STDIO)
async def batch(probe: Probe) -> None:
    """The agent works on after a batch."""
    one = msgspec.json.encode([probe.link.request_message("_acpella.check/batched", {}, id="batched")])
    await _survives(probe, one, "a batch")


@AREA.scenario("batch-not-processed", rule="R-013", level="info", connection="rough", transports=STDIO)
async def batch_not_processed(probe: Probe) -> None:
    """The entries of a batch are not carried out."""
    one = msgspec.json.encode([probe.link.request_message("_acpella.check/batched", {}, id="batched")])
    mark = probe.link.mark()
    sent = probe.link.send_bytes(one)
    await probe.fence()
    carried = [f for f in probe.link.since(mark) if f.kind == "response" and f.id == "batched"]
    listed = [f for f in probe.link.since(mark) if isinstance(f.message, list)]
    if carried or listed:
        raise Failed("an entry of a batch was carried out", sent, *carried, *listed)


@AREA.scenario("blank-lines", rule="R-016", level="robust", connection="rough", transports=STDIO)
async def blank_lines(probe: Probe) -> None:
    """Empty lines between messages do not disturb."""
    probe.link.write(b"\n\n\n")
    await probe.still_works("the agent did not go on after empty lines")


@AREA.scenario("crlf", rule="R-016", level="robust", connection="rough", transports=STDIO)
async def crlf(probe: Probe) -> None:
    """A message that ends with CR LF is read."""
    message = msgspec.json.encode(probe.harmless("crlf"))
    request = probe.link.send_bytes(message, end=b"\r\n")
    await probe.link.reply_to(request)


@AREA.scenario("blanks-in-json", rule="R-001", level="must", connection="rough", transports=STDIO)
async def blanks_in_json(probe: Probe) -> None:
    """JSON with blanks between its parts is read."""
    message = msgspec.json.encode(probe.harmless("blanks"))
    spaced = message.replace(b":", b" : ").replace(b",", b" , ").replace(b"check / ", b"check/")
    await probe.link.reply_to(probe.link.send_bytes(b"  " + spaced + b"  "))


@AREA.scenario("escapes", rule="R-001", level="must", connection="rough", transports=STDIO)
async def escapes(probe: Probe) -> None:
    """JSON whose characters are written as escapes is read."""
    message = probe.harmless("escapes")
    first = ord(message["method"][0])
    message["params"]["_meta"] = {"text": "ä"}
    data = msgspec.json.encode(message).replace("ä".encode(), rb"\u00e4")
    data = data.replace(b'"method":"' + bytes([first]), b'"method":"' + rf"\u{first:04x}".encode())
    await probe.link.reply_to(probe.link.send_bytes(data))


@AREA.scenario("bad-utf8", rule="R-001", level="robust", connection="rough", transports=STDIO)
async def bad_utf8(probe: Probe) -> None:
    """The agent works on after a line that is not UTF-8."""
    await _survives(probe, b'{"jsonrpc":"2.0","method":"_x/\xff\xfe"}', "a line that is not UTF-8")


@AREA.scenario("deep", rule="R-016", level="robust", connection="rough", transports=STDIO)
async def deep(probe: Probe) -> None:
    """The agent works on after a notification whose JSON is nested a thousand times."""
    nested = b'{"jsonrpc":"2.0","method":"_acpella.check/deep","params":' + b'{"a":' * 1000 + b"1"
    await _survives(probe, nested + b"}" * 1001, "deeply nested JSON")


@AREA.scenario("long-line", rule="R-016", level="robust", connection="rough", transports=STDIO)
async def long_line(probe: Probe) -> None:
    """The agent works on after a message of eight megabytes."""
    line = b'{"jsonrpc":"2.0","method":"_acpella.check/long","params":{"x":"' + b"y" * 8_000_000 + b'"}}'
    await _survives(probe, line, "a message of 8 MB")


@AREA.scenario("extra-fields", rule="R-030", level="robust")
async def extra_fields(probe: Probe) -> None:
    """Fields that the agent does not know are passed over."""
    params: dict[str, Any] = {"cwd": probe.directory, "mcpServers": [], "acpellaUnknown": {"a": 1}}
    reply = await probe.link.call("session/new", params)
    if reply.is_error:
        raise Failed("session/new with a field of a later version failed", reply.request, reply)


@AREA.scenario("missing-params", rule="R-012", level="robust", connection="rough")
async def missing_params(probe: Probe) -> None:
    """A request without its parameters is refused, and the agent works on."""
    reply = await probe.link.call("session/new")
    if not reply.is_error:
        raise Failed("session/new without parameters succeeded", reply.request, reply)
    await probe.still_works("the agent did not go on after a request without parameters")


@AREA.scenario("wrong-type", rule="R-035", level="should", connection="rough")
async def wrong_type(probe: Probe) -> None:
    """Parameters of a wrong type are refused with -32602."""
    reply = await probe.link.call("session/prompt", {"sessionId": 7, "prompt": "hello"})
    if reply.code != -32602:
        raise Failed("a prompt with wrong types did not fail with -32602", reply.request, reply)


@AREA.scenario("many-requests", rule="R-008", level="must", connection="rough")
async def many_requests(probe: Probe) -> None:
    """A hundred requests at once are all answered."""
    if not probe.answers_unknown:  # a hundred sessions would be too much to ask for
        raise Unproved(
            "the agent does not answer requests that it does not know; see messages.custom-request"
        )
    requests = [probe.link.begin("_acpella.check/many", {"n": n}) for n in range(100)]
    for request in requests:
        await probe.link.reply_to(request)
