"""A request as the rest of the server sees it, whatever ASGI server it came through."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from acpella.server.access.credentials import Credential, Requester
from acpella.server.access.gate import Refusal
from acpella.server.access.proxies import Proxies
from acpella.server.connection.close_codes import CloseCode

__all__ = ["ASGIReceive", "ASGIScope", "ASGISend", "HttpRequest"]

ASGIScope: TypeAlias = MutableMapping[str, Any]
ASGIReceive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
ASGISend: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SHORT_BODY = 64 * 1024
"""Bytes of a body that is not worth hanging up for."""

HEAR_OUT_SECONDS = 1.0
HEAR_OUT_BYTES = 16 * 1024 * 1024
"""How much of a body that is too long is read and thrown away, so that the answer can be seen."""

RAW_SEND = "acpella.send_many"
"""Extension of our own uvicorn protocol: sends many text frames in one write."""

RAW_ABORT = "acpella.abort"
"""Extension of our own uvicorn protocols: drops the client without waiting for it to read."""


MEMORY = "acpella.memory"
"""Extension of our own uvicorn protocols: a dictionary that lives as long as the TCP connection."""

LET_IN = "let in"
"""In that dictionary: a request on this TCP connection was let in."""

ANONYMOUS = Credential("", frozenset())
"""The credential of a request until its sender is known."""


_NO = re.compile(r";\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)")


class HttpRequest:
    """One HTTP request, or the upgrade to a WebSocket."""

    def __init__(
        self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend, *, proxies: Proxies | None = None
    ) -> None:
        self.receive = receive
        self.is_websocket: Any = scope["type"] == "websocket"
        self.method: str = "GET" if self.is_websocket else scope["method"]
        self.path: str = _path_of(scope)
        self.headers: dict[str, str] = {}
        self.query_string: bytes = scope.get("query_string", b"")
        # includes the URL, which is read in the same way
        self.header_size: int = len(scope.get("raw_path") or self.path) + len(self.query_string)
        for name, value in scope["headers"]:
            self.header_size += len(name) + len(value)
            key = name.decode("latin-1").lower()
            text = value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text
        self.subprotocols: tuple[str, ...] = tuple(scope.get("subprotocols") or ())
        self.credential = ANONYMOUS
        self.http_1: bool = str(scope.get("http_version", "1.1")).startswith("1")
        self.body_read: bool = False
        self.status: int = 0
        """What was answered."""
        extensions: Any = scope.get("extensions") or {}
        self.can_refuse_upgrade: bool = "websocket.http.response" in extensions
        self.send_many: Callable[[list[bytes]], Awaitable[None]] | None = extensions.get(RAW_SEND)
        self.abort: Callable[[], None] | None = extensions.get(RAW_ABORT)
        self.peer: tuple[str, int] | None = _end(scope.get("client"))
        """Where the connection comes from: the client, or the proxy before it."""
        self.own_end: tuple[str, int] | None = _end(scope.get("server"))
        self.memory: dict[str, Any] | None = extensions.get(MEMORY)
        """What is known of this TCP connection, for the next request on it; None behind other servers."""
        address = self.peer[0] if self.peer else ""
        if proxies is not None:
            address = proxies.client_of(address, self.headers)
        self.requester: Requester = Requester(self.headers, self.subprotocols, address, self.path)
        self.extra_headers: list[tuple[bytes, bytes]] = []
        """Sent with every answer."""
        if self.http_1 and "content-length" in self.headers and "transfer-encoding" in self.headers:
            # a proxy may have read it otherwise: nothing that follows is to be trusted (RFC 9112, 6.1)
            self.extra_headers.append((b"connection", b"close"))
        self._send = send

    @property
    def principal(self) -> str:
        """The user who sent it."""
        return self.credential.principal

    def query(self, name: str) -> str | None:
        """One value of the query."""
        values = parse_qs(self.query_string.decode("latin-1")).get(name)
        return values[0] if values else None

    def accepts(self, kind: str) -> bool:
        """Whether the client takes this type of content."""
        accepted = self._accepted()
        # the name of the type says more than a wildcard
        for name in (kind, kind.partition("/")[0] + "/*", "*/*"):
            if name in accepted:
                return accepted[name]
        return False

    def wants(self, kind: str) -> bool:
        """Whether the client names exactly this type."""
        return self._accepted().get(kind, False)

    def _accepted(self) -> dict[str, bool]:
        """The types that the client names, and whether it takes them: with `q=0` it does not."""
        parts = [part.partition(";") for part in self.headers.get("accept", "").lower().split(",")]
        return {name.strip(): _NO.search(f";{options}") is None for name, _, options in parts}

    async def body(self, *, limit: int, seconds: float) -> bytes:
        """All of the body. Raises `Refusal` when it is too long or too slow."""
        announced = self.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            await self._hear_out()
            raise Refusal(413, f"a message may have at most {limit} bytes")
        if self.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise Refusal(415, "compressed bodies are not taken")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    event = await self.receive()
                    if event["type"] == "http.disconnect":
                        raise Refusal(400, "the request has no end")
                    part: bytes = event.get("body", b"")
                    parts.append(part)
                    size += len(part)
                    if size > limit:
                        await self._hear_out()
                        raise Refusal(413, f"a message may have at most {limit} bytes")
                    if not event.get("more_body"):
                        self.body_read = True
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"the body did not come within {seconds:g} s") from None

    def hangs_up_after(self, status: int) -> bool:
        """Whether a refused client would go on to send a long body."""
        if not self.http_1 or self.is_websocket or self.body_read:
            return False
        length = self.headers.get("content-length", "0")
        is_short = (
            length.isdecimal() and int(length) <= SHORT_BODY and "transfer-encoding" not in self.headers
        )
        return status == 408 or not is_short

    async def _hear_out(self) -> None:
        """A client that is cut off while it sends may never see why, so it gets a moment."""
        try:
            async with asyncio.timeout(HEAR_OUT_SECONDS):
                size = 0
                while size < HEAR_OUT_BYTES:
                    event = await self.receive()
                    size += len(event.get("body", b""))
                    if event["type"] == "http.disconnect" or not event.get("more_body"):
                        return
        except TimeoutError:
            pass

    # -- answering ---------------------------------------------------------------------------

    async def send(self, event: MutableMapping[str, Any]) -> None:
        await self._send(event)

    async def start(self, status: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Begin an answer."""
        self.status = status
        kind = "websocket.http.response.start" if self.is_websocket else "http.response.start"
        await self._send({"type": kind, "status": status, "headers": [*headers, *self.extra_headers]})

    async def part(self, data: bytes, *, more: bool = True) -> None:
        """A piece of the body."""
        kind = "websocket.http.response.body" if self.is_websocket else "http.response.body"
        await self._send({"type": kind, "body": data, "more_body": more})

    async def reply(
        self,
        status: int,
        body: bytes | str = b"",
        *,
        kind: bytes = b"text/plain; charset=utf-8",
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        """Send a whole answer, which on an upgrade to a WebSocket refuses it."""
        data = body.encode() if isinstance(body, str) else body
        if self.is_websocket and not self.can_refuse_upgrade:
            self.status = status
            # before accepting: becomes a 403
            await self._send({"type": "websocket.close", "code": CloseCode.LIMIT})
            return
        more = [(b"content-length", b"%d" % len(data)), *headers]
        if data:
            more.append((b"content-type", kind))
        await self.start(status, more)
        await self.part(data, more=False)


def _end(end: Any) -> tuple[str, int] | None:
    """An address and port, if the ASGI server tells them: a Unix socket has no port."""
    return (str(end[0]), int(end[1])) if end and end[1] is not None else None


def _path_of(scope: ASGIScope) -> str:
    """The path below where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if root and path.startswith(root):
        path = path[len(root) :] or "/"
    return path
