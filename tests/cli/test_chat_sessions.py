"""`acpella chat` in sessions that stay: by name, the last one, and together with other shells."""

from collections.abc import Callable, Iterator

import pytest
from cli_shell import HERE, Shell

from cli.terminal import Terminal, acpella

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"

Start = Callable[..., Terminal]


@pytest.fixture
def chat(shell: Shell) -> Iterator[Start]:
    opened: list[Terminal] = []

    def start(*words: str, ready: str = r"› *\n", **env: str) -> Terminal:
        terminal = acpella("chat", *words, cwd=shell.repo, **{**shell.env, **env})
        opened.append(terminal)
        if ready:
            terminal.see(ready)
            terminal.see(r"\(starting\)", gone=True)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def leave(terminal: Terminal) -> None:
    terminal.type(CTRL_D)
    assert terminal.wait() == 0


def test_a_named_session_is_the_same_in_chat_and_in_run(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted, "-s", "fix")
    terminal.see("scripted: fix")
    terminal.type("hello" + ENTER)
    terminal.see(r"hello by \d+")
    status = shell("status")
    assert "fix" in status.stdout
    again = shell("run", "-s", "fix", "--write", "-o", "simple", "from outside")  # a chat can write, too
    assert again.returncode == 0, again.stderr
    assert len({pid for _, _, pid in shell.notes()}) == 1  # one agent for both
    leave(terminal)
    assert len(shell.addresses()) == 1  # the session stays
    second = chat("-s", "fix")
    second.see(r"(?s)hello by \d+.*from outside by \d+")
    leave(second)


def test_prompts_of_other_shells_and_of_the_chat_wait_for_each_other(shell: Shell, chat: Start) -> None:
    flag = shell.repo / "go"
    terminal = chat("-a", shell.scripted, "-s", "fix")
    other = shell.start("run", "-s", "fix", f"wait {flag}")
    shell.until_event("begin", f"wait {flag}")
    terminal.type("mine" + ENTER)
    terminal.see("waiting for 1 prompt before this one")
    flag.touch()
    other.communicate(timeout=90)
    terminal.see(r"mine by \d+")
    terminal.type(f"wait {shell.repo / 'never'}" + ENTER)
    shell.until_event("begin", f"wait {shell.repo / 'never'}")
    assert shell("cancel", "-s", "fix").returncode == 0
    terminal.see("cancelled|stopped")
    leave(terminal)


def test_a_chat_can_be_continued_by_chat_and_by_run(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted)
    terminal.type("remember me" + ENTER)
    terminal.see(r"remember me by \d+")
    leave(terminal)
    assert shell.addresses() == []  # a plain chat has its agent for itself
    second = chat("--continue")
    second.see(r"remember me by \d+")  # told again
    second.type("and me" + ENTER)
    second.see(r"and me by \d+")
    leave(second)
    shown = shell("sessions", "list")
    assert "remember me" in shown.stdout
    third = shell("run", "-c", "-o", "simple", "again")
    assert third.returncode == 0 and third.stdout.startswith("again by")


def test_without_a_session_continue_says_so(shell: Shell, chat: Start) -> None:
    terminal = chat("-c", ready="")
    terminal.see(r"(?s)no session in .*yet\s+to\s+go\s+on\s+with")  # wherever the line breaks
    assert terminal.wait() == 2


def test_new_and_sessions_change_to_other_sessions_that_stay(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted, "-s", "fix")
    terminal.type("first one" + ENTER)
    terminal.see(r"first one by \d+")
    terminal.type("/new" + ENTER)
    terminal.see("a new session")
    terminal.type("second one" + ENTER)
    terminal.see(r"second one by \d+")
    assert len(shell.addresses()) == 2
    terminal.type("/sessions" + ENTER)
    terminal.see(r"(?s)which session\?.*first one")
    terminal.type("2")
    terminal.see(r"(?s)which session\?.*first one by \d+")  # told again
    leave(terminal)


def test_the_agent_of_a_kept_session_dies_and_comes_back(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted, "-s", "fix")
    terminal.type("die" + ENTER)
    terminal.see(r"(?s)the agent ended.*something broke inside.*go on\?")
    terminal.type("y")
    terminal.see("the agent runs again, in the same session")
    terminal.type("alive" + ENTER)
    terminal.see(r"alive by \d+")
    leave(terminal)


def test_no_agent_named_means_the_built_in_one(shell: Shell, chat: Start) -> None:
    terminal = chat()
    terminal.see("coder")
    leave(terminal)


def test_contradicting_options_are_refused(shell: Shell) -> None:
    for words in (["-c", "-s", "x"], ["--new"], ["--resume", "1", "-c"]):
        assert shell("chat", *words).returncode == 2


def test_always_is_remembered_between_chats(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted)
    terminal.type("ask deploy" + ENTER)
    shown = terminal.see("Esc: no")
    assert " A  " in shown
    terminal.type("A")
    terminal.see(r"allowed\n")
    leave(terminal)
    second = chat("-a", shell.scripted)
    second.type("ask deploy" + ENTER)
    shown = second.see(r"allowed\n")
    assert "Esc: no" not in shown
    leave(second)


@pytest.mark.parametrize(
    "method, asked, typed",
    [("web", "", ""), ("term", r"Your name \(by hand\):", "Nora\n"), ("key", "THE_KEY:", "s3cret\n")],
)
def test_each_kind_of_login_in_a_kept_session(
    shell: Shell, chat: Start, method: str, asked: str, typed: str
) -> None:
    """A12"""
    terminal = chat("-a", str(HERE / "login_agent.py"), "-s", "fix", ready="wants you to log in first")
    terminal.type(f"/login {method}" + ENTER)
    if asked:
        terminal.see(asked)
        terminal.type(typed)
    terminal.see("(?m)^logged in")
    terminal.type("hello" + ENTER)
    terminal.see("You are in.")
    assert "You are in." in shell("run", "-s", "fix", "from outside").stdout
    leave(terminal)


def test_a_chat_of_its_own_is_seen_cancelled_and_closed_from_another_shell(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted)
    terminal.type("hello" + ENTER)
    terminal.see(r"hello by \d+")
    assert "ready" in shell("status").stdout
    terminal.type("wait never" + ENTER)
    shell.until_event("begin", "wait never")
    assert "running" in (status := shell("status").stdout) and "wait never" in status
    assert "cancelled" in shell("cancel").stderr
    terminal.see(r"\[cancelled\]|cancelled")
    other = shell.start("run", "-c", "from outside")
    assert other.stderr is not None and "open in `acpella chat`" in other.stderr.readline()
    export = shell("sessions", "export")
    assert export.returncode != 0 and "open in `acpella chat`" in export.stderr
    leave(terminal)
    out, err = other.communicate(timeout=60)
    assert other.returncode == 0 and "from outside by" in out, err


def test_what_waits_in_a_chat_is_seen_and_goes_back_when_another_shell_cancels(
    shell: Shell, chat: Start
) -> None:
    terminal = chat("-a", shell.scripted)
    terminal.type("wait never" + ENTER)
    shell.until_event("begin", "wait never")
    terminal.type("next one" + ENTER)
    terminal.see("next one")
    assert "1. waits: next one" in shell("status").stdout
    assert "1 that waited" in shell("cancel", "--all").stderr
    terminal.see(r"› next one *\n[^\n]*scripted")
    assert ("begin", "next one") not in shell.events()
    assert "ended" in shell("status", "--stop").stderr
    assert terminal.wait() == 0
    assert "ended from another shell" in terminal.all() and "Traceback" not in terminal.all()


def test_a_second_chat_does_not_take_the_session_of_the_first(shell: Shell, chat: Start) -> None:
    terminal = chat("-a", shell.scripted)
    terminal.type("hello" + ENTER)
    terminal.see(r"hello by \d+")
    second = chat("-c", ready="")
    assert second.wait() != 0
    assert "isopenin`acpellachat`" in "".join(second.all().split())
    leave(terminal)
