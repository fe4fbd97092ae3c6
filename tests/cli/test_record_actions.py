"""E10: `acpella record show`, `scan`, `diff` and `convert`."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from test_replay_command import HELLO, ask, choose, prompt, say, stop, written

from acpella.cli import command_parser, main
from acpella.recording import Begin, Item, RecordedFrame, read, read_recording
from acpella.recording.convert import EXPORTS, IMPORTS, guess, reader_of, writer_of
from acpella.recording.writer import open_private
from acpella.testing import ScriptedAgent, stderr
from acpella.testing import say as scripted_say
from acpella.testing.snapshots import write_snapshot

GOLDEN = Path(__file__).parents[1] / "unit" / "recording" / "golden"
Lines = list[tuple[str, dict[str, Any]]]

CALL = {"toolCallId": "c1", "title": "Read a file", "kind": "read", "status": "in_progress"}
TALK: Lines = [
    *HELLO,
    prompt(2, "what is in it?"),
    say("Let me "),
    say("look."),
    (
        "in",
        {
            "method": "session/update",
            "params": {"sessionId": "s-then", "update": {"sessionUpdate": "tool_call", **CALL}},
        },
    ),
    ask(70),
    choose(70, "yes"),
    (
        "in",
        {
            "method": "session/update",
            "params": {
                "sessionId": "s-then",
                "update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"},
            },
        },
    ),
    say("Nothing."),
    stop(2, "max_tokens"),
    prompt(3, "go on"),
    ("in", {"id": 3, "error": {"code": -32603, "message": "no more"}}),
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return written(tmp_path / "talk.jsonl", *TALK)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["record", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_conversation_is_shown_as_chat_shows_it(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = output(capsys, "show", str(talk))
    assert code == 0
    wanted = [
        "> what is in it?",
        "Let me look.",
        "Read a file",
        "[Do it: yes]",
        "Nothing.",
        "[max_tokens]",
        "> go on",
    ]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places) and "[session/prompt failed: no more]" in text


def test_a_tool_call_goes_on_after_the_question_about_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def update(**fields: Any) -> Any:
        return ("in", {"method": "session/update", "params": {"sessionId": "s", "update": fields}})

    call = {"toolCallId": "c", "title": "Tidy notes.txt", "kind": "edit"}
    path = written(
        tmp_path / "t.jsonl",
        *HELLO,
        prompt(2, "tidy"),
        update(sessionUpdate="tool_call", status="pending", **call),
        (
            "in",
            {"id": 9, "method": "session/request_permission", "params": {"toolCall": call, "options": []}},
        ),
        ("out", {"id": 9, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}),
        update(sessionUpdate="tool_call_update", toolCallId="c", status="completed"),
        stop(2),
    )
    _, text, _ = output(capsys, "show", str(path))
    assert "[Tidy notes.txt: yes]" in text and "[edit] Tidy notes.txt ✓ completed" in text
    assert "unfinished" not in text and "[other]" not in text


def test_what_an_agent_said_cannot_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path / "t.jsonl", *HELLO, prompt(2, "hi\x1b[2J"), say("\x1b]0;title\x07evil\x1b[31m"), stop(2)
    )
    for options in ([], ["-v"], ["--frames"]):
        _, text, _ = output(capsys, "show", *options, str(path))
        assert "\x1b" not in text and "\x07" not in text and "evil" in text


@pytest.mark.parametrize("options", [[], ["--frames"]])
def test_of_a_damaged_recording_the_rest_is_shown(
    talk: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    head = b'{"acpella":2,"agent":{}}\n'
    talk.write_bytes(b"".join([head, *lines[:5], b"\x00\xff garbage\n", *lines[5:7], lines[7][:20]]))
    code, text, told = output(capsys, "show", *options, str(talk))
    assert code == 1 and "2 lines of" in told
    assert "line 7 cannot be read" in text and "line 10 cannot be read" in text
    assert "what is in it?" in text and "look." in text and "breaks off here" in text


def test_a_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show"], ["scan"], ["convert", "--from", "acpella"], ["diff", "/missing"]):
        code, _, told = output(capsys, *words, "/missing")
        assert code == 2 and "there is no file /missing; name a recording" in told


def test_a_scan_finds_what_was_not_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path / "talk.jsonl",
        *HELLO,
        say("the key is Zx81kPq0Lm27TtYv93aBcDeF, see /home/brunhilde/x"),
        say("write to b@example.org"),
        say("mine is sk-"),
        say("ant-R4nd0"),
        say("mPartKey78"),
        ("in", {"method": "x", "params": {"toolCallId": "Zx81kPq0Lm27TtYv93aBcDeF", "token": "<secret 1>"}}),
    )
    code, text, _ = output(capsys, "scan", str(path))
    assert code == 1
    assert [line.split()[1] for line in text.splitlines()] == ["5", "5", "6", "9"]
    for part in ("looks random", "a home directory", "an address of a person", "several chunks"):
        assert part in text
    assert "Zx81kPq0" not in text and "R4nd0m" not in text
    code, text, _ = output(capsys, "scan", "--json", str(path))
    assert json.loads(text)[0]["line"] == 5


def findings(capsys: pytest.CaptureFixture[str], path: Path) -> list[tuple[int, str, str]]:
    """Line, reason and place of each."""
    _, text, _ = output(capsys, "scan", "--json", str(path))
    return [(each["line"], each["why"], each["place"]) for each in json.loads(text)]


def test_a_scan_finds_a_secret_that_is_whole_only_in_two_chunks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def think(text: str) -> tuple[str, dict[str, Any]]:
        way, message = json.loads(json.dumps(say(text)))
        message["params"]["update"]["sessionUpdate"] = "agent_thought_chunk"
        return way, message

    path = written(
        tmp_path / "talk.jsonl",
        *HELLO,
        say("key: <secret 1>"),
        say("sT1vW4yZ7bC0eF3hJ6 done"),
        say("write to b@example.org: the password: "),
        think("is it "),
        say("hunter2Zm9vQ8x"),
    )
    with path.open("a", encoding="utf-8") as file:
        for line in ("-----BEGIN PRIVATE KEY-----", "kiwikiwi", "-----END PRIVATE KEY-----"):
            file.write(json.dumps({"dir": "err", "text": line}) + "\n")
    assert findings(capsys, path) == [
        (6, "may be the rest of a secret", "several chunks"),
        (7, "an address of a person", "params.update.content.text"),
        (9, "looks like a secret", "several chunks"),
        (11, "looks like a secret", "several lines"),
    ]


def test_a_scan_does_not_take_our_own_names_for_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path / "talk.jsonl",
        *HELLO,
        say("machine h.example login me password <secret 44> -u me:<secret 3> token=<secret 5>"),
        say("-----BEGIN RSA PRIVATE KEY-----"),
    )
    assert findings(capsys, path) == []


def test_a_scan_says_where_on_stderr_and_in_the_order_of_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "talk.jsonl"
    lines = [{"dir": "in", "msg": say(text)[1]} for text in ("mine is sk-", "ant-R4nd0", "mPartKey78")]
    lines += [{"dir": way, "text": "ask b@example.org"} for way in ("err", "in")]
    path.write_text("".join(json.dumps(line) + "\n" for line in [{"acpella": 2}, *lines]), encoding="utf-8")
    address = "an address of a person"
    assert findings(capsys, path) == [
        (4, "looks like a secret", "several chunks"),
        (5, address, "stderr"),
        (6, address, "not a message"),
    ]


def test_a_scan_finds_the_home_directory_wherever_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/tmp/x/alice")
    texts = ["see /tmp/x/alice/notes", "?cwd=%2Ftmp%2fx", "?cwd=%2Ftmp%2Fx%2Falice%2Fnotes", "/tmp/x/alices"]
    path = written(tmp_path / "talk.jsonl", *HELLO, *(say(text) for text in [*texts, "%2Fhome%2Fbob%2Fx"]))
    assert [found[:2] for found in findings(capsys, path)] == [
        (line, "a home directory") for line in (5, 7, 9)
    ]


def test_a_clean_recording_has_nothing_to_find(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "scan", str(talk))[:2] == (
        0,
        "nothing looks secret; prompts, answers and file contents are in it all the same\n",
    )


def test_a_recording_that_is_still_being_written_is_not_taken_for_whole(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, name = str(tmp_path / "talk.html"), str(tmp_path / "other.jsonl")
    commands = [["scan"], ["convert"], ["convert", "--to", "mermaid"], ["html", "-o", page]]
    with open_private(name) as file:
        file.write(talk.read_bytes())
        file.flush()
        for command in commands:
            code, text, told = output(capsys, *command, name)
            assert code == 1 and "other.jsonl is still being written" in told, command
            assert "nothing looks secret" not in text
        assert main(["inspect", name, "--rows"]) == 0
        assert "other.jsonl is still being written" in capsys.readouterr().err
        assert main(["inspect", name, "--html", page]) == 1
        assert "other.jsonl is still being written" in capsys.readouterr().err
    for command in commands:
        code, _, told = output(capsys, *command, name)
        assert code == 0 and "still being written" not in told, command


def test_equal_conversations_have_no_difference(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other ids, directories and pieces of text are no difference."""
    text = talk.read_text(encoding="utf-8").replace("s-then", "s-now").replace("/recorded/here", "/now")
    other = tmp_path / "other.jsonl"
    other.write_text(text.replace('"Let me "', '"Let "').replace('"look."', '"me look."'), encoding="utf-8")
    code, text, _ = output(capsys, "diff", str(talk), str(other))
    assert code == 0 and text.endswith("the same messages, fields and texts\n")


@pytest.mark.parametrize("name", sorted(set(EXPORTS) & set(IMPORTS)))
def test_conversations_of_other_tools_are_compared(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    other = tmp_path / "other"
    with other.open("w", encoding="utf-8") as out:
        writer_of(name)(read(talk), out)
    for sides in ((talk, other), (other, talk)):
        code, text, told = output(capsys, "diff", *map(str, sides))
        assert code == 0 and text.endswith("the same messages, fields and texts\n") and not told


def test_of_damaged_recordings_the_rest_is_compared(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(talk.read_bytes() + b"{cut")
    code, text, told = output(capsys, "diff", str(talk), str(other))
    assert code == 0 and "the same messages" in text
    assert "as far as they can be read" in text
    assert f"other.jsonl, line {len(TALK) + 1} is left out" in told


def test_differences_are_told_apart(talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = written(
        tmp_path / "other.jsonl",
        HELLO[0],
        ("in", {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}),
        *HELLO[2:],
        prompt(2, "what is in it?"),
        say("Let me see."),
        ("in", {"method": "_new", "params": {}}),
        *TALK[7:10],
        *TALK[11:-2],
    )
    code, text, _ = output(capsys, "diff", str(talk), str(other))
    assert code == 1
    assert "agentCapabilities.loadSession: nothing ≠ true" in text
    assert "+ ← notification _new" in text and "- ← notification session/update tool_call_update" in text
    assert "-Let me look." in text and "+Let me see." in text


def said(path: Path, name: str) -> list[tuple[str, Any]]:
    return [
        (i.direction, i.message)
        for i in reader_of(name)(path)
        if isinstance(i, RecordedFrame) and i.direction != "err"
    ]


@pytest.mark.parametrize("name", [name for name in EXPORTS if name in IMPORTS])
def test_what_goes_to_another_format_comes_back(talk: Path, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    with other.open("w", encoding="utf-8") as out:
        writer_of(name)(read(talk), out)
    assert guess(other) == name
    assert said(other, name) == said(talk, "acpella")


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "devtools",
            '{"version":1,"exportedAt":1,"tool":{"name":"x","version":"1"},"session":{"id":1,"startedAt":1000},"messages":'
            '[{"seq":1,"timestamp":1500,"direction":"editor-to-agent","kind":"request","raw":"{\\"id\\":0,\\"method\\":\\"initialize\\"}"}]}',
        ),
        (
            "inspector",
            '{"type":"header","format":"acp-inspector-trace","version":1,"at":1,"frames":1,"dropped":0,"warning":"w"}\n'
            '{"type":"frame","at":1500,"connection":1,"direction":"client -> agent","encoding":"utf8",'
            '"frame":"{\\"id\\":0,\\"method\\":\\"initialize\\"}"}\n',
        ),
        (
            "conductor",
            '{"type":"request","ts":0.5,"protocol":"acp","from":"client","to":"agent","id":0,"method":"initialize"}\n',
        ),
        ("acpx", '{"jsonrpc":"2.0","id":0,"method":"initialize"}\n'),
        (
            "har",
            '{"log":{"entries":[{"request":{"url":"wss://x.example/acp?token=abc"},"_webSocketMessages":'
            '[{"type":"send","time":5.0,"opcode":1,"data":"{\\"id\\":0,\\"method\\":\\"initialize\\"}"}]}]}}',
        ),
    ],
)
def test_files_of_other_tools_become_recordings(
    tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "theirs"
    path.write_text(text, encoding="utf-8")
    ours = tmp_path / "ours.jsonl"
    assert guess(path) == name and output(capsys, "convert", str(path), "-o", str(ours))[0] == 0
    begin, frame = list(read(ours))
    assert isinstance(begin, Begin) and begin.version == 2 and begin.info["point"] == "converted"
    assert (
        isinstance(frame, RecordedFrame)
        and frame.direction == "out"
        and frame.message["method"] == "initialize"
    )
    assert "abc" not in ours.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(EXPORTS) & set(IMPORTS)))
def test_what_a_conversation_says_does_not_make_it_another_format(tmp_path: Path, name: str) -> None:
    client = {"name": "acpella", "dir": "in", "log": [{"entries": []}], "messages": [], "exportedAt": 0}
    path = written(
        tmp_path / "talk.jsonl",
        ("err", {"acpella": "acp-inspector-trace"}),
        ("out", {"id": 0, "method": "initialize", "params": {"clientInfo": client, "parentUuid": 1}}),
    )
    other = tmp_path / "other"
    with other.open("w", encoding="utf-8") as out:
        writer_of(name)(read(path), out)
    assert guess(other) == name


def test_a_conversion_that_fails_leaves_no_file_and_no_other_one(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, old = tmp_path / "theirs.har", tmp_path / "old.jsonl"
    path.write_text('{"log":{"entries":[]}}')
    old.write_text("what was there")
    before = set(tmp_path.iterdir())
    for out in (tmp_path / "new.jsonl", old):
        assert output(capsys, "convert", str(path), "-o", str(out))[0] == 2
    assert set(tmp_path.iterdir()) == before and old.read_text() == "what was there"
    link = tmp_path / "link"
    link.symlink_to(old)
    old.write_text('{"acpella":1}\n')
    assert output(capsys, "convert", str(talk), "-o", str(link))[0] == 0
    assert link.is_symlink() and '"acpella":2' in old.read_text()


def test_a_session_of_claude_code_becomes_a_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(kind: str, content: Any, second: int) -> str:
        entry = {"type": kind, "uuid": str(second), "parentUuid": None, "sessionId": "s", "cwd": "/p"}
        return json.dumps(
            {**entry, "timestamp": f"2026-01-01T00:00:0{second}Z", "message": {"content": content}}
        )

    path = tmp_path / "session.jsonl"
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "words"}
    path.write_text(
        "\n".join(
            [
                line("user", "read a", 0),
                line("assistant", [{"type": "thinking", "thinking": "hm"}, use], 1),
                line("user", [result], 2),
                line("assistant", [{"type": "text", "text": "It says words."}], 3),
            ]
        ),
        encoding="utf-8",
    )
    ours = tmp_path / "ours.jsonl"
    assert output(capsys, "convert", str(path), "-o", str(ours))[0] == 0
    _, text, _ = output(capsys, "show", str(ours))
    places = [text.index(part) for part in ("> read a", "Read", "It says words.")]
    assert places == sorted(places)


def test_a_diagram_shows_who_said_what(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = output(capsys, "convert", str(talk), "--to", "mermaid")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "sequenceDiagram"
    for line in (
        "C->>A: session/prompt what is in it?",
        "A->>C: agent_message_chunk (2) Let me look.",
        "C-->>A: session/request_permission",
        "A-->>C: session/prompt max_tokens",
        "A-->>C: session/prompt no more",
    ):
        assert line in lines


def test_a_diagram_holds_no_characters_that_cannot_be_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "a\x1b[31m\x07\x9b\u202e\u2066\u200bb\u2028c"
    path = written(tmp_path / "t.jsonl", *HELLO, prompt(2, odd), say(odd), stop(2, odd))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"dir": "err", "text": odd}) + "\n")
    _, text, _ = output(capsys, "convert", "--to", "mermaid", str(path))
    assert not [c for c in text if c not in "\n " and not c.isprintable()]
    assert text.count("b c") == 4


def test_why_a_recording_ended_stays_in_its_line(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    end = json.dumps({"ev": "end", "t": 1.0, "error": "one\n[the agent ended\x1b[2J"})
    path.write_text(f'{{"acpella":2,"agent":{{}}}}\n{talk.read_text("utf-8")}{end}\n', encoding="utf-8")
    for options in ([], ["--frames"]):
        _, text, _ = output(capsys, "show", *options, str(path))
        assert "the recording ended: one" in text and "\n[the agent" not in text and "\x1b" not in text


def test_spans_of_a_turn_hold_its_tool_calls(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = output(capsys, "convert", str(talk), "--to", "otlp")
    spans = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    named = {span["name"]: span for span in spans[:-1]}
    turn = named["session/prompt"]
    assert (
        named["tool read"]["parentSpanId"]
        == named["session/request_permission"]["parentSpanId"]
        == turn["spanId"]
    )
    assert spans[-1]["status"] == {"code": 2} and len({span["spanId"] for span in spans}) == len(spans)


def test_an_old_recording_is_brought_up_to_date_and_cleaned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.jsonl"
    old.write_bytes(
        (GOLDEN / "version1.jsonl").read_bytes() + b'{"dir":"in","msg":{"token":"hunter2hunter2"}}\nbroken\n'
    )
    new = tmp_path / "new.jsonl"
    code, _, told = output(capsys, "convert", str(old), "-o", str(new))
    assert code == 1 and "line 8 is left out" in told
    assert "hunter2" not in new.read_text(encoding="utf-8")
    items: list[Item] = list(read(new))
    assert [i.version for i in items if isinstance(i, Begin)] == [2, 2]
    code, _, told = output(capsys, "convert", str(new), "-o", str(new))
    assert code == 2 and "name another one" in told


def test_what_is_no_recording_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "binary"
    path.write_bytes(bytes(range(256)) * 100)
    code, _, told = output(capsys, "convert", str(path))
    assert code == 2 and "looks like no format that is known" in told


def test_of_a_newer_recording_not_even_the_beginning_is_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "newer.jsonl"
    path.write_text('{"acpella":9}\n', encoding="utf-8")
    code, text, told = output(capsys, "convert", str(path), "--to", "mermaid")
    assert (code, text) == (2, "") and "format 9" in told


def test_the_signal_that_ended_an_agent_has_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "talk.jsonl"
    end = {"ev": "end", "t": 1.0, "frames": 1, "dropped": 0, "hidden": 0, "exit": {"signal": 15}}
    frame = {"n": 1, "t": 0.1, "dir": "in", "text": "bye"}
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"acpella": 2}, frame, end)))
    assert "the agent ended by SIGTERM" in output(capsys, "show", str(path))[1]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a\nletter\n", bytes(range(256)) * 20])
def test_a_file_without_a_conversation_is_not_called_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "nothing.jsonl"
    path.write_bytes(content)
    for words in (["show"], ["show", "--frames"], ["scan"], ["scan", "--json"], ["html"]):
        code, text, told = output(capsys, *words, str(path))
        assert code == 2 and "nothing.jsonl holds no conversation" in told
        assert "nothing looks secret" not in text
    assert list(tmp_path.iterdir()) == [path]


def test_frames_are_shown_as_they_were_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "talk.jsonl"
    lines = [
        {"acpella": 2, "agent": {}},
        {"n": 1, "t": 0.1, "dir": "out", "msg": {"a": 2}, "raw": '{"a":1,"a":2}'},
        {"n": 2, "t": 0.2, "dir": "in", "b64": "//4gQQ=="},
        {"ev": "gap", "t": 0.3, "dir": "in", "dropped": 1},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "broken\n")
    code, text, told = output(capsys, "show", "--frames", str(path))
    assert code == 1 and "1 line of" in told
    assert '→ {"a":1,"a":2}\n' in text and "← (not text) \\xff\\xfe A\n" in text
    assert "# 1 frame not recorded here" in text
    assert "not a message: (not text) \\xff" in output(capsys, "show", "-v", str(path))[1]


def test_a_recording_without_its_first_line_is_shown(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = output(capsys, "show", str(talk))
    assert code == 0 and text.startswith("[the first line of the recording is missing]\n")
    assert "what is in it?" in text
    talk.write_bytes(b'{"acpella":2,"agent":{}}\n' + talk.read_bytes())
    assert "first line" not in output(capsys, "show", str(talk))[1]


def test_run_records_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    echo = Path(__file__).parents[2] / "examples" / "echo.py"
    command = [sys.executable, "-m", "acpella", "run", "--record", str(path), "-a", str(echo), "hello"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "You said: hello\n"
    frames = [item.message for item in read(path) if isinstance(item, RecordedFrame)]
    assert [m["method"] for m in frames if "method" in m][:3] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]


def test_serve_takes_a_directory_for_recordings(tmp_path: Path) -> None:
    from acpella.cli.commands.serve import _settings  # pyright: ignore[reportPrivateUsage]

    arguments = command_parser("serve").parse_args(["--record", str(tmp_path / "here")])
    assert _settings(arguments).record == str(tmp_path / "here")


@pytest.mark.parametrize("kept", [False, True], ids=["single prompt", "kept session"])
def test_run_records_what_the_agent_writes_to_stderr(shell: Shell, tmp_path: Path, kept: bool) -> None:
    agent = ScriptedAgent().on("", stderr("low on fuel"), scripted_say("there"))
    session = ["-s", "work"] if kept else []
    path = tmp_path / "talk.jsonl"
    ran = shell("run", *session, "--record", str(path), "-a", shlex.join(agent.command), "hello")
    assert ran.returncode == 0, ran.stderr
    assert "there" in ran.stdout and "fuel" not in ran.stderr
    frames = [item for item in read(path) if isinstance(item, RecordedFrame)]
    assert [frame.message for frame in frames if frame.direction == "err"] == ["low on fuel"]


@pytest.mark.parametrize("kind", list(EXPORTS))
def test_a_conversion_replaces_its_own_file_and_no_other_one(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    out = tmp_path / "out"
    words = ["convert", str(talk), "--to", kind, "-o", str(out)]
    for _ in range(2):
        assert output(capsys, *words)[0] == 0
    out.write_text("dear diary\n")
    code, _, told = output(capsys, *words)
    assert code == 2 and "out is there, and no file of the format" in told
    assert out.read_text() == "dear diary\n"


def test_a_page_replaces_no_other_file(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "talk.html"
    for _ in range(2):
        assert output(capsys, "html", str(talk))[0] == 0
    out.write_text("<!doctype html>\n<title>My page</title>\n")
    code, _, told = output(capsys, "html", str(talk))
    assert code == 2 and "talk.html is there, and no page of a recording" in told
    assert "My page" in out.read_text()


def test_a_page_without_the_lines_that_cannot_be_read_is_not_called_whole(
    talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk.write_text(talk.read_text() + '{"cut')
    code, _, told = output(capsys, "html", str(talk))
    assert code == 1 and "1 line of " in told and "cannot be read" in told


def test_a_snapshot_of_a_test_does_not_break_off(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = tmp_path / "snapshot.jsonl"
    write_snapshot(snapshot, read_recording(talk))
    code, text, _ = output(capsys, "show", str(snapshot))
    assert code == 0 and "Let me look." in text and "breaks off" not in text
