"""The official clients against our server, over HTTP and WebSocket (FEATURES E2)."""

import asyncio
from pathlib import Path

import pytest

from acpella.sessions import SqliteStore
from interop.conftest import Events, peer, pieces, run_client, said
from server.serving import Talker, serving, ws_url

pytestmark = pytest.mark.anyio

CLIENTS = ["client_official.py", "client_official.py:next", "client_typescript.mjs"]
TRANSPORTS = ["http", "websocket"]


def kinds(events: Events) -> list[str]:
    return [event["event"] for event in events if event["event"] != "update"]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("client", CLIENTS)
async def test_a_whole_conversation(client: str, transport: str, tmp_path: Path) -> None:
    """New, prompt with updates, permission, cancel; then load on another connection, and go on."""
    talker = Talker(SqliteStore(tmp_path / "sessions.db"))
    async with serving(talker) as server:
        url = server.url if transport == "http" else ws_url(server)
        events = await run_client(
            client,
            url,
            tmp_path,
            {"do": "new"},
            {"do": "prompt", "text": "say 20"},
            {"do": "prompt", "text": "ask", "answer": "allow_once"},
            {"do": "prompt", "text": "wait", "cancel_on": "waiting"},
            {"do": "again"},
            {"do": "load"},
            {"do": "prompt", "text": "say 3"},
        )
    assert kinds(events) == [
        "initialized",
        "new",
        "stop",
        "permission",
        "stop",
        "stop",
        "initialized",
        "loaded",
        "stop",
    ]
    assert [event["reason"] for event in events if event["event"] == "stop"] == [
        "end_turn",
        "end_turn",
        "cancelled",
        "end_turn",
    ]
    heard = said(events)
    first = "".join(f"<{n}>" for n in range(20)) + "yes" + "waiting"
    assert heard == first + first + "<0><1><2>"  # live, replayed, live


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("client", CLIENTS)
async def test_a_hosted_agent_of_the_other_sdk(client: str, transport: str, tmp_path: Path) -> None:
    """E3: bytes between two official SDKs, through us."""
    agent = peer("agent_typescript.mjs" if "official" in client else "agent_official.py")
    (tmp_path / "note.txt").write_text("what the file says")
    async with serving(agent) as server:
        url = server.url if transport == "http" else ws_url(server)
        events = await run_client(
            client,
            url,
            tmp_path,
            {"do": "new"},
            {"do": "prompt", "text": "one two three"},
            {"do": "prompt", "text": f"read {tmp_path / 'note.txt'}"},
            {"do": "prompt", "text": "ask may I"},
            {"do": "prompt", "text": "wait", "cancel_on": "waiting"},
        )
    assert pieces(events) == ["one", "two", "three", "what the file says", "selected", "waiting"]
    stops = [event["reason"] for event in events if event["event"] == "stop"]
    assert stops == ["end_turn", "end_turn", "end_turn", "cancelled"]


async def test_http_2_with_hypercorn(tmp_path: Path) -> None:
    """T-011: the same application behind a server that speaks HTTP/2; many streams on one connection."""
    import httpx2
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    from acpella.server import ServerSettings, asgi
    from server.serving import HELLO, Http, texts

    app = asgi(Talker().agent, settings=ServerSettings(drain_seconds=0.1))
    config = Config()
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config.bind = [f"127.0.0.1:{port}"]
    config.loglevel = "ERROR"
    stop = asyncio.Event()
    running = asyncio.create_task(serve(app, config, shutdown_trigger=stop.wait))  # pyright: ignore[reportArgumentType]
    try:
        async with Http(f"http://127.0.0.1:{port}/acp") as client:
            await client.http.aclose()
            client.http = httpx2.AsyncClient(http1=False, http2=True, timeout=10)
            async with asyncio.timeout(60):
                while True:
                    try:
                        answer = await client.post("initialize", HELLO, id=0)
                        break
                    except httpx2.ConnectError:
                        await asyncio.sleep(0.05)
            assert answer.http_version == "HTTP/2"
            client.connection = {"Acp-Connection-Id": answer.headers["acp-connection-id"]}
            async with client.stream() as stream:
                session = await client.new(stream)
                async with client.stream(session) as of_session:
                    await client.prompt(session, "say 50")
                    assert texts(await of_session.until_answer("p")) == [f"<{n}>" for n in range(50)]
            assert await client.delete() == 202
    finally:
        stop.set()
        await asyncio.wait([running], timeout=10)
        await app.close()
