"""What the policy `allow-reads` takes for reading inside the session's directories."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from acpella.client.reads import is_read_inside
from acpella.schema import ToolCallUpdate, decode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").touch()
    (project / "link").symlink_to(tmp_path)
    (tmp_path / "outside.txt").touch()
    return project


def allows(project: Path, kind: str, path: str | None = None, **fields: Any) -> bool:
    places = {"locations": [{"path": path.replace("PROJECT", str(project))}]} if path else {}
    call = {"toolCallId": "c", "title": "Look", "kind": kind, **places, **fields}
    return is_read_inside(decode(ToolCallUpdate, msgspec.json.encode(call)), [project])


@pytest.mark.parametrize(
    "kind, path, raw",
    [
        ("read", "PROJECT/notes.txt", None),
        ("read", "notes.txt", None),
        ("read", "PROJECT/not-there-yet.txt", {"file_path": "not-there-yet.txt", "offset": 3}),
        ("read", None, {"path": "notes.txt"}),
        ("search", None, {"pattern": "def main"}),
        ("search", "PROJECT", {"pattern": "TODO", "path": "."}),
        ("think", None, {"todos": [{"text": "first / then"}]}),
    ],
)
def test_reading_inside_needs_no_question(project: Path, kind: str, path: str | None, raw: Any) -> None:
    assert allows(project, kind, path, rawInput=raw)


@pytest.mark.parametrize(
    "kind, path, raw",
    [
        ("read", None, None),
        ("read", "PROJECT/../outside.txt", None),
        ("read", "PROJECT/link/outside.txt", None),
        ("read", "PROJECT/.env", None),
        ("read", "/root/.ssh/id_rsa", {"command": "cat /root/.ssh/id_rsa; rm -rf ~"}),
        ("read", "PROJECT/notes.txt", {"command": "cat notes.txt"}),
        ("read", "PROJECT/notes.txt", {"also": ["notes.txt", "~/.netrc"]}),
        ("read", "PROJECT/notes.txt", {"from": "https://example.com/notes.txt"}),
        ("search", None, {"pattern": "key", "path": "/etc"}),
        ("search", None, {"pattern": "key", "dir_path": "../"}),
        ("think", None, {"command": "rm -rf /"}),
        ("search", None, {"input": {"command": "rm -rf build"}}),
        ("search", None, "rm -rf build"),
        ("think", None, ["rm", "-rf", "build"]),
        ("fetch", None, {"url": "https://example.com"}),
        ("edit", "PROJECT/notes.txt", None),
        ("other", "PROJECT/notes.txt", None),
    ],
)
def test_a_call_that_only_says_that_it_reads_is_asked_about(
    project: Path, kind: str, path: str | None, raw: Any
) -> None:
    assert not allows(project, kind, path, rawInput=raw)


def test_a_read_that_shows_a_change_is_asked_about(project: Path) -> None:
    diff = {"type": "diff", "path": str(project / "notes.txt"), "newText": "x"}
    assert not allows(project, "read", "PROJECT/notes.txt", content=[diff])


def test_without_directories_nothing_is_inside(project: Path) -> None:
    call = decode(ToolCallUpdate, b'{"toolCallId":"c","title":"Look","kind":"search"}')
    assert is_read_inside(call, [project]) and not is_read_inside(call, [])
