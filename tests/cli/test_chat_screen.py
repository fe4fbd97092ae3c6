"""What a person sees of a chat, in the details that were wrong once."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_shell import Shell
from terminal import acpella

from acpella.cli.terminal.markdown import Block, render

HERE = Path(__file__).parent
RAW = f"{sys.executable} {HERE / 'raw_agent.py'}"
CALL = {"toolCallId": "c1", "title": "Write notes", "kind": "edit"}


def test_line_breaks_of_an_answer_are_kept() -> None:
    rows = render(Block("roses are red\nviolets are **blue**\n\n- one\n  more\n- two"), 40, colour=False)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", row).strip() for row in rows]
    assert plain == ["roses are red", "violets are blue", "", "• one", "more", "• two"]


def test_the_status_line_has_the_agents_own_name_instead_of_the_scripts(shell: Shell) -> None:
    # wide enough for the directory, which is left out where it does not fit
    with acpella("chat", "-a", RAW, cwd=shell.repo, columns=200, **shell.env) as terminal:
        terminal.see("Raw Agent · ")
        assert "raw_agent.py" not in terminal.all()


def test_long_descriptions_of_commands_are_not_cut_in_the_help(shell: Shell) -> None:
    about = " ".join(f"word{n}" for n in range(40))
    commands = [
        ["say", "available_commands_update", {"availableCommands": [{"name": "x", "description": about}]}]
    ]
    with acpella("chat", "-a", RAW, cwd=shell.repo, columns=60, rows=40, **shell.env) as terminal:
        terminal.see("Raw Agent")
        terminal.type(json.dumps(commands) + "\r/:help\r/help\r")
        shown = terminal.see("word39")
        assert all(f"word{n}" in shown for n in range(40))


def test_a_turn_with_nothing_at_all_says_so_in_a_chat(shell: Shell) -> None:
    with acpella("chat", "-a", RAW, cwd=shell.repo, **shell.env) as terminal:
        terminal.see("Raw Agent")
        terminal.type("nothing\r")
        terminal.see("the agent ended its turn without saying or doing anything")


def test_a_write_that_was_allowed_in_a_chat_is_written(shell: Shell) -> None:
    notes = shell.repo / "notes.txt"
    asked = {**CALL, "locations": [{"path": str(notes)}]}
    steps = [["tool", CALL], ["ask", asked], ["write", "notes.txt", "loud"]]
    with acpella("chat", "-a", RAW, cwd=shell.repo, columns=200, **shell.env) as terminal:
        terminal.see("Raw Agent")
        terminal.type(json.dumps(steps) + "\r")
        terminal.see("Esc: no")
        assert "without --write" not in terminal.all()
        terminal.type("a")
        terminal.see("\nwritten")
        assert notes.read_text(encoding="utf-8") == "loud"
        # what was not asked about is asked about now, with all that would change
        terminal.type(json.dumps([["write", "notes.txt", "louder"]]) + "\r")
        terminal.see(r"\? edit Write (?s:.*)notes.txt(?s:.*)1 \+ louder(?s:.*)Esc: no")
        terminal.type("r")
        terminal.see("not written: the user does not want")
        assert notes.read_text(encoding="utf-8") == "loud"


def test_the_status_leaves_out_single_prompts_that_have_ended(shell: Shell) -> None:
    for number in range(3):
        shell("run", "-a", RAW, f"single {number}")
    ran = shell("status")
    assert ran.stdout == "" and "nothing runs or waits here" in ran.stderr
    assert json.loads(shell("status", "--json").stdout) == []
    shell("run", "-a", RAW, "-s", "kept", "hello")
    assert [line.split()[0] for line in shell("status").stdout.splitlines()] == ["kept"]


def test_the_doctor_tries_the_agent_in_the_current_directory(shell: Shell, tmp_path: Path) -> None:
    agent = tmp_path / "where.py"
    source = (HERE / "raw_agent.py").read_text(encoding="utf-8")
    note = 'case "session/new":\n            Path(__file__).with_suffix(".cwd").write_text(params["cwd"])'
    agent.write_text(source.replace('case "session/new":', note), encoding="utf-8")
    assert shell("agents", "doctor", str(agent)).returncode == 0
    assert (tmp_path / "where.cwd").read_text(encoding="utf-8") == str(shell.repo)


# -- a terminal that breaks rows which have become too long ------------------------------------------


class Tmux:
    """A window of tmux, which is made narrower while a program runs there."""

    def __init__(self, place: Path, command: str) -> None:
        self._tmux = ["tmux", "-S", str(place / "tmux"), "-f", "/dev/null"]
        self("new-session", "-d", "-x", "100", "-y", "30", command)

    def __call__(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def all(self) -> str:
        return self("capture-pane", "-p", "-S", "-500")

    def see(self, true: Callable[[str], object], what: str) -> str:
        deadline = time.monotonic() + 60
        while not true(shown := self.all()):
            assert time.monotonic() < deadline, f"never seen: {what}\n{shown}"
            time.sleep(0.05)
        return shown


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("name", ["chat", "run"])
def test_a_window_that_becomes_narrower_leaves_no_torn_copy(shell: Shell, tmp_path: Path, name: str) -> None:
    env = " ".join(f"{name}={shell.env[name]}" for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"))
    # the text stands still: tmux tells a program of its new size only some time after the rows were broken
    text = "I begin " + " ".join(map(str, range(60)))
    (shell.repo / "prompt").write_text(json.dumps([["text", text], ["until cancelled"]]), encoding="utf-8")
    program = f"{sys.executable} -m acpella {name} -a '{RAW}'" + (" --file prompt" if name == "run" else "")
    # on a full screen: of one that is not, tmux moves rows to its history that nobody can reach there
    tmux = Tmux(tmp_path, f"seq 1 60; cd {shell.repo} && env {env} {program}; sleep 60")
    try:
        if name == "chat":
            tmux.see(lambda shown: "Raw Agent" in shown, "the chat")
            tmux("send-keys", "-l", (shell.repo / "prompt").read_text(encoding="utf-8"))
            tmux("send-keys", "Enter")
        tmux.see(lambda shown: re.search("(?m)^I begin.*\n.* 59$", shown), "all of the text")
        for columns in (70, 45):
            tmux("resize-window", "-x", str(columns), "-y", "30")
            # exactly as acpella breaks it: what tmux makes of the rows before it is told can look much alike
            rows = "\n".join(textwrap.wrap(text, columns - 1))
            tmux.see(lambda shown, rows=rows: f"{rows}\n" in shown, "the text again")
        assert len(re.findall("(?m)^I begin", shown := tmux.all())) == 1, shown
    finally:
        tmux("kill-server")
