"""E10: what is secret is not in the file, whatever its shape; nor who recorded it, if that is wanted."""

import base64
import getpass
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from test_recording_format import written

from acpella.recording.anonymizing import Anonymizer
from acpella.recording.redaction import Redactor
from acpella.recording.writer import Filters, Writer, open_private

SECRET = "hunter2Zm9vQ8x"
TOKEN = "R4nd0mPartOfAKey7890abcd"


def update(text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def server(**fields: Any) -> dict[str, Any]:
    return {"cwd": "/p", "mcpServers": [{"name": "m", **fields}]}


def proxied(headers: Any) -> dict[str, Any]:
    return {
        "_meta": {"proxyConfig": {"proxies": [{"proxy": {"url": "http://127.0.0.1:1", "headers": headers}}]}}
    }


PARAMS = [
    {"apiKey": SECRET},
    {"api_key": SECRET},
    {"OPENAI_API_KEY": SECRET},
    {"accessToken": SECRET},
    {"refresh_token": SECRET},
    {"client_secret": SECRET},
    {"password": SECRET},
    {"dbPasswd": SECRET},
    {"passphrase": SECRET},
    {"Authorization": f"Bearer {SECRET}"},
    {"Set-Cookie": f"sid={SECRET}"},
    {"credentials": {"value": {"deep": [SECRET]}}},
    {"privateKey": SECRET},
    server(command="m", args=[], env=[{"name": "ANY", "value": SECRET}]),
    server(type="http", url="https://x.example", headers=[{"name": "X-Any", "value": SECRET}]),
    {"env": {"ANYTHING": SECRET}},
    {"headers": {"X-Any": SECRET}},
    proxied({"proxy_key": SECRET}),
    proxied({"x-of-tomorrow": SECRET}),
    proxied([{"name": "x", "value": SECRET}]),
    server(command="m", args=["--token", SECRET], env=[]) | {"text": f"m --token {SECRET}"},
    update(f"export GITHUB_TOKEN={SECRET}"),
    update(f"password: {SECRET}"),
    update(f"curl -H 'Authorization: Bearer {SECRET}' https://x.example"),
    update(f"Authorization: Basic {base64.b64encode(SECRET.encode()).decode()}"),
    update(f"postgres://me:{SECRET}@db.example/x"),
    update(f"https://x.example/?api_key={SECRET}&b=1"),
    update(f"https://x.example/?b=1&sig={SECRET}"),
    update(f"https://x.example/cb?code={SECRET}#x"),
    update(f"https://s3.example/o?X-Amz-Signature={SECRET}"),
    update(json.dumps({"token": SECRET})),
    update(json.dumps(json.dumps({"api_key": SECRET}))),
    update(json.dumps({"env": {"A": SECRET}})),
    update(f"wss://x.example/acp?ticket={SECRET}"),
    update(f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----"),
    update(f"sk-ant-{TOKEN}"),
    update(f"ghp_{TOKEN} and github_pat_{TOKEN}"),
    update(f"xoxb-{TOKEN}, glpat-{TOKEN}, hf_{TOKEN}"),
    update(f"AIza{TOKEN}{TOKEN}"),
    update(f"eyJhbGciOiJIUzI1NiJ9.{TOKEN}.{TOKEN}"),
    {"terminal_output": {"data": f"token={SECRET}"}},
    {"headers": [["X-Any", SECRET], ["Authorization", SECRET]]},
    {"pairs": [["X-Api-Key", SECRET], ["accept", "*/*"]]},
    {"sessionId": "s", "configId": "apiKey", "value": SECRET},
    {"auths": {"r.example.org": {"auth": SECRET}}},
    update(f"Cookie: theme=dark; sid={SECRET}"),
    update(f"{{'api_key': '{SECRET}'}}"),
    update(f"<password>{SECRET}</password>"),
    update(f"machine h.example login me password {SECRET}"),
    update(f"Incorrect API key provided: {SECRET}."),
    update(f"q=%7B%22access_token%22%3A%22{SECRET}%22%7D"),
    update(f"%22ghp_{TOKEN}%22"),
    update(f"hvs.{TOKEN}, ntn_{TOKEN}, ATATT3{TOKEN}, 123456789:AA{TOKEN}abcdefgh"),
    {"otp": SECRET, "user_pin": SECRET},
    server(command="npx", args=["x", f"MYKEY={SECRET}"], env=[]),
    server(command="mysql", args=["-u", "root", f"-p{SECRET}"], env=[]),
    {"args": ["--token", "x", "-p", SECRET]},
    {"args": ["curl", "-u", f"me:{SECRET}", "https://x.example"]},
    {"args": ["docker", "login", "-p", f"two words {SECRET}"]},
    update(f"curl -u me:{SECRET} https://x.example"),
    update(f"mysql -p{SECRET} shop"),
    update(f"docker login -u me -p {SECRET} registry.example"),
    update(f"Server=x;Pwd={SECRET};AccountKey={SECRET}=="),
    update(f"https://hooks.slack.com/services/T00000000/B00000000/{SECRET}"),
    {f"token={SECRET}": "a name of a field"},
    update(f"curl -H 'Authorization: token {SECRET}' https://x.example"),
    update(f'Authorization: Digest username="me", response="{SECRET}"'),
    update(f"curl -H 'X-Auth: {SECRET}' https://x.example"),
    {"X-Auth-Key": SECRET},
    update(f"dsn: me:{SECRET}@tcp(db:3306)/shop"),
    {"args": ["tool", "--pass", SECRET]},
    {"args": ["keytool", "-storepass", SECRET]},
    server(command="redis-cli", args=["-a", SECRET], env=[]),
    {"args": ["net", "ads", "join", "-U", f"me%{SECRET}"]},
]
TEXTS = [
    f"banner: api_key={SECRET}".encode(),
    f'{{"half": "a message", "token": "{SECRET}", '.encode(),
    f'{{"t\\u006fken": "{SECRET}"}}'.encode(),
    b"\xff\xfe password=" + SECRET.encode(),
]


def hidden_in(text: str) -> bool:
    encoded = base64.b64encode(SECRET.encode()).decode()
    return SECRET not in text and TOKEN not in text and encoded not in text


@pytest.mark.parametrize("sample", [*PARAMS, *TEXTS], ids=lambda sample: str(sample)[:60])
def test_every_secret_is_beside_a_hint(sample: Any) -> None:
    """A line without one is taken as it is."""
    assert Redactor().may_hold_secrets(sample if isinstance(sample, bytes) else json.dumps(sample).encode())


def test_ordinary_arguments_stay() -> None:
    for words in (
        ["mkdir", "-p", "dir"],
        ["docker", "run", "-u", "1000:1000", "-p", "8080:80", "nginx"],
        ["--token", "<secret 1>", "-p", "8080"],
        ["sh", "-c", "docker login; tsc -p tsconfig.json"],
        ["token", "otp", "pin"],
        ["ls", "-a", "dir", "--pass", "$PASS", "--pass-through", "all"],
    ):
        assert Redactor().message({"args": words}) == {"args": words}
        assert Redactor().message({"command": words[0], "args": words[1:]})["args"] == words[1:]


def test_what_comes_after_a_secret_in_a_command_line_stays() -> None:
    words = ["sh", "-c", f"curl -u me:{SECRET} https://x.example/a | tee log"]
    assert Redactor().words(words) == ["sh", "-c", "curl -u me:<secret 1> https://x.example/a | tee log"]


def test_there_are_forty_shapes() -> None:
    assert len(PARAMS) + len(TEXTS) >= 40


@pytest.mark.parametrize("params", PARAMS, ids=lambda params: str(params)[:60])
def test_a_secret_in_a_message_is_not_in_the_file(tmp_path: Path, params: Any) -> None:
    path = tmp_path / "talk.jsonl"
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()
    assert not hidden_in(line.decode())
    lines = written(path, ("in", line + b"\n"), ("err", line + b"\n"))
    assert hidden_in(path.read_text(encoding="utf-8"))
    assert lines[1]["msg"]["method"] == "session/update"
    assert lines[-1]["hidden"] >= 2


@pytest.mark.parametrize("line", TEXTS)
@pytest.mark.parametrize("direction", ["in", "out", "err"])
def test_a_secret_in_any_other_line_is_not_in_the_file(tmp_path: Path, line: bytes, direction: str) -> None:
    path = tmp_path / "talk.jsonl"
    written(path, (direction, line + b"\n"))
    text = path.read_text(encoding="utf-8")
    assert hidden_in(text) and base64.b64encode(line).decode() not in text


def test_a_secret_in_a_line_with_a_key_that_occurs_twice_is_not_in_its_raw_text(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    lines = written(path, ("in", b'{"token":"%b","token":"x"}\n' % SECRET.encode()))
    assert "raw" in lines[1] and hidden_in(path.read_text(encoding="utf-8"))


def test_equal_secrets_have_the_same_name_wherever_they_occur(tmp_path: Path) -> None:
    lines = written(
        tmp_path / "talk.jsonl",
        ("out", json.dumps({"apiKey": SECRET, "token": "another-1"}).encode() + b"\n"),
        ("in", json.dumps({"text": f"your key {SECRET} works"}).encode() + b"\n"),
        ("err", f"refused: {SECRET}\n".encode()),
        ("in", json.dumps({"password": "another-1"}).encode() + b"\n"),
    )
    assert lines[1]["msg"] == {"apiKey": "<secret 2>", "token": "<secret 3>"}  # 1 is in the command
    assert lines[2]["msg"] == {"text": "your key <secret 2> works"}
    assert lines[3]["text"] == "refused: <secret 2>"
    assert lines[4]["msg"] == {"password": "<secret 3>"}


def test_values_that_are_no_secrets_stay_where_they_are_not_hidden() -> None:
    redactor = Redactor()
    assert redactor.message({"env": {"DEBUG": "true", "HOME": "/home/bob"}})["env"]["DEBUG"] == "<secret 1>"
    assert redactor.message({"text": "true, see /home/bob/x"}) == {"text": "true, see /home/bob/x"}
    assert redactor.message({"usage": {"inputTokens": 5}}) == {"usage": {"inputTokens": 5}}


def test_what_was_hidden_is_not_hidden_again() -> None:
    redactor = Redactor()
    once = redactor.message({"token": SECRET, "text": f"Authorization: Bearer {SECRET} token={SECRET}"})
    hidden = redactor.hidden
    assert redactor.message(once) == once
    assert redactor.hidden == hidden


def test_raw_keeps_everything_and_says_so(tmp_path: Path) -> None:
    lines = written(
        tmp_path / "t.jsonl", ("in", b'{"token":"%b"}\n' % SECRET.encode()), filters=Filters(raw=True)
    )
    assert lines[0]["redacted"] == "nothing" and lines[1]["msg"] == {"token": SECRET}


def test_media_can_be_left_out_and_are_still_told_apart(tmp_path: Path) -> None:
    def image(data: str) -> bytes:
        return json.dumps({"type": "image", "mimeType": "image/png", "data": data}).encode() + b"\n"

    chunks = [("out", image("A" * 5000)), ("out", image("B" * 5000)), ("out", image("A" * 5000))]
    _, one, two, three, _ = written(tmp_path / "t.jsonl", *chunks, filters=Filters(media=False))
    assert one["cut"] == 5000 and one["msg"] == three["msg"] != two["msg"]
    assert one["msg"]["data"].startswith("<media sha256:") and one["msg"]["data"].endswith(" 5000 bytes>")


def test_anonymous_recordings_do_not_tell_who_and_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/somewhere/brunhilde")
    monkeypatch.setattr(getpass, "getuser", lambda: "brunhilde")
    monkeypatch.setattr(socket, "gethostname", lambda: "walhalla")
    session = "sess_0123456789"
    path = tmp_path / "t.jsonl"
    written(
        path,
        ("out", json.dumps({"cwd": "/somewhere/brunhilde/secret-project"}).encode() + b"\n"),
        ("in", json.dumps({"result": {"sessionId": session}}).encode() + b"\n"),
        ("in", json.dumps(update(f"brunhilde@walhalla /home/other/x {session}")).encode() + b"\n"),
        ("in", json.dumps({"changes": {"/somewhere/brunhilde/secret-project/a.py": 1}}).encode() + b"\n"),
        ("err", b"/somewhere/brunhilde/.config is missing; see /somewhere/brunhildes/x\n"),
        filters=Filters(anonymizer=Anonymizer(cwd="/work/here")),
    )
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][1:-1]
    assert lines[0]["msg"] == {"cwd": "<cwd 2>"}
    assert lines[1]["msg"] == {"result": {"sessionId": "<session 1>"}}
    assert lines[2]["msg"]["params" if "params" in lines[2]["msg"] else "update"]["content"]["text"] == (
        "<user>@<host> <home>/x <session 1>"
    )
    assert lines[3]["msg"] == {"changes": {"<cwd 2>/a.py": 1}}
    assert lines[4]["text"] == "<home>/.config is missing; see /somewhere/brunhildes/x"


def test_an_anonymous_recording_does_not_tell_a_directory_in_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere/bruno hilde")
    anonymizer = Anonymizer(cwd="/work/here")
    anonymizer.learn({"cwd": "/work/there"})
    for text, safe in {
        "?cwd=%2Fsomewhere%2Fbruno%20hilde%2Fx&a": "?cwd=<home>%2Fx&a",
        "?cwd=%2fsomewhere%2fbruno%20hilde": "?cwd=<home>",
        "file:///somewhere/bruno%20hilde/x": "file://<home>/x",
        "%2Fwork%2Fhere %2Fwork%2Fthere%2Fx": "<cwd> <cwd 2>%2Fx",
        "?cwd=%2Fhome%2Fother%2Fx": "?cwd=<home>%2Fx",
        "?cwd=%2Fsomewhere%2Felse": "?cwd=%2Fsomewhere%2Felse",
    }.items():
        assert anonymizer.text(text) == safe


def test_a_text_that_was_harmless_is_looked_at_again_when_its_words_become_a_secret() -> None:
    redactor = Redactor()
    message = {"text": "see kiwi-4711-x"}
    assert redactor.message(message) == message
    redactor.message({"api_key": "kiwi-4711-x"})
    assert redactor.message(message) == {"text": "see <secret 1>"}


def test_the_place_of_the_interpreter_and_the_program_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    filters = Filters(anonymizer=Anonymizer(cwd="/work/here"))
    command = ["/srv/brunhilde/.venv/bin/python", "/opt/secret-project/agent.py", "/usr/bin/env", "--acp"]
    writer = Writer(open_private(path), {"agent": {"command": command}}, filters, began=0.0)
    writer.feed("err", b'File "/srv/brunhilde/.venv/lib/python3.11/site-packages/x.py"\n', 0.1)
    writer.end(1.0)
    head, stderr, *_ = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert head["agent"]["command"] == [
        "<program>/bin/python",
        "<program 2>/agent.py",
        "/usr/bin/env",
        "--acp",
    ]
    assert stderr["text"] == 'File "<program>/lib/python3.11/site-packages/x.py"'


def test_a_password_may_be_a_number_and_a_number_of_tokens_is_none() -> None:
    message = {"password": 833588982571, "user_pin": 4711, "inputTokens": 4096, "secret": True, "otp": 7}
    hidden = Redactor().message(message)
    assert "833588982571" not in str(hidden) and "4711" not in str(hidden)
    assert {name: hidden[name] for name in ("inputTokens", "secret", "otp")} == {
        "inputTokens": 4096,
        "secret": True,
        "otp": 7,
    }
