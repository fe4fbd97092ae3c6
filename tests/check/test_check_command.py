"""`acpella check` from outside: exit codes, what it prints and what it writes."""

import json
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from acpella.testing import ScriptedAgent, stall

HERE = Path(__file__).parent
SAMPLE = [sys.executable, str(HERE / "sample_agent.py")]


def check(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    return subprocess.run(
        [sys.executable, "-m", "acpella", "check", *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**clean, **(env or {})},
    )


def test_a_good_agent_is_reported_everywhere(tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "markdown", "badge")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    summary = tmp_path / "summary.md"
    only = ["--only", "sessions.new,initialize.version-1"]
    ran = check(*only, *options, "--", *SAMPLE, cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert ran.returncode == 0, ran.stderr
    assert "conforms: 2 of 2 musts hold" in ran.stdout
    report = json.loads(files["json"].read_text())
    assert report["format"] == 1 and report["conforms"] and report["peer"] == "sample 1.0"
    assert {entry["id"]: entry["outcome"] for entry in report["results"]} == {
        "sessions.new": "pass",
        "initialize.version-1": "pass",
    }
    assert ElementTree.parse(files["junit"]).getroot().attrib["failures"] == "0"
    assert json.loads(files["badge"].read_text())["message"] == "2/2 must"
    assert summary.read_text() == files["markdown"].read_text()
    assert "| must | 2 | 0 | 0 | 0 |" in summary.read_text()


def test_a_failure_shows_its_frames_and_how_to_repeat_it(tmp_path: Path) -> None:
    ran = check(
        "--only", "messages.zero-id", "--timeout", "1", "--", *SAMPLE, "messages.zero-id", cwd=tmp_path
    )
    assert ran.returncode == 1
    assert "FAIL messages.zero-id (must, R-010)" in ran.stdout
    assert '> {"jsonrpc":"2.0","id":0,"method":"initialize"' in ran.stdout
    again = next(line for line in ran.stdout.splitlines() if line.startswith("  again: "))
    assert "acpella check --only messages.zero-id -- " in again
    assert "does not conform" in ran.stdout


def test_a_baseline_says_what_is_expected_and_goes_stale(tmp_path: Path) -> None:
    broken = ["--only", "sessions.new", "--", *SAMPLE, "sessions.new"]
    assert check(*broken, cwd=tmp_path).returncode == 1
    wrote = check("--write-baseline", *broken, cwd=tmp_path)
    assert "wrote 1 expected failure to" in wrote.stderr
    assert wrote.returncode == 0 and "sessions.new" in (tmp_path / "acp-check.toml").read_text()
    expected = check(*broken, cwd=tmp_path)
    assert expected.returncode == 0 and "as expected: sessions.new" in expected.stdout
    assert expected.stdout.splitlines()[-1].startswith(
        "as expected: 0 of 1 must holds; of what counts, 1 failed"
    )
    stale = check("--only", "sessions.new", "--", *SAMPLE, cwd=tmp_path)
    assert stale.returncode == 1 and "stale: sessions.new is expected to fail" in stale.stdout


def test_the_other_exit_codes(tmp_path: Path) -> None:
    assert check(cwd=tmp_path).returncode == 2
    assert check("--only", "no-such-thing", "--", *SAMPLE, cwd=tmp_path).returncode == 2
    missing = check("no-such-file.jsonl", cwd=tmp_path)
    assert missing.returncode == 2 and "name a recording" in missing.stderr
    for option in ("--script", "--baseline"):
        missing = check(option, "no-such-file", "--", *SAMPLE, cwd=tmp_path)
        assert missing.returncode == 2 and "there is no file no-such-file; check the name" in missing.stderr
    misspelt = check("gemni", cwd=tmp_path)
    assert misspelt.returncode == 3 and "did you mean 'gemini'?" in misspelt.stderr
    assert "is a directory" in check(str(tmp_path), cwd=tmp_path).stderr
    (tmp_path / "bad.toml").write_text('[wrong]\nx = "y"\n')
    assert check("--baseline", "bad.toml", "--", *SAMPLE, cwd=tmp_path).returncode == 2
    assert check("--", "no-such-program-anywhere", cwd=tmp_path).returncode == 3
    died = check("--", sys.executable, "-c", "print('a banner')", cwd=tmp_path)
    assert died.returncode == 3 and "exited with code 0" in died.stderr
    answer = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'
    other = check(
        "--", sys.executable, "-c", f"input(); print('{answer}', flush=True); input()", cwd=tmp_path
    )
    assert other.returncode == 4 and "version 2" in other.stderr


def test_a_set_that_does_not_exist_is_told_before_the_agent_starts(tmp_path: Path) -> None:
    agent = [sys.executable, "-c", f"open({str(tmp_path / 'started')!r}, 'w')"]
    ran = check("--set", "v9", "--", *agent, cwd=tmp_path)
    assert ran.returncode == 2 and "no set 'v9'" in ran.stderr
    assert not (tmp_path / "started").exists()


def test_a_recording_of_a_newer_format_is_a_wrong_file(tmp_path: Path) -> None:
    (tmp_path / "future.jsonl").write_text('{"acpella": 999}\n')
    ran = check("future.jsonl", cwd=tmp_path)
    assert ran.returncode == 2 and "999" in ran.stderr


def test_a_check_that_judged_nothing_does_not_say_that_the_agent_conforms(tmp_path: Path) -> None:
    ran = check("--only", "elicitation.declined", "--", *SAMPLE, cwd=tmp_path)  # no prompt for it
    assert ran.returncode == 0 and ran.stdout.endswith("nothing that counts was judged\n")


def test_a_check_without_a_terminal_says_how_far_it_is(tmp_path: Path) -> None:
    only = ["--only", "sessions.new,initialize.version-1", "--json", "--"]
    ran = check(*only, *SAMPLE, cwd=tmp_path)
    assert sorted(line.split()[2] for line in ran.stderr.splitlines()) == ["initialize", "sessions"]
    assert ran.stderr.startswith("acpella: checks ") and " of 2)" in ran.stderr
    assert json.loads(ran.stdout)["conforms"]


def test_a_report_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    agent = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    for option in ("--json", "--junit", "--markdown", "--badge"):
        ran = check(option, "nowhere/report", "--", *agent, cwd=tmp_path)
        assert ran.returncode == 2 and f"there is no directory {tmp_path / 'nowhere'}" in ran.stderr
    assert not marker.exists()


def test_an_agent_is_named_as_for_a_run(tmp_path: Path) -> None:
    program = "import acpella\n\nasync def reply(turn):\n    yield turn.text\n\n"
    (tmp_path / "agent.py").write_text(program + 'if __name__ == "__main__":\n    acpella.run(reply)\n')
    for target in ("agent.py", "agent.py:reply"):
        ran = check("--only", "initialize.version-1", target, cwd=tmp_path)
        assert ran.returncode == 0 and "1 of 1 must holds" in ran.stdout, ran.stderr


def test_the_built_in_agent_passes_and_nothing_is_left_in_its_store(tmp_path: Path) -> None:
    """Its sessions belong to one process at a time: a new one can load them when the old one has ended."""
    data = tmp_path / "data"
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data), "ACPELLA_STORE": ""}
    env = {name: value for name, value in {**os.environ, **home}.items() if value}
    words = ["check", "--only", "stored.load,stored.load-after-restart", "--json", "--", "-m", "acpella"]
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", *words[:-2], sys.executable, *words[-2:], "agent"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=env,
    )
    outcomes = {entry["id"]: entry["outcome"] for entry in json.loads(ran.stdout)["results"]}
    assert outcomes == {"stored.load": "pass", "stored.load-after-restart": "pass"}, ran.stdout
    assert list(data.rglob("*.db")) == []


def test_the_sample_passes_everything_over_stdio_with_sessions_on_a_disk(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    env = {"SAMPLE_SESSIONS": str(sessions)}
    ran = check("--only", "stored", "--json", "--", *SAMPLE, cwd=tmp_path, env=env)
    outcomes = {entry["id"]: entry["outcome"] for entry in json.loads(ran.stdout)["results"]}
    assert ran.returncode == 0 and outcomes["stored.load-after-restart"] == "pass"
    assert {*outcomes.values()} <= {"pass", "not-applicable", "unproved"}, outcomes


def test_a_recommendation_counts_when_it_is_asked_for(tmp_path: Path) -> None:
    id = "stored.load-after-restart"
    ran = check("--only", id, "--", *SAMPLE, id, cwd=tmp_path)
    assert ran.returncode == 1 and f"{id} fails" in ran.stderr
    assert check("--only", "stored", "--", *SAMPLE, id, cwd=tmp_path).returncode == 0


def test_a_recording_is_judged(tmp_path: Path) -> None:
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    frames = [
        {"acpella": 2, "point": "tap"},
        {"n": 1, "t": 0, "dir": "out", "msg": first},
        {"n": 2, "t": 1, "dir": "in", "text": "Debug: hi"},
        {"n": 3, "t": 1, "dir": "in", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}},
    ]  # fmt: skip
    talk = tmp_path / "talk.jsonl"
    talk.write_text("".join(json.dumps(frame) + "\n" for frame in frames) + '{"cut')
    ran = check(str(talk), cwd=tmp_path)
    assert ran.returncode == 1
    assert "FAIL messages.json (must, R-003)" in ran.stdout and "Debug: hi" in ran.stdout
    assert "line 5 is left out" in ran.stderr


def test_an_anonymized_recording_of_a_good_talk_has_no_failure(tmp_path: Path) -> None:
    recorded = [sys.executable, "-m", "acpella", "record", "-o", str(tmp_path / "talk.jsonl"), "--anonymize"]
    where = tmp_path / "project"
    where.mkdir()
    only = ["--only", "sessions.new"]
    assert check(*only, "--", *recorded, "--", *SAMPLE, cwd=where).returncode == 0
    ran = check("talk.jsonl", cwd=tmp_path)
    assert '"cwd":"<cwd' in (tmp_path / "talk.jsonl").read_text(encoding="utf-8")
    assert ran.returncode == 1 and "FAIL" not in ran.stdout
    assert ran.stdout.count("not proved to conform: ") == 2 and "and nothing failed, but" in ran.stdout


def test_an_agent_with_a_banner_and_garbage_is_judged_all_the_same(tmp_path: Path) -> None:
    program = tmp_path / "loud.py"
    program.write_text(
        "import runpy, sys\n"
        "sys.stdout.buffer.write(b'Welcome!\\n\\x00\\xff\\xfe\\n')\n"
        "sys.stdout.buffer.flush()\n"
        f"sys.argv = [{SAMPLE[1]!r}]\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        f"runpy.run_path({SAMPLE[1]!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    only = ["--only", "sessions.new,messages.json"]
    ran = check(*only, "--json", "out.json", "--", sys.executable, str(program), cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert {entry["id"]: entry["outcome"] for entry in report["results"]} == {
        "sessions.new": "pass",
        "messages.json": "fail",
    }


def test_an_agent_that_never_answers_did_not_start(tmp_path: Path) -> None:
    silent = ScriptedAgent().on_start(stall())
    ran = check("--timeout", "0.5", "--", *silent.command, cwd=tmp_path)
    assert ran.returncode == 3
    assert "does not answer initialize" in ran.stderr and "within 5 seconds" in ran.stderr


SAYS = "import sys, json; line = sys.stdin.readline(); m = json.loads(line); "
ANSWER = "a = {'jsonrpc': '2.0', 'id': m['id'], 'result': {'protocolVersion': 1}}; "
WAIT = "; sys.stdout.flush(); sys.stdin.read()"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("a['id'] = '1'; print(json.dumps(a))", ['the id "1", and the request has 1', "messages.known-id"]),
        ("a['id'] = 99; print(json.dumps(a))", ["the id 99, and the request has 1", "messages.known-id"]),
        ("print(json.dumps(a, indent=1))", ["over 7 lines", "messages.json"]),
        (r"d = json.dumps(a); print(f'Content-Length: {len(d)}\r\n\r\n{d}')", ["Content-Length header"]),
        ("print(line)", ["sends back the request", "messages.method-known"]),
        (r"print('y\n' * 2000)", ["1000 lines without an answer", "It wrote y and y and more"]),
    ],
    ids=["id-as-text", "other-id", "pretty", "framed", "echo", "flood"],
)
def test_what_an_agent_writes_instead_of_an_answer_is_named_at_once(
    tmp_path: Path, lines: str, told: list[str]
) -> None:
    program = [sys.executable, "-c", SAYS + ANSWER + lines + WAIT]
    ran = check("--timeout", "1000", "--", *program, cwd=tmp_path)  # it would wait for long
    assert ran.returncode == 3 and "does not answer initialize" in ran.stderr
    assert [part for part in told if part not in ran.stderr] == [], ran.stderr
    assert "within" not in ran.stderr


def test_what_came_before_an_agent_was_given_up_is_shown_without_what_a_terminal_obeys(
    tmp_path: Path,
) -> None:
    for lines, told in (
        (r"print('\x1b[2Jhi token=abcdefgh')", "; it wrote \ufffd[2Jhi token=***"),
        ("sys.stdout.write(json.dumps(a))", "; it wrote a line without an end, {"),
        ("0", "; it wrote nothing to its stdout"),
    ):
        program = [sys.executable, "-c", SAYS + ANSWER + lines + WAIT]
        ran = check("--timeout", "0.5", "--", *program, cwd=tmp_path)
        assert ran.returncode == 3 and told in ran.stderr, ran.stderr
    refuses = "print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': {'code': -1, 'message': 'no'}}))"
    ran = check("--", sys.executable, "-c", SAYS + refuses + WAIT, cwd=tmp_path)
    assert ran.returncode == 3 and 'answered initialize with an error: {"jsonrpc"' in ran.stderr


def test_an_agent_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    """It answers nothing but `initialize`: each wait has an end, and what was not answered fails."""
    silent = ScriptedAgent().on_request("session/new", stall())
    options = ["--timeout", "1", "--only", "sessions.new,messages.zero-id", "--json", "out.json"]
    ran = check(*options, "--", *silent.command, cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert {entry["id"]: entry["outcome"] for entry in report["results"]} == {
        "sessions.new": "fail",
        "messages.zero-id": "pass",
    }


def test_an_agent_that_dies_at_once_or_forks_away_did_not_start(tmp_path: Path) -> None:
    for lines, told in (
        ("print('no', file=sys.stderr); sys.exit(7)", "exited with code 7"),
        ("os.fork() and os._exit(0); os.close(0); os.close(1); os.close(2)", "exited with code 0"),
    ):
        ran = check("--", sys.executable, "-c", f"import os, sys; {lines}", cwd=tmp_path)
        assert ran.returncode == 3
        assert told in ran.stderr


PROMPTED = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    match message.get("method"):
        case "initialize":
            reply["result"] = {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            reply["result"] = {"sessionId": f"s-{message['id']}"}
        case "session/prompt":
            PROMPT
            reply["result"] = {"stopReason": "end_turn"}
            del reply["id"]
        case _:
            reply["error"] = {"code": -32601, "message": "Method not found"}
    if "id" in message:
        print(json.dumps(reply), flush=True)
"""


def outcomes(path: Path, outcome: str) -> dict[str, str]:
    results = json.loads(path.read_text())["results"]
    return {entry["id"]: entry["message"] for entry in results if entry["outcome"] == outcome}


def test_an_answer_without_an_id_is_shown_and_no_other_must_is_accused_of_it(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PROMPTED.replace("PROMPT\n", "pass\n"))
    options = ["--only", "messages,prompt", "--json", "out.json"]
    ran = check(*options, "--", sys.executable, str(tmp_path / "agent.py"), cwd=tmp_path)
    assert ran.returncode == 1
    failed = outcomes(tmp_path / "out.json", "fail")
    assert failed["messages.known-id"].startswith("a response has no id")
    assert [id for id in failed if id.startswith("prompt.")] == []
    assert "see messages.known-id" in outcomes(tmp_path / "out.json", "unproved")["prompt.text"]
    report = json.loads((tmp_path / "out.json").read_text())
    (broken,) = [entry for entry in report["results"] if entry["id"] == "messages.known-id"]
    assert broken["frames"] == ['< {"jsonrpc": "2.0", "result": {"stopReason": "end_turn"}}']


def test_a_first_answer_without_an_id_is_named_at_once(tmp_path: Path) -> None:
    program = [sys.executable, "-c", SAYS + ANSWER + "del a['id']; print(json.dumps(a))" + WAIT]
    ran = check("--timeout", "1000", "--", *program, cwd=tmp_path)
    assert ran.returncode == 3 and "a response without an id (messages.known-id" in ran.stderr


def test_an_agent_that_answers_no_prompt_is_given_up_after_a_few(tmp_path: Path) -> None:
    sends = "open('prompts', 'a').write('x'); continue\n"
    (tmp_path / "agent.py").write_text(PROMPTED.replace("PROMPT\n", sends))
    options = ["--timeout", "1", "--only", "prompt,cancel,initialize", "--json", "out.json"]
    ran = check(*options, "--", sys.executable, str(tmp_path / "agent.py"), cwd=tmp_path)
    assert ran.returncode == 1
    failed = outcomes(tmp_path / "out.json", "fail")
    assert "within 2 seconds" in failed.pop("prompt.text")
    assert [text for text in failed.values() if "session/prompt" in text] == []
    assert "no more prompts were sent, as the first 3 had no answer" in ran.stdout
    unproved = outcomes(tmp_path / "out.json", "unproved")
    assert "the first 3 had no answer" in unproved["cancel.mid-turn"]
    assert "see prompt.text" in unproved["initialize.few-words"]


def test_a_report_does_not_replace_the_recording_or_another_report(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    recording.write_text('{"acpella":2}\n')
    (tmp_path / "link.jsonl").symlink_to(recording)
    for option in ("--json", "--junit", "--markdown", "--badge"):
        ran = check("talk.jsonl", option, "link.jsonl", cwd=tmp_path)
        assert ran.returncode == 2
        assert f"{option} would replace link.jsonl, which is what is checked; name another file" in ran.stderr
    assert recording.read_text() == '{"acpella":2}\n'
    ran = check("--json", "out", "--junit", "./out", "--", *SAMPLE, cwd=tmp_path)
    assert ran.returncode == 2 and "which is the file of --json" in ran.stderr
    (tmp_path / "words.txt").write_text("hello\n")
    ran = check("--script", "words.txt", "--badge", "words.txt", "--", *SAMPLE, cwd=tmp_path)
    assert ran.returncode == 2 and (tmp_path / "words.txt").read_text() == "hello\n"


def test_a_selection_that_leaves_nothing_is_no_success(tmp_path: Path) -> None:
    ran = check("--only", "cancel", "--skip", "cancel", "--", *SAMPLE, cwd=tmp_path)
    assert ran.returncode == 2 and "leave nothing that an agent is judged by" in ran.stderr
    ran = check("--only", "cancel", "--client", cwd=tmp_path)
    assert ran.returncode == 2 and "leave nothing that a client is judged by" in ran.stderr
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    line = json.dumps({"n": 1, "t": 0, "dir": "out", "msg": hello})
    (tmp_path / "talk.jsonl").write_text('{"acpella":2}\n' + line + "\n")
    ran = check("--only", "cancel.mid-turn", "talk.jsonl", cwd=tmp_path)
    assert ran.returncode == 2 and "leave nothing that a recording is judged by" in ran.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_check_that_is_stopped_says_how_far_it_was(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    words = [sys.executable, "-m", "acpella", "check", "--json", "out.json", "--", *SAMPLE]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # the run may ignore it
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert "checks " in first
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert re.search(r"stopped at \d+ of \d+; no report was written", told), told
    assert not (tmp_path / "out.json").exists()


def test_a_placeholder_that_nothing_is_put_in_for_is_refused(tmp_path: Path) -> None:
    for prompt, told in (
        ('read = "Read {files}."', "read: nothing is put in for {files}; this prompt can have {file}, {cwd}"),
        ('hello = "Hi {cwd}"', "nothing is put in for {cwd}; this prompt has no placeholders"),
    ):
        (tmp_path / "acp-check.toml").write_text(f"[profile]\n{prompt}\n")
        ran = check("--", *SAMPLE, cwd=tmp_path)
        assert ran.returncode == 2 and told in ran.stderr


def test_a_url_without_an_agent_is_not_said_to_have_a_stdout(tmp_path: Path) -> None:
    ran = check("http://127.0.0.1:9/wrong", cwd=tmp_path)
    assert ran.returncode == 3 and "cannot reach http://127.0.0.1:9/wrong" in ran.stderr
    assert "stdout" not in ran.stderr
    ran = check("ftp://example.org", cwd=tmp_path)
    assert ran.returncode == 2 and "begin with http://, https://, ws://, wss://" in ran.stderr


@pytest.mark.parametrize("options", ["--list", "--only initialize.version-1 --json - --"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, options: str) -> None:
    words = [sys.executable, "-m", "acpella", "check", *options.split()]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out:
        sample = [] if options == "--list" else SAMPLE
        ran = subprocess.run([*words, *sample], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, timeout=60)
    assert b"Errno" not in ran.stderr and b"BrokenPipe" not in ran.stderr, ran.stderr


FALLS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") == 0:
        sys.exit("I have no number 0")
    known = message.get("method") == "initialize"
    result = {"result": {"protocolVersion": 1}} if known else {"error": {"code": -32601, "message": "no"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **result}), flush=True)
"""


def test_an_agent_that_ends_instead_of_answering_is_said_to_have_ended(tmp_path: Path) -> None:
    """It was said that no answer had that id, and its last words were nowhere."""
    (tmp_path / "falls.py").write_text(FALLS, encoding="utf-8")
    ran = check("--only", "messages.zero-id", "--", sys.executable, "falls.py", cwd=tmp_path)
    assert ran.returncode == 1 and "I have no number 0" in ran.stdout, ran.stdout
