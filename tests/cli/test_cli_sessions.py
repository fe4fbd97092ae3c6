"""Sessions that stay alive between prompts, as several shells use them."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from cli_shell import EXAMPLES, HERE, Shell, alive

from leftovers import below


def pid_in(ran: "subprocess.CompletedProcess[str]") -> str:
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.rsplit(" by ", 1)[1].strip()


# -- finding them -----------------------------------------------------------------------------------


def test_a_named_session_is_warm_for_the_next_prompt(shell: Shell) -> None:
    first = shell("run", "-a", shell.scripted, "-s", "work", "one")
    second = shell("run", "-s", "work", "two")
    assert pid_in(first) == pid_in(second)
    assert shell.events() == [("begin", "one"), ("end", "one"), ("begin", "two"), ("end", "two")]


def test_continue_finds_the_last_session_from_anywhere_in_the_repository(shell: Shell) -> None:
    deep = shell.repo / "a" / "b"
    deep.mkdir(parents=True)
    assert "prompt 1" in shell("run", "-a", str(EXAMPLES / "sessions.py"), "first").stdout
    assert "prompt 2" in shell("run", "-c", "second", cwd=deep).stdout
    assert "prompt 3" in shell("run", "--continue", "third").stdout


def test_listing_commands_leaves_no_session_to_go_on_with(shell: Shell) -> None:
    assert "/history" in shell("run", "-a", str(EXAMPLES / "sessions.py"), "--list-commands").stdout
    assert shell("run", "-c", "hi").returncode == 2


def test_another_repository_has_sessions_of_its_own(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    ran = shell("run", "-c", "two", cwd=other)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"no session in {other} yet" in ran.stderr


def test_without_git_the_directory_is_the_repository(shell: Shell, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    assert shell("run", "-a", shell.scripted, "-s", "x", "one", cwd=plain).returncode == 0
    assert shell("run", "-c", "two", cwd=plain).returncode == 0
    assert shell("run", "-c", "two", cwd=plain / "sub").returncode == 2


def test_new_begins_afresh_under_the_name(shell: Shell) -> None:
    agent = str(EXAMPLES / "sessions.py")
    assert "prompt 1" in shell("run", "-a", agent, "-s", "work", "one").stdout
    assert "prompt 1" in shell("run", "-a", agent, "-s", "work", "--new", "one again").stdout
    assert "prompt 2" in shell("run", "-s", "work", "two").stdout
    names = [row["name"] for row in json.loads(shell("sessions", "list", "--json").stdout)]
    assert names == ["work", None]


def test_a_name_belongs_to_one_agent(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    ran = shell("run", "-a", str(EXAMPLES / "echo.py"), "-s", "work", "two")
    assert ran.returncode == 2
    assert "belongs to cli_agent.py" in ran.stderr and "--new" in ran.stderr


def test_resume_by_id_goes_to_the_process_that_has_the_session(shell: Shell) -> None:
    first = shell("run", "-a", shell.scripted, "-s", "work", "--save-session", "id", "one")
    session_id = (shell.repo / "id").read_text(encoding="utf-8").strip()
    assert pid_in(first) == pid_in(shell("run", "-a", shell.scripted, "--resume", session_id, "two"))


@pytest.mark.parametrize(
    "words, message",
    [
        (["-c", "-s", "x", "hi"], "exclude each other"),
        (["--new", "hi"], "--new goes with --session"),
        (["--no-wait", "hi"], "--no-wait needs a session"),
        (["-s", "", "hi"], "a session's name has"),
    ],
)
def test_options_that_make_no_sense_together(shell: Shell, words: list[str], message: str) -> None:
    ran = shell("run", *words)
    assert ran.returncode == 2 and message in ran.stderr


def test_secrets_of_a_command_are_not_kept(shell: Shell) -> None:
    agent = f"{shell.scripted} --api-key=hunter2hunter2"
    assert shell("run", "-a", agent, "-s", "work", "one", env={"TOKEN": "swordfish99"}).returncode == 0
    for path in shell.state.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            assert b"hunter2hunter2" not in text and b"swordfish99" not in text, path
    assert shell("run", "-s", "work", "two").returncode == 0  # the daemon still knows
    shell("sessions", "close", "work")
    ran = shell("run", "-s", "work", "three")
    assert ran.returncode == 2 and "name it again with --agent" in ran.stderr
    assert shell("run", "-a", agent, "-s", "work", "three").returncode == 0


# -- several shells -----------------------------------------------------------------------------------


def test_a_prompt_of_another_shell_waits_for_its_turn(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = shell.start("run", "-a", shell.scripted, "-s", "work", f"wait {gate}")
    shell.until_event("begin", f"wait {gate}")
    second = shell.start("run", "-s", "work", "second")
    assert second.stderr is not None
    assert "waiting for 1 prompt before this one" in second.stderr.readline()
    assert ("begin", "second") not in shell.events()
    gate.touch()
    out, _ = first.communicate(timeout=60)
    other, _ = second.communicate(timeout=60)
    assert out.startswith("waiting\n") and "second" not in out
    assert other.startswith("second by ")  # nothing of the first turn
    assert [what for what, _ in shell.events()] == ["begin", "end", "begin", "end"]


def test_twenty_shells_at_once_share_one_agent_and_take_turns(shell: Shell) -> None:
    shells = [shell.start("run", "-a", shell.scripted, "-s", "crowd", f"n{i}") for i in range(20)]
    answers = []
    for number, process in enumerate(shells):
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
        assert out.startswith(f"n{number} by ")
        answers.append(out.rsplit(" ", 1)[1])
    assert len(set(answers)) == 1
    assert len(shell.addresses()) == 1
    events = shell.events()
    assert len(events) == 40
    for begin, end in zip(events[::2], events[1::2], strict=True):  # never two at a time
        assert (begin[0], end[0]) == ("begin", "end") and begin[1] == end[1]


def test_a_prompt_can_be_left_and_its_answer_is_kept(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    ran = shell("run", "-a", shell.scripted, "-s", "work", "--no-wait", f"wait {gate}")
    assert (ran.returncode, ran.stdout) == (0, "")
    ran = shell("run", "-s", "work", "--no-wait", "behind it")
    assert "queued, 1 before it" in ran.stderr
    (status,) = json.loads(shell("status", "--json").stdout)
    assert f"wait {gate}".startswith(status["running"]["prompt"].rstrip("…"))
    assert [waiting["prompt"] for waiting in status["queue"]] == ["behind it"]
    gate.touch()
    shell.until(lambda: len(json.loads(shell("status", "--json").stdout)[0]["left"]) == 2, "both are done")
    (status,) = json.loads(shell("status", "--json").stdout)
    assert [left["stopReason"] for left in status["left"]] == ["end_turn", "end_turn"]
    assert status["left"][1]["text"].startswith("behind it by ")


def test_what_was_left_may_do_what_its_sender_allowed(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "--no-wait", f"write {shell.repo / 'no.txt'}")
    shell("run", "-s", "work", "--write", "--no-wait", f"write {shell.repo / 'yes.txt'}")
    shell.until(lambda: len(json.loads(shell("status", "--json").stdout)[0]["left"]) == 2, "both are done")
    assert (shell.repo / "yes.txt").read_text(encoding="utf-8") == "written"
    assert not (shell.repo / "no.txt").exists()


def test_the_agent_hears_what_each_prompt_allows(shell: Shell) -> None:
    """Capabilities are told once (R-101), so an agent that can resume is started again for other ones."""
    path = shell.repo / "note.txt"
    assert shell("run", "-a", shell.scripted, "-s", "work", f"write {path}").returncode == 8
    assert not path.exists()
    assert shell("run", "-s", "work", "--write", f"write {path}").returncode == 0
    assert path.read_text(encoding="utf-8") == "written"


def test_questions_go_to_whoever_sent_the_prompt(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "hello")
    refused = shell("run", "-s", "work", "ask deploy")
    assert "not allowed" in refused.stdout and "refused: Do deploy" in refused.stderr
    allowed = shell("run", "-s", "work", "--yolo", "ask deploy")
    assert "not allowed" not in allowed.stdout and "allowed" in allowed.stdout


# -- cancelling ----------------------------------------------------------------------------------------


def test_cancel_reaches_a_turn_of_another_shell(shell: Shell, tmp_path: Path) -> None:
    first = shell.start("run", "-a", shell.scripted, "-s", "work", f"wait {tmp_path / 'never'}")
    shell.until_event("begin", f"wait {tmp_path / 'never'}")
    second = shell.start("run", "-s", "work", "second")
    assert second.stderr is not None and "waiting" in second.stderr.readline()
    ran = shell("cancel", "-s", "work")
    assert ran.returncode == 0 and "cancelled work" in ran.stderr
    first.communicate(timeout=60)
    out, _ = second.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (130, 0)
    assert out.startswith("second by ")
    assert "nothing runs in this repository" in shell("cancel").stderr
    assert "nothing runs in work" in shell("cancel", "-s", "work").stderr


def test_cancel_all_takes_the_queue_along(shell: Shell, tmp_path: Path) -> None:
    first = shell.start("run", "-a", shell.scripted, "-s", "work", f"wait {tmp_path / 'never'}")
    shell.until_event("begin", f"wait {tmp_path / 'never'}")
    second = shell.start("run", "-s", "work", "second")
    assert second.stderr is not None and "waiting" in second.stderr.readline()
    assert "and 1 that waited" in shell("cancel", "--all").stderr
    for process in (first, second):
        process.communicate(timeout=60)
        assert process.returncode == 130
    assert ("begin", "second") not in shell.events()


def test_ctrl_c_cancels_ones_own_prompt_alone(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = shell.start("run", "-a", shell.scripted, "-s", "work", f"wait {gate}")
    shell.until_event("begin", f"wait {gate}")
    second = shell.start("run", "-s", "work", "second")
    assert second.stderr is not None and "waiting" in second.stderr.readline()
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=60)
    assert second.returncode == 130
    gate.touch()
    assert first.communicate(timeout=60)[1] == ""
    assert first.returncode == 0
    assert ("begin", "second") not in shell.events() and ("cancelled", f"wait {gate}") not in shell.events()


def test_the_turn_of_a_client_that_vanishes_is_cancelled(shell: Shell, tmp_path: Path) -> None:
    text = f"wait {tmp_path / 'never'}"
    first = shell.start("run", "-a", shell.scripted, "-s", "work", text)
    shell.until_event("begin", text)
    first.kill()
    first.communicate(timeout=60)
    shell.until_event("cancelled", text)
    assert shell("run", "-s", "work", "next").stdout.startswith("next by ")


# -- trouble ---------------------------------------------------------------------------------------------


def test_a_daemon_that_is_killed_leaves_no_agent_and_the_session_goes_on(
    shell: Shell, tmp_path: Path
) -> None:
    text = f"wait {tmp_path / 'never'}"
    first = shell.start("run", "-a", shell.scripted, "-s", "work", text)
    shell.until_event("begin", text)
    address = shell.address()
    os.kill(address["pid"], signal.SIGKILL)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 4 and "background process hung up" in err
    second = shell("run", "-s", "work", "after it")
    assert second.stdout.startswith("after it by "), second.stderr
    assert not alive(address["agent_pid"])
    assert "> after it" in shell("sessions", "show", "work").stdout


@pytest.mark.parametrize("guarded", [True, False])
def test_an_agent_that_ignores_the_end_of_its_daemon_ends_with_its_commands(
    shell: Shell, guarded: bool
) -> None:
    """At once, or with the next command if the guard was killed, too."""
    first = shell.start("run", "-a", shell.scripted, "-s", "work", "stubborn sleep 600")
    shell.until(lambda: "pid" in dict(shell.events()), "the command's start")
    command = int(dict(shell.events())["pid"])
    address = shell.address()
    if not guarded:
        for child in below(address["pid"]):
            if child.command.startswith("/bin/sh"):
                os.kill(child.pid, signal.SIGKILL)
    os.kill(address["pid"], signal.SIGKILL)
    first.communicate(timeout=60)
    if not guarded:
        assert alive(address["agent_pid"]) and alive(command)
        shell("status")
    shell.until(lambda: not alive(address["agent_pid"]) and not alive(command), "the end of both")
    shell("status")
    assert shell.addresses() == []


def test_a_crash_shows_exit_code_and_stderr_and_the_queue_goes_on(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    shell("run", "-a", shell.scripted, "-s", "work", "hello")
    first = shell.start("run", "-s", "work", f"wait {gate}")
    shell.until_event("begin", f"wait {gate}")
    dying = shell.start("run", "-s", "work", "die")
    assert dying.stderr is not None and "waiting for 1" in dying.stderr.readline()
    third = shell.start("run", "-s", "work", "third")
    assert third.stderr is not None and "waiting for 2" in third.stderr.readline()
    gate.touch()
    first.communicate(timeout=60)
    _, err = dying.communicate(timeout=60)
    assert dying.returncode == 4
    assert "exited with code 7" in err and "something broke inside" in err and "agents doctor" in err
    out, err = third.communicate(timeout=30)
    assert third.returncode == 0, err
    assert out.startswith("third by ")


def test_after_a_crash_the_next_prompt_resumes_the_session(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "hello")
    assert shell("run", "-s", "work", "die").returncode == 4
    ran = shell("run", "-s", "work", "again")
    assert ran.stdout.startswith("again by "), ran.stderr
    assert "> hello" in shell("sessions", "show", "work").stdout


def test_an_agent_that_cannot_resume_works_while_it_lives_and_says_so_afterwards(shell: Shell) -> None:
    first = shell("run", "-a", shell.forgetful, "-s", "work", "one")
    assert pid_in(first) == pid_in(shell("run", "-s", "work", "two"))
    shell("sessions", "close", "work")
    ran = shell("run", "-s", "work", "three")
    assert ran.returncode == 6
    assert "can neither load nor resume sessions" in ran.stderr and "--new" in ran.stderr
    assert shell("run", "-a", shell.forgetful, "-s", "work", "--new", "four").returncode == 0


@pytest.mark.parametrize(
    "agent, code, message",
    [
        ("no-such-command-at-all", 3, "command not found"),
        ("sh -c 'echo oh dear >&2; exit 9'", 3, "exited with code 9"),
    ],
)
def test_an_agent_that_does_not_start(shell: Shell, agent: str, code: int, message: str) -> None:
    ran = shell("run", "-a", agent, "-s", "work", "hi")
    assert ran.returncode == code and message in ran.stderr
    assert shell("run", "-a", shell.scripted, "-s", "work", "hi").returncode == 0  # the name is still free


def test_an_agent_that_wants_a_login(shell: Shell) -> None:
    agent = f"{shell.scripted} --login"
    ran = shell("run", "-a", agent, "-s", "work", "hi")
    assert ran.returncode == 5 and "key (API key)" in ran.stderr
    assert shell("run", "-a", agent, "-s", "work", "hi", env={"SCRIPTED_KEY": "x"}).returncode == 0


def test_a_stale_address_and_socket_are_cleaned(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    (path,) = shell.addresses()
    kept = path.read_bytes()
    shell("sessions", "close", "work")
    path.write_bytes(kept)
    Path(json.loads(kept)["socket"]).parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(json.loads(kept)["socket"])  # nobody listens
    assert shell("run", "-s", "work", "two").returncode == 0


def test_the_files_are_for_the_user_alone(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    daemons = shell.state / "daemons"
    assert daemons.stat().st_mode & 0o777 == 0o700
    files = [shell.state / "sessions.json", *daemons.iterdir()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    assert Path(shell.address()["socket"]).is_socket()


def test_a_long_path_to_the_state_directory(shell: Shell, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    shell.env["XDG_STATE_HOME"] = str(deep)
    shell.state = deep / "acpella"
    assert shell("run", "-a", shell.scripted, "-s", "work", "one").returncode == 0
    assert shell("run", "-s", "work", "two").returncode == 0
    assert len(shell.address()["socket"]) < 100


def test_the_runtime_directory_of_the_system_is_used(shell: Shell) -> None:
    with tempfile.TemporaryDirectory(prefix="run-") as runtime:  # a short path, as the system's is
        shell("run", "-a", shell.scripted, "-s", "work", "one", env={"XDG_RUNTIME_DIR": runtime})
        assert shell.address()["socket"].startswith(runtime)
        assert shell("run", "-s", "work", "two").returncode == 0  # found without that variable
        assert len(shell.addresses()) == 1
        shell("sessions", "close", "work")


def test_an_idle_daemon_ends_by_itself(shell: Shell) -> None:
    idle = {"ACPELLA_DAEMON_IDLE": "0.1"}
    shell("run", "-a", shell.scripted, "-s", "work", "one", env=idle)
    shell.until(lambda: not shell.addresses(), "the daemon's end")
    assert shell("run", "-s", "work", "two", env=idle).returncode == 0
    ran = shell("run", "-s", "work", "three", env={"ACPELLA_DAEMON_IDLE": "soon"})
    assert ran.returncode == 2 and "ACPELLA_DAEMON_IDLE must be a number of seconds" in ran.stderr
    ran = shell("run", "-s", "work", "four", env={"ACPELLA_OWNER_IDLE": "later"})  # its name of old
    assert ran.returncode == 2 and "ACPELLA_OWNER_IDLE must be a number of seconds" in ran.stderr


def test_jsonl_of_a_kept_session_is_plain_acp(shell: Shell) -> None:
    """D11"""
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    ran = shell("run", "-s", "work", "-o", "jsonl", "two")
    frames = [json.loads(line) for line in ran.stdout.splitlines()]
    asked = [f["method"] for f in frames if "method" in f and "id" in f]
    assert asked == ["initialize", "session/resume", "session/prompt"]
    assert frames[-1]["result"] == {"stopReason": "end_turn"}


class Raw:
    """A client of a daemon, frame by frame."""

    def __init__(self, shell: Shell) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(shell.address()["socket"])
        self._reading = self._socket.makefile("r", encoding="utf-8")
        self.send(id=0, method="initialize", params={"protocolVersion": 1})
        self.session_id = self.read()["result"]["_meta"]["acpella.daemon"]["sessionId"]

    def send(self, **frame: Any) -> None:
        self._socket.sendall(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def prompt(self, number: int, text: str) -> None:
        params = {"sessionId": self.session_id, "prompt": [{"type": "text", "text": text}]}
        self.send(id=number, method="session/prompt", params=params)

    def read(self) -> dict[str, Any]:
        return json.loads(self._reading.readline())

    def until(self, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while not true(frame := self.read()):
            pass
        return frame

    def close(self) -> None:
        self._reading.close()
        self._socket.close()


@pytest.fixture
def raw(shell: Shell) -> Generator[Raw, None, None]:
    shell("run", "-a", shell.scripted, "-s", "work", "hello")
    client = Raw(shell)
    yield client
    client.close()


def test_a_full_queue_is_an_error_of_its_own(shell: Shell, raw: Raw, tmp_path: Path) -> None:
    raw.prompt(1, f"wait {tmp_path / 'never'}")
    raw.until(lambda frame: frame.get("method") == "session/update")
    for number in range(2, 66):
        raw.prompt(number, "x")
        assert raw.read()["method"] == "_daemon/queued"
    ran = shell("run", "-s", "work", "one too many")
    assert ran.returncode == 9 and "64 prompts wait already" in ran.stderr
    raw._socket.sendall(b"this is no JSON\n")
    assert raw.read()["error"]["code"] == -32700
    assert "and 64 that waited" in shell("cancel", "--all").stderr
    answers = {raw.until(lambda frame: "id" in frame)["result"]["stopReason"] for _ in range(65)}
    assert answers == {"cancelled"}


def test_a_question_that_waits_is_answered_when_the_turn_is_cancelled(shell: Shell, raw: Raw) -> None:
    """D6, R-208: by the daemon, should the client not do it."""
    raw.prompt(1, "ask deploy")
    raw.until(lambda frame: frame.get("method") == "session/request_permission")
    assert "cancelled work" in shell("cancel").stderr
    assert raw.until(lambda frame: frame.get("id") == 1)["result"] == {"stopReason": "cancelled"}


def test_a_client_that_vanishes_with_a_question_open_holds_nobody_up(shell: Shell, raw: Raw) -> None:
    raw.prompt(1, "ask deploy")
    raw.until(lambda frame: frame.get("method") == "session/request_permission")
    raw.close()
    assert shell("run", "-s", "work", "next").stdout.startswith("next by ")


def test_an_answer_to_a_question_of_others_is_not_passed_on(shell: Shell, raw: Raw) -> None:
    other = Raw(shell)
    raw.prompt(1, "ask deploy")
    asked = raw.until(lambda frame: frame.get("method") == "session/request_permission")
    allow = next(o["optionId"] for o in asked["params"]["options"] if o["kind"] == "allow_once")
    answer = {"outcome": {"outcome": "selected", "optionId": allow}}
    other.send(id=asked["id"], result=answer)
    other.send(id=7, method="_daemon/status", params={})
    assert other.until(lambda frame: frame.get("id") == 7)["result"]["running"]["prompt"] == "ask deploy"
    other.close()
    raw.send(id=asked["id"], result=answer)
    told = raw.until(lambda frame: "allowed" in json.dumps(frame))
    assert "not allowed" not in json.dumps(told)


def test_asking_for_the_status_keeps_nobody_alive(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "one", env={"ACPELLA_DAEMON_IDLE": "2"})

    def gone() -> bool:
        shell("status")
        return not shell.addresses()

    shell.until(gone, "the daemon's end")


def test_a_daemon_that_is_stuck_is_noticed_and_can_be_ended(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "one")
    address = shell.address()
    os.kill(address["pid"], signal.SIGSTOP)
    ran = shell("run", "-s", "work", "two")
    assert ran.returncode == 3 and "acpella status --stop" in ran.stderr
    assert "ended work" in shell("status", "--stop").stderr
    shell.until(lambda: not alive(address["pid"]) and not alive(address["agent_pid"]), "their end")
    assert shell("run", "-s", "work", "two").returncode == 0


def test_a_prompt_that_was_left_is_told_of_even_if_its_agent_dies(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "--no-wait", "die")
    shell.until(lambda: not shell.addresses(), "the end of the daemon")
    (told,) = json.loads(shell("status", "--json").stdout)
    assert told["left"][0]["prompt"] == "die" and "exited with code 7" in told["left"][0]["error"]


def test_prompts_that_were_left_are_told_of_when_the_session_is_closed(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "--no-wait", "wait never")
    shell("run", "-s", "work", "--no-wait", "behind it")
    shell.until_event("begin", "wait never")
    assert "ended work" in shell("sessions", "close", "work").stderr
    (told,) = json.loads(shell("status", "--json").stdout)
    assert {(left["prompt"], left["stopReason"]) for left in told["left"]} == {
        ("wait never", "cancelled"),
        ("behind it", "cancelled"),
    }


def test_what_a_kept_agent_prints_is_told_to_whom_it_concerns(shell: Shell) -> None:
    """FIELD-NOTES 10"""
    old = str(HERE / "old_agent.py")
    first = shell("run", "-s", "work", "-a", old, "one")
    told = [line for line in first.stderr.splitlines() if "not a message" in line]
    assert len(told) == 2 and "a banner that" in told[0] and "a line of its log" in told[1]
    second = shell("run", "-s", "work", "two")
    assert [line for line in second.stderr.splitlines() if "not a message" in line] == told[1:]


# -- commands with an agent of their own ------------------------------------------------------------


def test_a_single_prompt_is_seen_and_cancelled_from_another_shell(shell: Shell) -> None:
    running = shell.start("run", "-a", shell.scripted, "wait never")
    shell.until_event("begin", "wait never")
    (told,) = json.loads(shell("status", "--json").stdout)
    assert told["pid"] == running.pid and told["running"]["prompt"] == "wait never"
    assert shell("cancel").stderr.startswith("acpella: cancelled ")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130 and "[cancelled]" in out + err
    assert ("cancelled", "wait never") in shell.events()
    assert shell.addresses() == [] and "nothing runs or waits here" in shell("status").stderr


def test_a_prompt_waits_for_a_single_one_that_has_the_session(shell: Shell) -> None:
    flag = shell.repo / "go"
    first = shell.start("run", "-a", shell.scripted, f"wait {flag}")
    shell.until_event("begin", f"wait {flag}")
    left = shell("run", "-c", "--no-wait", "never")
    assert left.returncode != 0 and f"open in `acpella run` (process {first.pid}); close that" in left.stderr
    second = shell.start("run", "-c", "second")
    assert second.stderr is not None and "this prompt waits for its end" in second.stderr.readline()
    flag.touch()
    first.communicate(timeout=60)
    assert first.returncode == 0
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0 and "second by" in out, err
    assert [text for what, text in shell.events() if what == "begin"] == [f"wait {flag}", "second"]


def test_the_time_limit_covers_the_wait_for_a_single_prompt(shell: Shell) -> None:
    """It began anew for the prompt: two seconds of waiting and two of work are more than three."""
    first_ends, second_ends = shell.repo / "first", shell.repo / "second"
    first = shell.start("run", "-a", shell.scripted, f"wait {first_ends}")
    shell.until_event("begin", f"wait {first_ends}")
    second = shell.start("run", "-c", "--timeout", "3", f"wait {second_ends}")
    assert second.stderr is not None and "this prompt waits for its end" in second.stderr.readline()
    time.sleep(2)
    first_ends.touch()
    first.communicate(timeout=60)
    time.sleep(2)
    second_ends.touch()
    _, err = second.communicate(timeout=60)
    assert second.returncode == 7 and "--timeout" in err


def test_prompts_that_wait_for_a_single_one_are_seen_and_cancelled(shell: Shell) -> None:
    first = shell.start("run", "-a", shell.scripted, "wait never")
    shell.until_event("begin", "wait never")
    waiting = [shell.start("run", "-c", text) for text in ("second", "third")]

    def queue() -> set[str]:
        (told,) = json.loads(shell("status", "--json").stdout)
        return {entry["prompt"] for entry in told["queue"]}

    shell.until(lambda: queue() == {"second", "third"}, "both wait")
    assert "cancelled" in (said := shell("cancel", "--all").stderr) and "2 that waited" in said
    for process in waiting:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and "cancelled while it waited" in err
    first.communicate(timeout=60)
    assert first.returncode == 130
    assert [text for what, text in shell.events() if what == "begin"] == ["wait never"]


def test_a_killed_command_leaves_its_session_to_others(shell: Shell) -> None:
    first = shell.start("run", "-a", shell.scripted, "wait never")
    shell.until_event("begin", "wait never")
    agent = shell.address()["agent_pid"]
    first.kill()
    first.communicate(timeout=60)
    ran = shell("run", "-c", "second")
    assert ran.returncode == 0 and "second by" in ran.stdout, ran.stderr
    shell.until(lambda: not alive(agent), "the end of the agent of before")


def test_a_command_can_be_stopped_from_another_shell(shell: Shell) -> None:
    running = shell.start("run", "-a", shell.scripted, "wait never")
    shell.until_event("begin", "wait never")
    agent = shell.address()["agent_pid"]
    assert "ended " in shell("status", "--stop").stderr
    _, err = running.communicate(timeout=60)
    assert running.returncode == 143 and not alive(agent)
    assert "ended from another shell" in err


def test_a_replay_behind_the_answer_to_a_load_is_shown_whole_and_not_as_an_answer(
    shell: Shell, tmp_path: Path
) -> None:
    """The daemon of a session loads it for an agent that was started again."""
    agent = tmp_path / "late.py"
    agent.write_text(
        """
import json, sys, time
def tell(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def say(text):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    tell(method="session/update", params={"sessionId": "s-1", "update": update})
for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    elif method == "session/new":
        result = {"sessionId": "s-1"}
    elif method == "session/load":
        say("old one, ")
    elif method == "session/prompt":
        say("new")
        result = {"stopReason": "end_turn"}
    if "id" in message and method:
        tell(id=message["id"], result=result)
    if method == "session/load":
        for text in ("old two, ", "old three"):
            time.sleep(0.02)
            say(text)
""",
        encoding="utf-8",
    )
    assert shell("run", "-a", str(agent), "-s", "work", "-o", "simple", "hi").stdout.strip() == "new"
    assert (
        shell("sessions", "close", "work").returncode == 0
    )  # what it has heard itself, it would tell itself
    shown = shell("sessions", "show", "work").stdout
    assert "old one, old two, old three" in shown
    for words in (["--write"], []):  # the agent hears anew what it may do
        ran = shell("run", "-s", "work", *words, "-o", "simple", "hi")
        assert ran.stdout.strip() == "new", ran.stderr
    assert shell("sessions", "close", "work").returncode == 0
    assert shell("run", "-s", "work", "-o", "simple", "hi").stdout.strip() == "new"
