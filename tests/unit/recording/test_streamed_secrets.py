"""E10: a secret that comes in pieces is not in the file either, and what comes after it is."""

import base64
import json
import random
import textwrap
from pathlib import Path
from typing import Any

import pytest
from test_recording_format import written

from acpella.recording.scan import scan
from acpella.recording.streamed_secrets import OPEN_STREAMS

BODY = textwrap.wrap(base64.b64encode(random.Random(1).randbytes(1190)).decode(), 64)
KEY = ["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"]
ENCRYPTED = [KEY[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,00112233445566778899AABB", "", *KEY[1:]]
TOKEN = "ghp_aB3dE6gH9jK2mN5pQ8", "sT1vW4yZ7bC0eF3hJ6"


def chunk(text: str, *, session: str = "s", kind: str = "agent_message_chunk") -> bytes:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"


def terminal(text: str) -> bytes:
    output = {"terminal_id": "t", "data": text}
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": {"terminal_output": output}}
    message = {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    return json.dumps(message).encode() + b"\n"


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["msg"]["params"]["update"]["content"]["text"] for line in lines if "msg" in line]


def is_hidden(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return not any(line in text for line in BODY)


@pytest.mark.parametrize("key", [KEY, ENCRYPTED, [f"    {line}" for line in KEY]], ids=lambda key: key[1][:9])
def test_no_line_of_a_private_key_on_stderr_is_in_the_file(tmp_path: Path, key: list[str]) -> None:
    path = tmp_path / "talk.jsonl"
    lines = written(path, *(("err", line.encode() + b"\n") for line in ["before", *key, "some words after"]))
    assert is_hidden(path)
    shown = [line["text"] for line in lines[1:-1]]
    assert [shown[0], shown[1], shown[-2], shown[-1]] == ["before", KEY[0], KEY[-1], "some words after"]


@pytest.mark.parametrize("size", [1, 3, 17, 65, 1000])
@pytest.mark.parametrize("send", [chunk, terminal])
def test_a_private_key_that_is_streamed_in_pieces_is_not_in_the_file(
    tmp_path: Path, size: int, send: Any
) -> None:
    path = tmp_path / "talk.jsonl"
    whole = "\n".join(["Here it is:", *KEY, "Keep it well."])
    begin = whole.index("-----BEGIN") + 5  # models write the dashes as one word
    pieces = [whole[:begin], *(whole[at : at + size] for at in range(begin, len(whole), size))]
    other = ("in", chunk("words of another session", session="other"))
    lines = written(path, *(item for piece in pieces for item in (("in", send(piece)), other)))
    text = path.read_text(encoding="utf-8")
    assert not any(body[at : at + 8] in text for body in BODY for at in range(0, 56, 8))
    assert is_hidden(path)
    if send is chunk:
        shown = [part for part in texts(lines) if part != "words of another session"]
        assert "".join(shown).startswith("Here it is:\n-----BEGIN RSA PRIVATE KEY-----\n<secret")
        assert "".join(shown).endswith(">\n-----END RSA PRIVATE KEY-----\nKeep it well.")


def test_a_private_key_that_never_ends_does_not_hide_what_comes_after_it(tmp_path: Path) -> None:
    after = [f"these are words of line {number}" for number in range(9)]
    lines = written(
        tmp_path / "talk.jsonl",
        *(("err", line.encode() + b"\n") for line in [*KEY[:4], *after, "alone", BODY[8]]),
        ("in", chunk("-----BEGIN PRIVATE KEY-----\n")),
        *(("in", chunk(word)) for word in ["look", " at", " this", "\n", *after, "\n", "word"]),
    )
    assert [line["text"] for line in lines if "text" in line][4:] == [*after, "alone", BODY[8]]
    assert texts(lines)[2:] == [" at", " this", "\n", *after, "\n", "word"]


def test_a_line_of_another_thread_does_not_end_a_private_key(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    lines = [*KEY[:5], "INFO a request came in", *KEY[5:]]
    written(path, *(("err", line.encode() + b"\n") for line in lines))
    assert is_hidden(path) and "INFO a request came in" in path.read_text(encoding="utf-8")


def test_lines_of_a_key_with_a_prefix_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    written(path, *(("err", f"12:00:01 [node] {line}\n".encode()) for line in KEY))
    assert is_hidden(path)


def test_a_line_of_a_key_that_was_hidden_whole_is_hidden_when_it_comes_alone(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    odd = json.dumps({"text": f"it begins with\n{BODY[1]}"}).replace("/", "\\/").encode() + b"\n"
    lines = written(
        path,
        ("in", json.dumps({"text": "\n".join(KEY)}).encode() + b"\n"),
        ("in", json.dumps({"text": json.dumps({"text": "\n" + BODY[0]})}).encode() + b"\n"),
        ("in", odd),
        ("err", BODY[2].encode() + b"\n"),
    )
    assert is_hidden(path) and lines[-1]["hidden"] >= 4


def test_what_a_message_says_twice_does_not_keep_a_line_of_a_key_in_its_raw_text(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    written(
        path,
        ("in", chunk(KEY[0] + "\n")),
        ("in", chunk(BODY[0] + "\n").replace(b'{"jsonrpc"', b'{"jsonrpc":"1","jsonrpc"')),
    )
    assert '"raw"' in path.read_text(encoding="utf-8") and is_hidden(path)


def test_the_second_half_of_a_token_is_hidden_and_no_word_after_it(tmp_path: Path) -> None:
    first, second = TOKEN
    pieces = [f"key: {first}", f"{second} done", f" again: {first}", second[:5], second[5:], ". Done."]
    whole = [f" whole: {first}{second}", " and so on"]
    answers = [*pieces, *whole, "password: hunter2Zm9vQ8x", "word"]
    path = tmp_path / "talk.jsonl"
    lines = written(path, *(("in", chunk(text)) for text in answers))
    assert texts(lines) == [
        "key: <secret 2>",  # 1 is in the command
        "<secret 3> done",
        " again: <secret 2>",
        "<secret 4>",
        "<secret 5>",
        ". Done.",
        " whole: <secret 6>",
        " and so on",
        "password: <secret 7>",
        "word",
    ]


def test_a_token_at_the_end_of_a_text_does_not_hide_the_next_one(tmp_path: Path) -> None:
    message = {"method": "session/prompt", "id": 2, "params": {"sessionId": "s", "prompt": []}}
    lines = written(
        tmp_path / "talk.jsonl",
        ("in", chunk("".join(TOKEN))),
        ("in", chunk("Thinking", kind="agent_thought_chunk")),
        ("in", chunk("Elsewhere", session="t")),
        ("out", json.dumps(message).encode() + b"\n"),
        ("in", chunk("Hello")),
        ("err", "".join(TOKEN).encode() + b"\nword\n"),
    )
    assert texts([lines[at] for at in (2, 3, 5)]) == ["Thinking", "Elsewhere", "Hello"]
    assert lines[7]["text"] == "word"


def test_a_token_with_dots_ends_where_its_sentence_ends(tmp_path: Path) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0"
    lines = written(
        tmp_path / "talk.jsonl",
        *(("in", chunk(text)) for text in [token, ".dozjgNryP4J3jVmNHl0w5N", ". Use it"]),
    )
    assert texts(lines)[1:] == ["<secret 3>", ". Use it"]


def test_the_second_half_of_a_token_is_hidden_when_an_older_recording_is_cleaned(tmp_path: Path) -> None:
    pieces = ["key: <secret 7>", f"{TOKEN[1]} done", "or <secret 7>", "word"]
    lines = written(tmp_path / "talk.jsonl", *(("in", chunk(text)) for text in pieces))
    assert texts(lines) == ["key: <secret 7>", "<secret 2> done", "or <secret 7>", "word"]


def test_a_scan_of_very_many_sessions_finds_what_is_in_pieces(tmp_path: Path) -> None:
    """It is looked at when there are too many streams to remember, too."""
    lines = [{"acpella": 1, "agent": "many", "started": "2026-11-15T12:00:00.000+00:00"}]
    for session in range(2 * OPEN_STREAMS):
        for text in ("ghp_aB3dE6gH9", "jK2mN5pQ8sT1vW4"):
            message: Any = json.loads(chunk(text, session=f"s{session}"))
            lines.append({"t": 0.1, "dir": "in", "msg": message})
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found_at = {finding.line for finding in scan(file) if finding.place == "several chunks"}
    assert len(found_at) == 2 * OPEN_STREAMS
