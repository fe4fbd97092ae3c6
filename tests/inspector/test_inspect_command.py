"""`acpella inspect`: between an editor and an agent, and at recordings."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import acpella
from acpella.inspector.html import as_html
from acpella.inspector.log import RecordingLog
from acpella.inspector.program import as_program, as_test
from acpella.inspector.taps import TappedProgram, live_taps, registered
from acpella.schema import RequestPermissionRequest

PATIENCE = 60

AGENT = """
import acpella

async def reply(turn):
    print("a stray line")
    async with turn.tool("Read a.txt", kind="read") as call:
        call.show("text </script><script>document.title='owned'</script>")
    yield f"You said: {turn.text}"

acpella.run(reply)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def inspect(*words: str, home: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "XDG_STATE_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "acpella", "inspect", *words],
        capture_output=True,
        text=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


@pytest.fixture
def recording(agent: Path, tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    command = [sys.executable, "-m", "acpella", "inspect", "-o", str(path), "--", str(agent)]
    assert acpella.ask(command, "hello").text == "You said: hello"
    return path


def test_an_editor_notices_nothing_and_the_conversation_is_there(recording: Path, tmp_path: Path) -> None:
    done = inspect(str(recording), "--rows", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "session/prompt" in done.stdout and "agent_message_chunk" in done.stdout
    assert oct(recording.stat().st_mode & 0o777) == "0o600"


def test_rows_as_json_fit_the_filter(recording: Path, tmp_path: Path) -> None:
    done = inspect(str(recording), "--rows", "--json", "--filter", "kind:res method:session/*", home=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["method"] for row in rows] == ["session/new", "session/prompt"]
    assert all(row["took"] >= 0 and row["pair"] > 0 for row in rows)


def test_a_wrong_filter_is_explained(recording: Path, tmp_path: Path) -> None:
    done = inspect(str(recording), "--rows", "--filter", "colour:red", home=tmp_path)
    assert done.returncode == 2
    assert "colour: is not a filter; there are method" in done.stderr


def test_a_filter_may_begin_with_a_minus(recording: Path, tmp_path: Path) -> None:
    ran = inspect(str(recording), "--rows", "--json", "--filter", "-kind:ntf -kind:event", home=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert {json.loads(line)["kind"] for line in ran.stdout.splitlines()} >= {"req", "res"}
    assert '"kind":"ntf"' not in ran.stdout
    assert inspect(str(recording), "--rows", "--filter=--", home=tmp_path).returncode == 0


def test_what_cannot_be_judged_is_not_called_good(tmp_path: Path) -> None:
    for content, view in (
        (b"", "--findings"),
        (b"garbage\n", "--findings"),
        (b"", "--rows"),
        (b"x\n", "--stats"),
    ):
        (tmp_path / "no.jsonl").write_bytes(content)
        ran = inspect(str(tmp_path / "no.jsonl"), view, home=tmp_path)
        assert ran.returncode == 2 and "no.jsonl holds no conversation" in ran.stderr


def test_json_wants_a_view(recording: Path, tmp_path: Path) -> None:
    ran = inspect(str(recording), "--json", home=tmp_path)
    assert ran.returncode == 2 and "--json goes with --rows" in ran.stderr


def test_findings_are_those_of_check_and_decide_the_exit_code(recording: Path, tmp_path: Path) -> None:
    clean = inspect(str(recording), "--findings", home=tmp_path)
    assert (clean.returncode, clean.stdout) == (0, "")
    lines = recording.read_text().splitlines()
    stray = json.dumps({"n": 99, "t": 0.5, "dir": "in", "text": "Debug: this is not a message"})
    recording.write_text("\n".join([*lines[:3], stray, *lines[3:]]) + "\n")
    done = inspect(str(recording), "--findings", "--json", home=tmp_path)
    assert done.returncode == 1
    finding = json.loads(done.stdout.splitlines()[0])
    assert finding["side"] == "agent" and finding["rows"] == [4] and finding["rule"].startswith("R-")


def test_the_recorded_conversation_as_a_program(recording: Path, tmp_path: Path) -> None:
    done = inspect(str(recording), "--python", home=tmp_path)
    program = tmp_path / "again.py"
    program.write_text(done.stdout)
    again = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert again.stdout == "You said: hello end_turn\n", again.stderr


def test_the_recorded_conversation_as_a_test(recording: Path, tmp_path: Path) -> None:
    done = inspect(str(recording), "--pytest", home=tmp_path)
    (tmp_path / "test_again.py").write_text(done.stdout)
    (tmp_path / "test_other.py").write_text(done.stdout.replace("You said: hello", "something else"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_again.py",
        "test_other.py",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert "1 failed, 1 passed" in ran.stdout and "'something else' in" in ran.stdout, ran.stdout


def test_a_program_ends_with_the_turn_that_was_chosen(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    lines = [{"acpella": 2, "id": "x", "started": "2026-11-16T06:00:00Z", "agent": {"command": ["a"]}}]
    for number, text in enumerate(('first"""', "second"), 1):
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}
        message = {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params}
        lines.append({"n": 2 * number, "t": number, "dir": "out", "msg": message})
        answer = {"jsonrpc": "2.0", "id": number, "result": {"stopReason": "end_turn"}}
        lines.append({"n": 2 * number + 1, "t": number, "dir": "in", "msg": answer})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first = as_test(path, last=2)
    assert "first" in first and "second" not in first and "end_turn" in first
    compile(first, "test_it.py", "exec")
    assert "second" in as_program(path, last=4)
    with pytest.raises(ValueError, match="no prompt to send again up to here"):
        as_test(path, last=1)


ASKS = """
import acpella

agent = acpella.Agent("asks")


@agent.on_prompt
async def reply(turn):
    async with turn.tool(turn.text, kind="execute", pending=True) as call:
        yield f"{turn.text}: {await turn.permit(call, turn.text)}."


agent.run()
"""


@pytest.mark.anyio
async def test_what_is_made_of_a_recording_answers_the_agent_as_it_was_answered(tmp_path: Path) -> None:
    asks, path, test = tmp_path / "asks.py", tmp_path / "talk.jsonl", tmp_path / "test_talk.py"
    asks.write_text(ASKS)
    command = [sys.executable, str(asks)]
    answers = {"one": "allow_once", "two": "reject_once", "three": "allow_once", "four": None}

    def answer(request: RequestPermissionRequest) -> str | None:
        kind = answers[request.tool_call.title or ""]
        return next((o.option_id for o in request.options if o.kind == kind), None)

    async with asyncio.timeout(PATIENCE):
        permissions = acpella.Permissions(ask=answer)
        async with acpella.connect(command, permissions=permissions, record=path) as agent:
            sessions = [await agent.new_session(tmp_path) for _ in range(2)]
            said = [
                (await sessions[number].prompt(text)).text
                for text, number in (("one", 0), ("two", 1), ("three", 0), ("four", 1))
            ]
    assert said[:3] == ["one: True.", "two: False.", "three: True."]

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=PATIENCE * 2)

    program = tmp_path / "program.py"
    program.write_text(as_program(path))
    assert [line.partition(".")[0] + "." for line in run(str(program)).stdout.splitlines()][:3] == [
        "one: True.",
        "three: True.",
        "two: False.",
    ]
    test.write_text(as_test(path))
    pytest_ = ["-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    assert "1 passed" in (ran := run(*pytest_)).stdout, ran.stdout
    other = tmp_path / "other.py"
    other.write_text(ASKS.replace("{turn.text}:", "{turn.text}, another says:"))
    ran = run(*pytest_, "--acp-agent", f"{sys.executable} {other}")
    assert "1 failed" in ran.stdout and "another says" in ran.stdout, ran.stdout


def test_a_recording_in_one_page_cannot_end_its_own_element(recording: Path) -> None:
    page = as_html(recording)
    assert page.count("<script") == page.count("</script>") == 2
    assert "default-src 'none'" in page and "unsafe" not in page.partition("</head>")[0]


def test_record_html_writes_the_same_page(recording: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "acpella", "record", "html", str(recording)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    out = recording.with_suffix(".html")
    assert out.read_text() == as_html(recording) and oct(out.stat().st_mode & 0o777) == "0o600"
    kept = recording.read_bytes()
    refused = subprocess.run([*command, "-o", str(recording)], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "would replace the recording" in refused.stderr
    assert recording.read_bytes() == kept


def damage(recording: Path) -> list[int]:
    """Put lines in between that nobody can read, and cut the last one off; gives their numbers."""
    lines = recording.read_bytes().splitlines()
    bad = [b"\x00\xff \x1b[2J", b'{"n":1,"dir":"sideways","msg":{}}', b"[]", b"[" * 100_000]
    recording.write_bytes(b"\n".join([*lines[:3], *bad, *lines[3:]])[:-9])
    return [*range(4, 8), len(lines) + len(bad)]


def test_of_a_damaged_recording_the_rest_is_shown_and_what_is_left_out_is_named(
    recording: Path, tmp_path: Path
) -> None:
    numbers = damage(recording)
    views = {"--rows": " damaged ", "--stats": "session/prompt", "--times": "end_turn", "--findings": ""}
    for view, word in views.items():
        done = inspect(str(recording), view, home=tmp_path)
        judged = 1 if view == "--findings" else 0  # what cannot be read was not judged
        assert done.returncode == judged and word in done.stdout, view
        for number in numbers:
            assert f"talk.jsonl, line {number} is left out: not " in done.stderr, view
        assert "\x1b" not in done.stdout + done.stderr, view


def test_a_damaged_recording_is_still_a_program_a_test_and_a_page(recording: Path, tmp_path: Path) -> None:
    program, test = as_program(recording), as_test(recording)
    damage(recording)
    assert (as_program(recording), as_test(recording)) == (program, test)
    assert "line 4: not JSON" in as_html(recording)


def test_a_file_that_is_no_recording_is_not_listed_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "garbage.jsonl"
    path.write_bytes(bytes(range(256)) * 100)
    done = inspect(str(path), "--findings", home=tmp_path)
    assert done.stderr.count("is left out") == 20 and "101 lines of garbage.jsonl are left out" in done.stderr
    path.write_text('{"acpella":99}\n')
    newer = inspect(str(path), "--stats", home=tmp_path)
    assert newer.returncode == 2 and "format 99" in newer.stderr


def test_nothing_to_look_at_says_what_to_do(tmp_path: Path) -> None:
    done = inspect(home=tmp_path)
    assert done.returncode != 0
    assert "Put `acpella inspect --` before the agent's command" in done.stderr
    missing = inspect(str(tmp_path / "none.jsonl"), "--rows", home=tmp_path)
    assert missing.returncode == 2
    assert f"there is no file {tmp_path / 'none.jsonl'}; name a recording" in missing.stderr
    folder = inspect(str(tmp_path), "--rows", home=tmp_path)
    assert folder.returncode == 2 and "is a directory, not a file" in folder.stderr


def test_taps_of_dead_programs_are_forgotten(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / "1.json").write_text("garbage")
    (tmp_path / "2.json").write_text(
        json.dumps({"pid": dead.pid, "command": ["x"], "path": "/x", "started": 1.0})
    )
    with registered(tmp_path, TappedProgram(os.getpid(), ["my-agent"], "/y", 2.0)):
        assert [tap.path for tap in live_taps(tmp_path)] == ["/y"]
    assert live_taps(tmp_path) == []


@pytest.mark.anyio
async def test_a_conversation_is_followed_while_it_runs(agent: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    command = [sys.executable, "-m", "acpella", "inspect", "-o", str(path), "--", str(agent)]
    async with acpella.connect(command) as connected:
        session = await connected.new_session(cwd=str(tmp_path))
        await session.prompt("one")
        log = RecordingLog(path)
        try:
            await _read_until(log, "session/prompt", 1)
            assert not log.ended
            await session.prompt("two")
            await _read_until(log, "session/prompt", 2)
        finally:
            log.close()


async def _read_until(log: RecordingLog, method: str, answers: int) -> None:
    async with asyncio.timeout(30):
        while sum(row.method == method and row.pair > 0 for row in log.rows) < answers:
            log.read_more()
            await asyncio.sleep(0.02)


def test_a_line_is_read_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    whole = json.dumps({"n": 1, "t": 0, "dir": "in", "text": "hi"})
    path.write_text(whole[:10])
    log = RecordingLog(path)
    try:
        assert log.read_more() == 0
        path.write_text(whole + "\n")
        assert log.read_more() == 1
        assert [row.preview for row in log.rows] == ["hi"]
    finally:
        log.close()


def test_an_answer_without_an_id_is_a_finding(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_text().splitlines()
    frame = {"n": 99, "t": 9.0, "dir": "in", "msg": {"jsonrpc": "2.0", "result": {"stopReason": "end_turn"}}}
    recording.write_text("\n".join([*lines[:-1], json.dumps(frame), lines[-1]]) + "\n")
    done = inspect(str(recording), "--findings", home=tmp_path)
    assert done.returncode == 1 and "messages.known-id (agent, must)" in done.stdout
    frame["msg"] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    recording.write_text("\n".join([*lines[:-1], json.dumps(frame), lines[-1]]) + "\n")
    assert "messages.known-id" not in inspect(str(recording), "--findings", home=tmp_path).stdout


def test_an_agent_is_not_plainly_blamed_for_what_was_left_out(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_text().splitlines()
    (opening,) = [number for number, line in enumerate(lines) if '"method":"session/new"' in line]
    lines[opening] = "\x00 not JSON"
    recording.write_text("\n".join(lines) + "\n")
    done = inspect(str(recording), "--findings", home=tmp_path)
    findings = [line for line in done.stdout.splitlines() if line.startswith("R-")]
    excuses = done.stdout.count("(perhaps only because lines before it cannot be read)")
    assert done.returncode == 1 and findings and excuses == len(findings), done.stdout
    as_json = inspect(str(recording), "--findings", "--json", home=tmp_path).stdout.splitlines()
    assert all(json.loads(line)["doubtful"] for line in as_json)
