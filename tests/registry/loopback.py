"""A web server on this machine with an index and archives; each can be made to misbehave."""

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from acpella.registry.platforms import platform_key


class Page:
    """What is at a path."""

    def __init__(self, body: bytes, **more: Any) -> None:
        self.body = body
        self.status: int = more.get("status", 200)
        self.headers: dict[str, str] = more.get("headers", {})
        self.cut: int | None = more.get("cut")
        """Bytes after which the connection is cut, whatever length was announced."""
        self.hold: threading.Event | None = more.get("hold")
        """An event that is waited for after the first half."""
        self.begun = threading.Event()
        self.head: list[int] = more.get("head", [])
        """The statuses with which the next HEAD requests are answered."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Loopback"  # pyright: ignore[reportIncompatibleVariableOverride] - started by no other

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        page = self.server.pages.get(self.path)
        self.server.asked.append((self.path, {"method": "HEAD"}))
        status = 404 if page is None else page.head.pop(0) if page.head else page.status
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        page = self.server.pages.get(self.path)
        if page is None:
            page = Page(b"nothing here", status=404)
        tag = page.headers.get("ETag")
        if tag and self.headers.get("If-None-Match") == tag:
            self.send_response(304)
            self.send_header("ETag", tag)
            self.end_headers()
            return
        self.send_response(page.status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        if "Content-Length" not in page.headers:
            self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        half = len(page.body) // 2
        self.wfile.write(page.body[: half if page.cut is None else page.cut])
        self.wfile.flush()
        page.begun.set()
        if page.hold is not None:
            page.hold.wait(20)
        if page.cut is not None:
            self.close_connection = True
            return
        self.wfile.write(page.body[half:])


class Loopback(ThreadingHTTPServer):
    """`with Loopback() as server:`; `server.pages` is what it has, `server.asked` what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def index_url(self) -> str:
        return f"{self.url}/registry.json"

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def index(self, *entries: dict[str, Any], **headers: str) -> None:
        """Publish an index."""
        body = json.dumps({"version": "1.0.0", "agents": entries}).encode()
        self.pages["/registry.json"] = Page(body, headers=headers)

    def archive(self, path: str, body: bytes, **more: Any) -> Page:
        self.pages[path] = Page(body, **more)
        return self.pages[path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed break their connections."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


def entry(agent_id: str = "tiny", version: str = "1.0.0", **distribution: Any) -> dict[str, Any]:
    """An entry of the index."""
    return {
        "id": agent_id,
        "name": agent_id.title(),
        "version": version,
        "description": f"The agent {agent_id}",
        "authors": ["Somebody <some@body.example>"],
        "license": "MIT",
        "repository": "https://example.com/tiny",
        "distribution": distribution,
    }


def binary(url: str, body: bytes | None = None, **more: Any) -> dict[str, Any]:
    """The distribution for this very platform; with a body also its digest."""
    target: dict[str, Any] = {"archive": url, "cmd": "./tiny", **more}
    if body is not None:
        target["sha256"] = hashlib.sha256(body).hexdigest()
    return {platform_key(): target}


def tar(
    files: dict[str, bytes], *, mode: int = 0o755, change: Callable[[tarfile.TarInfo], None] | None = None
) -> bytes:
    """A .tar.gz."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            if change is not None:
                change(info)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files: dict[str, bytes], *, mode: int = 0o100755) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return out.getvalue()
