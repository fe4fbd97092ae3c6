"""Rules for hosted commands: what is checked is what the command reads, and what passes is not changed."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpella.server import Tokens
from acpella.server.access.json_members import Doubtful, members
from acpella.server.access.policy import read_params
from server.serving import HELLO, Http, Json, Socket, Talker, serving, socket, ws_url

pytestmark = pytest.mark.anyio

ALICE = "a" * 40
BOB = "b" * 40
USERS = Tokens({ALICE: "alice", BOB: "bob"})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


RECORDER = """
import json, sys
for line in sys.stdin.buffer:
    open(sys.argv[1], "ab").write(line)
    m = json.loads(line)
    if "id" not in m or "method" not in m: continue
    r = {"did": m["method"]}
    if m["method"] == "session/new": r = {"sessionId": "s-" + str(m["id"])}
    if m["method"] == "session/list": r = {"sessions": [{"sessionId": "s-1", "n": 1.10}], "x": 1.10}
    if m["method"] == "_ask": print('{"jsonrpc":"2.0","id":1e400,"method":"_question"}', flush=True)
    text = json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r})
    text = text.replace("1.1}", "1e400}").replace("Infinity", "1e400")
    print(text, flush=True)
"""


class Recorder:
    """A command that writes down the bytes that it gets."""

    def __init__(self, folder: Path) -> None:
        program = folder / "recorder.py"
        program.write_text(RECORDER)
        self.file = folder / "heard"
        self.file.touch()
        self.command = [sys.executable, str(program), str(self.file)]

    def heard(self) -> list[bytes]:
        return self.file.read_bytes().splitlines()


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    yield Recorder(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        ' { "a" : 1e400 , "b":[ {"x":1,"x":2} ] ,"c":"}" } ',
        r'{"a":"\"","\"a":{},"b":"\\"}',
        '{"a":1,"b":1,"":null}',
        '{"schlüssel":"😀","a b":-0.0e-7}',
    ],
)
def test_the_members_of_an_object_are_found_as_they_are(text: str) -> None:
    found = members(text.encode())
    assert set(found) == set(json.loads(text))
    assert all(bytes(raw) in text.encode() for raw in found.values())


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"a":2}',
        '{"a":1,"a":12}',
        '{"a":12,"a":1}',
        '{"a":{},"b":{},"a":[]}',
        r'{"sessionId":"x","session\u0049d":"x"}',
        '{"":1,"x":2,"":1}',
        "[]",
        "1",
        '{"a":1',
        '{"\udcff":1}',
    ],
)
def test_a_key_that_stands_twice_is_found(text: str) -> None:
    with pytest.raises(Doubtful):
        members(text.encode("utf-8", "surrogateescape"))


def test_one_unreadable_parameter_hides_no_other() -> None:
    """What cannot be read must not switch off the rules for what can."""
    for odd in (b"1e400", rb'"\ud800"', b'"\xff"'):
        assert read_params(b'{"server":%b,"cwd":"/etc","sessionId":"s"}' % odd).cwd == "/etc", odd
        assert read_params(b'{"server":%b,"cwd":"/etc","sessionId":"s"}' % odd).session == "s", odd


ODD = '{"a":1.10,"b":1e400,"c":%s,"d":"\\ud800","e":-0,"f":1E2,"g":"\\u0041\\/" , "h":1.0}' % ("7" * 500)


async def test_what_passes_the_rules_is_not_changed(recorder: Recorder, tmp_path: Path) -> None:
    """Numbers beyond all bounds, halves of characters and spellings pass as they came."""
    sent: list[str] = []
    limits = {"roots": (str(tmp_path),)}
    async with serving(recorder.command, auth=USERS, limits=limits) as server:
        async with socket(ws_url(server), bearer(ALICE)) as client:
            session = await client.start(str(tmp_path))
            for number in range(2, 5):
                params = f'{{"sessionId":"{session}","prompt":[{ODD}],"_meta":{ODD}}}'
                sent.append(f'{{"jsonrpc":"2.0","id":{number},"method":"session/prompt","params":{params}}}')
                await client.send(sent[-1])
                assert (await client.until_answer(number))[-1]["result"] == {"did": "session/prompt"}
            assert server.app.connections.turns == 0
        async with Http(server.url, bearer(ALICE)) as http:
            await http.initialize()
            sent.append(f'{{"jsonrpc":"2.0","id":9,"method":"_x","params":{ODD}}}')
            headers = {**http.connection, "Content-Type": "application/json"}
            answer = await http.http.post(server.url, content=sent[-1], headers=headers)
            assert answer.status_code == 202
            async with http.stream() as stream:
                await stream.until_answer(9)
    heard = recorder.heard()
    assert [text for text in sent if text.encode() not in heard] == []


async def test_odd_ids_and_odd_answers_of_an_agent_do_no_harm(recorder: Recorder) -> None:
    async with serving(recorder.command, auth=USERS) as server:
        async with socket(ws_url(server), bearer(ALICE)) as client:
            await client.start()
            await client.request(2, "session/list")
            raw = await client.raw()
            assert b"1e400" in raw and b'"s-1"' in raw, "the numbers of a filtered list are the agent's"
            await client.send('{"jsonrpc":"2.0","id":1e400,"method":"session/list"}')
            raw = await client.raw()
            assert b'"id":1e400' in raw
            await client.send('{"jsonrpc":"2.0","id":1e400,"result":{}}')
            await client.request(4, "_ask")
            raw = await client.raw()
            assert b"_question" in raw
            await client.send('{"jsonrpc":"2.0","id":1e400,"result":{"a":1}}')
            assert (await client.until_answer(4))[-1]["result"] == {"did": "_ask"}
            await client.call(5, "_x")
    assert b'{"jsonrpc":"2.0","id":1e400,"result":{"a":1}}' in recorder.heard()
    assert b'{"jsonrpc":"2.0","id":1e400,"result":{}}' not in recorder.heard()


async def _refused(client: Socket, recorder: Recorder, method: str, params: Any, code: int) -> None:
    before = len(recorder.heard())
    if isinstance(params, str):
        await client.send(f'{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}')
        answer = (await client.until_answer("x"))[-1]
    else:
        answer = await client.call("x", method, params)
    assert answer.get("error", {}).get("code") == code, (method, params, answer)
    await client.call("y", "_x")
    assert len(recorder.heard()) == before + 1, (method, params)


async def test_fields_that_rules_are_about_must_be_there_and_of_their_type(
    recorder: Recorder, tmp_path: Path
) -> None:
    """A field that is missing, of another type, or spelt otherwise does not get around its rule."""
    root = str(tmp_path)
    program: Json = {"name": "x", "command": "/bin/sh", "args": [], "env": []}
    wrong: list[tuple[Any, int]] = [
        ({}, -32602),
        ([root, []], -32602),
        ("null", -32602),
        ({"cwd": None}, -32602),
        ({"cwd": 5}, -32602),
        ({"cwd": ["/etc"]}, -32602),
        ({"cwd": "/etc"}, -32602),
        ({"Cwd": "/etc"}, -32600),
        ({"cwd": root, "CWD": "/etc"}, -32600),
        ({"cwd": root, "additionalDirectories": "/etc"}, -32602),
        ({"cwd": root, "additionalDirectories": [["/etc"]]}, -32602),
        ({"cwd": root, "additionalDirectories": {"0": "/etc"}}, -32602),
        ({"cwd": root, "additional_directories": ["/etc"]}, -32600),
        ({"cwd": root, "mcpServers": {"x": program}}, -32602),
        ({"cwd": root, "mcpServers": [[program]]}, -32602),
        ({"cwd": root, "mcpServers": [program]}, -32602),
        ({"cwd": root, "mcpServers": [{"name": "x", "Command": "/bin/sh"}]}, -32600),
        ({"cwd": root, "mcpServers": [{"name": "x", "type": "stdio"}]}, -32602),
        ({"cwd": root, "mcpServers": [{"type": "acp", "url": "http://127.0.0.1"}]}, -32602),
        ({"cwd": root, "mcpServers": "/bin/sh"}, -32602),
        ({"cwd": root, "McpServers": [program]}, -32600),
        (f'{{"cwd":"{root}","mcp-servers":[]}}', -32600),
        (f'{{"cwd":"{root}","cwd":"/etc"}}', -32600),
        ({"cwd": root, "additionalDirectories": [root] * 1001}, -32602),
        ({"cwd": root, "mcpServers": [{"type": "acp"}] * 1001}, -32602),
        ({"cwd": root, **{f"x{n}": n for n in range(1000)}}, -32600),
        (f'{{"cwd":1e400,"x":"{root}"}}', -32602),
        (f'{{"cwd":"{root}/\\ud800"}}', -32600),
        (f'{{"cwd":"{root}","mcpServers":[{{"type":"acp","type":"stdio"}}]}}', -32600),
    ]
    async with serving(recorder.command, auth=USERS, limits={"roots": (root,)}) as server:
        async with socket(ws_url(server), bearer(ALICE)) as alice, socket(ws_url(server), bearer(BOB)) as bob:
            theirs = await alice.start(root)
            await bob.call(0, "initialize", HELLO)
            mine = (await bob.call(7, "session/new", {"cwd": root}))["result"]["sessionId"]
            for params, code in wrong:
                await _refused(bob, recorder, "session/new", params, code)
            for method in ("session/load", "session/resume", "session/prompt", "session/set_mode"):
                for params, code in (
                    ({"sessionId": theirs, "cwd": root}, -32002),
                    ({"sessionID": theirs, "cwd": root}, -32600),
                    ({"sessionId": None, "session_id": theirs, "cwd": root}, -32600),
                    ({"sessionId": mine, "SessionId": theirs, "cwd": root}, -32600),
                    ({"ſessionId": theirs, "cwd": root}, -32600),
                    ({"cwd": root}, -32602),
                    ({"sessionId": [theirs], "cwd": root}, -32602),
                ):
                    await _refused(bob, recorder, method, params, code)
            await _refused(bob, recorder, "_anything", {"sessionId": {"a": theirs}}, -32602)
            for head in ('"Method":"_y"', '"Params":{}', '"PARAMS":{}', '"result":1', '"method":"_y"'):
                await bob.send(f'{{"jsonrpc":"2.0","id":8,{head},"method":"_x"}}')
                assert (await bob.until_answer(8))[-1]["error"]["code"] == -32600, head
            good = {"cwd": root, "mcpServers": [{"type": "acp", "name": "x", "id": "1"}], "_meta": {"Cwd": 1}}
            assert "result" in await bob.call("good", "session/new", good)
            load = {"sessionId": mine, "cwd": root, "mcpServers": [], "additionalDirectories": [root]}
            assert "result" in await bob.call("load", "session/load", load)
    assert b'"Method"' not in b"".join(recorder.heard())


async def test_without_rules_a_command_gets_what_was_sent(recorder: Recorder) -> None:
    odd = ['{"cwd":5,"CWD":"/etc"}', '{"cwd":"/a","cwd":"/b"}', '["/etc"]', '{"mcpServers":{"a":{}}}', ODD]
    async with serving(recorder.command) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        for params in odd:
            await client.send(f'{{"jsonrpc":"2.0","id":"x","method":"session/new","params":{params}}}')
            assert "result" in (await client.until_answer("x"))[-1]
    assert [text for text in odd if text.encode() not in b"".join(recorder.heard())] == []


async def test_an_unreadable_parameter_does_not_lead_out_of_the_roots(tmp_path: Path) -> None:
    """For agents in this process too."""
    async with serving(Talker(), limits={"roots": (str(tmp_path),)}) as server:
        async with socket(ws_url(server)) as client:
            await client.start(str(tmp_path))
            for odd in ("1e400", '"\\ud800"'):
                params = f'{{"cwd":"/etc","mcpServers":[],"server":{odd}}}'
                await client.send(f'{{"jsonrpc":"2.0","id":"x","method":"session/new","params":{params}}}')
                answer: Json = (await client.until_answer("x"))[-1]
                assert answer["error"]["code"] == -32602, odd
