"""The HTTP client transport against servers that do what servers may do (spec: transports §2.5, §8)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, Request, ScriptedServer

import acpella
from acpella.errors import ConnectionClosed, InternalError, TransportError
from acpella.transport import Endpoint, HttpChannel

pytestmark = pytest.mark.anyio


async def test_a_cookie_of_initialize_comes_back_with_everything(tmp_path: Path) -> None:
    """T-080, CASE-10: kept for POST, GET and DELETE; attributes are heeded."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and request.message.get("method") == "initialize":
            answer = server._ordinary(request)
            answer.headers["set-cookie"] = "node=seven; Path=/acp; HttpOnly"
            return answer
        return None

    async with asyncio.timeout(60), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            await agent.new_session(tmp_path)
            await server.until(lambda: len(server.of("GET")) == 2)
        first, *later = server.requests
        assert "cookie" not in first.headers
        assert [request.headers.get("cookie") for request in later] == ["node=seven"] * len(later)
        assert {request.method for request in later} == {"POST", "GET", "DELETE"}


async def test_the_token_and_the_headers_go_with_every_request(tmp_path: Path) -> None:
    """T-081."""
    async with asyncio.timeout(60), ScriptedServer() as server:
        async with acpella.connect(server.url, token="t0ken", headers={"X-Team": "blue"}) as agent:
            await agent.new_session(tmp_path)
            await server.until(lambda: len(server.of("GET")) == 2)
        sent = [(r.headers.get("authorization"), r.headers.get("x-team")) for r in server.requests]
        assert sent == [("Bearer t0ken", "blue")] * len(sent)


async def test_a_session_stream_is_open_before_its_first_post(tmp_path: Path) -> None:
    """§2.5 step 3, T-030: header on the prompt and on the answer to what came on the stream."""
    async with asyncio.timeout(60), ScriptedServer() as server:
        async with acpella.connect(server.url, permissions="allow-all") as agent:
            session = await agent.new_session(tmp_path)
            turn = asyncio.ensure_future(_finish(session))
            await server.until(lambda: server.posted("session/prompt"))
            seen = [(r.method, r.session) for r in server.requests[2:]]
            assert seen.index(("GET", "s1")) < seen.index(("POST", "s1"))
            ask = {
                "sessionId": "s1",
                "toolCall": {"toolCallId": "t", "title": "x"},
                "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}],
            }
            method = "session/request_permission"
            server.send("s1", {"jsonrpc": "2.0", "id": 1, "method": method, "params": ask})
            server.send("s1", {"jsonrpc": "2.0", "id": "1", "method": method, "params": ask})
            answers = await server.until(lambda: [r for r in server.of("POST") if "result" in r.message][1:])
            assert answers
            both = [r for r in server.of("POST") if "result" in r.message]
            assert {(repr(r.message["id"]), r.session) for r in both} == {("1", "s1"), ("'1'", "s1")}
            prompt = server.posted("session/prompt")[0].message
            server.send("s1", {"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}})
            assert (await turn).stop_reason == "end_turn"


async def _finish(session: Any, text: str = "hi") -> Any:
    return await session.prompt(text)


async def test_the_end_of_a_session_stream_fails_the_requests_of_that_session(tmp_path: Path) -> None:
    """CASE-8, §2.5 step 6: the connection lives, and the stream is opened again on next use."""
    async with asyncio.timeout(60), ScriptedServer() as server:
        async with acpella.connect(server.url) as agent:
            session = await agent.new_session(tmp_path)
            turn = asyncio.ensure_future(_finish(session))
            await server.until(lambda: server.posted("session/prompt"))
            server.end("s1")
            with pytest.raises(InternalError, match="the stream of the session ended"):
                await turn
            turn = asyncio.ensure_future(_finish(session))
            prompts = await server.until(lambda: server.posted("session/prompt")[1:])
            server.send("s1", server.update("s1", "again"))
            done = {"jsonrpc": "2.0", "id": prompts[0].message["id"], "result": {"stopReason": "end_turn"}}
            server.send("s1", done)
            assert (await turn).text == "again"


async def test_the_end_of_the_connection_stream_fails_everything(tmp_path: Path) -> None:
    """CASE-8, §2.5 step 2."""
    async with asyncio.timeout(60), ScriptedServer() as server:
        async with acpella.connect(server.url, reconnect=False) as agent:
            session = await agent.new_session(tmp_path)
            turn = asyncio.ensure_future(_finish(session))
            await server.until(lambda: server.posted("session/prompt"))
            server.end(None)
            with pytest.raises(ConnectionClosed, match="was lost"):
                await turn


async def test_split_characters_and_keep_alives_are_read(tmp_path: Path) -> None:
    """CASE-11, T-052: every byte by itself, CRLF, comments between, a field nobody knows."""
    async with asyncio.timeout(60), ScriptedServer() as server:
        async with acpella.connect(server.url) as agent:
            session = await agent.new_session(tmp_path)
            turn = asyncio.ensure_future(_finish(session))
            prompt = (await server.until(lambda: server.posted("session/prompt")))[0].message
            update = json.dumps(server.update("s1", "ünïcødé 🦊"), ensure_ascii=False).encode()
            raw = b":\n\n:keep\r\n\r\nretry: 5\r\ndata: " + update + b"\r\n\r\n:\r\r"
            for at in range(len(raw)):
                server.send_raw("s1", raw[at : at + 1])
                await asyncio.sleep(0)
            server.send("s1", {"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}})
            assert (await turn).text == "ünïcødé 🦊"


async def test_a_server_without_the_session_gets_the_load_first(tmp_path: Path) -> None:
    """§7 decision: 404 for a stream of a session that is about to be loaded; then once more."""
    known: set[str] = set()

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.session is not None and request.session not in known:
            return Answer(404, b'{"error": "Unknown session id"}')
        if request.method == "POST" and request.message.get("method") == "session/load":
            known.add("old")
            loop = asyncio.get_running_loop()
            answer = {"jsonrpc": "2.0", "id": request.message["id"], "result": {}}
            loop.call_soon(server.send, None, server.update("old", "before"))
            loop.call_soon(server.send, None, answer)
        return None

    heard: list[Any] = []
    async with asyncio.timeout(60), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            await agent.load_session("old", tmp_path, on_update=heard.append)
            assert heard[0].content.text == "before"
            assert [request.session for request in server.posted("session/load")] == ["old", None]
            await server.until(lambda: "old" in server.streams)


async def test_a_load_waits_for_the_replay_on_the_other_stream(tmp_path: Path) -> None:
    """T-042: the answer overtakes the replay."""
    server_said: list[str] = []

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and request.message.get("method") == "session/load":
            loop = asyncio.get_running_loop()
            loop.call_soon(server.send, None, {"jsonrpc": "2.0", "id": request.message["id"], "result": {}})
            for number in range(5):
                server_said.append(str(number))
                loop.call_later(0.01 * number, server.send, "old", server.update("old", str(number)))
        return None

    heard: list[str] = []
    async with asyncio.timeout(60), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            await agent.load_session(
                "old",
                tmp_path,
                on_update=lambda update: heard.append(update.content.text),  # type: ignore[union-attr]
            )
            assert heard == server_said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(401), "wants a token.*ACPELLA_TOKEN"),
        (Answer(403), "refuses access"),
        (Answer(404), "no ACP server at"),
        (Answer(405), "does not answer like an ACP server"),
        (Answer(200, b"<!doctype html><p>hi"), "does not answer like an ACP server$"),
        (Answer(503, b"full"), "too busy .503.: full"),
        (Answer(500, b"x" * 100_000), "failed .500.: x{200}…$"),
        (Answer(307, b"", {"location": "http://elsewhere.example/acp"}), "redirects to http://elsewhere"),
    ],
)
async def test_a_refusal_says_what_to_do(answer: Answer, words: str) -> None:
    async with asyncio.timeout(60), ScriptedServer(lambda *_: answer) as server:
        with pytest.raises(TransportError, match=words):
            async with acpella.connect(server.url):
                pass
        assert len(server.requests) == 1  # T-084: a redirect is not followed


async def test_a_wrong_token_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACPELLA_TOKEN", "s3cr3t-value")
    async with asyncio.timeout(60), ScriptedServer(lambda *_: Answer(401)) as server:
        with pytest.raises(TransportError, match="does not accept the token") as caught:
            async with acpella.connect(server.url):
                pass
        assert server.requests[0].headers["authorization"] == "Bearer s3cr3t-value"
        assert "s3cr3t" not in str(caught.value) + repr(Endpoint.of(server.url))


async def test_a_request_that_is_not_taken_fails_alone(tmp_path: Path) -> None:
    """§2.5 step 5."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and request.message.get("method") == "session/prompt":
            return Answer(413, b"too large")
        return None

    async with asyncio.timeout(60), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            session = await agent.new_session(tmp_path)
            with pytest.raises(InternalError, match="413") as caught:
                await session.prompt("hi")
            assert caught.value.data == {"status": 413, "body": "too large"}
            assert (await agent.new_session(tmp_path)).id == "s1"


async def test_a_silent_stream_counts_as_lost(tmp_path: Path) -> None:
    """Half-open sockets: a server that sent keep-alives and stops is gone."""
    heard = asyncio.Event()

    class Listener:
        def received(self, data: bytes) -> None:
            pass

        def pause_writing(self) -> None:
            pass

        def resume_writing(self) -> None:
            pass

        def ended(self, reason: ConnectionClosed) -> None:
            self.reason = str(reason)
            heard.set()

    async with asyncio.timeout(60), ScriptedServer() as server:
        channel = HttpChannel(Endpoint.of(server.url), silent_after=0.2)
        listener = Listener()
        await channel.open(listener, write_high=1024)
        channel.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n')
        await server.until(lambda: None in server.streams)
        server.send_raw(None, b":\n\n")
        await heard.wait()
        assert "gone silent" in listener.reason
        await channel.close()


async def test_a_session_id_that_is_no_header_cannot_write_one(tmp_path: Path) -> None:
    """An id is the agent's to choose; it must not end up as lines of a request."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and request.message.get("method") == "session/new":
            result = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"sessionId": "a\r\nX: y"}}
            asyncio.get_running_loop().call_soon(server.send, None, result)
            return Answer(202)
        if request.method == "POST" and request.message.get("method") == "session/prompt":
            result = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"stopReason": "end_turn"}}
            asyncio.get_running_loop().call_soon(server.send, None, result)
        return None

    async with asyncio.timeout(60), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            session = await agent.new_session(tmp_path)
            assert (await session.prompt("hi")).stop_reason == "end_turn"
        assert all("x" not in request.headers for request in server.requests)
        assert len(server.of("GET")) == 1
