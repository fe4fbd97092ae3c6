"""The HTTP side of a model: one streaming request, patience with busy servers, errors that say what to do."""

import asyncio
import functools
import ipaddress
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from acpella._plain_json import as_dict
from acpella._redact import redact

from .base import ModelError, ModelEvent, ModelUsage, Retrying
from .loose import encode
from .server_errors import Adjusted, Busy, ServerErrors

if TYPE_CHECKING:
    import ssl

    import httpx2

__all__ = [
    "ModelLimits",
    "ModelServer",
    "is_loopback",
    "ssl_context",
]

log: logging.Logger = logging.getLogger(__name__)

MAX_ERROR_BODY = 64 * 1024
"""Bytes read of an answer that is an error; a proxy may send a whole page."""

MAX_ANSWER = 128 * 1024 * 1024
"""Bytes of one answer; a server that never ends its answer would fill the memory."""

MAX_ADJUSTMENTS = 10
"""Attempts to leave something out of a request; there are fewer things that can be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """How long a model is waited for, in seconds."""

    attempts: int = 5
    """Requests in all, the first included."""
    backoff: float = 1.0
    """Before the second attempt; doubled before each further one."""
    longest_backoff: float = 30.0
    longest_wait: float = 120.0
    """A server that asks (Retry-After) for more than this is not waited for: the user is told."""
    connect: float = 15.0
    silence: float = 300.0
    """Without a single byte. Models that reason, or read a long prompt on a small machine, take minutes."""
    whole: float = 3600.0
    """One answer from the first byte sent to the last received, however alive it looks."""
    ending: float = 5.0
    """For what a server still sends after it said that the answer is complete."""


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@functools.cache
def _authorities() -> "ssl.SSLContext":
    import httpx2

    return httpx2.create_ssl_context()


async def ssl_context(url: str) -> "ssl.SSLContext | bool":
    """Whom to trust. Made once and in a thread: reading the authorities takes a fifth of a second."""
    if url.startswith("http:") and is_loopback(url):
        return False  # no TLS, not even to a proxy
    return await asyncio.to_thread(_authorities)


class ModelServer:
    """Where a model is asked, and how its troubles are told. Shared by all requests; holds no connection.

    Every request has a connection of its own: it ends with the request, so that nothing is left open and
    cancelling is seen by the server at once.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        provider: str,
        headers: Mapping[str, str],
        secrets: tuple[str, ...] = (),
        key_variable: str = "",
        not_running: str = "",
        limits: ModelLimits | None = None,
    ) -> None:
        try:
            parts = urlsplit(url)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            valid, parts = False, urlsplit("")
        if not valid:
            raise ModelError(
                f"the base URL of {provider} must be http://... or https://..., not {redact(url)!r}"
            )
        if parts.username or parts.password:
            raise ModelError(
                f"the base URL of {provider} holds a password; use {key_variable or 'a key'} instead"
            )
        for name, value in headers.items():
            if not value.isascii() or not value.isprintable():
                raise ModelError(f"{key_variable or name} holds characters that no key has; copy it again")
        self.url = url
        self.model = model
        self.provider = provider
        self.limits: ModelLimits = limits or ModelLimits()
        self._headers = {**headers, "content-type": "application/json", "accept": "text/event-stream"}
        self.errors: ServerErrors = ServerErrors(
            provider,
            model,
            parts.netloc,
            is_local=is_loopback(url),
            secrets=secrets,
            key_variable=key_variable,
            not_running=not_running,
        )

    def __repr__(self) -> str:
        return f"<ModelServer {self.provider} {urlsplit(self.url).netloc} {self.model}>"

    # -- asking, again and again ------------------------------------------------------------------

    async def stream(
        self, attempt: Callable[[], AsyncGenerator[ModelEvent, None]]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Run attempts until one answers. Once something was streamed, nothing is sent again."""
        failures = adjustments = 0
        while True:
            streamed = False
            try:
                async with aclosing(attempt()) as events:
                    async for event in events:
                        streamed = streamed or not isinstance(event, ModelUsage)
                        yield event
                return
            except Adjusted as adjusted:
                adjustments += 1
                if adjustments > MAX_ADJUSTMENTS:
                    raise self.errors.explained(adjusted.rejected) from None
                continue
            except Busy as busy:
                failures += 1
                wait = self._patience(busy, failures, streamed=streamed)
                reason = busy.reason
            log.info("asking %s again in %.1f s: %s", self.provider, wait, reason)
            yield Retrying(reason, wait)
            await asyncio.sleep(wait)

    def _patience(self, busy: Busy, failures: int, *, streamed: bool) -> float:
        """Seconds until the next attempt.

        Raises:
            ModelError: there will be no further attempt.
        """
        limits = self.limits
        if streamed:
            raise ModelError(
                f"{self.provider} broke off in the middle of its answer ({busy.reason}). "
                "What came before is kept; ask it to continue."
            ) from None
        if busy.lasting:
            raise ModelError(busy.lasting) from None
        if busy.wait is not None and busy.wait > limits.longest_wait:
            raise ModelError(
                f"{self.provider} asks to wait {busy.wait:.0f} seconds ({busy.reason}). "
                "Try again then, or choose another model."
            ) from None
        if failures >= limits.attempts:
            raise ModelError(
                f"{self.provider} did not answer in {failures} attempts ({busy.reason}). {busy.advice}"
            ) from None
        if busy.wait is not None:
            return busy.wait
        delay = min(limits.backoff * 2 ** (failures - 1), limits.longest_backoff)
        return delay * random.uniform(0.75, 1.25)  # so that many clients do not come back at once

    # -- one attempt ------------------------------------------------------------------------------

    async def events(self, body: dict[str, Any]) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        """Send the request; returns the stream's events as (name, JSON object).

        An answer that is JSON instead of a stream comes as ("json", object). Whether a stream was complete
        is for the caller to see.

        Raises:
            Rejected: the server said no.
            Busy: it could not be reached, is busy, or the connection broke.
        """
        import httpx2

        limits = self.limits
        deadline = asyncio.get_running_loop().time() + limits.whole
        timeout = httpx2.Timeout(limits.silence, connect=limits.connect, pool=limits.connect)
        verify = await ssl_context(self.url)
        try:
            # a proxy of the environment is for the world outside, not for a server on this machine
            client = httpx2.AsyncClient(timeout=timeout, verify=verify, trust_env=not is_loopback(self.url))
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            raise ModelError(
                f"the proxy named in the environment cannot be used: {self.errors.clean(str(error))}"
            ) from None
        try:
            async with client:
                request = client.build_request("POST", self.url, content=encode(body), headers=self._headers)
                async with asyncio.timeout_at(deadline):
                    response = await client.send(request, stream=True)
                async with aclosing(response):
                    if response.status_code != 200:
                        async with asyncio.timeout_at(deadline):
                            text = await _beginning(response)
                        raise self.errors.failure(response, text)
                    async with aclosing(self._parts(response, deadline)) as parts:
                        async for part in parts:
                            yield part
        except httpx2.HTTPError as error:
            raise self.errors.broken(error, silence=limits.silence) from None
        except TimeoutError:
            raise Busy(
                f"no end after {limits.whole:.0f} s", lasting=self.errors.silent(limits.whole)
            ) from None

    async def _parts(
        self, response: "httpx2.Response", deadline: float
    ) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        import httpx2

        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind.endswith("json"):
            async with asyncio.timeout_at(deadline):
                text = await _beginning(response, MAX_ANSWER)
            try:
                yield "json", as_dict(msgspec.json.decode(text))
            except (msgspec.DecodeError, UnicodeError):
                raise self.errors.no_api(kind) from None
            return
        if kind != "text/event-stream":
            raise self.errors.no_api(kind)
        events = cast("AsyncGenerator[httpx2.ServerSentEvent, None]", aiter(httpx2.EventSource(response)))
        async with aclosing(events):
            while (event := await _next(events, deadline)) is not None:
                if response.num_bytes_downloaded > MAX_ANSWER:
                    raise ModelError(f"{self.provider} sent more than {MAX_ANSWER >> 20} MiB in one answer")
                for data in self._decoded(event.data):
                    yield event.event, data

    def _decoded(self, data: str) -> list[dict[str, Any]]:
        """The objects in an event's data: one, or one a line where a server forgets the empty lines."""
        if not data.strip() or data.strip() == "[DONE]":
            return [{"done": True}] if data.strip() else []
        try:
            return [as_dict(msgspec.json.decode(data))]
        except (msgspec.DecodeError, UnicodeError):
            lines = data.split("\n")
            if len(lines) > 1:
                return [event for line in lines for event in self._decoded(line)]
            log.warning("skipped an event of %s that is no JSON (%d characters)", self.provider, len(data))
            return []


async def _next(
    source: "AsyncIterator[httpx2.ServerSentEvent]", deadline: float
) -> "httpx2.ServerSentEvent | None":
    async with asyncio.timeout_at(deadline):
        return await anext(source, None)


async def _beginning(response: "httpx2.Response", limit: int = MAX_ERROR_BODY) -> str:
    beginning = bytearray()
    async for chunk in response.aiter_bytes():
        beginning += chunk
        if len(beginning) >= limit:
            break
    return beginning[:limit].decode("utf-8", "replace")
