"""What the offline model understands: a table of requests and the tool uses they become."""

# ruff: noqa: E501  rows of a table

import time
from typing import Any

import pytest

from acpella.coder.models.plain_requests import understand

TABLE: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    # reading
    ("read README.md", [("read_file", {"path": "README.md"})]),
    ("Read the file README.md.", [("read_file", {"path": "README.md"})]),
    ("please read Makefile", [("read_file", {"path": "Makefile"})]),
    ("Could you read `src/my file.py` for me?", [("read_file", {"path": "src/my file.py"})]),
    ("show me src/a.py", [("read_file", {"path": "src/a.py"})]),
    ("cat ./x/y", [("read_file", {"path": "./x/y"})]),
    ("What is in setup.cfg?", [("read_file", {"path": "setup.cfg"})]),
    ("read a.py lines 10-20", [("read_file", {"path": "a.py", "line": 10, "limit": 11})]),
    ("read a.py, lines 10 to 20", [("read_file", {"path": "a.py", "line": 10, "limit": 11})]),
    ("show lines 3-5 of a.py", [("read_file", {"path": "a.py", "line": 3, "limit": 3})]),
    ("read line 7 of a.py", [("read_file", {"path": "a.py", "line": 7, "limit": 1})]),
    ("show the first 5 lines of a.py", [("read_file", {"path": "a.py", "limit": 5})]),
    ("read a.py lines 9-2", [("read_file", {"path": "a.py", "line": 9, "limit": 1})]),
    ("read a.txt and b.txt", [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]),
    (
        "read a.txt, b.txt and c.txt",
        [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"}), ("read_file", {"path": "c.txt"})],
    ),
    # listing
    ("list", [("list_files", {})]),
    ("ls", [("list_files", {})]),
    ("ls -la src", [("list_files", {"path": "src"})]),
    ("list src", [("list_files", {"path": "src"})]),
    ("list the files", [("list_files", {})]),
    ("list all files in src/app", [("list_files", {"path": "src/app"})]),
    ("list the files in this directory", [("list_files", {})]),
    ("List files here.", [("list_files", {})]),
    ("what files are in tests?", [("list_files", {"path": "tests"})]),
    ("list the files in the src directory", [("list_files", {"path": "src"})]),
    ("show me .", [("list_files", {})]),
    ("list `my dir`", [("list_files", {"path": "my dir"})]),
    # finding files
    ("find *.py", [("find_files", {"pattern": "**/*.py"})]),
    ("find *.py in src", [("find_files", {"pattern": "**/*.py", "path": "src"})]),
    ("find all files named conftest.py", [("find_files", {"pattern": "**/conftest.py"})]),
    ("find files matching src/**/*.ts", [("find_files", {"pattern": "src/**/*.ts"})]),
    ("find all .md files", [("find_files", {"pattern": "**/*.md"})]),
    ("locate setup.cfg", [("find_files", {"pattern": "**/setup.cfg"})]),
    # searching
    ("search for TODO", [("search", {"pattern": "TODO"})]),
    ("search TODO in src", [("search", {"pattern": "TODO", "path": "src"})]),
    ('grep "def main" in src/app', [("search", {"pattern": "def main", "path": "src/app"})]),
    ("grep ^import in src", [("search", {"pattern": "^import", "path": "src"})]),
    ("find TODO in the code", [("search", {"pattern": "TODO"})]),
    ("look for main( in src", [("search", {"pattern": r"main\(", "path": "src"})]),
    ("where is parse_line defined?", [("search", {"pattern": "parse_line"})]),
    ("search in src for hello world", [("search", {"pattern": "hello world", "path": "src"})]),
    ("search for 'in the end' in notes", [("search", {"pattern": "in the end", "path": "notes"})]),
    # running
    ("run make test", [("run", {"command": "make test"})]),
    ("run `ls -la && echo then done`", [("run", {"command": "ls -la && echo then done"})]),
    ("Run the command pytest -q.", [("run", {"command": "pytest -q"})]),
    ("execute git status please", [("run", {"command": "git status"})]),
    ("$ echo hi", [("run", {"command": "echo hi"})]),
    ("run sleep 5 with a timeout of 2 seconds", [("run", {"command": "sleep 5", "timeout": 2})]),
    ("run echo 'a and then b'", [("run", {"command": "echo 'a and then b'"})]),
    ("run python -m pytest -k 'not slow'", [("run", {"command": "python -m pytest -k 'not slow'"})]),
    ("run\n```sh\nmake\nmake test\n```", [("run", {"command": "make\nmake test"})]),
    # changing
    ("replace foo by bar in a.py", [("edit_file", {"path": "a.py", "old": "foo", "new": "bar"})]),
    ("Replace `x = 1` with `x = 2` in src/a.py.", [("edit_file", {"path": "src/a.py", "old": "x = 1", "new": "x = 2"})]),
    ("in a.txt, replace hello by goodbye", [("edit_file", {"path": "a.txt", "old": "hello", "new": "goodbye"})]),
    ('change "a b" to "c d" in x.txt', [("edit_file", {"path": "x.txt", "old": "a b", "new": "c d"})]),
    ('replace "one\\ntwo" with "" in x.txt', [("edit_file", {"path": "x.txt", "old": "one\ntwo", "new": ""})]),
    ("replace colour by color in the file a.txt", [("edit_file", {"path": "a.txt", "old": "colour", "new": "color"})]),
    ('replace "by with" by "then and" in a.txt', [("edit_file", {"path": "a.txt", "old": "by with", "new": "then and"})]),
    # creating
    ("create notes.txt with hello world", [("write_file", {"path": "notes.txt", "text": "hello world\n"})]),
    ('write "a, b" to out/x.txt', [("write_file", {"path": "out/x.txt", "text": "a, b\n"})]),
    ("create an empty file a.txt", [("write_file", {"path": "a.txt", "text": ""})]),
    ("create a file called a.txt with the text: hi", [("write_file", {"path": "a.txt", "text": "hi\n"})]),
    ("create a.py with:\n```python\nimport os\n\nrun()\n```", [("write_file", {"path": "a.py", "text": "import os\n\nrun()\n"})]),
    ("write list.txt with\nread this\nrun that", [("write_file", {"path": "list.txt", "text": "read this\nrun that\n"})]),
    # the rest
    ("fetch https://example.org/a?b=c.", [("fetch", {"url": "https://example.org/a?b=c"})]),
    ("read https://example.org/", [("fetch", {"url": "https://example.org/"})]),
    (
        "plan: read the code, fix it, run the tests",
        [("plan", {"entries": [{"content": c, "status": "pending"} for c in ("read the code", "fix it", "run the tests")]})],
    ),
    (
        "make a plan:\n1. look\n2. leap",
        [("plan", {"entries": [{"content": c, "status": "pending"} for c in ("look", "leap")]})],
    ),
    # several steps
    (
        "read a.txt and then run make test",
        [("read_file", {"path": "a.txt"}), ("run", {"command": "make test"})],
    ),
    (
        "list src, then search for TODO in src, then read src/a.py",
        [("list_files", {"path": "src"}), ("search", {"pattern": "TODO", "path": "src"}), ("read_file", {"path": "src/a.py"})],
    ),
    (
        "Read a.txt. Then replace x by y in a.txt and run cat a.txt",
        [("read_file", {"path": "a.txt"}), ("edit_file", {"path": "a.txt", "old": "x", "new": "y"}), ("run", {"command": "cat a.txt"})],
    ),
    ("read a.txt\nread b.txt\nrun make", [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"}), ("run", {"command": "make"})]),
    ("1. list src\n2. run make", [("list_files", {"path": "src"}), ("run", {"command": "make"})]),
    ("I have a problem here.\nread a.txt", [("read_file", {"path": "a.txt"})]),
    # as people write
    ("Read the README and tell me what it says", [("read_file", {"path": "README"}), ("", {})]),
    ("what's in this directory?", [("list_files", {})]),
    ("list everything", [("list_files", {})]),
    ("find all Python files in src", [("find_files", {"pattern": "**/*.py", "path": "src"})]),
    ("find the function parse_line", [("search", {"pattern": "parse_line"})]),
    ("grep -rn TODO src", [("search", {"pattern": "TODO", "path": "src"})]),
    ("edit a.txt: replace x by y", [("edit_file", {"path": "a.txt", "old": "x", "new": "y"})]),
    ("change the version from 1 to 2 in setup.py", [("", {})]),
    ("Let's read a.txt first.", [("read_file", {"path": "a.txt"})]),
    ("read a.txt b.txt", [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]),
    ("Could you run ls for me?", [("run", {"command": "ls"})]),
    ("Run 'make test' in the terminal.", [("run", {"command": "make test"})]),
    ("hi there! can you read foo.md?", [("read_file", {"path": "foo.md"})]),
    ("fetch example.org", [("fetch", {"url": "https://example.org"})]),
    ("fetch https://a.org/x and https://b.org", [("fetch", {"url": "https://a.org/x"}), ("fetch", {"url": "https://b.org"})]),
    # what needs a real model
    ("fix the bug", [("", {})]),
    ("summarise README.md", [("", {})]),
    ("run the tests", [("", {})]),
    ("read a.txt and then fix it", [("read_file", {"path": "a.txt"}), ("", {})]),
    ("show me how to write a parser", [("", {})]),
    ("read the docs about parsers", [("", {})]),
    ("create a web server", [("", {})]),
    ("search the web for cats", [("", {})]),
    ("what is the meaning of life?", [("", {})]),
    ("hello", [("", {})]),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:50] for text, _ in TABLE])
def test_a_request_becomes_tool_uses(text: str, expected: list[tuple[str, dict[str, Any]]]) -> None:
    assert [(step.tool, step.arguments) for step in understand(text)] == expected


def test_then_orders_steps_and_and_does_not() -> None:
    assert [step.after for step in understand("read a.txt and list src and then read b.txt")] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "piece",
    ["read ", "a and ", "then ", "`", '"', "' ", "replace a by b ", "in ", "find ", "\n", "with ", "a ", "/"],
)
def test_no_request_takes_long(piece: str) -> None:
    """Whatever is pasted, the event loop goes on."""
    start = time.process_time()
    for verb in ("", "replace ", "search ", "create a.txt with ", "list ", "read "):
        understand(verb + piece * (20_000 // len(piece)))
        understand(verb + piece * (590 // len(piece)))
    assert time.process_time() - start < 3
