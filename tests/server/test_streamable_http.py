"""The official HTTP transport, with a plain HTTP client."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from server.serving import EVENTS, HELLO, Http, Talker, eventually, serving, texts

pytestmark = pytest.mark.anyio

PLAIN = {"Content-Type": "application/json"}


# -- CASE-1: the table of statuses (§2.1) -------------------------------------------------------------


async def test_what_is_no_message_is_refused_with_the_status_that_says_why() -> None:
    async with serving(Talker(), limits={"max_body": 2000}) as server, Http(server.url) as client:
        send = client.http.post
        url = server.url
        assert (await send(url, content=b"{}", headers={"Content-Type": "text/plain"})).status_code == 415
        assert (await send(url, content=b"{}")).status_code == 415
        assert (await send(url, content=b" " * 3000, headers=PLAIN)).status_code == 413
        assert (await send(url, content=b"{nope", headers=PLAIN)).status_code == 400
        assert (await send(url, content=b"42", headers=PLAIN)).status_code == 400
        array = await send(url, content=b"[]", headers=PLAIN)
        assert (array.status_code, array.json()["error"]["code"], array.json()["id"]) == (501, -32600, None)
        charset = {"Content-Type": "application/json; charset=utf-8"}
        body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
        assert (await send(url, content=body, headers=charset)).status_code == 200


NO_MESSAGES = [
    b"",
    b"null",
    b'"initialize"',
    b"{}",
    b'{"jsonrpc":"2.0","id":{},"method":"x"}',
    b'{"jsonrpc":"2.0","id":true,"method":"x"}',
    b'{"jsonrpc":"2.0","id":1,"method":5}',
    b'{"jsonrpc":"2.0","result":{}}',
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":NaN}',
    b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b'{"a":' * 50_000,
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"x"}',
]


async def test_a_connection_survives_every_kind_of_wrong_message() -> None:
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        headers = {**PLAIN, **client.connection}
        for body in NO_MESSAGES:
            answer = await client.http.post(server.url, content=body, headers=headers)
            assert answer.status_code == 400, body[:60]
            assert answer.json()["error"]["code"] in (-32600, -32700), body[:60]
        for odd in (
            {"Content-Encoding": "gzip"},
            {"Content-Type": ""},
            {"Content-Type": "application/json-patch+json"},
        ):
            answer = await client.http.post(server.url, content=b"{}", headers={**headers, **odd})
            assert answer.status_code == 415, odd
        async with client.stream() as stream:
            assert await client.new(stream)


async def test_a_long_body_without_a_length_is_cut_off() -> None:
    """T-090: a body that only turns out to be too long while it is read."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 1000

    async with serving(Talker(), limits={"max_body": 2000}) as server, Http(server.url) as client:
        assert (await client.http.post(server.url, content=endless(), headers=PLAIN)).status_code == 413


async def test_initialize_is_answered_inline_and_makes_a_connection() -> None:
    """T-020."""
    async with serving(Talker()) as server, Http(server.url) as client:
        answer = await client.post("initialize", HELLO, id="one")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert len(answer.headers["acp-connection-id"]) >= 32
        assert answer.json()["id"] == "one"
        assert answer.json()["result"]["protocolVersion"] == 1


async def test_initialize_with_a_connection_or_without_an_id_is_refused() -> None:
    async with serving(Talker()) as server, Http(server.url) as client:
        assert (await client.post("initialize", HELLO)).status_code == 400
        await client.initialize()
        assert (await client.post("initialize", HELLO, id=1)).status_code == 400


async def test_posts_need_a_known_connection_and_matching_sessions() -> None:
    async with serving(Talker()) as server, Http(server.url) as client:
        assert (await client.post("session/new", id=1)).status_code == 400
        assert (await client.post("session/new", id=1, Acp_Connection_Id="nobody")).status_code == 404
        await client.initialize()
        mismatch = await client.post("session/cancel", {"sessionId": "a"}, Acp_Session_Id="b")
        assert mismatch.status_code == 400
        assert (await client.post("session/new", id=1, Acp_Session_Id="x" * 1025)).status_code == 400
        assert (await client.post("session/new", id="i" * 1025)).status_code == 400
        without_header = await client.post("session/cancel", {"sessionId": "a"})
        assert without_header.status_code == 202  # §7: the body says it
        for method in ("session/prompt", "session/cancel", "session/load"):
            assert (await client.post(method, {}, id=method)).status_code == 400, "§2.1: nobody says it"
        assert (await client.post("session/list", {}, id=5)).status_code == 202


async def test_gets_are_checked_in_order() -> None:
    """§2.1, and §7: a session that could still be loaded may be waited for."""
    async with serving(Talker()) as server, Http(server.url) as client:
        assert await client.get(Accept="application/json") == 406
        for refusing in ("text/event-stream;q=0", "text/event-stream ; Q=0.000, application/json"):
            assert await client.get(Accept=refusing) == 406
        assert await client.get(Accept="text/event-stream;q=0.1") == 400
        assert await client.get(**EVENTS) == 400
        assert await client.get(**EVENTS, Acp_Connection_Id="nobody") == 404
        await client.initialize()
        assert await client.get(**EVENTS, Acp_Session_Id="to-be-loaded") == 200
        assert await client.get(**EVENTS) == 200
    async with serving(Talker(store=None)) as server, Http(server.url) as client:
        await client.initialize()
        assert await client.get(**EVENTS, Acp_Session_Id="unknown") == 404


async def test_a_stream_has_one_reader_and_another_after_it() -> None:
    """CASE-6, T-070: 409 on a second reader; what was queued in between is there."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            assert await client.get(**EVENTS) == 409
            async with client.stream(session):
                assert await client.get(**EVENTS, Acp_Session_Id=session) == 409
        connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
        assert connection is not None
        await eventually(lambda: connection.readers == 0, "the server notices that the readers are gone")
        await client.prompt(session, "say 2")
        async with client.stream(session) as again:
            assert texts(await again.until_answer("p")) == ["<0>", "<1>"]


async def test_delete_ends_the_streams_and_the_agent() -> None:
    """CASE-9."""
    talker = Talker()
    async with serving(talker) as server, Http(server.url) as client:
        assert await client.delete() == 400
        assert await client.delete(Acp_Connection_Id="nobody") == 404
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "wait")
                assert texts([await of_session.message()]) == ["waiting"]
                assert await client.delete() == 202
                assert "error" in (await of_session.until_answer("p"))[-1]
                await of_session.ended()
            await stream.ended()
        await eventually(lambda: talker.ended == ["wait"], "the turn is cancelled")
        assert await client.delete() == 404
        assert len(server.app.connections) == 0


async def test_other_methods_and_places_are_refused() -> None:
    async with serving(Talker()) as server, Http(server.url) as client:
        assert (await client.http.put(server.url)).status_code == 405
        assert (await client.http.patch(server.url)).status_code == 405
        assert (await client.http.get(server.url + "/nothing")).status_code == 404
        assert (await client.http.get(server.url + "/ws")).status_code == 426


async def test_an_agent_that_refuses_initialize_keeps_no_connection() -> None:
    """T-021: the status is 200 and the connection is gone."""
    async with serving(Talker()) as server, Http(server.url) as client:
        answer = await client.post("initialize", {"protocolVersion": "one"}, id=1)
        assert answer.status_code == 200
        assert "error" in answer.json()
        client.connection = {"Acp-Connection-Id": answer.headers["acp-connection-id"]}
        assert (await client.post("session/new", id=2)).status_code == 404


# -- CASE-2: routing (§2.3) ---------------------------------------------------------------------------


async def test_messages_go_to_the_streams_that_the_table_names() -> None:
    async with serving(Talker(modes=["a", "b"])) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.post("session/list", id="list")
                assert (await stream.until_answer("list"))[-1]["result"] == {"sessions": []}  # unused ones
                await client.post("session/set_mode", {"sessionId": session, "modeId": "b"}, id="mode")
                seen = await of_session.until_answer("mode")
                assert [m["params"]["update"]["sessionUpdate"] for m in seen[:-1]] == [
                    "current_mode_update",
                    "config_option_update",
                ]
                await client.prompt(session, "ask")
                asked = await of_session.message()
                assert asked["method"] == "session/request_permission"
                answer = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
                body = {"id": asked["id"], "result": answer}
                assert (await client.post(body=body, Acp_Session_Id=session)).status_code == 202
                assert texts(await of_session.until_answer("p")) == ["yes"]
                await client.post("session/close", {"sessionId": session}, id="close", Acp_Session_Id=session)
                assert "result" in (await of_session.until_answer("close"))[-1]


async def test_a_question_may_be_answered_without_the_session_header() -> None:
    """CASE-7, T-030, §7: official Python clients do not send it."""
    talker = Talker()
    async with serving(talker) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "ask")
                asked = await of_session.message()
                body = {"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}}
                assert (await client.post(body=body)).status_code == 202
                assert texts(await of_session.until_answer("p")) == ["no"]


async def test_a_session_stream_that_comes_late_gets_what_was_queued() -> None:
    """CASE-3, T-040, T-043."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            await client.prompt(session, "say 3")
            async with client.stream(session) as late:
                assert texts(await late.until_answer("p")) == ["<0>", "<1>", "<2>"]


async def test_two_sessions_do_not_hear_each_other() -> None:
    """CASE-4."""
    async with serving(Talker()) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            one, other = await client.new(stream), await client.new(stream)
            async with client.stream(one) as of_one, client.stream(other) as of_other:
                await client.prompt(one, "say 200", id="one")
                await client.prompt(other, "say 200", id="other")
                for name, session, messages in (
                    ("one", one, await of_one.until_answer("one")),
                    ("other", other, await of_other.until_answer("other")),
                ):
                    assert texts(messages) == [f"<{n}>" for n in range(200)]
                    assert {m["params"]["sessionId"] for m in messages[:-1]} == {session}, name


@pytest.mark.parametrize("early", [True, False])
async def test_loading_replays_on_the_session_stream_and_answers_on_the_other(early: bool) -> None:
    """CASE-5, T-042: the answer does not overtake the history if the stream is open."""
    talker = Talker()
    async with serving(talker) as server, Http(server.url) as before, Http(server.url) as after:
        await before.initialize()
        async with before.stream() as stream:
            session = await before.new(stream)
            async with before.stream(session) as of_session:
                await before.prompt(session, "say 3")
                await of_session.until_answer("p")
        await before.delete()
        await after.initialize()
        load = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        async with after.stream() as stream:
            if early:
                async with after.stream(session) as of_session:
                    await after.post("session/load", load, id="load", Acp_Session_Id=session)
                    assert "result" in (await stream.until_answer("load"))[-1]
                    assert (await of_session.message())["params"]["update"][
                        "sessionUpdate"
                    ] == "user_message_chunk"
                    assert texts([await of_session.message()]) == ["<0><1><2>"]
            else:
                await after.post("session/load", load, id="load", Acp_Session_Id=session)
                assert "result" in (await stream.until_answer("load"))[-1]
                async with after.stream(session) as of_session:
                    await of_session.message()
                    assert texts([await of_session.message()]) == ["<0><1><2>"]


async def test_a_client_that_knows_no_session_streams_hears_everything_on_the_one_it_has() -> None:
    """§7, hazard 3: official Python clients load without the header and without opening the stream first."""
    async with serving(Talker()) as server, Http(server.url) as before, Http(server.url) as after:
        await before.initialize()
        async with before.stream() as stream:
            session = await before.new(stream)
            async with before.stream(session) as of_session:
                await before.prompt(session, "say 2")
                await of_session.until_answer("p")
        await before.delete()
        await after.initialize()
        async with after.stream() as stream:
            await after.post(
                "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []}, id="load"
            )
            history = await stream.until_answer("load")
            assert texts(history) == ["<0><1>"]
            await after.prompt(session, "say 1", id="next")
            assert texts(await stream.until_answer("next")) == ["<0>"]


async def test_the_agent_that_dies_is_reported_on_every_stream(tmp_path: Path) -> None:
    """CASE-8, E3: pending requests fail, streams end, the connection is gone."""
    program = tmp_path / "dies.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if m['method'] == 'session/prompt': sys.exit(7)\n"
        "    r = {'protocolVersion': 1} if m['method'] == 'initialize' else {'sessionId': 's1'}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n"
    )
    async with (
        serving([sys.executable, str(program)]) as server,
        Http(server.url) as client,
        Http(server.url) as other,
    ):
        await client.initialize()
        await other.initialize()
        async with client.stream() as stream, other.stream() as untouched:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "die")
                error = (await of_session.until_answer("p"))[-1]["error"]
                assert error["code"] == -32603
                assert "exited with code 7" in error["message"]
                assert str(tmp_path) not in error["message"]
                await of_session.ended()
            await stream.ended()
            assert await other.new(untouched) == "s1"
        assert (await client.post("session/new", id=9)).status_code == 404


async def test_a_command_that_cannot_be_started_answers_500() -> None:
    """T-022."""
    async with serving(["/no/such/agent"]) as server, Http(server.url) as client:
        answer = await client.post("initialize", HELLO, id=1)
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, -32603)
        assert "/no/such" not in answer.text
        assert len(server.app.connections) == 0


async def test_a_command_that_hangs_answers_504() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    async with serving(command, limits={"initialize_seconds": 0.3}) as server, Http(server.url) as client:
        answer = await client.post("initialize", HELLO, id=1)
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, -32603)


async def test_a_command_that_dies_at_once_answers_500() -> None:
    async with serving([sys.executable, "-c", "raise SystemExit(3)"]) as server, Http(server.url) as client:
        answer = await client.post("initialize", HELLO, id=1)
        assert answer.status_code == 500
        assert "exited with code 3" in answer.json()["error"]["message"]


async def test_bytes_pass_through_a_hosted_command_unharmed(tmp_path: Path) -> None:
    """E3: unknown methods and fields, odd numbers, escapes; noise on its stdout is left out."""
    program = tmp_path / "parrot.py"
    program.write_text(
        "import json, sys\n"
        "print('hello, I am a banner', flush=True)\n"
        "for line in sys.stdin:\n"
        "    told = {'jsonrpc': '2.0', 'method': '_heard', 'params': {'line': line.strip()}}\n"
        "    if 'initialize' in line:\n"
        "        told = {'jsonrpc': '2.0', 'id': 0, 'result': {'protocolVersion': 1}}\n"
        "    print(json.dumps(told), flush=True)\n"
    )
    odd = (
        '{"jsonrpc":"2.0",\n "method":"_weird/one",\r\n '
        '"params":{"big":1.0e30,"x":[null, {"z":"\\u00e9"}]},"more":true}'
    )
    async with serving([sys.executable, str(program)]) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            answer = await client.http.post(
                server.url, content=odd.encode(), headers={**PLAIN, **client.connection}
            )
            assert answer.status_code == 202
            heard = (await stream.message())["params"]["line"]
            assert heard == odd.replace("\n", " ").replace("\r", " ")


# -- SSE (§2.4) ------------------------------------------------------------------------------------


async def test_streams_have_their_headers_and_signs_of_life() -> None:
    """T-050, T-051, T-053, CASE-11."""
    async with serving(Talker(), limits={"keepalive_seconds": 0.05}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            headers = stream.response.headers
            assert headers["content-type"] == "text/event-stream"
            assert headers["cache-control"] == "no-cache"
            assert headers["x-accel-buffering"] == "no"
            assert "connection" not in headers
            waiting = asyncio.create_task(stream.next())
            await eventually(lambda: stream.comments >= 3, "comments come while nothing happens")
            await client.post("session/list", id="list")
            assert (await waiting).data["id"] == "list"


async def test_any_text_survives_the_stream() -> None:
    """CASE-11: characters that are split between reads, line ends of every kind, batching breaks nothing."""
    spoken = 'é€🙂\u2028 \r\n \r \n data: x \\ " ' * 300
    agent = Talker().agent

    @agent.on_prompt
    async def reply(turn: Any) -> None:
        for _ in range(5):
            await turn.say(spoken)

    async with serving(agent) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            async with client.stream(session) as of_session:
                await client.prompt(session, "speak")
                assert texts(await of_session.until_answer("p")) == [spoken] * 5


# -- limits (§6) -----------------------------------------------------------------------------------


async def test_a_client_that_does_not_read_slows_its_agent_then_loses_its_connection() -> None:
    """CASE-13, T-091, T-092."""
    talker = Talker()
    limits = {"buffer_bytes": 200_000, "stream_bytes": 100_000, "stall_seconds": 0.5}
    async with serving(talker, limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            await client.prompt(session, "flood 2000")  # nobody opens the stream of the session
            connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
            assert connection is not None
            await eventually(lambda: connection.flow.buffered >= 200_000, "the buffer fills")
            assert connection.flow.buffered < 2_000_000
            await stream.ended()
            assert talker.said < 2000
        assert server.app.metrics.value("acpella_refused_total", 'reason="stalled"') == 1
        assert (await client.post("session/new", id=1)).status_code == 404
        await eventually(lambda: talker.ended == ["flood"], "the turn is cancelled")


async def test_while_the_buffer_is_full_requests_wait_and_the_rest_passes() -> None:
    """T-091: a cancellation gets through; a request is taken when there is room again."""
    talker = Talker()
    async with serving(talker, limits={"buffer_bytes": 100_000}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            session = await client.new(stream)
            await client.prompt(session, "flood 1000")
            connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
            assert connection is not None
            await eventually(lambda: connection.flow.buffered >= 100_000, "the buffer fills")
            assert (await client.post("session/list", id="list")).status_code == 202
            await client.post("session/cancel", {"sessionId": session}, Acp_Session_Id=session)
            async with client.stream(session) as of_session:
                answer = (await of_session.until_answer("p"))[-1]
                assert answer["result"]["stopReason"] == "cancelled"
                assert (await stream.until_answer("list"))[-1]["result"]["sessions"]
        assert talker.said < 1000


async def test_connections_and_sessions_are_limited() -> None:
    """T-090."""
    limits = {"max_connections": 3, "max_connections_per_user": 2, "max_sessions": 1}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        async with Http(server.url) as second:
            await second.initialize()
            async with client.stream(), second.stream():  # nobody is away, so nobody makes room
                assert (await second.post("initialize", HELLO, id=0, Acp_Connection_Id="")).status_code == 429
            await second.delete()
        async with client.stream("one"):
            assert await client.get(**EVENTS, Acp_Session_Id="two") == 503
        connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
        assert connection is not None
        await eventually(lambda: connection.readers == 0, "the server notices")
        assert await client.get(**EVENTS, Acp_Session_Id="two") == 200  # nobody needs the other any more


async def test_a_connection_without_streams_and_traffic_is_let_go() -> None:
    """T-073."""
    async with serving(Talker(), limits={"detach_seconds": 0.2}) as server, Http(server.url) as client:
        await client.initialize()
        assert len(server.app.connections) == 1
        await eventually(lambda: len(server.app.connections) == 0, "it is reaped")
        assert (await client.post("session/new", id=1)).status_code == 404


async def test_an_answer_that_is_too_long_is_replaced_by_an_error(tmp_path: Path) -> None:
    program = tmp_path / "long.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    r = {'protocolVersion': 1} if m['method'] == 'initialize' else {'sessionId': 'x' * 50_000}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n"
    )
    command = [sys.executable, str(program)]
    async with serving(command, limits={"max_message": 10_000}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream() as stream:
            await client.post("session/new", {"cwd": "/tmp", "mcpServers": []}, id="new")
            assert (await stream.until_answer("new"))[-1]["error"]["code"] == -32603
