"""Who is at the other end: clients behind proxies, other users of this machine, and tokens in the clear."""

import asyncio
import logging
import os
import socket as sockets
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from acpella.server import Runner, ServerSettings, asgi
from acpella.server.access.local_user import CLOSED_SOCKET, can_tell_users, may_act_as_us, user_of_peer
from acpella.server.access.proxies import Proxies
from server.serving import HELLO, Http, Talker, eventually, refused, serving, socket, ws_url

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40
WRONG = {"Authorization": "Bearer " + "w" * 40}

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")


# -- tokens in the clear -----------------------------------------------------------------------------


def test_tokens_cross_no_network_in_the_clear_unless_somebody_says_so() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.com"):
        with pytest.raises(ValueError, match="in the clear: give a certificate .* or say --plain-http"):
            Runner(Talker().agent, host=host, token=TOKEN)
        with pytest.raises(ValueError, match="--token"):
            Runner(Talker().agent, host=host, settings=ServerSettings(plain_http=True))
        Runner(Talker().agent, host=host, token=TOKEN, settings=ServerSettings(plain_http=True))
    Runner(Talker().agent, token=TOKEN)


CERTIFY = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem "
    "-out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
)


async def test_a_certificate_lets_other_machines_in(tmp_path: Path) -> None:
    made = await asyncio.to_thread(
        subprocess.run, CERTIFY.split(), cwd=tmp_path, capture_output=True, timeout=30
    )
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    files: Any = {"ssl_certfile": str(tmp_path / "cert.pem"), "ssl_keyfile": str(tmp_path / "key.pem")}
    async with serving(Talker(), host="0.0.0.0", token=TOKEN, **files) as server:
        assert server.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        async with httpx2.AsyncClient(verify=trust, timeout=10) as client:
            assert (await client.post(server.url, json=body)).status_code == 401
            headers = {"Authorization": f"Bearer {TOKEN}"}
            assert (await client.post(server.url, json=body, headers=headers)).status_code == 200
        async with socket(ws_url(server), headers, ssl=trust) as client:
            assert await client.start()
    (tmp_path / "other").mkdir()
    await asyncio.to_thread(subprocess.run, CERTIFY.split(), cwd=tmp_path / "other", capture_output=True)
    files["ssl_keyfile"] = str(tmp_path / "other" / "key.pem")
    with pytest.raises(ValueError, match=r"other/key.pem does not belong to .*cert.pem"):
        Runner(Talker().agent, token=TOKEN, **files)


# -- proxies -----------------------------------------------------------------------------------------


async def test_without_credentials_nothing_comes_through_a_proxy() -> None:
    """A reverse proxy on this machine would make an open server of it for everybody."""
    async with serving(Talker()) as server, Http(server.url) as client:
        for header in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via"):
            told = {header: "127.0.0.1"}
            answer = await client.post("initialize", HELLO, id=1, **told)
            assert answer.status_code == 403, header
            assert "--token" in answer.text
            assert await refused(ws_url(server), told) == 403
        await client.initialize()
    limits = {"trusted_proxies": ["127.0.0.0/8"]}  # one that says nothing is one all the same
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        assert (await client.post("initialize", HELLO, id=1)).status_code == 403
    async with serving(Talker(), token=TOKEN) as server:
        async with Http(
            server.url, {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "1.2.3.4"}
        ) as client:
            await client.initialize()


async def test_only_named_proxies_are_believed(caplog: pytest.LogCaptureFixture) -> None:
    """Wrong credentials count for the client's address, which the client cannot choose."""
    caplog.set_level(logging.INFO, "acpella.audit")

    async def guess(client: Http, forwarded: str) -> int:
        return (await client.post("initialize", HELLO, id=1, X_Forwarded_For=forwarded)).status_code

    limits: Any = {"failures_per_minute": 2}
    async with serving(Talker(), token=TOKEN, limits=limits) as server, Http(server.url, WRONG) as client:
        assert [await guess(client, f"203.0.113.{n}") for n in range(4)] == [401, 401, 429, 429]
        assert caplog.records[-1].__dict__["facts"]["address"] == "127.0.0.1"
    limits["trusted_proxies"] = ["127.0.0.1", "10.0.0.0/8"]
    async with serving(Talker(), token=TOKEN, limits=limits) as server, Http(server.url, WRONG) as client:
        assert [await guess(client, "203.0.113.1, 10.0.0.7") for _ in range(3)] == [401, 401, 429]
        assert caplog.records[-1].__dict__["facts"]["address"] == "203.0.113.1"
        assert await guess(client, "203.0.113.2") == 401, "another client"
        assert await guess(client, "198.51.100.9, 203.0.113.1") == 429, "what it wrote itself does not help"


def test_the_client_is_the_last_in_the_line_that_is_no_proxy() -> None:
    proxies = Proxies(["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"])
    for peer, line, client in (
        ("127.0.0.1", "", "127.0.0.1"),
        ("192.0.2.1", "203.0.113.1", "192.0.2.1"),
        ("127.0.0.1", "203.0.113.1", "203.0.113.1"),
        ("::ffff:127.0.0.1", "203.0.113.1:4711", "203.0.113.1"),
        ("2001:db8::7", "[2a00::1]:80", "2a00::1"),
        ("127.0.0.1", "2a00::1", "2a00::1"),
        ("127.0.0.1", "198.51.100.1, 203.0.113.1, 10.1.1.1, 10.2.2.2", "203.0.113.1"),
        ("127.0.0.1", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("127.0.0.1", "198.51.100.1, unknown, 10.2.2.2", "10.2.2.2"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
        ("127.0.0.1", "10.0.0.1," * 1000, "127.0.0.1"),
    ):
        assert proxies.client_of(peer, {"x-forwarded-for": line}) == client, line
    assert Proxies([]).client_of("127.0.0.1", {"x-forwarded-for": "203.0.113.1"}) == "127.0.0.1"
    with pytest.raises(ValueError, match="'proxy.example' is neither an address nor a network"):
        Proxies(["proxy.example"])


# -- other users of this machine -----------------------------------------------------------------------


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_known(host: str) -> None:
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    with sockets.socket(family) as listening:
        try:
            listening.bind((host, 0))
        except OSError:
            pytest.skip(f"{host} is no address here")
        listening.listen()
        with sockets.socket(family) as client:
            client.connect(listening.getsockname()[:2])
            accepted, peer = listening.accept()
            own = accepted.getsockname()
            user = user_of_peer((peer[0], peer[1]), (own[0], own[1]))
            if user is None:
                pytest.skip("this system does not tell whose a socket is")
            assert user == os.getuid()
        # closed: it would count as root's
        assert user_of_peer((peer[0], peer[1]), (own[0], own[1])) == CLOSED_SOCKET
        accepted.close()
    assert user_of_peer(("127.0.0.1", 1), ("example.com", 2)) is None
    assert user_of_peer(("127.0.0.1", 1), ("127.0.0.1", 2)) is None, "there is no such connection"
    users = (None, 0, os.getuid(), CLOSED_SOCKET, 54321)
    assert [may_act_as_us(one) for one in users] == [False, True, True, False, False]


@linux
@pytest.mark.parametrize("listens_at", ["127.0.0.1", "::1", "::"])
def test_the_user_of_a_connection_is_known_without_netlink(
    listens_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some containers have no such sockets, but the kernel's table of connections."""

    def no_netlink(*_: object) -> bytes:
        raise OSError("not here")

    monkeypatch.setattr("acpella.server.access.local_user._question", no_netlink)
    family = sockets.AF_INET6 if ":" in listens_at else sockets.AF_INET
    with sockets.socket(family) as listening:
        try:
            if family == sockets.AF_INET6:
                listening.setsockopt(sockets.IPPROTO_IPV6, sockets.IPV6_V6ONLY, 0)
            listening.bind((listens_at, 0))
        except OSError:
            pytest.skip(f"{listens_at} is not an address here")
        listening.listen()
        port = listening.getsockname()[1]
        client = sockets.create_connection(("127.0.0.1" if listens_at == "::" else listens_at, port))
        accepted, peer = listening.accept()
        own = accepted.getsockname()
        with accepted:
            with client:
                assert user_of_peer((peer[0], peer[1]), (own[0], own[1])) == os.getuid()
            assert user_of_peer((peer[0], peer[1]), (own[0], own[1])) == CLOSED_SOCKET
        assert can_tell_users()


def test_a_server_that_could_let_nobody_in_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValueError, match="--token.*local_users"):
        Runner(Talker().agent)
    Runner(Talker().agent, token=TOKEN)
    Runner(Talker().agent, settings=ServerSettings(local_users="all"))


STRANGER = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
port, kind = int(sys.argv[1]), sys.argv[2]
body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
heads = {
    "post": b"POST /acp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
            b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body,
    "upgrade": b"GET /acp HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\n"
               b"Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\n"
               b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n",
}
with socket.socket() as s:
    s.connect(("127.0.0.1", port))
    s.sendall(heads[kind])
    if len(sys.argv) == 3:
        answer = s.makefile("rb")
        head = b"".join(iter(answer.readline, b"\\r\\n")).decode().lower()
        print(head, answer.read(int(head.partition("content-length:")[2].split()[0])).decode())
"""


def _stranger(port: int, *words: str) -> str:
    """What another user of this machine is answered."""
    command = [sys.executable, "-I", "-S", "-c", STRANGER, str(port), *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@linux
async def test_without_credentials_other_users_of_this_machine_stay_outside() -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    async with serving(Talker()) as server, Http(server.url) as client:
        for kind in ("post", "upgrade"):
            answer = await asyncio.to_thread(_stranger, server.port, kind)
            assert answer.startswith("http/1.1 403 "), answer
            assert "local_users" in answer
        # one that does not wait for the answer: its socket is nobody's by the time somebody looks
        refused_before = server.app.metrics.value("acpella_requests_total", 'method="POST",status="403"')
        for _ in range(5):
            await asyncio.to_thread(_stranger, server.port, "post", "and leave")
        await eventually(
            lambda: (
                server.app.metrics.value("acpella_requests_total", 'method="POST",status="403"')
                == refused_before + 5
            ),
            "they are refused too",
        )
        assert len(server.app.connections) == 0
        await client.initialize()
    async with serving(Talker(), limits={"local_users": "all"}) as server:
        assert (await asyncio.to_thread(_stranger, server.port, "post")).startswith("http/1.1 200 ")
    async with serving(Talker(), token=TOKEN) as server:
        assert (await asyncio.to_thread(_stranger, server.port, "post")).startswith("http/1.1 401 ")


async def test_without_credentials_nobody_is_let_in_whose_user_cannot_be_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An ASGI server that names other addresses than the real ones, or a test without a socket."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    for users, status in (("own", 403), ("all", 200)):
        app = asgi(Talker().agent, settings=ServerSettings(drain_seconds=0.1, local_users=users))
        transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType] - any ASGI application
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            for _ in range(3):
                answer = await client.post("/acp", json=body)
                assert answer.status_code == status
                assert ("a token or an auth hook" in answer.text) == (status == 403)
                assert ("local_users=all" in answer.text) == (status == 403)
        await app.close()
    told = [record.getMessage() for record in caplog.records if record.name == "acpella.server.app"]
    assert len(told) == 1 and "local_users=all" in told[0], "once, not with every request"


LEAVE = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for port in map(int, sys.argv[1:]):
    for body in (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
        b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}',
    ):
        s = socket.socket()
        s.connect(("127.0.0.1", port))
        s.sendall(b"POST /acp/rpc?client_id=me HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: "
                  b"application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        s.close()
"""


@linux
@pytest.mark.parametrize("kind", ["uvicorn", "hypercorn"])
async def test_another_user_who_leaves_at_once_gets_nowhere_behind_any_asgi_server(kind: str) -> None:
    """With `client_id` no answer is needed: to send was enough to start programs as the server's user."""
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    app = asgi(Talker().agent, settings=ServerSettings(drain_seconds=0.1))
    async with running(app, kind) as port:
        command = [sys.executable, "-I", "-S", "-c", LEAVE, *[str(port)] * 10]
        ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=20)
        assert ran.returncode == 0, ran.stderr
        await eventually(
            lambda: app.metrics.value("acpella_requests_total", 'method="POST",status="403"') == 20,
            "all of them are refused",
        )
        assert len(app.connections) == 0
        async with Http(f"http://127.0.0.1:{port}/acp") as client:
            await client.initialize()  # our own user is known


@asynccontextmanager
async def running(app: Any, kind: str) -> AsyncIterator[int]:
    """An application behind an ASGI server that knows nothing of ours."""
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stop = asyncio.Event()
    server: uvicorn.Server | None = None
    if kind == "hypercorn":
        from hypercorn.asyncio import serve
        from hypercorn.config import Config

        config = Config()
        config.bind, config.loglevel = [f"127.0.0.1:{port}"], "ERROR"
        task = asyncio.ensure_future(serve(app, config, shutdown_trigger=stop.wait))  # pyright: ignore[reportArgumentType]
    else:
        options = uvicorn.Config(app, port=port, log_config=None, lifespan="on", ws="websockets-sansio")
        server = uvicorn.Server(options)
        task = asyncio.ensure_future(server._serve())  # pyright: ignore[reportPrivateUsage] - without signals
    try:
        await eventually(lambda: _listens(port), "it listens")
        yield port
    finally:
        stop.set()
        if server is not None:
            server.should_exit = True
        await asyncio.wait_for(task, 10)
        await app.close()


def _listens(port: int) -> bool:
    with sockets.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


@linux
async def test_without_credentials_an_application_on_a_unix_socket_lets_nobody_in(tmp_path: Path) -> None:
    """Nobody can tell who comes through it, and servers make it for all users of the machine."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    for number, (limits, token, status) in enumerate(
        (({}, None, 403), ({"local_users": "all"}, None, 200), ({}, TOKEN, 401))
    ):
        settings = ServerSettings(drain_seconds=0.1, **limits)  # pyright: ignore[reportArgumentType] - a word
        app = asgi(Talker().agent, settings=settings, token=token)
        where = str(tmp_path / f"{number}.sock")
        config = uvicorn.Config(app, uds=where, log_config=None, lifespan="on", ws="websockets-sansio")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve())  # pyright: ignore[reportPrivateUsage] - without signals
        try:
            await eventually(lambda server=server: server.started, "it listens")
            transport = httpx2.AsyncHTTPTransport(uds=where)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                answer = await client.post("/acp", json=body)
                assert answer.status_code == status, limits
                assert ("local_users=all" in answer.text) == (status == 403)
                assert (await client.get("/healthz")).status_code == 200
        finally:
            server.should_exit = True
            await asyncio.wait_for(running, 10)
