"""A server that forgets its connections: a new one is made, the sessions go on (T-071)."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, Request, ScriptedServer
from test_cuts import hosting

import acpella
from acpella import Agent, Turn
from acpella.client import RemoteAgent, Restarts
from acpella.errors import ConnectionClosed, RpcError, TransportError
from acpella.server import Runner, ServerSettings

pytestmark = pytest.mark.anyio


def remembering_agent(path: Path) -> Agent:
    """Counts the turns of a session in a file."""
    agent = Agent("remembering", store=path)

    @agent.on_prompt
    async def answer(turn: Turn) -> str:
        if turn.text == "wait":
            await turn.say("waiting")
            await asyncio.Event().wait()
        turn.session.state["turns"] = turn.session.state.get("turns", 0) + 1
        return f"turn {turn.session.state['turns']}"

    return agent


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_session_goes_on_after_the_server_was_started_again(scheme: str, tmp_path: Path) -> None:
    """The running prompt fails and is not sent again; the next one waits for the server."""
    store = tmp_path / "sessions.db"
    states: list[str] = []
    lost = asyncio.Event()

    def changed(agent: RemoteAgent) -> None:
        states.append(agent.state)
        if agent.state in ("interrupted", "reconnecting"):
            lost.set()

    quick = Restarts(budget=50, window=60, first_delay=0.05, longest_delay=0.2)
    async with asyncio.timeout(40):
        async with hosting(remembering_agent(store), drain_seconds=0) as runner:
            port = runner.port
            url = f"{scheme}://127.0.0.1:{port}/acp"
            agent = acpella.connect(url, reconnect=quick, on_state=changed)
            await agent.__aenter__()
            session = await agent.new_session(tmp_path)
            assert (await session.prompt("hi")).text == "turn 1"
            turn = session.prompt("wait")
            await anext(aiter(turn))
            await asyncio.wait([asyncio.create_task(_finish(turn))])
        await lost.wait()
        second = Runner(remembering_agent(store), port=port, settings=ServerSettings())
        second.bind()
        running = asyncio.create_task(second.run(signals=False))
        try:
            assert (await session.prompt("hi")).text == "turn 2"
            assert "reconnecting" in states and states[-1] == "connected"
        finally:
            await agent.__aexit__(None, None, None)
            second.stop()
            await running


async def _finish(turn: Any) -> None:
    try:
        await turn.cancel()
    except (ConnectionClosed, RpcError, TimeoutError):
        pass


async def test_a_server_that_stays_away_is_given_up(tmp_path: Path) -> None:
    states: list[str] = []
    limits = Restarts(budget=2, window=60, first_delay=0.01, longest_delay=0.02)
    async with asyncio.timeout(20), ScriptedServer() as server:
        async with acpella.connect(
            server.url, reconnect=limits, on_state=lambda agent: states.append(agent.state)
        ) as agent:
            session = await agent.new_session(tmp_path)
            server._server.close()
            server.end(None)
            await agent.connection.wait_closed()
            with pytest.raises(ConnectionClosed, match="refused"):
                await session.prompt("hi")
    assert states == ["connecting", "connected", "reconnecting", "failed", "closed"]


async def test_a_token_that_is_not_accepted_any_more_is_not_tried_again(tmp_path: Path) -> None:
    barred = False

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        return Answer(401) if barred else None

    async with asyncio.timeout(20), ScriptedServer(script) as server:
        async with acpella.connect(
            server.url, token="abc", reconnect=Restarts(budget=9, first_delay=0.01)
        ) as agent:
            session = await agent.new_session(tmp_path)
            barred = True
            server.end(None)
            await agent.connection.wait_closed()
            with pytest.raises(ConnectionClosed, match="does not accept the token"):
                await session.prompt("hi")
            assert len(server.posted("initialize")) == 2


async def test_a_refused_initialize_leaves_no_connection_behind(tmp_path: Path) -> None:
    """T-021: the connection that the server made is deleted."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST":
            body = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"not today"}}'
            return Answer(200, body, {"acp-connection-id": "c9"})
        return None

    async with asyncio.timeout(20), ScriptedServer(script) as server:
        with pytest.raises(RpcError, match="not today"):
            async with acpella.connect(server.url):
                pass
        assert [request.headers["acp-connection-id"] for request in server.of("DELETE")] == ["c9"]
        assert not server.of("GET")


async def test_a_lost_stream_without_its_messages_ends_the_connection(tmp_path: Path) -> None:
    """`event: resync`: what was missed is not kept; the session is loaded again at a new connection."""
    made = 0

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        nonlocal made
        if request.method == "POST" and request.message.get("method") == "initialize":
            made += 1
            answer = server._ordinary(request)
            answer.headers |= {"acpella-resume": "g", "acp-connection-id": f"c{made}"}
            return answer
        if request.method == "POST" and request.message.get("method") == "session/load":
            answer = {"jsonrpc": "2.0", "id": request.message["id"], "result": {}}
            asyncio.get_running_loop().call_soon(server.send, None, answer)
        return None

    async with asyncio.timeout(20), ScriptedServer(script) as server:
        async with acpella.connect(server.url, reconnect=Restarts(first_delay=0.01)) as agent:
            await agent.new_session(tmp_path)
            await server.until(lambda: "s1" in server.streams)
            server.send_raw("s1", b"event: resync\ndata: {}\n\n")
            (load,) = await server.until(lambda: server.posted("session/load"))
            assert load.headers["acp-connection-id"] == "c2"
            assert [r.headers["last-event-id"] for r in server.of("GET")][:2] == ["g-0", "g-0"]


async def test_acks_tell_how_far_a_stream_was_read(tmp_path: Path) -> None:
    """Every 64 messages, as a POST of its own that has no number."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and request.message.get("method") == "initialize":
            answer = server._ordinary(request)
            answer.headers["acpella-resume"] = "g"
            return answer
        return None

    async with asyncio.timeout(20), ScriptedServer(script) as server:
        async with acpella.connect(server.url) as agent:
            session = await agent.new_session(tmp_path)
            heard: list[Any] = []
            session.on_update = heard.append
            await server.until(lambda: "s1" in server.streams)
            for number in range(1, 65):
                update = json.dumps(server.update("s1", str(number))).encode()
                server.send_raw("s1", b"id: g-%d\ndata: %b\n\n" % (number, update))
            (ack,) = await server.until(lambda: server.posted("$/acpella/ack"))
            assert ack.message["params"] == {"lastEventId": "g-64", "sessionId": "s1"}
            assert "acpella-message" not in ack.headers
            numbered = [r.headers.get("acpella-message") for r in server.of("POST") if r is not ack]
            assert numbered == [None, "1"]
            assert [update.content.text for update in heard] == [str(number) for number in range(1, 65)]


async def test_a_remote_agent_comes_from_the_settings(tmp_path: Path) -> None:
    async with asyncio.timeout(20), ScriptedServer() as server:
        settings = tmp_path / "settings.json"
        entry = {"url": server.url, "headers": {"X-Team": "blue", "Authorization": "Bearer old"}}
        settings.write_text(json.dumps({"agent_servers": {"far": entry}}), encoding="utf-8")
        async with acpella.connect("far", settings=settings) as agent:
            assert agent.name == "far"
        async with acpella.connect("far", settings=settings, token="new"):
            pass
        first, second = server.posted("initialize")
        assert (first.headers["x-team"], first.headers["authorization"]) == ("blue", "Bearer old")
        assert (second.headers["x-team"], second.headers["authorization"]) == ("blue", "Bearer new")


@pytest.mark.parametrize(
    ("url", "library"), [("ws://127.0.0.1:1/", "websockets"), ("http://[::1]:1/", "httpx2")]
)
async def test_a_missing_library_is_named_with_the_command_that_installs_it(
    url: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        TransportError, match=rf"{library}: install it with .pip install 'acpella\[standard\]'"
    ):
        async with acpella.connect(url):
            pass


async def test_options_of_remote_agents_are_refused_for_others() -> None:
    with pytest.raises(TransportError, match="only for an agent behind a URL"):
        acpella.connect("agent.py", token="abc")
