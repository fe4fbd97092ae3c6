"""Fetching for a model: public addresses only, bounded in size and time (C4)."""

import asyncio
import gzip
import http.server
import ssl
import subprocess
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acpella.coder import fetching
from acpella.coder.fetching import FetchError, fetch, is_public

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
Answer = Callable[[http.server.BaseHTTPRequestHandler], object]


@contextmanager
def serving(
    answer: Answer, context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """A web server on this machine; gives its port and the headers of what was asked."""
    asked: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({**dict(self.headers.items()), "path": self.path})
            try:
                answer(self)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the other side has seen enough

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a refused handshake

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def page(body: bytes, content_type: str | None = "text/plain", status: int = 200, **headers: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        if content_type is not None:
            handler.send_header("Content-Type", content_type)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def answering(*addresses: str) -> tuple[fetching.Resolver, list[str]]:
    """A resolver that gives these addresses one after the other, then the last one for ever."""
    asked: list[str] = []

    async def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return [addresses[min(len(asked), len(addresses)) - 1]]

    return look_up, asked


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255"),
        *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.254", "100.100.100.200"),
        *("192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1"),
        *("168.63.129.16", "192.0.2.1", "203.0.113.7"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
        *("fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "2001:db8::1"),
        *("2001:0:7f00:1::", "100::1", "not an address", ""),
    ],
)
def test_an_address_of_this_machine_or_its_network_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
    + ["64:ff9b::808:808", "2002:808:808::1"],
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"],
)
async def test_this_machine_is_not_asked_however_it_is_spelled(host: str) -> None:
    with serving(page(b"secret")) as (port, asked):
        with pytest.raises(FetchError, match=r"is not fetched|no host|not an address"):
            await fetch(f"http://{host}:{port}/")
        assert not asked


async def test_people_can_allow_private_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(page(b"mine")) as (port, asked):
        monkeypatch.setenv("ACPELLA_FETCH_PRIVATE", "1")
        got = await fetch(f"http://127.0.0.1:{port}/a?b=1#c")
        assert (got.text, got.mime_type) == ("mine", "text/plain")
        assert asked[0]["path"] == "/a?b=1"
        monkeypatch.setenv("ACPELLA_FETCH_PRIVATE", "0")
        with pytest.raises(FetchError, match="ACPELLA_FETCH_PRIVATE=1"):
            await fetch(f"http://127.0.0.1:{port}/")


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.1"]

    with pytest.raises(FetchError, match=r"10\.0\.0\.1"):
        await fetch("http://example.test/", resolver=look_up)


async def test_a_name_that_changes_its_answer_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the connection goes to the address that was checked, not to what the name is by then."""
    look_up, asked = answering("127.0.0.1", "10.255.255.1")
    with serving(page(b"the first")) as (port, heard):
        monkeypatch.setattr(fetching, "is_public", lambda address: address == "127.0.0.1")
        got = await fetch(f"http://rebind.test:{port}/", resolver=look_up)
        assert got.text == "the first" and asked == ["rebind.test"]
        assert heard[0]["Host"] == f"rebind.test:{port}"
        with pytest.raises(FetchError, match=r"10\.255\.255\.1"):
            await fetch(f"http://rebind.test:{port}/", resolver=look_up)
        assert len(heard) == 1


async def test_a_certificate_is_checked_against_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=good.test".split()
    command += ["-addext", "subjectAltName=DNS:good.test", "-keyout", str(key), "-out", str(certificate)]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    names: list[str | None] = []
    context.sni_callback = lambda socket, name, context: names.append(name)
    look_up, _ = answering("127.0.0.1")
    with serving(page(b"sealed"), context) as (port, _):
        with pytest.raises(FetchError, match=r"(?i)certificate"):
            await fetch(f"https://good.test:{port}/", private=True, resolver=look_up)
        assert names == ["good.test"]
        trusting = ssl.create_default_context(cafile=str(certificate))
        real = __import__("httpx2").AsyncClient
        monkeypatch.setattr("httpx2.AsyncClient", lambda **options: real(verify=trusting, **options))
        got = await fetch(f"https://good.test:{port}/", private=True, resolver=look_up)
        assert got.text == "sealed"
        with pytest.raises(FetchError, match=r"(?i)certificate"):
            await fetch(f"https://other.test:{port}/", private=True, resolver=look_up)


async def test_a_redirect_is_told_and_not_followed() -> None:
    with serving(page(b"", status=302, Location="http://169.254.169.254/latest")) as (port, _):
        with pytest.raises(
            FetchError, match=r"redirects to http://169\.254\.169\.254/latest; .*not followed"
        ):
            await fetch(f"http://127.0.0.1:{port}/", private=True)


async def test_a_redirect_that_may_be_followed_is_checked_like_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        places = {"/a": "/b", "/loop": "/loop", "/out": "http://other.test/", "/file": "file:///etc/passwd"}
        if handler.path in places:
            page(b"", status=307, Location=places[handler.path])(handler)
        else:
            page(b"there")(handler)

    look_up, _ = answering("127.0.0.1")
    monkeypatch.setattr(fetching, "is_public", lambda address: address == "127.0.0.1")
    with serving(answer) as (port, asked):
        here = f"http://here.test:{port}"
        got = await fetch(f"{here}/a", redirects=3, resolver=look_up)
        assert (got.text, got.url) == ("there", f"{here}/b")
        for path, words in (
            ("/loop", "more than 3 times"),
            ("/out", "redirects to http://other.test/ on another host"),
            ("/file", "redirects to file:///etc/passwd|only http"),
        ):
            with pytest.raises(FetchError, match=words):
                await fetch(f"{here}{path}", redirects=3, resolver=look_up)
        asked.clear()
        rebinding, _ = answering("127.0.0.1", "10.0.0.9")
        with pytest.raises(FetchError, match=r"10\.0\.0\.9"):
            await fetch(f"{here}/a", redirects=3, resolver=rebinding)
        assert [each["path"] for each in asked] == ["/a"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.test/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("http:///nothing", "no host|not an address"),
        ("http://user:hunter2@example.test/", "user name or password"),
        ("nonsense", "only http and https"),
        ("http://[::1", "not an address"),
        ("http://no-such-host.invalid/", "no host"),
    ],
)
async def test_what_is_no_web_address_is_refused_without_a_secret(url: str, words: str) -> None:
    with pytest.raises(FetchError, match=words) as caught:
        await fetch(url)
    assert "hunter2" not in str(caught.value)


async def test_nothing_of_this_machine_is_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(page(b"x", Set_Cookie="a=b")) as (port, asked):
        for _ in range(2):
            assert (await fetch(f"http://127.0.0.1:{port}/", private=True)).text == "x"
        assert "Cookie" not in asked[1] and "Authorization" not in asked[1]


async def test_a_server_that_says_nothing_has_a_deadline() -> None:
    over = threading.Event()
    with serving(lambda handler: over.wait(10)) as (port, _):
        with pytest.raises(FetchError, match=r"longer than 0\.3 seconds"):
            await fetch(f"http://127.0.0.1:{port}/", private=True, timeout=0.3)
        over.set()


async def test_a_server_that_drips_has_the_same_deadline() -> None:
    over = threading.Event()

    def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
        page(b"")(handler)
        while not over.wait(0.02):
            handler.wfile.write(b".")

    with serving(drip) as (port, _):
        with pytest.raises(FetchError, match=r"longer than 0\.4 seconds"):
            await fetch(f"http://127.0.0.1:{port}/", private=True, timeout=0.4)
        over.set()


async def test_a_name_that_takes_too_long_has_the_same_deadline() -> None:
    async def look_up(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(FetchError, match="longer than"):
        await fetch("http://slow.test/", timeout=0.1, resolver=look_up)


async def test_exactly_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    for extra, told in ((0, True), (1, True), (0, False), (1, False)):
        body = b"x" * (1024 * 1024 + extra)
        headers: dict[str, Any] = {"Content_Length": str(len(body))} if told else {}
        with serving(page(body, **headers)) as (port, _):
            if extra:
                with pytest.raises(FetchError, match="larger than 1 MiB"):
                    await fetch(f"http://127.0.0.1:{port}/", private=True)
            else:
                assert len((await fetch(f"http://127.0.0.1:{port}/", private=True)).text or "") == len(body)


async def test_an_endless_body_is_cut_off() -> None:
    sent = 0

    def pour(handler: http.server.BaseHTTPRequestHandler) -> None:
        nonlocal sent
        page(b"")(handler)
        while True:
            handler.wfile.write(b"x" * 65536)
            sent += 65536

    with serving(pour) as (port, _):
        with pytest.raises(FetchError, match="larger than"):
            await fetch(f"http://127.0.0.1:{port}/", private=True)
    assert sent < 64 * 1024 * 1024


async def test_packed_text_is_unpacked_and_a_bomb_is_not() -> None:
    for encoding, packed in (
        ("gzip", gzip.compress(b"small")),
        ("deflate", zlib.compress(b"small")),
    ):
        with serving(page(packed, Content_Encoding=encoding)) as (port, _):
            assert (await fetch(f"http://127.0.0.1:{port}/", private=True)).text == "small"
    bomb = gzip.compress(b"\0" * 200 * 1024 * 1024)
    assert len(bomb) < 1024 * 1024
    for packed, encoding, words in (
        (bomb, "gzip", "larger than 1 MiB"),
        (b"not packed", "gzip", "not packed as it says"),
        (gzip.compress(b"x" * 5000)[:-10], "gzip", "ended in the middle"),
        (b"x", "br", "packed with br"),
    ):
        with serving(page(packed, Content_Encoding=encoding)) as (port, _):
            tracemalloc.start()
            try:
                with pytest.raises(FetchError, match=words):
                    await fetch(f"http://127.0.0.1:{port}/", private=True)
                assert tracemalloc.get_traced_memory()[1] < 16 * 1024 * 1024
            finally:
                tracemalloc.stop()


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("grüß".encode(), "text/plain; charset=utf-8", "grüß"),
        ("grüß".encode("latin-1"), "text/plain; charset=ISO-8859-1", "grüß"),
        ("grüß".encode(), "text/plain; charset=us-ascii", "grüß"),  # said wrongly
        ("grüß".encode(), "text/plain; charset=no-such", "grüß"),
        ("grüß".encode("latin-1"), "text/plain", "gr\ufffd\ufffd"),
        ("grüß".encode("utf-16"), "text/plain", "grüß"),
        (b"\xef\xbb\xbfmarked", "text/plain", "marked"),
        ('<meta charset="latin-1">ü'.encode("latin-1"), "text/html", '<meta charset="latin-1">ü'),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<a/>", "application/atom+xml;charset=utf-8", "<a/>"),
        (b"no type", None, "no type"),
        (b"", "text/plain", ""),
    ],
)
async def test_texts_are_read_in_their_charset(body: bytes, content_type: str | None, text: str) -> None:
    with serving(page(body, content_type)) as (port, _):
        assert (await fetch(f"http://127.0.0.1:{port}/", private=True)).text == text


@pytest.mark.parametrize(
    ("body", "content_type", "status", "words"),
    [
        (b"%PDF", "application/pdf", 200, "is application/pdf, neither text nor an image"),
        (b"a\0b", "text/plain", 200, "binary"),
        (b"<svg", "image/png", 200, "not a PNG, JPEG, GIF or WebP"),
        (b"no", "text/plain", 404, "answered 404"),
        (b"no", "text/plain", 500, "answered 500"),
        (b"", "text/plain", 304, "answered 304"),
    ],
)
async def test_what_a_model_cannot_use_is_told(
    body: bytes, content_type: str, status: int, words: str
) -> None:
    with serving(page(body, content_type, status)) as (port, _):
        with pytest.raises(FetchError, match=words):
            await fetch(f"http://127.0.0.1:{port}/", private=True)


async def test_an_image_is_one_by_its_bytes() -> None:
    with serving(page(PNG, "image/jpeg")) as (port, _):
        got = await fetch(f"http://127.0.0.1:{port}/", private=True)
        assert (got.image, got.mime_type, got.text) == (PNG, "image/png", None)


async def test_a_closed_port_and_a_broken_answer_are_told() -> None:
    def hang_up(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nContent-Type: text/plain\r\n\r\nhalf")

    with serving(hang_up) as (port, _):
        with pytest.raises(FetchError, match="cannot be fetched"):
            await fetch(f"http://127.0.0.1:{port}/", private=True)
    with pytest.raises(FetchError, match="cannot be fetched"):
        await fetch(f"http://127.0.0.1:{port}/", private=True)
