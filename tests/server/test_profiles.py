"""Other clients of the field on the same port: marimo, client_id, and streams that answer a POST."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from acpella.server import Runner, Tokens
from server.serving import EVENTS, HELLO, Stream, Talker, eventually, serving, socket, texts, ws_url

pytestmark = pytest.mark.anyio

ALICE, BOB = "a" * 40, "b" * 40
JSON = {"Content-Type": "application/json"}


def root(server: Runner) -> str:
    return server.url.removesuffix("/acp")


def message(method: str, params: Any = None, id: Any = None) -> dict[str, Any]:
    told = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return told if id is None else {**told, "id": id}


def prompt(session: str, text: str, id: Any = 2) -> dict[str, Any]:
    return message("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}, id)


async def initialized(http: httpx2.AsyncClient, server: Runner) -> dict[str, str]:
    """Begin with a POST that is answered by a stream; gives the headers of what follows."""
    greeting = message("initialize", HELLO, 0)
    async with http.stream("POST", server.url, json=greeting, headers=EVENTS) as first:
        await Stream(first).until_answer(0)
        return {**EVENTS, "Acp-Session-Id": first.headers["acp-session-id"]}


async def new_session(
    http: httpx2.AsyncClient, server: Runner, headers: dict[str, str], *, id: int | str = 1
) -> str:
    new = message("session/new", {"cwd": "/tmp", "mcpServers": []}, id)
    async with http.stream("POST", server.url, json=new, headers=headers) as response:
        return (await Stream(response).until_answer(id))[-1]["result"]["sessionId"]


# -- marimo ----------------------------------------------------------------------------------------


async def test_binary_frames_with_a_newline_come_in_and_text_goes_out() -> None:
    """marimo pipelines session/new behind initialize."""
    async with serving(Talker()) as server:
        async with socket(f"ws://127.0.0.1:{server.port}/message") as client:
            for number, (method, params) in enumerate(
                [("initialize", HELLO), ("session/new", {"cwd": "/tmp", "mcpServers": []})]
            ):
                await client.send(json.dumps(message(method, params, number)).encode() + b"\n")
            await client.until_answer(0)
            session = (await client.until_answer(1))[-1]["result"]["sessionId"]
            await client.send(json.dumps(prompt(session, "say 2")).encode() + b"\n")
            assert texts(await client.until_answer(2)) == ["<0>", "<1>"]


async def test_the_plain_path_of_sockets() -> None:
    async with serving(Talker()) as server, socket(ws_url(server, "/ws")) as client:
        assert await client.start()


# -- client_id (FEATURES B2) -----------------------------------------------------------------------


async def test_answers_come_on_the_event_stream_only() -> None:
    async with serving(Talker()) as server, httpx2.AsyncClient(timeout=10) as http:
        rpc, sse = f"{server.url}/rpc?client_id=me", f"{server.url}/sse?client_id=me"

        async def post(told: Any) -> None:
            answer = await http.post(rpc, json=told)
            assert (answer.status_code, answer.content) == (202, b"")

        async with http.stream("GET", sse, headers=EVENTS) as response:
            stream = Stream(response)
            await post(message("initialize", HELLO, 0))
            assert (await stream.until_answer(0))[-1]["result"]["protocolVersion"] == 1
            await post(message("session/new", {"cwd": "/tmp", "mcpServers": []}, 1))
            session = (await stream.until_answer(1))[-1]["result"]["sessionId"]
            await post(prompt(session, "say 2"))
            assert texts(await stream.until_answer(2)) == ["<0>", "<1>"]
            await post(prompt(session, "ask", 3))
            asked = await stream.message()
            result = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            await post({"jsonrpc": "2.0", "id": asked["id"], "result": result})
            assert texts(await stream.until_answer(3)) == ["yes"]
        connection = next(iter(server.app.connections))
        await eventually(lambda: connection.readers == 0, "the server notices")
        await post(prompt(session, "say 1", 4))
        async with http.stream("GET", sse, headers=EVENTS) as response:
            assert texts(await Stream(response).until_answer(4)) == ["<0>"]


async def test_a_client_id_is_needed_known_and_its_users_own() -> None:
    tokens = Tokens({ALICE: "alice", BOB: "bob"})
    async with serving(Talker(), auth=tokens) as server, httpx2.AsyncClient(timeout=10) as http:
        rpc = f"{server.url}/rpc"
        alice, bob = ({"Authorization": f"Bearer {token}"} for token in (ALICE, BOB))
        hello = message("initialize", HELLO, 0)
        assert (await http.post(rpc, json=hello, headers=alice)).status_code == 400
        assert (
            await http.post(f"{rpc}?client_id={'x' * 2000}", json=hello, headers=alice)
        ).status_code == 400
        mine = f"{rpc}?client_id=same"
        assert (await http.post(mine, json=message("session/list", id=1), headers=alice)).status_code == 404
        assert (await http.post(mine, json=hello, headers=alice)).status_code == 202
        assert (await http.post(mine, json=hello, headers=alice)).status_code == 409
        assert (await http.post(mine, json=message("session/list", id=1), headers=bob)).status_code == 404
        assert (await http.post(mine, json=hello, headers=bob)).status_code == 202
        assert (await http.post(mine, json=[], headers=alice)).status_code == 501
        assert (await http.get(mine, headers=alice)).status_code == 405
        assert len(server.app.connections) == 2


# -- a POST that is answered by a stream -----------------------------------------------------------


async def test_a_post_is_answered_by_events_and_names_the_connection() -> None:
    async with serving(Talker()) as server, httpx2.AsyncClient(timeout=10) as http:

        async def ask(told: Any, id: Any, headers: dict[str, str]) -> tuple[list[Any], httpx2.Response]:
            async with http.stream("POST", server.url, json=told, headers={**EVENTS, **headers}) as response:
                assert response.status_code == 200
                stream = Stream(response)
                seen = await stream.until_answer(id)
                await stream.ended()
                return seen, response

        seen, response = await ask(message("initialize", HELLO, 0), 0, {})
        assert seen[-1]["result"]["protocolVersion"] == 1
        mine = {"Acp-Session-Id": response.headers["acp-session-id"]}
        assert len(mine["Acp-Session-Id"]) >= 32
        seen, _ = await ask(message("session/new", {"cwd": "/tmp", "mcpServers": []}, 1), 1, mine)
        session = seen[-1]["result"]["sessionId"]
        seen, _ = await ask(prompt(session, "say 30"), 2, mine)
        assert texts(seen) == [f"<{n}>" for n in range(30)]
        told = prompt(session, "ask", 3)
        async with http.stream("POST", server.url, json=told, headers={**EVENTS, **mine}) as response:
            stream = Stream(response)
            asked = await stream.message()
            result = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            given = await http.post(server.url, json=answer, headers={**EVENTS, **mine})
            assert given.status_code == 202
            assert texts(await stream.until_answer(3)) == ["yes"]
        gone = await http.post(server.url, json=told, headers={**EVENTS, "Acp-Session-Id": "nobody"})
        assert gone.status_code == 404
        assert (await http.delete(server.url, headers=mine)).status_code == 202
        assert len(server.app.connections) == 0


async def test_a_get_with_that_header_alone_goes_on_with_a_stream_that_broke() -> None:
    talker = Talker()
    async with serving(talker) as server, httpx2.AsyncClient(timeout=10) as http:
        mine = await initialized(http, server)
        session = await new_session(http, server, mine)
        async with http.stream("POST", server.url, json=prompt(session, "wait"), headers=mine) as response:
            waiting = await Stream(response).next()
            assert texts([waiting.data]) == ["waiting"]
            assert waiting.id is not None
        connection = next(iter(server.app.connections))
        await eventually(lambda: connection.readers == 0, "the server notices")
        talker.go.set()
        # it says nothing of what it has, so it gets what may not have arrived
        async with http.stream("GET", server.url, headers=mine) as response:
            assert response.status_code == 200
            assert texts(await Stream(response).until_answer(2)) == ["waiting", "gone on"]
        await eventually(lambda: connection.readers == 0, "the server notices")
        after = {**mine, "Last-Event-ID": waiting.id}
        async with http.stream("GET", server.url, headers=after) as response:
            stream = Stream(response)
            gone_on = await stream.next()
            assert texts([gone_on.data, *(await stream.until_answer(2))]) == ["gone on"]
        await eventually(lambda: connection.readers == 0, "the server notices")
        after["Last-Event-ID"] = str(gone_on.id)
        async with http.stream("GET", server.url, headers=after) as response:
            assert texts(await Stream(response).until_answer(2)) == []


async def test_two_posts_at_once_hear_their_own_sessions() -> None:
    async with serving(Talker()) as server, httpx2.AsyncClient(timeout=10) as http:
        mine = await initialized(http, server)

        async def one(number: int) -> None:
            session = await new_session(http, server, mine, id=f"n{number}")
            told = prompt(session, "say 100", f"p{number}")
            async with http.stream("POST", server.url, json=told, headers=mine) as response:
                seen = await Stream(response).until_answer(f"p{number}")
            assert texts(seen) == [f"<{n}>" for n in range(100)]

        await asyncio.gather(*(one(number) for number in range(5)))


async def test_nothing_is_lost_of_an_answer_that_nobody_read() -> None:
    """What was in flight when the connection broke comes again, in order, whether or not it was written."""
    talker = Talker()
    async with serving(talker) as server, httpx2.AsyncClient(timeout=10) as http:
        mine = await initialized(http, server)
        session = await new_session(http, server, mine)
        connection = next(iter(server.app.connections))
        async with http.stream("POST", server.url, json=prompt(session, "wait"), headers=mine) as response:
            await eventually(lambda: talker.started.is_set(), "the turn runs")
        await eventually(lambda: connection.readers == 0, "the server notices")
        talker.go.set()
        async with http.stream("GET", server.url, headers=mine) as response:
            assert texts(await Stream(response).until_answer(2)) == ["waiting", "gone on"]
        await eventually(lambda: connection.readers == 0, "the server notices")
        # written to the end, but only the first is known to have arrived
        async with http.stream(
            "POST", server.url, json=prompt(session, "say 20", 3), headers=mine
        ) as response:
            stream = Stream(response)
            first_id = (await stream.next()).id
            await stream.until_answer(3)
            await stream.ended()
        await eventually(lambda: connection.readers == 0, "it is over")
        for last, expected in (
            (first_id, 19),
            ("x-1.1", None),
            (f"{server.app.connections.generation}-99.1", None),
        ):
            headers = {**mine, "Last-Event-ID": str(last)}
            async with http.stream("GET", server.url, headers=headers) as response:
                stream = Stream(response)
                if expected is None:
                    assert (await stream.next()).kind == "resync", last
                else:
                    assert len(texts(await stream.until_answer(3))) == expected
            await eventually(lambda: connection.readers == 0, "the server notices")
        assert connection.flow.buffered == 0
