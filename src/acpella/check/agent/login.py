"""Logging in. Nothing here logs a user in or out."""

from collections import Counter
from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, NotOffered
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_answer, declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("login", "agent", "Logging in", page="authentication")

declare_answer(AREA, "authenticate", m.AUTHENTICATE, rule="R-127", level="capability")
declare_answer(AREA, "logout", m.LOGOUT, rule="R-128", level="capability")
declare_answer(AREA, "status", m.AUTH_STATUS, rule="R-129", level="capability")
declare_call(AREA, "status-update", m.AUTH_STATUS_UPDATE, rule="R-129", level="capability")


def _methods(frame: CheckedFrame) -> list[Any]:
    return as_list(as_object(frame.result).get("authMethods"))


@AREA.audit("unique-ids", rule="R-121", level="should", on=("answer initialize",), tck="ACP-AUTH-001")
def unique_ids(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Each login has an id of its own."""
    counted = Counter(str(as_object(method).get("id")) for method in _methods(frame))
    if not counted:
        return None
    twice = [id for id, times in counted.items() if times > 1]
    return f"two logins have the id {twice[0]!r}" if twice else OK


@AREA.audit("terminal-gate", rule="R-121", level="must", on=("answer initialize",), tck="ACP-AUTH-002")
def terminal_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A login in a terminal is listed only if the client can show a terminal."""
    capabilities = as_object(frame.request.params.get("clientCapabilities")) if frame.request else {}
    if as_object(capabilities.get("auth")).get("terminal") is True:
        return None
    for method in _methods(frame):
        if as_object(method).get("type") == "terminal":
            return f"the login {as_object(method).get('id')!r} needs a terminal, which the client has not"
    return OK


@AREA.audit("remedy", rule="R-051", level="should", on=("error session/new",), tck="ACP-AUTH-005")
def remedy(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """An agent that wants a login lists one."""
    if frame.code != -32000:
        return None
    return OK if talk.auth_methods else "session/new wants a login, and authMethods has none"


@AREA.audit("after-login", rule="R-127", level="capability", on=("error session/new",), tck="ACP-AUTH-003")
def after_login(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """After a login that succeeded, no request fails for want of one."""
    if not talk.logged_in:
        return None
    return "session/new wants a login after authenticate succeeded" if frame.code == -32000 else OK


@AREA.scenario("unknown-method", rule="R-121", level="should")
async def unknown_login(probe: Probe) -> None:
    """A login that is not listed is refused."""
    if not probe.talk.auth_methods:
        raise NotOffered("the agent has no logins")
    reply = await probe.link.call("authenticate", {"methodId": "acpella-does-not-exist"})
    if not reply.is_error:
        raise Failed("a login that does not exist succeeded", reply.request, reply)


@AREA.scenario("status", rule="R-129", level="capability", page="rfds/auth-status")
async def status(probe: Probe) -> None:
    """The login state can be asked for without a login."""
    probe.offered("auth.status")
    reply = await probe.link.call("auth/status", {})
    if reply.is_error:
        raise Failed("auth/status is offered and failed", reply.request, reply)


@AREA.scenario("status-changes-nothing", rule="R-129", level="capability", page="rfds/auth-status")
async def status_twice(probe: Probe) -> None:
    """Asking for the login state does not change it."""
    probe.offered("auth.status")
    first = await probe.link.call("auth/status", {})
    second = await probe.link.call("auth/status", {})
    if as_object(first.result).get("state") != as_object(second.result).get("state"):
        raise Failed("auth/status answered two states in a row", first, second)
