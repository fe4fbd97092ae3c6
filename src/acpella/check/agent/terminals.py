"""The client's terminals, as the agent uses them."""

from acpella.check.conversation import CheckedConversation, CheckedFrame
from acpella.check.paths import is_absolute
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("terminals", "agent", "Terminals of the client", page="terminals")
USES = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
CALLS = ("call terminal/create", *(f"call {name}" for name in USES))

declare_call(AREA, "create", m.CREATE_TERMINAL, rule="R-341", level="capability")
declare_call(AREA, "output", m.TERMINAL_OUTPUT, rule="R-342", level="capability")
declare_call(AREA, "wait", m.WAIT_FOR_TERMINAL_EXIT, rule="R-345", level="capability")
declare_call(AREA, "kill", m.KILL_TERMINAL, rule="R-344", level="capability")
declare_call(AREA, "release", m.RELEASE_TERMINAL, rule="R-343", level="capability")


@AREA.audit("gate", rule="R-340", level="must", on=("answer session/prompt", *CALLS), tck="ACP-CLIENTCAP-002")
def gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Terminals are used only if the client offers them."""
    if talk.client_can("terminal"):
        return None
    return (
        OK if frame.kind == "response" else f"{frame.method} was called, and the client offers no terminals"
    )


@AREA.audit("cwd-absolute", rule="R-020", level="capability", on=("call terminal/create",))
def cwd_absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The working directory of a terminal is absolute."""
    cwd = frame.params.get("cwd")
    if cwd is None:
        return None
    return OK if isinstance(cwd, str) and is_absolute(cwd) else f"terminal/create has the cwd {cwd!r}"


@AREA.audit("known", rule="R-344", level="capability", on=[f"call {name}" for name in USES])
def known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Only terminals are used that were made before."""
    id = str(frame.params.get("terminalId"))
    return OK if id in talk.terminals else f"{frame.method} names the terminal {id!r}, which was not made"


@AREA.audit("not-released", rule="R-344", level="capability", on=[f"call {name}" for name in USES])
def not_released(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A terminal that was released is not used any more."""
    id = str(frame.params.get("terminalId"))
    return f"{frame.method} names {id!r}, which was released" if talk.terminals.get(id) == "released" else OK


@AREA.audit("session-known", rule="R-140", level="capability", on=CALLS)
def session_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Terminals are used in a session of this connection."""
    known = talk.session_of(frame) is not None or frame.session in talk.subagents
    return OK if known else f"{frame.method} names the session {frame.session!r}"


@AREA.audit("released", rule="R-343", level="capability", on=())
def released(talk: CheckedConversation) -> Verdict:
    """The agent releases every terminal that it made."""
    if not talk.terminals:
        return None
    left = [id for id, state in talk.terminals.items() if state != "released"]
    running = any(session.prompt is not None for session in talk.sessions.values())
    if not left or running:
        return OK
    return f"the terminal {left[0]!r} was never released"
