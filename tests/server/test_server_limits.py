"""Limits by number (HOSTING 6): what is too much is refused with a word, and the connection lives."""

import asyncio
import json
import logging
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from acpella.server.connection.messages import is_deeper
from server.serving import (
    EVENTS,
    HELLO,
    PATIENCE,
    Http,
    Talker,
    eventually,
    refused,
    serving,
    socket,
    texts,
    ws_url,
)

pytestmark = pytest.mark.anyio

PLAIN = {"Content-Type": "application/json"}


async def test_connections_are_limited_in_all() -> None:
    """T-090: whoever comes later is told to come again."""
    async with serving(Talker(), limits={"max_connections": 2}) as server, Http(server.url) as client:
        await client.initialize()
        async with socket(ws_url(server)) as other, client.stream():
            await other.start()
            answer = await client.post("initialize", HELLO, id=0, Acp_Connection_Id="")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
            assert await refused(ws_url(server)) == 503
            assert await client.delete() == 202
            async with socket(ws_url(server)) as third:
                await third.start()


async def test_ids_are_limited_wherever_they_are() -> None:
    async with serving(Talker(), limits={"max_id": 40}) as server, Http(server.url) as client:
        await client.initialize()
        long = "x" * 41
        for header in ("Acp_Connection_Id", "Acp_Session_Id"):
            answer = await client.post("session/list", id=1, **{header: long})
            assert (answer.status_code, "at most 40" in answer.text) == (400, True)
            assert await client.get(**EVENTS, **{header: long}) == 400
        answer = await client.post("session/list", id=long)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
        answer = await client.post("session/prompt", {"sessionId": long}, id=2)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
        assert (await client.post("session/list", id="x" * 38)).status_code == 202
        rpc = f"{server.url}/rpc?client_id={long}"
        assert (await client.http.post(rpc, content=b"{}", headers=PLAIN)).status_code == 400


async def test_names_can_be_added_to_those_that_are_answered() -> None:
    limits = {"allowed_hosts": ["agents.example.com"]}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        for name, code in (
            ("agents.example.com", 200),
            ("AGENTS.example.com:443", 200),
            ("example.com", 403),
        ):
            assert (await client.post("initialize", HELLO, id=0, Host=name)).status_code == code


async def test_nothing_is_inflated() -> None:
    """A small body or frame could inflate to a huge one."""
    async with serving(Talker()) as server, Http(server.url) as client:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
        for coding in ("gzip", "deflate", "br", "zstd", "identity, gzip", "x"):
            headers = {**PLAIN, "Content-Encoding": coding}
            assert (await client.http.post(server.url, content=body, headers=headers)).status_code == 415
        headers = {**PLAIN, "Content-Encoding": "Identity"}
        assert (await client.http.post(server.url, content=body, headers=headers)).status_code == 200
        async with connect(ws_url(server), proxy=None, compression="deflate") as offering:
            assert offering.request is not None and offering.response is not None
            assert "permessage-deflate" in offering.request.headers["Sec-WebSocket-Extensions"]
            assert "Sec-WebSocket-Extensions" not in offering.response.headers


# -- depth ---------------------------------------------------------------------------------------------


async def test_the_depth_of_messages_is_limited() -> None:
    async with serving(Talker(), limits={"max_depth": 10}) as server, Http(server.url) as client:
        await client.initialize()
        headers = {**PLAIN, **client.connection}

        async def send(depth: int) -> Any:
            inner = '{"a":' * (depth - 1) + "1" + "}" * (depth - 1)
            body = f'{{"jsonrpc":"2.0","id":"deep","method":"_x","params":{inner}}}'
            return await client.http.post(server.url, content=body.encode(), headers=headers)

        assert (await send(10)).status_code == 202
        answer = await send(11)
        assert (answer.status_code, answer.json()["id"]) == (400, "deep")
        assert answer.json()["error"] == {"code": -32600, "message": "a message may be nested 10 deep"}
        async with client.stream() as stream:
            assert (await stream.until_answer("deep"))[-1]["error"]["code"] == -32601
            assert await client.new(stream)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _random(chance: random.Random, room: int) -> Any:
    kind = chance.choice("dlls") if room else "s"
    if kind == "s":
        return "".join(chance.choice('{}[]"\\ux\n\u00e9') for _ in range(chance.randrange(12)))
    if kind == "d":
        return {_random(chance, 0) + str(n): _random(chance, room - 1) for n in range(chance.randrange(5))}
    return [_random(chance, room - 1) for _ in range(chance.randrange(5))]


def test_the_depth_is_that_of_the_json_whatever_its_strings_contain() -> None:
    chance = random.Random(64)
    seen: set[int] = set()
    for _ in range(2000):
        value = _random(chance, chance.randrange(1, 9))
        data = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()
        depth = _depth(value)
        seen.add(depth)
        assert not is_deeper(data, depth), data
        assert depth == 0 or is_deeper(data, depth - 1), data
    assert seen >= {0, 1, 2, 3, 4, 5}


# -- what waits ------------------------------------------------------------------------------------------

QUEUES = """
import json, sys
waiting = []
def answer(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize": answer(m["id"], {"protocolVersion": 1})
    elif m["method"] == "session/prompt": waiting.append(m["id"])
    elif m["method"] == "_one": answer(waiting.pop(0), {"stopReason": "end_turn"})
    elif "id" in m: answer(m["id"], {"heard": m["method"]})
"""


async def test_prompts_of_a_session_are_limited(tmp_path: Path) -> None:
    """An agent that lets prompts wait need not remember any number of them."""
    program = tmp_path / "queues.py"
    program.write_text(QUEUES)
    async with serving([sys.executable, str(program)]) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        for number in range(7):
            await client.prompt("a", "hi", id=f"a{number}")
        for number in (5, 6):
            refusal = await client.message()
            assert (refusal["id"], refusal["error"]["code"]) == (f"a{number}", -32001)
            assert refusal["error"]["message"] == "too many prompts of this session wait"
        for number in range(5):  # other sessions have their own
            await client.prompt("b", "hi", id=f"b{number}")
        await client.send({"jsonrpc": "2.0", "method": "_one"})
        assert (await client.message())["id"] == "a0"
        await client.prompt("a", "hi", id="again")  # there is room now
        assert (await client.call("sync", "_sync"))["result"] == {"heard": "_sync"}


async def test_requests_that_wait_for_a_client_that_does_not_read_are_limited() -> None:
    """Codex's word for it: -32001, overloaded; what waits is answered when somebody reads."""
    talker = Talker()
    limits = {"buffer_bytes": 200_000, "max_delayed": 3}
    async with serving(talker, limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            await client.prompt(session, "flood 1000")  # nobody opens the stream of the session
            connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
            assert connection is not None
            await eventually(lambda: connection.flow.buffered >= 200_000, "the buffer is full")
            for number in range(5):
                assert (await client.post("session/list", id=f"l{number}")).status_code == 202
            for number in (3, 4):
                refusal = await stream.message()
                assert (refusal["id"], refusal["error"]["code"]) == (f"l{number}", -32001)
            async with client.stream(session) as of_session:
                assert len(texts(await of_session.until_answer("p"))) == 1000
                for number in range(3):
                    assert "result" in (await stream.until_answer(f"l{number}"))[-1]


async def test_an_idle_client_is_let_go_if_somebody_says_when() -> None:
    talker = Talker()
    async with serving(talker, limits={"idle_seconds": 0.4}) as server:
        async with socket(ws_url(server)) as busy, socket(ws_url(server)) as idle:
            session = await busy.start()
            await busy.prompt(session, "wait")
            await idle.start()
            assert await idle.closed() == 1008
            assert texts([await busy.message()]) == ["waiting"]
            assert busy.socket.close_code is None, "its turn runs"
            talker.go.set()
            await busy.until_answer(2)
            assert await busy.closed() == 1008


# -- acks --------------------------------------------------------------------------------------------------


async def test_an_ack_that_has_an_id_is_answered(tmp_path: Path) -> None:
    """It needs no answer, but whoever gives it an id waits for one. The agent never hears of it."""
    program = tmp_path / "queues.py"
    program.write_text(QUEUES)
    async with serving([sys.executable, str(program)]) as server:
        async with socket(ws_url(server), {"Acpella-Resume": "1"}) as client:
            await client.call(0, "initialize", HELLO)
            for params in ({"lastEventId": f"{client.gen}-1"}, {"lastEventId": 5}, None):
                answer = await client.call("ack", "$/acpella/ack", params)
                assert answer == {"jsonrpc": "2.0", "id": "ack", "result": {}}
        async with Http(server.url) as client:
            await client.initialize(Acpella_Resume="1")
            async with client.stream(Acpella_Resume="1") as stream:
                assert (await client.post("$/acpella/ack", {}, id=5)).status_code == 202
                async with asyncio.timeout(60):
                    assert (await stream.message()) == {"jsonrpc": "2.0", "id": 5, "result": {}}


async def test_a_session_id_that_is_too_long_is_refused_to_the_request_that_named_it() -> None:
    async with serving(Talker()) as server, socket(ws_url(server)) as client:
        await client.start()
        answer = await client.call("long", "session/prompt", {"sessionId": "x" * 2000, "prompt": []})
        assert answer["error"]["code"] == -32600


async def test_notifications_are_limited_and_cancellations_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A flood of them is dropped, and told about now and then; what stops a turn still comes through."""
    caplog.set_level(logging.INFO, "acpella.audit")
    heard = tmp_path / "heard"
    program = tmp_path / "hears.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        f"    print(m['method'], file=open({str(heard)!r}, 'a'), flush=True)\n"
        "    if 'id' in m:\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {}}), flush=True)\n"
    )
    limits = {"requests_per_second": 0.001, "request_burst": 50}
    async with serving([sys.executable, str(program)], limits=limits) as server:
        async with socket(ws_url(server)) as client:
            await client.call(0, "initialize", HELLO)
            for _ in range(500):
                await client.send({"jsonrpc": "2.0", "method": "_x"})
            assert (await client.call(1, "session/list"))["error"]["code"] == -32001, "requests are refused"
            for _ in range(60):
                await client.send(
                    {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
                )
            await eventually(
                lambda: server.app.metrics.value("acpella_refused_total", 'reason="rate"') == 451 + 1 + 10,
                "the rest is dropped",
            )
            await eventually(lambda: heard.read_text().count("session/cancel") == 50, "they came through")
    assert heard.read_text().count("_x") == 49
    told = [one.getMessage() for one in caplog.records if "dropped" in one.getMessage()]
    assert 1 <= len(told) <= 10, "a line a second at most"


async def test_a_request_with_two_lengths_is_answered_and_its_connection_closed() -> None:
    """RFC 9112, 6.1: a proxy on the way may have seen another end."""
    async with serving(Talker()) as server:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        for extra, is_closed in (("Transfer-Encoding: chunked\r\n", True), ("", False)):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            sent = f"{len(body):x}\r\n{body}\r\n0\r\n\r\n" if extra else body
            writer.write(
                f"POST /acp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{extra}"
                f"Content-Length: {len(body)}\r\n\r\n{sent}".encode()
            )
            async with asyncio.timeout(PATIENCE):
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert (b"connection: close" in head) is is_closed, head
            if is_closed:
                async with asyncio.timeout(PATIENCE):
                    await reader.read()
            writer.close()


async def test_the_url_counts_as_the_header_lines_do() -> None:
    async with serving(Talker(), limits={"max_header": 4000}) as server, Http(server.url) as client:
        for url in (f"{server.url}?x={'y' * 4000}", f"{server.url}/{'y' * 4000}"):
            answer = await client.http.post(url, json={})
            assert answer.status_code in (400, 431), url
        assert (await client.http.get(f"{server.url}/{'y' * 100}")).status_code == 404
