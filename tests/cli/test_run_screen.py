"""`acpella run` on a real terminal: what is on the screen in the end, and meanwhile."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.terminal import Terminal, acpella

AGENT = str(Path(__file__).parent / "show_agent.py")

Start = Callable[..., Terminal]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Start]:
    opened: list[Terminal] = []

    def start(*arguments: str, **options: object) -> Terminal:
        terminal = acpella("run", "-a", AGENT, *arguments, cwd=tmp_path, **options)  # type: ignore[arg-type]
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def finished(terminal: Terminal, code: int = 0) -> str:
    assert terminal.wait() == code, terminal.all()
    assert terminal.is_cooked()
    return terminal.all()


def test_markdown_is_drawn_and_nothing_is_written_twice(run: Start) -> None:
    """D10"""
    terminal = run("markdown", rows=8)  # smaller than the answer
    shown = finished(terminal)
    assert re.search(
        r"A heading\n\nSome bold words and code, with a link \(https://example.com/there\)\.\n\n"
        r" • first\n • second\n\n  def answer\(\):\n      return 42\n\n a +b *\n[ ─━]+\n 1 +2 *\n+The end\.",
        shown,
    ), shown
    assert bytes(terminal.raw).count(b"A heading") <= 3  # while it was live, and once for good


def test_tools_plan_and_usage(run: Start) -> None:
    """D2, FEATURES C9"""
    shown = finished(run("tools"))
    assert "✓ read Read notes  notes.txt" in shown
    assert "    17 - line 17\n    17 + line seventeen\n" in shown
    assert "… 9988 lines before" in shown and "output 10000" in shown and "output 9000" not in shown
    assert "✗ execute make test  failed" in shown
    assert "  ● look\n  ● change\n  ○ run" in shown
    assert "5.0k/200k (2 %)" in shown


def test_a_running_call_has_a_spinner_and_live_output(run: Start) -> None:
    """FEATURES C6, D5"""
    terminal = run("--yolo", "shell echo begun; sleep 60")
    terminal.see("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] execute echo begun; sleep 60")
    terminal.see("(?m)^    begun")
    terminal.see("[1-9].[0-9] s")  # the clock runs
    terminal.type("\x03")
    shown = finished(terminal, 130)
    assert "cancelled" in shown and "⠋" not in shown


def test_terminals_of_our_own_show_output_and_exit_code(run: Start) -> None:
    """R-347: also when they were released before the screen was drawn."""
    shown = finished(run("--yolo", "shell echo from the shell; exit 3"))
    assert "    from the shell\n" in shown and "exit 3" in shown


def test_whatever_an_agent_sends_is_told(run: Start) -> None:
    """A4, FEATURES C8; FIELD-NOTES 4: a terminal that the client never made."""
    shown = finished(run("several foreign things limit"))
    for text in (
        "✓ execute ls /nowhere  exit 3\n    no such directory\n",
        "[image image/png, 3.0 KB]",
        "[link b.txt, 2.0 KB: file:///a/b.txt]",
        "! Low on tokens  10 left",
        "boom: it broke",
        "· [novelty]",
        "[max_tokens]",
    ):
        assert text in shown


def test_an_agent_cannot_move_the_cursor_or_set_the_title(run: Start) -> None:
    terminal = run("nasty")
    shown = finished(terminal)
    assert "before after red done" in shown and "evil title" in shown
    assert terminal.screen.title == "" and b"\x1b[2J" not in terminal.raw


def test_nor_with_simple_output(run: Start) -> None:
    terminal = run("-o", "simple", "nasty")
    assert "before after red done" in finished(terminal)
    assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("columns", [20, 100])
def test_wide_characters_and_long_lines_fit_any_width(run: Start, columns: int) -> None:
    shown = finished(run("wide", columns=columns))
    assert shown.count("漢字かな交じり文") == 40 or columns == 20
    assert shown.replace("\n", "").count("x") == 3000


def test_code_longer_than_the_screen_goes_to_the_scrollback_line_by_line(run: Start) -> None:
    shown = finished(run("long", rows=10))
    numbers = [int(found) for found in re.findall(r"(?m)^  value_(\d+) = \1$", shown)]
    assert numbers == list(range(300))
    assert "After the code." in shown


def test_a_resize_in_the_middle_breaks_nothing(run: Start) -> None:
    terminal = run("slow", columns=100, rows=20)
    terminal.see(" 2 ")
    terminal.resize(30, 10)
    terminal.see(r"\b9\b")
    terminal.resize(80, 24)
    terminal.see(r"\b12\b")
    terminal.type("\x03")
    shown = finished(terminal, 130)
    assert re.search(r"(?s)\b9\b.*\b10\b.*\b11\b.*\b12\b", shown)


def test_colour_is_left_out_when_it_is_not_wanted(run: Start) -> None:
    coloured, plain = run("tools"), run("tools", NO_COLOR="1")
    finished(coloured)
    finished(plain)
    assert re.search(rb"\x1b\[[0-9;]*3[1-7]m", bytes(coloured.raw))
    assert not re.search(rb"\x1b\[[0-9;]*3[1-7]m", bytes(plain.raw))


def test_a_dumb_terminal_gets_lines(run: Start) -> None:
    terminal = run("tools", TERM="dumb")
    assert "[edit] Edit notes ✓ completed" in finished(terminal)
    assert b"\x1b" not in terminal.raw


def test_permissions_queue_and_are_chosen_by_kind(run: Start) -> None:
    """FIELD-NOTES 7, D4"""
    terminal = run("many")
    terminal.see(r"Question 0[^?]*Esc: no")
    terminal.type("a")
    terminal.see(r"Question 1[^?]*Esc: no")
    terminal.type("3")
    terminal.see(r"Question 2[^?]*Esc: no")
    terminal.type("\x1b")
    assert "answers: [True, False, False]" in finished(terminal, 10)


@pytest.mark.parametrize("columns", [30, 80])
def test_a_question_hides_nothing_beyond_the_edge(run: Start, columns: int) -> None:
    """Whoever says yes, or always, has seen what to."""
    terminal = run("trick", columns=columns, rows=60)
    shown = "".join(terminal.see("Esc: no").split())
    assert shown.count(";rm-rfeverything") == 3  # the question, and what both kinds of always stand for
    terminal.type("r")
    assert "allowed: False" in finished(terminal, 10)


def test_a_hundred_questions_at_once_are_all_cancelled_by_one_ctrl_c(run: Start) -> None:
    """D6, R-208"""
    terminal = run("many 100")
    terminal.see(r"Question 0[^?]*Esc: no")
    terminal.type("a")
    terminal.see(r"Question 1  \(\d+ more wait\)[^?]*Esc: no")
    terminal.type("\x03")
    assert "[cancelled]" in finished(terminal, 130)


def test_the_last_words_of_an_agent_that_dies_are_harmless(run: Start) -> None:
    """D8"""
    terminal = run("die")
    shown = finished(terminal, 4)
    assert "Goodbye\n" in shown
    joined = "".join(shown.split())  # a long command moves where the lines break
    assert "killedbySIGKILL" in joined and "lastwords" in joined
    assert terminal.screen.title == "" and b"]0;" not in terminal.raw


def test_what_is_no_message_gets_a_line_of_its_own(tmp_path: Path) -> None:
    """FIELD-NOTES 10: agents that log to stdout. What is only forgiven in a message is not told."""
    old = str(Path(__file__).parent / "old_agent.py")
    with acpella("run", "-a", old, "hi", cwd=tmp_path) as terminal:
        shown = finished(terminal)
    assert "by auto\n" in shown
    told = [line for line in shown.splitlines() if line.startswith("acpella: ")]
    assert len(told) == 2 and "a banner that" in told[0] and "a line of its log" in told[1]
    assert "auth" not in shown
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "run", "-v", "-a", old, "hi"], capture_output=True, text=True
    )
    assert ran.stdout.startswith("**by auto**\n")
    assert "a line of its log" in ran.stderr and "auth_methods" in ran.stderr
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "run", "-a", old, "flood"], capture_output=True, text=True
    )
    assert ran.stdout.startswith("**by auto**\n") and len(ran.stderr.splitlines()) < 20
    assert "more warnings; -v shows all" in ran.stderr


def test_a_form_is_filled_in_and_checked(run: Start) -> None:
    """R-360 ff.: forms of an elicitation"""
    terminal = run("form")
    for seen, typed in (
        ("Name:", "x\n"),
        ("at least 2 characters", "Nora\n"),
        (r"Size \[small\]:", "2\n"),
        ("Count:", "9\n"),
        ("at most 5", "3\n"),
        ("Sure y/n:", "y\n"),
        ("Parts", "1,Docs\n"),
        ("Note", "\n"),
    ):
        terminal.see(seen)
        terminal.type(typed)
    shown = finished(terminal).replace("\n", " ")
    assert (
        "form: accept {'name': 'Nora', 'size': 'large', 'count': 3, 'sure': True, 'parts': ['c', 'd']}"
        in shown
    )


@pytest.mark.parametrize("typed, action", [("!no\n", "decline"), ("\x04", "cancel")])
def test_a_form_is_declined_or_cancelled(run: Start, typed: str, action: str) -> None:
    terminal = run("form")
    terminal.see("Name:")
    terminal.type(typed)
    assert f"form: {action}" in finished(terminal)


def test_a_page_is_shown_and_opened_only_after_a_yes(run: Start, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    terminal = run("page", BROWSER=str(browser))
    terminal.see(r"https://example.com/login\n.*\[y/n\]")
    terminal.type("n")
    assert "page: decline" in finished(terminal) and not opened.exists()
    terminal = run("page", BROWSER=str(browser))
    terminal.see(r"\[y/n\]")
    terminal.type("y")
    assert "page: accept" in finished(terminal)
    assert opened.read_text(encoding="utf-8").strip() == "https://example.com/login"


def test_a_question_that_is_killed_leaves_the_terminal_as_it_was(run: Start) -> None:
    terminal = run("ask")
    terminal.see("Esc: no")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait() == 128 + signal.SIGTERM
    assert terminal.is_cooked()


def test_without_a_terminal_a_question_is_answered_no_visibly(tmp_path: Path) -> None:
    own = {name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "run", "-a", AGENT, "ask"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, **own},
    )
    assert "acpella: refused: Write notes.txt (--write allows edits, --yolo everything)" in ran.stderr
    assert "allowed: False" in ran.stdout and "\x1b" not in ran.stdout
