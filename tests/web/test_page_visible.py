"""What somebody decides on at the page is shown whole, with the characters that a terminal makes visible."""

import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

from test_page_fold import WEB, node

from acpella.cli.terminal.forms import choice_text
from acpella.cli.terminal.permission_rows import untold
from acpella.cli.terminal.reveal import reveal
from acpella.schema import Diff, ToolCallLocation, ToolCallUpdate

HERE = Path(__file__).parent


def on_page(directory: Path, **asked: list[Any]) -> dict[str, list[Any]]:
    """What the page makes of `texts`, `inputs` of calls, `edits`, and `choices` of forms."""
    file = directory / "texts.json"
    nothing: dict[str, list[Any]] = {"texts": [], "inputs": [], "edits": [], "choices": []}
    file.write_text(json.dumps({**nothing, **asked}), encoding="utf-8")
    done = subprocess.run(
        [node(), HERE / "visible_peer.mjs", WEB, file], capture_output=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


def test_the_page_shows_every_character_that_a_terminal_shows(tmp_path: Path) -> None:
    known = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cn"]
    known.remove("\n")  # a line is a line on the page
    known.remove("\t")
    answers = on_page(tmp_path, texts=[f"a{char}b" for char in known])["texts"]
    page = {char for char, parts in zip(known, answers, strict=True) if any(one["hidden"] for one in parts)}
    terminal = {char for char in known if reveal(f"a{char}b") != f"a{char}b"}
    assert len(terminal) > 100_000  # private use areas are among them
    assert [f"{ord(char):x}" for char in sorted(terminal ^ page)] == []


JOINED = "\u1781\u17d2\u1798\u17c2\u179a \u1019\u1014\u1039\u1010 \u0939\u093f\u0928\u094d\u0926\u0940"
"""Khmer, Burmese and Hindi, with marks that put a letter under another."""

TEXTS = {
    "ls #\rgit status": "ls #<U+000D>git status",
    "one\r\ntwo": "one\r\ntwo",
    "ls" + " " * 500 + "; rm -rf /": "ls<[500 blanks]>; rm -rf /",
    "ls\n\n\n\n\n\n\nrm -rf /": "ls\n<[6 empty lines]>\nrm -rf /",
    "a\u0301\u0301\u0301\u0301\u0301": "a\u0301\u0301\u0301\u0301<U+0301>",
    "👩\u200d💻 ❤\ufe0f": "👩\u200d💻 ❤\ufe0f",
    "rm\u200d -rf a\ufe0f": "rm<U+200D> -rf a<U+FE0F>",
    "\ud83d alone": "<U+D83D> alone",
    JOINED: JOINED,
    "\u1780\u17d2 \u1780\u17d2\u17d2\u1780 \u1000\u1039x": (
        "\u1780<U+17D2> \u1780<U+17D2><U+17D2>\u1780 \u1000<U+1039>x"
    ),
}


def test_a_text_is_shown_whole(tmp_path: Path) -> None:
    answers = on_page(tmp_path, texts=list(TEXTS))["texts"]
    shown = [
        "".join(f"<{one['text']}>" if one["hidden"] else one["text"] for one in parts) for parts in answers
    ]
    assert shown == list(TEXTS.values())
    for text, words in TEXTS.items():
        if "\u17d2" in text:
            assert reveal(text) == words.replace("<U+17D2>", r"\u17d2").replace("<U+1039>", r"\u1039")


def test_no_word_of_a_command_is_left_out(tmp_path: Path) -> None:
    inputs: list[Any] = [
        {"command": "cat", "stdin": "secret", "env": {"PATH": "/evil"}},
        {"command": ["/tmp/not-a-shell", "-c", "git status"]},
        {"command": ["sh", "-c", "rm -rf 'a b'"], "cwd": "/elsewhere"},
        {"cmd": ["echo", 1, {"a": None}]},
        ["a", "list"],
        None,
    ]
    assert on_page(tmp_path, inputs=inputs)["inputs"] == [
        {"command": "cat", "beside": {"stdin": "secret", "env": {"PATH": "/evil"}}},
        {"command": "/tmp/not-a-shell -c 'git status'", "beside": {}},
        {"command": r"sh -c 'rm -rf '\''a b'\'''", "beside": {"cwd": "/elsewhere"}},
        {"command": """echo 1 '{"a":null}'""", "beside": {}},
        {"command": "", "beside": {"input": ["a", "list"]}},
        {"command": "", "beside": {}},
    ]


OLD, NEW = "one\ntwo\n", "one\n2\n"

EDITS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"file_path": "/p/a", "content": NEW}, {}),
    ({"path": "a", "old": "two", "new": "2"}, {}),
    ({"path": "a", "old": "one", "new": "2"}, {"old": "one", "new": "2"}),
    ({"old_string": "two", "new_string": "2", "replace_all": True}, {"replace_all": True}),
    ({"path": "/", "recursive": "t", "root": ""}, {"path": "/", "recursive": "t", "root": ""}),
    ({"command": "rm", "paths": [], "files": ["/p/a"]}, {"command": "rm", "paths": []}),
    ({"edits": [{"old": "two", "new": "2"}]}, {"edits": [{"old": "two", "new": "2"}]}),
]


def test_a_field_of_an_edit_that_its_diff_does_not_tell_is_shown_on_the_page_and_in_a_terminal(
    tmp_path: Path,
) -> None:
    """The page left out everything that goes into an edit, the terminal whatever was part of another text."""
    diff = {"type": "diff", "path": "/p/a", "oldText": OLD, "newText": NEW}
    edits = [{"fields": fields, "diffs": [diff], "paths": ["/p/a"], "cwd": "/p"} for fields, _ in EDITS]
    assert on_page(tmp_path, edits=edits)["edits"] == [shown for _, shown in EDITS]
    call = ToolCallUpdate(tool_call_id="c", content=[Diff(path="/p/a", old_text=OLD, new_text=NEW)])
    assert [untold(call, fields, "/p") for fields, _ in EDITS] == [shown for _, shown in EDITS]


def test_an_edit_that_changes_nothing_tells_of_no_other(tmp_path: Path) -> None:
    """A text that is not in a file can be replaced in it by anything: the file stays the same."""
    fields = {"file_path": "/p/a", "old_string": "zzz", "new_string": "import os; os.system('evil')"}
    hidden = {"old_string": "zzz", "new_string": "import os; os.system('evil')"}
    same = {"type": "diff", "path": "/p/a", "oldText": "y\n", "newText": "y\n"}
    edit = {"fields": fields, "diffs": [same], "paths": ["/p/a"], "cwd": "/p"}
    assert on_page(tmp_path, edits=[edit])["edits"] == [hidden]
    call = ToolCallUpdate(tool_call_id="c", content=[Diff(path="/p/a", old_text="y\n", new_text="y\n")])
    assert untold(call, fields, "/p") == hidden


def test_of_several_paths_the_names_of_the_fields_are_shown(tmp_path: Path) -> None:
    fields = {"source": "/p/a", "destination": "/p/b"}
    places = [ToolCallLocation(path="/p/a"), ToolCallLocation(path="/p/b")]
    assert untold(ToolCallUpdate(tool_call_id="c", locations=places), fields, "/p") == fields
    edit = {"fields": fields, "diffs": [], "paths": ["/p/a", "/p/b"], "cwd": "/p"}
    assert on_page(tmp_path, edits=[edit])["edits"] == [fields]


CHOICES = {
    ("large", "large"): "large",
    ("delete", "Keep"): "Keep (sends delete)",
    ("keep", "Keep "): '"Keep " (sends keep)',
    ("keep\u2002", "keep\u2002"): '"keep\u2002"',
    ("", "None"): 'None (sends "")',
    ("a  b", "a b"): 'a b (sends "a  b")',
    ("delete", "Keep (sends keep)"): '"Keep (sends keep)" (sends delete)',
    ("x", '"a" b'): '"\\"a\\" b" (sends x)',
}


def test_a_choice_of_a_form_tells_what_it_sends_on_the_page_and_in_a_terminal(tmp_path: Path) -> None:
    assert on_page(tmp_path, choices=list(CHOICES))["choices"] == list(CHOICES.values())
    assert [choice_text(*choice) for choice in CHOICES] == list(CHOICES.values())
