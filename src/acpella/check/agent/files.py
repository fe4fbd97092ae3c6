"""The client's files, as the agent uses them."""

from acpella.check.conversation import CheckedConversation, CheckedFrame
from acpella.check.paths import is_absolute
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_call
from acpella.schema import methods as m

__all__ = ["AREA"]

AREA = Area("files", "agent", "Files of the client", page="file-system")
FILES = ("call fs/read_text_file", "call fs/write_text_file")

declare_call(AREA, "read", m.READ_TEXT_FILE, rule="R-320", level="capability")
declare_call(AREA, "write", m.WRITE_TEXT_FILE, rule="R-320", level="capability")


@AREA.audit(
    "read-gate", rule="R-320", level="must", on=("answer session/prompt", FILES[0]), tck="ACP-CLIENTCAP-001"
)
def read_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Files are read through the client only if it offers that."""
    if talk.client_can("fs.readTextFile"):
        return None
    return (
        OK if frame.kind == "response" else "fs/read_text_file was called, and the client does not offer it"
    )


@AREA.audit(
    "write-gate", rule="R-320", level="must", on=("answer session/prompt", FILES[1]), tck="ACP-CLIENTCAP-001"
)
def write_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Files are written through the client only if it offers that."""
    if talk.client_can("fs.writeTextFile"):
        return None
    return (
        OK if frame.kind == "response" else "fs/write_text_file was called, and the client does not offer it"
    )


@AREA.audit("absolute", rule="R-020", level="capability", on=FILES)
def absolute(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The paths of files are absolute."""
    path = frame.params.get("path")
    return OK if isinstance(path, str) and is_absolute(path) else f"{frame.method} has the path {path!r}"


@AREA.audit("line", rule="R-021", level="capability", on=FILES[:1])
def line(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Lines are counted from 1."""
    line = frame.params.get("line")
    return None if line is None else (OK if line != 0 else "fs/read_text_file asks for line 0")


@AREA.audit("session-known", rule="R-140", level="capability", on=FILES)
def session_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Files are asked for in a session of this connection."""
    known = talk.session_of(frame) is not None or frame.session in talk.subagents
    return OK if known else f"{frame.method} names the session {frame.session!r}"


@AREA.scenario("missing", rule="R-322", level="robust", needs=("read",))
async def missing(probe: Probe) -> None:
    """A turn in which a file is missing still ends with a stop reason."""
    probe.must_name("read", "file")
    await probe.provoke(await probe.new_session(), "read", file=str(probe.new_path()))
