"""The parts of the terminal screens that need no terminal."""

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpella.cli import COMMANDS, command_parser
from acpella.cli.chat.mentions import to_prompt
from acpella.cli.daemon.history import ReplayHistory
from acpella.cli.terminal.clean import Cleaner, clean, one_line
from acpella.cli.terminal.diffs import diff_rows
from acpella.cli.terminal.forms import read_value
from acpella.cli.terminal.markdown import Block, Blocks, render
from acpella.cli.terminal.rows import cell_len, crop, paint, plain, wrap
from acpella.cli.terminal.transcript import Transcript
from acpella.local.listing import ListedFiles
from acpella.schema import (
    BooleanPropertySchema,
    Diff,
    EmbeddedResource,
    EnumOption,
    ImageContent,
    IntegerPropertySchema,
    MultiSelectPropertySchema,
    NumberPropertySchema,
    PromptCapabilities,
    ResourceLink,
    StringMultiSelectItems,
    StringPropertySchema,
    TextContent,
    UserMessageChunk,
)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain ä 漢\n\tx", "plain ä 漢\n\tx"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;https://evil\x1b\\x\x1b]8;;\x1b\\", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x9b2Jx", "x"),
        ("\x1bc\x1b(0x", "x"),
        ("a\rb\rc\nd\r\n", "c\nd\n"),
        ("b\bbo\bol\bld\bd", "bold"),
        ("\x00\x07\x7f", "␀␇␡"),
        ("\x1b]0;never ended", "␛]0;never ended"),
        ("\u202etxt.exe", "\ufffdtxt.exe"),
        ("half \ud800", "half \ufffd"),
    ],
)
def test_nothing_that_a_terminal_obeys_is_left(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(
    st.text(alphabet=st.sampled_from("ab\x1b[]0;1mJ\x07\\\x9b\x9d\r\n\b\x00P^"), max_size=60), st.randoms()
)
def test_cut_anywhere_it_is_still_harmless(text: str, chance: random.Random) -> None:
    cleaner, shown, rest = Cleaner(), "", text
    while rest:
        size = chance.randint(1, 5)
        shown += cleaner.feed(rest[:size])
        rest = rest[size:]
    shown += cleaner.end()
    assert not any(ord(char) < 32 and char not in "\n\t" or 127 <= ord(char) < 160 for char in shown)


def test_a_title_that_never_ends_does_not_hide_the_rest() -> None:
    cleaner = Cleaner()
    shown = "".join(cleaner.feed("x" * 1000) for _ in range(3))
    shown += cleaner.feed("\x1b]0;") + "".join(cleaner.feed("y" * 1000) for _ in range(9)) + cleaner.end()
    assert shown.count("y") == 9000


def test_a_title_takes_one_line_and_has_a_limit() -> None:
    assert one_line("two\nlines\x1b[2J and\tmore") == "two lines and more"
    assert len(one_line("x" * 10_000_000)) == 500


@given(st.text(max_size=80), st.integers(1, 40))
def test_a_cropped_row_is_never_too_wide(text: str, width: int) -> None:
    text = clean(text).replace("\n", " ")
    assert cell_len(crop(text, width)) <= width
    assert cell_len(paint([(text, "red"), (text, "dim bold")], width)) <= width


@given(st.text(alphabet="ab 漢é👍", max_size=80), st.integers(2, 20))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


MARKDOWN = """# Title
Text *one*
goes on.

1. first

   still first
2. second
   ```sh
   echo

   echo
   ```

```python
x = 1

y = 2
```
after
~~~
```
~~~

| a |
|---|
| b |
"""


def blocks_of(pieces: list[str]) -> list[Block]:
    blocks, found = Blocks(), list[Block]()
    for piece in pieces:
        found += blocks.feed(piece)
    return found + blocks.end()


def test_blocks_are_given_out_as_soon_as_they_are_finished() -> None:
    blocks = Blocks()
    assert [b.text for b in blocks.feed("# Title\nText *one*\ngoes on.\n")] == ["# Title"]
    assert blocks.pending() == Block("Text *one*\ngoes on.")
    assert blocks.feed("\n") == []  # a list might follow that belongs to it
    assert [b.text for b in blocks.feed("next\n")] == ["Text *one*\ngoes on."]


@given(st.lists(st.integers(0, len(MARKDOWN)), max_size=30))
def test_blocks_do_not_depend_on_where_the_text_was_cut(cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(MARKDOWN)})
    pieces = [MARKDOWN[a:b] for a, b in zip(places, places[1:], strict=False)]
    whole = blocks_of([MARKDOWN])
    assert blocks_of(pieces) == whole
    assert [b.is_code for b in whole] == [False, False, False, True, False, True, False]
    assert whole[3] == Block("x = 1\n\ny = 2", is_code=True, language="python")
    assert "echo\n\n   echo" in whole[2].text


def test_text_without_end_comes_in_pieces() -> None:
    found = blocks_of(["word " * 10_000])
    assert len(found) > 3 and all(len(block.text) <= 6000 for block in found)
    assert "".join(block.text for block in found).count("word") == 10_000
    assert [block.is_rest for block in found] == [False] + [True] * (len(found) - 1)
    code = blocks_of(["```\n" + "x\n" * 1000 + "```\n"])
    assert sum(block.text.count("x") for block in code) == 1000


def test_a_long_table_comes_in_pieces_with_its_head_on_each() -> None:
    head = "| name | value |\n|---|---|\n"
    found = blocks_of([head + "".join(f"| row {n} | {'x' * 40} |\n" for n in range(300))])
    assert len(found) > 2 and all(block.is_table and block.text.startswith(head) for block in found)
    assert sum(block.text.count("row") for block in found) == 300
    assert not Block("a | b\nno rule").is_table


@pytest.mark.parametrize("width", [10, 40, 100])
def test_no_rendered_row_is_too_wide(width: int) -> None:
    for block in [*blocks_of([MARKDOWN]), Block("漢字" * 100), Block("x" * 500, is_code=True)]:
        assert all(cell_len(row) <= width for row in render(block, width))


def test_a_language_nobody_knows_is_no_problem() -> None:
    (row,) = render(Block("x = 1", is_code=True, language="no-such-language"), 40)
    assert clean(row) == "  x = 1"


# -- diffs -----------------------------------------------------------------------------------


def rows_of(old: str | None, new: str, **options: int) -> list[str]:
    return [
        plain(row).strip() for row in diff_rows(Diff(path="/w/a.py", old_text=old, new_text=new), cwd="/w")
    ]


def test_a_diff_has_line_numbers_and_gaps() -> None:
    old = "".join(f"{n}\n" for n in range(1, 41))
    rows = rows_of(old, old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n"))
    assert rows[0] == "a.py"
    assert rows[3:5] == ["5 - 5", "5 + five"]
    assert "⋮" in rows and "30 - 30" in rows and len(rows) == 13


def test_a_new_file_and_a_huge_one() -> None:
    assert rows_of(None, "x\n")[0] == "a.py (new, 1 line)"
    many = "".join(f"{n}\n" for n in range(100_000))
    rows = rows_of(None, many)
    assert len(rows) == 62 and rows[-1].startswith("… more; 100000 lines new")
    other = "".join(f"{n}!\n" for n in range(100_000))
    assert rows_of(many, other) == ["a.py (about 100000 lines in the place of 100000)"]


# -- forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field, text, value",
    [
        (BooleanPropertySchema(), "Yes", True),
        (BooleanPropertySchema(), "n", False),
        (IntegerPropertySchema(minimum=1), " 3 ", 3),
        (NumberPropertySchema(), "2.5", 2.5),
        (StringPropertySchema(enum=["a", "b"]), "2", "b"),
        (StringPropertySchema(enum=["a", "b"]), "a", "a"),
        (StringPropertySchema(format="email"), "a@b", "a@b"),
        (MultiSelectPropertySchema(items=StringMultiSelectItems(enum=["x", "y"])), "2, x, 2", ["y", "x"]),
    ],
)
def test_what_was_typed_becomes_a_value(field: object, text: str, value: object) -> None:
    assert read_value(field, text) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "field, text, message",
    [
        (BooleanPropertySchema(), "perhaps", "y or n"),
        (IntegerPropertySchema(), "2.5", "a whole number"),
        (IntegerPropertySchema(minimum=1), "0", "at least 1"),
        (NumberPropertySchema(maximum=1), "nan", "a number"),
        (StringPropertySchema(enum=["a", "b"]), "3", "a number from 1 to 2"),
        (StringPropertySchema(min_length=3), "x", "at least 3 characters"),
        (StringPropertySchema(pattern="^[a-z]+$"), "X", "must match"),
        (StringPropertySchema(format="date"), "tomorrow", "2026-01-31"),
        (
            MultiSelectPropertySchema(items=StringMultiSelectItems(enum=["x"]), min_items=1),
            " , ",
            "at least 1",
        ),
    ],
)
def test_a_wrong_value_is_explained(field: object, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_value(field, text)  # type: ignore[arg-type]


def test_words_that_fit_two_choices_choose_neither() -> None:
    """The first one was taken, though the words were what the other one sends."""
    options = [EnumOption(const="delete", title="keep"), EnumOption(const="keep", title="Keep")]
    field = StringPropertySchema(one_of=options)
    with pytest.raises(ValueError, match="a number from 1 to 2"):
        read_value(field, "keep")
    assert [read_value(field, words) for words in ("1", "2", "Keep")] == ["delete", "keep", "keep"]


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "([", "(a{1,9}){1,9}$", "a*a*a*a*a*a*a*b"]
)
def test_a_pattern_of_the_agent_cannot_hang_or_break_a_form(pattern: str) -> None:
    text = "a" * 28 + "!"
    try:
        assert read_value(StringPropertySchema(pattern=pattern), text) == text
    except ValueError:
        pass  # refused is fine, too; the point is that there is an answer


# -- files -----------------------------------------------------------------------------------


def test_files_go_along_as_the_agent_takes_them(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("text", encoding="utf-8")
    (tmp_path / "data.bin").write_bytes(b"\0\xff")
    (tmp_path / "pic.png").write_bytes(b"png")
    text = 'see @"a b.txt", @data.bin. @pic.png mail@example.com @missing.txt @data.bin'
    everything = PromptCapabilities(embedded_context=True, image=True)
    kinds = [type(block) for block in to_prompt(text, tmp_path, everything)]
    assert kinds[:3] == [TextContent, EmbeddedResource, ResourceLink] and issubclass(kinds[3], Path)
    kinds = [type(block) for block in to_prompt(text, tmp_path, PromptCapabilities())]
    assert kinds == [TextContent, ResourceLink, ResourceLink, ResourceLink]
    assert ImageContent not in kinds


def test_a_link_that_leads_to_a_secret_goes_along_as_a_link_only(tmp_path: Path) -> None:
    """Whoever unpacks a project does not see that its notes.md is a link to a key in the home."""
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    outside, real = tmp_path / "key", project / "docs" / "real.md"
    for file in (outside, real, project / ".env"):
        file.write_text("text", encoding="utf-8")
    for name, target in {"notes.md": outside, "todo.md": project / ".env", "fine.md": real}.items():
        (project / name).symlink_to(target)
    (project / "dir").symlink_to(tmp_path)
    everything = PromptCapabilities(embedded_context=True, image=True)
    text = f"@notes.md @todo.md @dir/key @fine.md @docs/real.md @.env @{outside}"
    kinds = [type(block) for block in to_prompt(text, project, everything)[1:]]
    assert kinds == [ResourceLink] * 3 + [EmbeddedResource] * 4


def test_files_are_found_by_any_part_of_their_name(tmp_path: Path) -> None:
    for name in ("src/deep/plan.py", "plan.md", "other.txt", ".hidden/plan.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert ListedFiles(tmp_path).matching("PLAN") == ["plan.md", "src/deep/plan.py"]


@pytest.mark.parametrize("name", COMMANDS)
def test_sentences_of_the_help_fit_into_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wide = [
        line
        for line in command_parser(name).format_help().splitlines()
        if len(line) > 80 and not line.startswith((" ", "usage: "))  # those are to be copied
    ]
    assert wide == []


def test_prompts_that_follow_each_other_are_told_apart_by_their_ids(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A turn that was interrupted before it said anything leaves two prompts in a row."""
    shown = Transcript()
    for message_id, words in (("p1", "please "), ("p1", "wait"), ("p2", "are you there?")):
        shown.update(UserMessageChunk(content=TextContent(text=words), message_id=message_id))
    shown.end()
    assert capsys.readouterr().out == "> please wait\n> are you there?\n"


def test_a_background_process_gives_each_prompt_an_id() -> None:
    history = ReplayHistory()
    prompt = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    for _ in range(2):
        history.add_prompt(msgspec.json.encode({"sessionId": "s", "prompt": prompt}))
    frames = [msgspec.json.decode(frame) for frame in history.frames()]
    first, same, second, _ = [frame["params"]["update"]["messageId"] for frame in frames]
    assert first == same != second
