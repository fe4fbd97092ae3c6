"""JSON-RPC as the client speaks it."""

from acpella.check.client_probe import ClientProbe
from acpella.check.link import Failed
from acpella.check.requirement import Area
from acpella.check.shapes import declare_messages

__all__ = ["AREA"]

AREA = Area("messages", "client", "Messages", page="overview")

declare_messages(AREA)


@AREA.scenario("unknown-method", rule="R-011", level="should", page="extensibility")
async def unknown_method(probe: ClientProbe) -> None:
    """A request for a method that does not exist fails with -32601."""
    reply = await probe.link.call("acpella/does_not_exist", {})
    if reply.code != -32601:
        raise Failed("a request for an unknown method did not fail with -32601", reply.request, reply)


@AREA.scenario("custom-request", rule="R-027", level="must", page="extensibility")
async def custom_request(probe: ClientProbe) -> None:
    """A custom request that the client does not know is answered."""
    await probe.link.call("_acpella.check/unknown", {})


@AREA.scenario("custom-request-code", rule="R-027", level="should", page="extensibility")
async def custom_request_code(probe: ClientProbe) -> None:
    """A custom request that the client does not know fails with -32601."""
    reply = await probe.link.call("_acpella.check/unknown", {})
    if reply.code != -32601:
        raise Failed("an unknown custom request did not fail with -32601", reply.request, reply)


async def _not_answered(probe: ClientProbe, method: str) -> None:
    mark = probe.link.mark()
    sent = probe.link.notify(method, {})
    await probe.still_works(f"the client did not go on after the notification {method}")
    await probe.link.quiet(0.05)
    stray = [f for f in probe.link.since(mark) if f.kind == "response" and f.request is None]
    if stray:
        raise Failed(f"the notification {method} was answered", sent, *stray)


@AREA.scenario("unknown-notification", rule="R-009", level="must")
async def unknown_notification(probe: ClientProbe) -> None:
    """A notification that the client does not know is not answered."""
    await _not_answered(probe, "acpella/does_not_exist")


@AREA.scenario("custom-notification", rule="R-028", level="should", page="extensibility")
async def custom_notification(probe: ClientProbe) -> None:
    """A custom notification that the client does not know is ignored."""
    await _not_answered(probe, "_acpella.check/unknown")


@AREA.scenario("string-id", rule="R-010", level="must")
async def string_id(probe: ClientProbe) -> None:
    """A request whose id is a string is answered with the same string."""
    await probe.link.reply_to(probe.link.begin("_acpella.check/string", {}, id="a-1"))


@AREA.scenario("stray-response", rule="R-014", level="robust")
async def stray_response(probe: ClientProbe) -> None:
    """A response to a request that was never made is dropped."""
    probe.link.send({"jsonrpc": "2.0", "id": "acpella-stray", "result": {}})
    await probe.still_works("the client did not go on after a stray response")


@AREA.scenario("cancel-unknown", rule="R-221", level="robust", page="cancellation")
async def cancel_unknown(probe: ClientProbe) -> None:
    """`$/cancel_request` for a request that never was is ignored."""
    probe.link.notify("$/cancel_request", {"requestId": 987_654_321})
    await probe.still_works("the client did not go on after $/cancel_request for an unknown id")


@AREA.scenario("many-requests", rule="R-008", level="must")
async def many_requests(probe: ClientProbe) -> None:
    """Fifty requests at once are all answered."""
    requests = [probe.link.begin("_acpella.check/many", {"n": n}) for n in range(50)]
    for request in requests:
        await probe.link.reply_to(request)


@AREA.scenario("blank-lines", rule="R-016", level="robust", page="transports")
async def blank_lines(probe: ClientProbe) -> None:
    """Empty lines between messages do not disturb."""
    probe.link.write(b"\n\n")
    await probe.still_works("the client did not go on after empty lines")


@AREA.scenario("not-json", rule="R-012", level="robust", page="transports")
async def not_json(probe: ClientProbe) -> None:
    """The client works on after a line that is not JSON."""
    probe.link.send_bytes(b"Debug: this is not json")
    await probe.still_works("the client did not go on after a line that is not JSON")


@AREA.scenario("long-line", rule="R-016", level="robust", page="transports")
async def long_line(probe: ClientProbe) -> None:
    """The client works on after a message of two megabytes."""
    probe.link.notify("_acpella.check/long", {"x": "y" * 2_000_000})
    await probe.still_works("the client did not go on after a message of 2 MB")
