"""Forms and pages for the user."""

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_object
from acpella.check.link import Failed, Unproved
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("elicitation", "agent", "Questions in forms", page="elicitation")
ASK = "call elicitation/create"

declare_call(AREA, "create", m.CREATE_ELICITATION, rule="R-361", level="capability")
declare_call(AREA, "complete", m.COMPLETE_ELICITATION, rule="R-369", level="capability")


def _gate(mode: str, what: str) -> None:
    @AREA.audit(
        f"{mode}-gate",
        rule="R-360",
        level="must",
        on=("answer session/prompt", ASK),
        tck="ACP-CLIENTCAP-003",
        text=f"{what} are sent only to clients that announced clientCapabilities.elicitation.{mode}.",
    )
    def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
        if talk.client_can(f"elicitation.{mode}"):
            return None
        if frame.kind == "response":
            return OK
        sent = frame.params.get("mode") == mode
        return f"a {mode} was sent, and the client does not offer it" if sent else None


_gate("form", "Forms")
_gate("url", "Pages")


@AREA.audit("mode", rule="R-361", level="capability", on=(ASK,))
def mode(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question says whether it is a form or a page."""
    return OK if isinstance(frame.params.get("mode"), str) else "elicitation/create has no mode"


@AREA.audit("scope", rule="R-361", level="capability", on=(ASK,))
def scope(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A question belongs to a session or to a request of the client."""
    params = frame.params
    return OK if "sessionId" in params or "requestId" in params else "elicitation/create has no scope"


@AREA.audit("form-object", rule="R-365", level="capability", on=(ASK,))
def form_object(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The schema of a form has the type `object` and its properties."""
    if frame.params.get("mode") != "form":
        return None
    schema = as_object(frame.params.get("requestedSchema"))
    good = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    return OK if good else "requestedSchema lacks its type or its properties"


@AREA.audit("required-known", rule="R-365", level="should", on=(ASK,))
def required_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """What a form requires is one of its properties."""
    schema = as_object(frame.params.get("requestedSchema"))
    required = schema.get("required")
    if not isinstance(required, list):
        return None
    unknown = [n for n in required if n not in as_object(schema.get("properties"))]  # pyright: ignore[reportUnknownVariableType] - JSON
    return f"{unknown[0]!r} is required and not a property" if unknown else OK


@AREA.audit("page-id", rule="R-369", level="capability", on=(ASK,))
def page_id(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Two pages that are open have different ids."""
    id = frame.params.get("elicitationId")
    if frame.params.get("mode") != "url":
        return None
    elicitation = talk.elicitations.get(str(id))
    return f"the page {id!r} is open already" if elicitation is not None and elicitation.open else OK


@AREA.audit("page-https", rule="R-370", level="should", on=(ASK,))
def page_https(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A page is reached by https."""
    if frame.params.get("mode") != "url":
        return None
    url = str(frame.params.get("url"))
    local = url.startswith(("http://localhost", "http://127.0.0.1", "http://[::1]"))
    return OK if url.startswith("https://") or local else f"a page is at {url!r}"


@AREA.audit("complete-known", rule="R-369", level="capability", on=("call elicitation/complete",))
def complete_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The end of a page is told only for a page that was sent."""
    id = frame.params.get("elicitationId")
    return OK if str(id) in talk.elicitations else f"elicitation/complete names {id!r}, which was not sent"


async def _elicit(probe: Probe, answer: str) -> None:
    probe.elicitation = answer
    try:
        turn = probe.begin(await probe.new_session(), probe.text_for("elicit"))
        end = await turn.end()
    finally:
        probe.elicitation = "decline"
    if not [f for f in turn.frames if f.method == "elicitation/create"]:
        raise Unproved("the agent did not ask")
    if end.is_error:
        raise Failed(f"the turn failed after the user said {answer}", turn.request, end)


@AREA.scenario("declined", rule="R-368", level="capability", needs=("elicit",))
async def declined(probe: Probe) -> None:
    """A turn goes on after the user has declined."""
    await _elicit(probe, "decline")


@AREA.scenario("cancelled", rule="R-368", level="capability", needs=("elicit",))
async def cancelled(probe: Probe) -> None:
    """A turn goes on after the user has closed the question."""
    await _elicit(probe, "cancel")


@AREA.scenario("failed", rule="R-368", level="capability", needs=("elicit",))
async def failed(probe: Probe) -> None:
    """A turn goes on after the question has failed."""
    await _elicit(probe, "error")
