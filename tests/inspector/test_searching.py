"""Text is found in a recording without decoding it, and just as if it had been."""

import json
import random
from pathlib import Path

import msgspec
import pytest

from acpella.inspector import searching
from acpella.inspector.filters import Filter
from acpella.inspector.log import RecordingLog
from acpella.inspector.searching import rows_with, searchable

BODIES: list[object] = [
    {"jsonrpc": "2.0", "method": "session/update", "params": {"text": "Word one"}},
    {"method": "fs/read_text_file", "params": {"path": "/a/b.txt", "n": 12.5}},
    {"text": "Ärger in Zeile 7\nnächste \u001b[31mrot\u001b[0m"},
    {"text": "\u212aelvin and \u0130stanbul"},  # letters whose lower case is a plain one
    {"text": 'quotes "inside" and \\ and tabs\there'},
    {"text": "in out dir msg raw"},
    "a plain line\nof stderr",
]
WORDS = [
    "word one", "word", "session/update", "12.5", "ärger", "7\\nn", "nn", "rot", "u001b", "elvin", "kelvin",
    "istanbul", '"inside', "tabs\\there", "there", "in", "dir", "msg", "raw", "jsonrpc", "{", "a plain",
    "stderr", "n", "nothing here",
    "00e4", "zeile 7", "fs/read_text", "word  one", "of",
]  # fmt: skip


def write(path: Path) -> None:
    """The same messages as acpella writes them, and as other programs do."""
    lines: list[bytes] = [
        msgspec.json.encode({"acpella": 2, "id": "x", "agent": {"command": ["in", "word"]}})
    ]
    for number, body in enumerate(BODIES * 3):
        key = "text" if isinstance(body, str) else "msg"
        entry: dict[str, object] = {"n": number, "t": 0.5, "dir": "in", key: body}
        if number % 5 == 4:
            entry["raw"] = "word of the wire"
        if number % 4 == 3:
            entry = {"msg": entry.pop(key), **entry} if key == "msg" else entry
        lines += [
            msgspec.json.encode(entry),
            json.dumps(entry).encode(),
            json.dumps(entry).replace("/", "\\/").replace("W", "\\u0057").encode(),
            b"",
        ]
    path.write_bytes(b"\n".join([*lines, b'{"n": 9, "event": "end", "word": 1}', b""]))


@pytest.mark.parametrize("block", [1, 300, searching.BLOCK])
def test_text_is_found_as_if_each_line_was_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(searching, "BLOCK", block)
    path = tmp_path / "talk.jsonl"
    write(path)
    data = path.read_bytes()
    lines = [line for line in data.split(b"\n") if line]
    offsets = [data.index(line) if index == 0 else 0 for index, line in enumerate(lines)]
    at = 0
    for index, line in enumerate(lines):
        at = data.index(line + b"\n", at)
        offsets[index] = at
        at += len(line) + 1
    texts = [searchable(line) for line in lines]
    dice = random.Random(7)
    cuts = [
        text[place : place + dice.randrange(1, 9)] for text in texts for place in [dice.randrange(len(text))]
    ]
    with path.open("rb") as file:
        for word in [*WORDS, *cuts]:
            expected = {number for number, text in enumerate(texts, 1) if word in text}
            assert rows_with(file, offsets, at, word) == expected, word
            assert rows_with(file, offsets, at, word, after=9) == {n for n in expected if n > 9}, word


def test_a_recording_that_grows_is_searched_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    line = '{"n":%d,"t":1,"dir":"%s","msg":{"jsonrpc":"2.0","method":"say","params":{"text":"%s"}}}\n'
    path.write_text('{"acpella":2,"id":"x"}\n' + line % (1, "in", "one") + line % (2, "out", "two"))
    log = RecordingLog(path)
    log.read_more()
    assert log.search(Filter("one")) == [2]
    assert log.search(Filter("-one dir:out")) == [3]
    with path.open("a") as file:
        file.write(line % (3, "in", "one and two") + line % (4, "in", "three"))
    assert log.search(Filter("one")) == [2]  # what was not read yet has no row
    log.read_more()
    assert log.search(Filter("one two"), after=3) == [4]
    assert log.search(Filter("method:say -two")) == [2, 5]
    log.close()
