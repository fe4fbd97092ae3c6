"""`acpella chat` on a real terminal: keys in, the screen out."""

import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_shell import alive

from cli.terminal import Terminal, acpella

AGENT = str(Path(__file__).parent / "show_agent.py")
ENTER, ALT_ENTER, CTRL_C, CTRL_D, SHIFT_TAB, ESC = "\r", "\x1b\r", "\x03", "\x04", "\x1b[Z", "\x1b"

Start = Callable[..., Terminal]

LATE_COMMANDS = """
import asyncio
from pathlib import Path

import acpella
from acpella.schema import AvailableCommand, AvailableCommandsUpdate

agent = acpella.Agent("late")
tasks = []


@agent.on_session
async def opened(session):
    async def announce():
        while not Path("announce").exists():
            await asyncio.sleep(0.05)
        command = AvailableCommand(name="history", description="What was said before")
        await session.update(AvailableCommandsUpdate(available_commands=[command]))

    tasks.append(asyncio.ensure_future(announce()))


@agent.on_prompt
async def reply(turn):
    yield turn.text


agent.run()
"""


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Start]:
    opened: list[Terminal] = []

    def start(*arguments: str, agent: str = AGENT, ready: str = "Small", **options: object) -> Terminal:
        terminal = acpella("chat", "-a", agent, *arguments, cwd=tmp_path, **options)  # type: ignore[arg-type]
        opened.append(terminal)
        if ready:
            terminal.see(ready)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def test_a_prompt_is_answered_and_ctrl_d_leaves(chat: Start) -> None:
    terminal = chat()
    terminal.type("hello there" + ENTER)
    shown = terminal.see(r"You said: hello there \[TextContent\]")
    assert "› hello there" in shown
    terminal.type(CTRL_D)
    assert terminal.wait() == 0
    assert terminal.is_cooked()
    assert b"\x1b[?2004l" in terminal.raw[-400:]  # pastes are no longer bracketed


def test_what_scrolled_away_was_written_once(chat: Start) -> None:
    terminal = chat(rows=12)
    terminal.type("markdown" + ENTER)
    terminal.see("The end.")
    terminal.type("tools" + ENTER)
    shown = terminal.see("All done.")
    for text in ("A heading", "Some bold words", "• second", "return 42", "make test", "output 9999"):
        assert len(re.findall(text, shown)) == 1, text


def test_a_permission_is_given_by_key(chat: Start) -> None:
    terminal = chat()
    terminal.type("ask" + ENTER)
    shown = terminal.see("Esc: no")
    assert "1 - quiet" in shown and "1 + LOUD" in shown and "4 R  Always reject" in shown
    terminal.type("a")
    terminal.see("allowed: True")
    terminal.type("ask 2" + ENTER)
    terminal.see("(?s)allowed: True.*Esc: no")
    terminal.type(ESC)
    terminal.see("allowed: False")


def test_what_is_being_typed_does_not_answer_a_question(chat: Start) -> None:
    terminal = chat()
    terminal.type("ask" + ENTER + "aA1y")
    terminal.see("Esc: no")
    terminal.type(ESC)
    terminal.see("allowed: False")
    terminal.see("› aA1y")


def test_ctrl_c_cancels_the_turn_and_gives_waiting_prompts_back(chat: Start) -> None:
    """D6"""
    terminal = chat()
    terminal.type("slow" + ENTER)
    terminal.see("I begin 0")
    terminal.type("next one" + ENTER)
    terminal.see("⏎ next one")
    terminal.type(CTRL_C)
    terminal.see(r"\[cancelled\]")
    terminal.see("› next one")
    terminal.type(ENTER)
    terminal.see("You said: next one")


def test_ctrl_c_at_a_question_cancels_the_turn(chat: Start) -> None:
    """R-208"""
    terminal = chat()
    terminal.type("ask" + ENTER)
    terminal.see("Esc: no")
    terminal.type(CTRL_C)
    terminal.see(r"\[cancelled\]")
    terminal.type("still here?" + ENTER)
    terminal.see("You said: still here")


def test_typing_while_the_agent_works_queues_the_next_prompt(chat: Start) -> None:
    terminal = chat()
    terminal.type("markdown" + ENTER + "second" + ENTER)
    shown = terminal.see("You said: second")
    assert shown.index("The end.") < shown.index("› second")


def test_ctrl_c_twice_leaves(chat: Start) -> None:
    terminal = chat()
    terminal.type(CTRL_C)
    terminal.see("Ctrl-C again, or Ctrl-D, leaves")
    terminal.type(CTRL_C)
    assert terminal.wait() == 0
    assert terminal.is_cooked()


def test_ctrl_d_during_a_turn_ends_the_agent_too(chat: Start) -> None:
    terminal = chat()
    terminal.type("stubborn" + ENTER)
    terminal.see("I wait.")
    terminal.type(CTRL_D)
    assert terminal.wait() == 0
    left = subprocess.run(["pgrep", "-s", str(terminal.process.pid)], capture_output=True, text=True)
    assert left.stdout == ""


def test_alt_enter_and_ctrl_j_make_new_lines_and_so_do_pastes(chat: Start) -> None:
    terminal = chat()
    terminal.type("one" + ALT_ENTER + "two\nthree\x1b[200~\rfour\rfive\x1b[201~" + ENTER)
    shown = terminal.see("You said: one")
    terminal.see(r"five \[TextContent\]")
    assert "› one\n  two\n  three\n  four\n  five\n" in shown


def test_shift_tab_cycles_modes_and_commands_change_them(chat: Start) -> None:
    terminal = chat()
    terminal.type(SHIFT_TAB)
    terminal.see("Plan · Small")
    terminal.type("/mode code" + ENTER)
    terminal.see("Code · Small")
    terminal.type("/model" + ENTER)
    terminal.see("which model")
    terminal.see("Esc: none")
    terminal.type("2")
    terminal.see("Code · Large")
    terminal.type("/option loud on" + ENTER + "/option" + ENTER)
    terminal.see("loud  Loud: on")
    terminal.see("Esc: none")
    terminal.type(CTRL_C)
    terminal.see(r"›\n.*Code · Large\s*\Z")
    terminal.type("/mode nonsense" + ENTER)
    terminal.see("no mode 'nonsense'; there are: code, plan, yolo")


def test_models_and_modes_of_older_agents(chat: Start) -> None:
    """FIELD-NOTES 3, 8, 10"""
    terminal = chat(agent=str(Path(__file__).parent / "old_agent.py"), ready="Ask · Automatic")
    terminal.type("/model big one" + ENTER)
    terminal.see("Ask · Big one")
    terminal.type(SHIFT_TAB)
    terminal.see("Do · Big one")
    terminal.type("hello" + ENTER)
    shown = terminal.see("✓ other t9")
    assert "by big" in shown and "a line of its log" in shown and "*" not in shown
    terminal.type("/sessions" + ENTER)
    terminal.see("old_agent.py does not list sessions")


def test_the_menu_offers_commands_and_files(chat: Start, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some notes", encoding="utf-8")
    terminal = chat()
    terminal.type("/hi")
    terminal.see("/history +What was said before")
    terminal.type("\t" + ENTER + ENTER)
    terminal.see("nothing much")
    terminal.type("read @not")
    terminal.see("(?m)^ +notes.txt")
    terminal.type("\t" + ENTER + ENTER)
    terminal.see(r"You said: read @notes.txt\s+some notes\s+\[TextContent, EmbeddedResource\]")


def test_commands_that_come_late_are_offered_to_somebody_who_types(chat: Start, tmp_path: Path) -> None:
    agent = tmp_path / "late.py"
    agent.write_text(LATE_COMMANDS, encoding="utf-8")
    terminal = chat(agent=str(agent), ready="late")
    terminal.type("/hi")
    terminal.see("› /hi")
    assert "/history" not in terminal.all()
    (tmp_path / "announce").touch()
    terminal.see("/history +What was said before")


def test_git_decides_which_files_are_offered(chat: Start, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("secret*\n", encoding="utf-8")
    for name in ("secret-plan.md", "open-plan.md"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    terminal = chat()
    terminal.type("@plan")
    assert "secret-plan" not in terminal.see("(?m)^ +open-plan.md")


def test_our_commands_do_not_hide_the_agents(chat: Start) -> None:
    terminal = chat()
    terminal.type("/help")
    terminal.see("/:help")  # the agent has told its commands
    terminal.type(ENTER)
    terminal.see("help of the agent")
    terminal.type("/:help" + ENTER)
    shown = terminal.see("Ctrl-D +leaves")
    assert "/:help" in shown and "/history" in shown and "/sessions" in shown


def test_a_shell_command_has_the_terminal_to_itself(chat: Start) -> None:
    terminal = chat()
    terminal.type("!test -t 0 && echo it is a $((6 * 7)); exit 3" + ENTER)
    terminal.see("it is a 42")
    terminal.see("(?m)^exit 3")
    terminal.type("!echo it is a $((6 * 8)); exec sleep 60" + ENTER)
    terminal.see("it is a 48")
    terminal.type(CTRL_C)
    terminal.see("ended by signal 2|exit 130")
    terminal.type("still here" + ENTER)
    terminal.see("You said: still here")


def test_a_crashed_agent_is_started_again_in_the_same_session(chat: Start) -> None:
    """A9, D8"""
    terminal = chat()
    terminal.type("remember me" + ENTER)
    terminal.see("You said: remember me")
    terminal.type("die" + ENTER)
    terminal.see("the agent ended: .*killed by SIGKILL|SIGKILL")
    terminal.see(r"\[Y/n\]")
    terminal.type(ENTER)
    terminal.see("runs again, in the same session")
    terminal.type("hello again" + ENTER)
    terminal.see("You said: hello again")


def test_a_session_is_resumed_with_what_was_said(chat: Start, tmp_path: Path) -> None:
    """C18"""
    first = chat()
    first.type("the first words" + ENTER)
    first.see("You said: the first words")
    first.type("/new" + ENTER)
    first.see("a new session")
    first.type("other words" + ENTER)
    first.see("You said: other words")
    first.type("/sessions" + ENTER)
    shown = first.see("Esc: none")
    number = re.search(r"(\d+)  the first words", shown)
    assert number is not None
    first.type(number[1])
    again = first.see(r"(?s)which session.*You said: the first words")
    assert "› the first words" in again.partition("which session")[2]


def test_a_session_is_resumed_from_the_command_line(chat: Start, tmp_path: Path) -> None:
    """D10, C18"""
    with acpella("run", "-a", AGENT, "--save-session", "id", "said before", cwd=tmp_path) as first:
        assert first.wait() == 0
    session_id = (tmp_path / "id").read_text(encoding="utf-8").strip()
    terminal = chat("--resume", session_id, "--mode", "plan", ready="Plan · Small")
    shown = terminal.see("You said: said before")
    assert "› said before" in shown


def test_answers_are_copied_and_conversations_written(chat: Start, tmp_path: Path) -> None:
    terminal = chat()
    terminal.type("hello" + ENTER + "/copy" + ENTER + "/export talk.md" + ENTER)
    terminal.see("wrote talk.md")
    answer = base64.b64encode(b"You said: hello [TextContent]")
    assert b"\x1b]52;c;" + answer + b"\x07" in terminal.raw
    text = (tmp_path / "talk.md").read_text(encoding="utf-8")
    assert text == "## User\n\nhello\n\n## Agent\n\nYou said: hello [TextContent]\n\n"


def test_the_history_is_kept_for_the_user_alone(chat: Start, tmp_path: Path) -> None:
    first = chat()
    first.type("to be remembered" + ENTER)
    first.see("You said: to be remembered")
    first.type(CTRL_D)
    first.wait()
    path = tmp_path / "acpella" / "chat-history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = chat()
    second.type("\x1b[A" + ENTER)
    second.see("You said: to be remembered")


@pytest.mark.parametrize("columns, rows", [(40, 12), (24, 6)])
def test_any_size_will_do(chat: Start, columns: int, rows: int) -> None:
    terminal = chat(ready="shower", columns=columns, rows=rows)
    terminal.type("wide" + ENTER)
    terminal.see("long line")
    terminal.type("tools" + ENTER)
    terminal.see("All done.")
    terminal.type("ask" + ENTER)
    terminal.see("Esc: no")
    terminal.type("r")
    terminal.see("allowed: False")


def test_the_terminal_may_change_its_size_in_the_middle(chat: Start) -> None:
    terminal = chat(columns=100, rows=30)
    terminal.type("slow" + ENTER)
    terminal.see("I begin 0 1")
    terminal.resize(50, 15)
    terminal.see(r"\b9\b")
    terminal.resize(120, 40)
    terminal.see(r"\b12\b")
    terminal.type(CTRL_C)
    terminal.see(r"\[cancelled\]")
    terminal.type("fine" + ENTER)
    terminal.see("You said: fine")


@pytest.mark.parametrize(
    "state, number", [("idle", signal.SIGHUP), ("turn", signal.SIGTERM), ("question", signal.SIGTERM)]
)
def test_a_kill_leaves_the_terminal_as_it_was(chat: Start, number: int, state: str) -> None:
    terminal = chat()
    if state == "turn":
        terminal.type("stubborn" + ENTER)
        terminal.see("I wait.")
    elif state == "question":
        terminal.type("ask" + ENTER)
        terminal.see("Esc: no")
    os.kill(terminal.process.pid, number)
    terminal.wait()
    assert terminal.is_cooked()


def test_no_colour_is_used_when_it_is_not_wanted(chat: Start) -> None:
    terminal = chat(NO_COLOR="1")
    terminal.type("tools" + ENTER)
    terminal.see("All done.")
    assert not re.search(rb"\x1b\[[0-9;]*3[1-7]m", bytes(terminal.raw))


def test_an_agent_cannot_move_the_cursor_or_set_the_title(chat: Start) -> None:
    terminal = chat()
    terminal.type("nasty" + ENTER)
    terminal.see("before after red done")
    terminal.see("✓ read ok")
    assert "owned" not in terminal.screen.title
    assert b"]0;" not in terminal.raw and b"\x1b[2J" not in terminal.raw


@pytest.mark.parametrize(
    "method, asked, typed, told",
    [
        ("web", "", "", "logged in"),
        ("term", r"Your name \(by hand\):", "Nora\n", "the agent runs"),
        ("key", "THE_KEY:", "s3cret\n", "Key: 6"),
    ],
)
def test_each_kind_of_login(chat: Start, method: str, asked: str, typed: str, told: str) -> None:
    """A12, FIELD-NOTES 11"""
    terminal = chat(agent=str(Path(__file__).parent / "login_agent.py"), ready="wants you to log in first")
    terminal.see("/login logs in")
    terminal.type(f"/login {method}" + ENTER)
    if asked:
        terminal.see(asked)
        terminal.type(typed)
    terminal.see("(?m)^logged in")
    terminal.type("hello" + ENTER)
    terminal.see("You are in.")
    terminal.see(told)
    assert "s3cret" not in terminal.all()


def test_without_its_libraries_chat_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['prompt_toolkit'] = None\n"
        f"from acpella.cli import main; sys.exit(main(['chat', '-a', {AGENT!r}]))"
    )
    with Terminal([sys.executable, "-c", code], cwd=tmp_path) as terminal:
        assert terminal.wait() == 2
        assert "chat needs prompt_toolkit: pip install 'acpella[standard]'" in terminal.all()


def test_without_a_terminal_chat_says_what_to_use() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "chat", "-a", AGENT], capture_output=True, text=True, input=""
    )
    assert ran.returncode == 2 and "`acpella run` does without" in ran.stderr


def test_an_agent_that_cannot_start_ends_the_chat_with_its_code(chat: Start) -> None:
    terminal = chat(agent=f"{sys.executable} -c 'raise SystemExit(7)'", ready="")
    assert terminal.wait() == 3
    shown = "".join(terminal.all().split())  # a long command moves where the lines break
    assert "exitedwithcode7" in shown and "(starting)" not in shown
    assert terminal.is_cooked()


def test_a_closed_window_cancels_the_turn_and_ends_the_agents_commands(chat: Start, tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    terminal = chat(agent=f"{sys.executable} {Path(__file__).parent / 'cli_agent.py'} {log}", ready="›")
    terminal.type("command" + ENTER)
    terminal.see("runs")
    notes = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (command,) = [int(text) for what, text, _ in notes if what == "pid"]
    terminal.process.send_signal(signal.SIGHUP)
    terminal.wait()
    assert '["cancelled", "command"' in log.read_text(encoding="utf-8")
    assert not alive(command) and not alive(notes[0][2])
