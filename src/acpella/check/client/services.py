"""What the client does for the agent: permission, files, terminals, forms."""

import asyncio
import os
import sys
from typing import Any

from acpella.check.client_probe import ClientProbe
from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, NotOffered
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_answer
from acpella.schema import methods as m

__all__ = ["FILES", "FORMS", "PERMISSION", "TERMINALS"]

PERMISSION = Area("permission", "client", "Permission", page="tool-calls")
FILES = Area("files", "client", "Files", page="file-system")
TERMINALS = Area("terminals", "client", "Terminals", page="terminals")
FORMS = Area("elicitation", "client", "Questions in forms", page="elicitation")

declare_answer(PERMISSION, "request", m.REQUEST_PERMISSION, rule="R-271", level="must")
declare_answer(FILES, "read", m.READ_TEXT_FILE, rule="R-320", level="capability")
declare_answer(FILES, "write", m.WRITE_TEXT_FILE, rule="R-320", level="capability")
declare_answer(TERMINALS, "create", m.CREATE_TERMINAL, rule="R-341", level="capability")
declare_answer(TERMINALS, "output", m.TERMINAL_OUTPUT, rule="R-342", level="capability")
declare_answer(TERMINALS, "wait", m.WAIT_FOR_TERMINAL_EXIT, rule="R-345", level="capability")
declare_answer(TERMINALS, "kill", m.KILL_TERMINAL, rule="R-344", level="capability")
declare_answer(TERMINALS, "release", m.RELEASE_TERMINAL, rule="R-344", level="capability")
declare_answer(FORMS, "create", m.CREATE_ELICITATION, rule="R-367", level="capability")

READ, WRITE = "fs/read_text_file", "fs/write_text_file"


@PERMISSION.audit("offered", rule="R-271", level="must", on=("answer session/request_permission",))
def option_offered(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The chosen option is one of those that were offered."""
    outcome = as_object(as_object(frame.result).get("outcome"))
    if outcome.get("outcome") != "selected" or frame.request is None:
        return OK
    ids = [as_object(option).get("optionId") for option in as_list(frame.request.params.get("options"))]
    id = outcome.get("optionId")
    return OK if id in ids else f"the option {id!r} was chosen, and {ids} were offered"


@PERMISSION.audit("cancelled", rule="R-208", level="capability", on=("answer session/request_permission",))
def cancelled(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """After a cancel, open questions are answered with `cancelled`."""
    session = talk.session_of(frame)
    if session is None or session.cancel is None or frame.request is None:
        return None
    outcome = as_object(as_object(frame.result).get("outcome")).get("outcome")
    return OK if outcome == "cancelled" else f"a question of a cancelled turn was answered with {outcome!r}"


@PERMISSION.scenario("answers", rule="R-109", level="must")
async def answers(probe: ClientProbe) -> None:
    """A question is answered."""
    reply = await probe.ask("allow_once", "reject_once")
    if reply.is_error:
        raise Failed("a question was answered with an error", reply.request, reply)


@PERMISSION.scenario("odd-options", rule="R-271", level="robust")
async def odd_options(probe: ClientProbe) -> None:
    """A question with options in an odd order, two of one kind, is answered with one of them."""
    reply = await probe.ask("reject_always", "allow_always", "allow_always", "reject_once", "allow_once")
    if reply.is_error:
        raise Failed("a question with odd options was answered with an error", reply.request, reply)


@PERMISSION.scenario("unannounced", rule="R-270", level="robust")
async def unannounced(probe: ClientProbe) -> None:
    """A question about a tool call that was never announced is answered."""
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": "never-announced", "title": "Go on?"}
    reply = await probe.call("session/request_permission", toolCall=call, options=options)
    if reply.is_error:
        raise Failed("a question about an unknown tool call failed", reply.request, reply)


# -- files -------------------------------------------------------------------------------------


def _make(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.remove(path)


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


@FILES.scenario("read-not-offered", rule="R-320", level="should")
async def read_not_offered(probe: ClientProbe) -> None:
    """A client that does not offer to read files refuses to."""
    if probe.talk.client_can("fs.readTextFile"):
        raise NotOffered("the client reads files")
    await probe.refused(READ, path=probe.path())


@FILES.scenario("write-not-offered", rule="R-320", level="should")
async def write_not_offered(probe: ClientProbe) -> None:
    """A client that does not offer to write files refuses to."""
    if probe.talk.client_can("fs.writeTextFile"):
        raise NotOffered("the client writes files")
    path = probe.path()
    await probe.refused(WRITE, path=path, content="x")


@FILES.scenario("read", rule="R-320", level="capability")
async def read(probe: ClientProbe) -> None:
    """A file is read whole."""
    probe.offered("fs.readTextFile")
    path = probe.path()
    _make(path, "one\ntwo\nthrée\n")
    try:
        content = (await probe.get(READ, path=path)).get("content")
    finally:
        _remove(path)
    if content != "one\ntwo\nthrée\n":
        raise Failed(f"a file was read as {content!r}", *probe.link.heard[-1:])


@FILES.scenario("read-lines", rule="R-021", level="capability")
async def read_lines(probe: ClientProbe) -> None:
    """Lines of a file are counted from 1, and limited."""
    probe.offered("fs.readTextFile")
    path = probe.path()
    _make(path, "one\ntwo\nthree\nfour\n")
    try:
        content = (await probe.get(READ, path=path, line=2, limit=2)).get("content")
    finally:
        _remove(path)
    if not isinstance(content, str) or content.split() != ["two", "three"]:
        raise Failed(f"lines 2 and 3 of a file were read as {content!r}", *probe.link.heard[-1:])


@FILES.scenario("read-missing", rule="R-322", level="info")
async def read_missing(probe: ClientProbe) -> None:
    """A file that is missing fails with -32002."""
    probe.offered("fs.readTextFile")
    reply = await probe.call(READ, path=probe.path())
    if reply.code != -32002:
        raise Failed("a missing file did not fail with -32002", reply.request, reply)


@FILES.scenario("write", rule="R-322", level="capability")
async def write(probe: ClientProbe) -> None:
    """A file that is missing is made by a write, with what was sent."""
    probe.offered("fs.writeTextFile")
    path = probe.path()
    try:
        await probe.get(WRITE, path=path, content="größe\n")
        content = _content(path)
        if content is None and probe.talk.client_can("fs.readTextFile"):
            content = (await probe.get(READ, path=path)).get("content")  # the client's files may be elsewhere
    finally:
        _remove(path)
    if content != "größe\n":
        raise Failed(f"what was written is {content!r}", *probe.link.heard[-1:])


@FILES.scenario("outside", rule="R-152", level="should", page="session-setup")
async def outside(probe: ClientProbe) -> None:
    """A file outside of the session's directory is not read."""
    probe.offered("fs.readTextFile")
    reply = await probe.call(READ, path="/etc/passwd" if sys.platform != "win32" else "C:\\Windows\\win.ini")
    if not reply.is_error and as_object(reply.result).get("content"):
        raise Failed("a file outside of the session's directory was read", reply.request)


@FILES.scenario("relative", rule="R-020", level="should", page="overview")
async def relative(probe: ClientProbe) -> None:
    """A relative path is refused."""
    probe.offered("fs.readTextFile")
    await probe.refused(READ, path="some/where.txt")


# -- terminals ---------------------------------------------------------------------------------


async def _create(probe: ClientProbe, script: str, **more: object) -> str:
    probe.offered("terminal")
    terminal = await probe.get("terminal/create", command=sys.executable, args=["-c", script], **more)
    id = terminal.get("terminalId")
    if not isinstance(id, str):
        raise Failed("terminal/create gave no id", *probe.link.heard[-1:])
    return id


@TERMINALS.scenario("not-offered", rule="R-340", level="should")
async def terminal_not_offered(probe: ClientProbe) -> None:
    """A client that does not offer terminals refuses to make one."""
    if probe.talk.client_can("terminal"):
        raise NotOffered("the client has terminals")
    await probe.refused("terminal/create", command="true")


@TERMINALS.scenario("output", rule="R-342", level="capability")
async def terminal_output(probe: ClientProbe) -> None:
    """The output of a command can be read."""
    id = await _create(probe, "print('papaya')")
    await probe.get("terminal/wait_for_exit", terminalId=id)
    output = await probe.get("terminal/output", terminalId=id)
    await probe.get("terminal/release", terminalId=id)
    if "papaya" not in str(output.get("output")):
        raise Failed("the output of a command is missing", *probe.link.heard[-2:])


@TERMINALS.scenario("at-once", rule="R-341", level="capability")
async def at_once(probe: ClientProbe) -> None:
    """Making a terminal does not wait for its command."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    id = await _create(probe, "import time; time.sleep(15)")
    took = loop.time() - began
    await probe.get("terminal/release", terminalId=id)
    if took > 10:
        raise Failed(f"terminal/create took {took:.0f} seconds", timing=True)


@TERMINALS.scenario("exit-code", rule="R-345", level="capability")
async def exit_code(probe: ClientProbe) -> None:
    """The exit code of a command is told."""
    id = await _create(probe, "raise SystemExit(7)")
    status = await probe.get("terminal/wait_for_exit", terminalId=id)
    await probe.get("terminal/release", terminalId=id)
    if status.get("exitCode") != 7:
        raise Failed("the exit code is not 7", *probe.link.heard[-2:])


@TERMINALS.scenario("running", rule="R-345", level="capability")
async def running(probe: ClientProbe) -> None:
    """The exit status is missing while the command runs."""
    id = await _create(probe, "import time; time.sleep(15)")
    output = await probe.get("terminal/output", terminalId=id)
    await probe.get("terminal/release", terminalId=id)
    if output.get("exitStatus") is not None:
        raise Failed("a command that runs has an exit status", *probe.link.heard[-2:])


@TERMINALS.scenario("kill", rule="R-344", level="capability")
async def kill(probe: ClientProbe) -> None:
    """A command that was killed has ended, and its terminal can still be asked."""
    id = await _create(probe, "import time; print('kept', flush=True); time.sleep(30)")
    await asyncio.sleep(0.3)
    await probe.get("terminal/kill", terminalId=id)
    await probe.get("terminal/wait_for_exit", terminalId=id)
    await probe.get("terminal/output", terminalId=id)
    await probe.get("terminal/release", terminalId=id)


@TERMINALS.scenario("release", rule="R-344", level="capability")
async def release(probe: ClientProbe) -> None:
    """A terminal that was released is gone."""
    id = await _create(probe, "pass")
    await probe.get("terminal/release", terminalId=id)
    await probe.refused("terminal/output", terminalId=id)


@TERMINALS.scenario("limit", rule="R-342", level="capability")
async def limit(probe: ClientProbe) -> None:
    """Output beyond the limit loses its beginning, and says so."""
    id = await _create(probe, "print('a' * 5000); print('z' * 50)", outputByteLimit=200)
    await probe.get("terminal/wait_for_exit", terminalId=id)
    output = await probe.get("terminal/output", terminalId=id)
    await probe.get("terminal/release", terminalId=id)
    text = str(output.get("output"))
    if len(text.encode()) > 200 or "zzz" not in text or output.get("truncated") is not True:
        raise Failed("the output was not cut at its beginning", *probe.link.heard[-2:-1])


@TERMINALS.scenario("whole-characters", rule="R-342", level="capability")
async def whole_characters(probe: ClientProbe) -> None:
    """Output that is cut is not cut inside a character."""
    script = "import sys; sys.stdout.buffer.write('€'.encode() * 500)"
    id = await _create(probe, script, outputByteLimit=100)
    await probe.get("terminal/wait_for_exit", terminalId=id)
    output = str((await probe.get("terminal/output", terminalId=id)).get("output"))
    await probe.get("terminal/release", terminalId=id)
    if output.strip("€") or len(output.encode()) > 100 or not output:
        raise Failed("the output was cut inside a character", *probe.link.heard[-2:-1])


@TERMINALS.scenario("environment", rule="R-341", level="capability")
async def environment(probe: ClientProbe) -> None:
    """A command has the variables that it was given."""
    env = [{"name": "CHECK_VALUE", "value": "papaya"}]
    id = await _create(probe, "import os; print(os.environ.get('CHECK_VALUE'))", env=env)
    await probe.get("terminal/wait_for_exit", terminalId=id)
    output = await probe.get("terminal/output", terminalId=id)
    await probe.get("terminal/release", terminalId=id)
    if "papaya" not in str(output.get("output")):
        raise Failed("the variables did not reach the command", *probe.link.heard[-2:])


@TERMINALS.scenario("unknown", rule="R-344", level="should")
async def unknown_terminal(probe: ClientProbe) -> None:
    """A terminal that does not exist is refused."""
    probe.offered("terminal")
    await probe.refused("terminal/output", terminalId="acpella-does-not-exist")


# -- forms -------------------------------------------------------------------------------------

FORM: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}


@FORMS.scenario("form-not-offered", rule="R-360", level="should")
async def form_not_offered(probe: ClientProbe) -> None:
    """A client that does not offer forms refuses one."""
    if probe.talk.client_can("elicitation.form"):
        raise NotOffered("the client has forms")
    await probe.refused("elicitation/create", mode="form", message="Who?", requestedSchema=FORM)


@FORMS.scenario("form", rule="R-367", level="capability")
async def form(probe: ClientProbe) -> None:
    """A form is answered: accepted, declined or cancelled."""
    probe.offered("elicitation.form")
    answer = await probe.get("elicitation/create", mode="form", message="Who?", requestedSchema=FORM)
    if answer.get("action") not in ("accept", "decline", "cancel"):
        raise Failed(f"a form was answered with {answer.get('action')!r}", *probe.link.heard[-1:])


@FORMS.scenario("unknown-mode", rule="R-360", level="should")
async def unknown_mode(probe: ClientProbe) -> None:
    """A question of an unknown kind is refused."""
    reply = await probe.call("elicitation/create", mode="acpella_mind_reading", message="Who?")
    accepted = as_object(reply.result).get("action") == "accept"
    if not reply.is_error and accepted:
        raise Failed("a question of an unknown kind was accepted", reply.request, reply)
