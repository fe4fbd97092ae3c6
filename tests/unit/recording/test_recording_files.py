"""A recording begins in a file of its own or goes on in one; what is no recording stays as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acpella.recording import Begin, Damaged, RecordedFrame, read
from acpella.recording.format import new_header
from acpella.recording.writer import Filters, Writer, open_private


def record(path: Path | str, line: bytes = b'{"a":1}\n') -> None:
    writer = Writer(open_private(path), new_header("tap", {}, redacted="nothing"), Filters(), began=0.0)
    writer.feed("out", line, 0.0)
    writer.end(1.0)


def test_a_recording_goes_on_after_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    record(path)
    os.truncate(path, path.stat().st_size - 10)
    record(path, b'{"b":1}\n')
    kinds = [type(item) for item in read(path)]
    assert kinds[:5] == [Begin, RecordedFrame, Damaged, Begin, RecordedFrame]
    assert [i.message for i in read(path) if isinstance(i, RecordedFrame)] == [{"a": 1}, {"b": 1}]


def test_a_recording_goes_on_after_half_of_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    record(path)
    os.truncate(path, 40)
    record(path)
    assert [type(item) for item in read(path)][:3] == [Damaged, Begin, RecordedFrame]


def test_no_line_is_added_to_a_whole_recording(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"")
    record(path)
    record(path)
    assert b"\n\n" not in path.read_bytes() and path.read_bytes()[:1] == b"{"


@pytest.mark.parametrize("text", ["precious\n", '{"jsonrpc": "2.0"}\n', "\n\n[1]\n", "\0" * 100_000])
def test_nothing_is_added_to_a_file_that_is_no_recording(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.txt"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    with pytest.raises(FileExistsError, match="f.txt is not a recording, and stays as it is; name another"):
        open_private(path)
    assert path.read_text("utf-8") == text and path.stat().st_mode & 0o777 == 0o644


def test_no_directory_is_made_for_a_recording(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"there is no directory {tmp_path}/gone for the recording"):
        open_private(tmp_path / "gone" / "talk.jsonl")
    assert not (tmp_path / "gone").exists()


def test_a_tap_tells_why_it_does_not_record_to_a_file(tmp_path: Path) -> None:
    path, mark = tmp_path / "f.txt", tmp_path / "started"
    path.write_text("precious\n")
    for output, told in ((path, b"is not a recording"), (tmp_path / "no" / "x.jsonl", b"is no directory")):
        command = ["record", "-o", str(output), "--", "touch", str(mark)]
        ended = subprocess.run([sys.executable, "-m", "acpella", *command], capture_output=True, timeout=60)
        assert ended.returncode == 2 and told in ended.stderr
    assert path.read_text() == "precious\n" and not mark.exists()


def test_a_tap_goes_on_after_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    record(path)
    os.truncate(path, path.stat().st_size - 10)
    before = path.read_bytes()
    command = [sys.executable, "-m", "acpella", "record", "-o", str(path), "--", "cat"]
    subprocess.run(command, input=b"{}\n", check=True, capture_output=True, timeout=60)
    assert path.read_bytes().startswith(before + b'\n{"acpella":2,')


def test_a_pipe_gets_a_recording_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    record(path)
    assert json.loads(os.read(source, 65536).splitlines()[0])["acpella"] == 2
    os.close(source)


def test_a_redirected_output_is_recorded_to_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("a log without an end")
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += "import test_recording_files; test_recording_files.record('/dev/stdout')"
    with path.open("ab") as log:
        subprocess.run([sys.executable, "-c", code], stdout=log, check=True, timeout=60)
    lines = path.read_text().splitlines()
    assert lines[0] == "a log without an end" and json.loads(lines[1])["acpella"] == 2
