"""Models write arguments, so they may be anything: a tool announces itself nevertheless."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acpella.coder.app import Coder
from acpella.coder.loop import Pace
from acpella.coder.tool import ToolError
from acpella.coder.tools.command_keys import known_program
from acpella.coder.tools.files import replace_once
from acpella.coder.tools.find import glob_matcher
from acpella.local import Jail

NAMES = [
    "path",
    "text",
    "old",
    "new",
    "line",
    "limit",
    "pattern",
    "glob",
    "command",
    "timeout",
    "url",
    "task",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def tools() -> list[Any]:
    coder = Coder(
        model="offline",
        mode="full",
        thinking="off",
        auto_approve=False,
        pace=Pace(),
        options={"store": "memory"},
    )
    return coder._tools(None)


@given(arguments=st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_every_tool_announces_itself_whatever_the_arguments(arguments: dict[str, Any]) -> None:
    for tool in TOOLS:
        told = tool.announce(arguments, Path("/project"))
        assert told.title and len(told.title) < 5000
        assert tool.danger == "none" or told.permission_key


TOOLS = tools()


@given(before=st.text(), old=st.text(min_size=1), new=st.text(), after=st.text())
def test_an_edit_changes_one_place_or_says_why_not(before: str, old: str, new: str, after: str) -> None:
    text = before + old + after
    try:
        edited = replace_once("a.txt", text, old, new)
    except ToolError as error:
        assert text.count(old) != 1 and "a.txt" in str(error)
    else:
        assert (
            edited.replace("\r\n", "\n") == (before + new + after).replace("\r\n", "\n") or "\r" in text + new
        )


@given(command=st.text())
def test_what_always_stands_for_is_no_more_than_a_known_program(command: str) -> None:
    program = known_program(command, Path("/"), Jail(["/"]))
    assert program is None or (len(program.split()) <= 2 and command.isascii())


@given(pattern=st.text(min_size=1, max_size=50), path=st.text())
def test_any_pattern_is_a_pattern(pattern: str, path: str) -> None:
    assert glob_matcher(pattern)(path) in (True, False)
