"""The requests of a Streamable HTTP client: made with httpx2, repeated where that is safe."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from acpella.errors import TransportError

from ._resume import Backoff, missing
from .endpoint import CONNECT_WITHIN, MAX_ERROR_BODY, MAX_MESSAGE, Endpoint

if TYPE_CHECKING:
    import httpx2

__all__ = ["CLOSE_WITHIN", "HttpRequests", "Refused"]

log: logging.Logger = logging.getLogger(__name__)

ANSWER_WITHIN = 120.0
"""Seconds until a POST is taken; servers may delay it while we are behind with reading (T-091)."""

CLOSE_WITHIN = 2.0
"""Seconds for the last messages to be sent, and as many for the goodbye."""

IDLE_FOR = 2.0
"""Seconds that an unused socket is kept. Servers close theirs after 5, perhaps just when we write."""


class Refused(Exception):
    """The server answered with an error."""

    def __init__(
        self, status: int, body: bytes, location: str | None = None, *, invites: bool = False
    ) -> None:
        """`invites`: the server says when to come again."""
        self.status = status
        self.body = body
        self.location = location
        self.invites = invites
        super().__init__(str(status))


class HttpRequests:
    """Requests to one endpoint, which name the connection once there is one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None
        self.connection_id: str | None = None
        self.generation = ""
        """Of a server that can resume; empty for others."""

    def open(self) -> None:
        """Get ready. Raises `TransportError` if a library is missing."""
        try:
            import httpx2
        except ImportError:
            raise missing("httpx2") from None
        endpoint = self._endpoint
        options: dict[str, Any] = {
            "headers": {"User-Agent": "acpella", **endpoint.headers, "Accept-Encoding": "identity"},
            "cookies": endpoint.jar,
            "verify": endpoint.context() if endpoint.is_secure else True,
            "timeout": httpx2.Timeout(ANSWER_WITHIN, connect=CONNECT_WITHIN, pool=None),
            "limits": httpx2.Limits(
                max_connections=None, max_keepalive_connections=8, keepalive_expiry=IDLE_FOR
            ),
            "follow_redirects": False,  # T-084
            "trust_env": not endpoint.is_loopback,  # no proxy leads to this machine
        }
        try:
            self._client = httpx2.AsyncClient(http2=True, **options)
        except ImportError:  # h2 is not there
            self._client = httpx2.AsyncClient(**options)

    async def post(self, line: bytes, headers: dict[str, str]) -> "tuple[httpx2.Response, bytes]":
        """POST, and repeat it after a cut where that is safe: a server that can resume drops repetitions.

        Raises `Refused`, and `TransportError` if the server cannot be reached.
        """
        import httpx2

        assert self._client is not None
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        if self.connection_id is not None:
            headers["Acp-Connection-Id"] = self.connection_id
        clock = asyncio.get_running_loop().time
        backoff = Backoff(clock())
        while True:
            pause = backoff.next(clock())
            try:
                async with self._client.stream(
                    "POST", self._endpoint.http_url, content=line, headers=headers
                ) as response:
                    most = MAX_MESSAGE if response.status_code == 200 else MAX_ERROR_BODY
                    body = await _body(response, most)
                break
            except (httpx2.TransportError, OSError) as error:
                again = self.generation or isinstance(error, httpx2.ConnectError)
                if self.connection_id is None or not again or pause is None:
                    raise self._endpoint.unreachable(error) from error
                log.debug("a POST was cut and is repeated: %s", error)
                await asyncio.sleep(pause)
        if not 200 <= response.status_code < 300:
            invites = "retry-after" in response.headers
            raise Refused(response.status_code, body, response.headers.get("location"), invites=invites)
        return response, body

    @asynccontextmanager
    async def events(self, session: str | None, last_id: bytes) -> "AsyncGenerator[httpx2.Response]":
        """The event stream of the connection or of a session, after the event of that id.

        Raises `Refused` for an answer that is none.
        """
        import httpx2

        assert self._client is not None and self.connection_id is not None
        headers = {
            "Accept": "text/event-stream",
            "Acp-Connection-Id": self.connection_id,
            "Acpella-Resume": "1",
            "Cache-Control": "no-cache",
        }
        if session is not None:
            headers["Acp-Session-Id"] = session
        if last_id:
            headers["Last-Event-ID"] = last_id.decode("latin-1")
        elif self.generation:
            headers["Last-Event-ID"] = f"{self.generation}-0"  # from the beginning
        timeout = httpx2.Timeout(ANSWER_WITHIN, connect=CONNECT_WITHIN, read=None, pool=None)
        async with self._client.stream(
            "GET", self._endpoint.http_url, headers=headers, timeout=timeout
        ) as response:
            status = response.status_code
            if status == 200 and "text/event-stream" not in response.headers.get("content-type", ""):
                status = 406
            if status != 200:
                raise Refused(status, await _body(response, MAX_ERROR_BODY))
            yield response

    async def delete(self) -> None:
        """End the connection at the server, if there is one. Never fails."""
        import httpx2

        if self.connection_id is None or self._client is None:
            return
        headers = {"Acp-Connection-Id": self.connection_id}
        with suppress(httpx2.HTTPError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                async with self._client.stream("DELETE", self._endpoint.http_url, headers=headers):
                    pass

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def forgotten(self) -> TransportError:
        """For a server that does not know the connection any more."""
        return TransportError(f"{self._endpoint.shown} does not know the connection any more")


async def _body(response: "httpx2.Response", most: int) -> bytes:
    """The body of an answer, up to a limit."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > most:
            parts.append(part[: len(part) - (size - most)])
            break
        parts.append(part)
    return b"".join(parts)
