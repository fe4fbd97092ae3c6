"""The HTTP side of a model: one streaming request, patience with busy servers, errors that say what to do."""

import asyncio
import email.utils
import functools
import ipaddress
import logging
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

import msgspec

from acpella._plain_json import as_dict, as_list, as_str
from acpella._redact import redact

from .base import ContextOverflow, ModelError, ModelEvent, Retrying, Usage
from .loose import encode

if TYPE_CHECKING:
    import ssl

    import httpx2

__all__ = [
    "Adjusted",
    "Busy",
    "ModelServer",
    "ModelLimits",
    "Rejected",
    "ServerError",
    "is_loopback",
    "server_error",
    "ssl_context",
]

log: logging.Logger = logging.getLogger(__name__)

MAX_ERROR_BODY = 64 * 1024
"""Bytes read of an answer that is an error; a proxy may send a whole page."""

MAX_ERROR_TEXT = 600
"""Characters of a server's own words in our errors."""

MAX_ANSWER = 128 * 1024 * 1024
"""Bytes of one answer; a server that never ends its answer would fill the memory."""

MAX_ADJUSTMENTS = 10
"""Attempts to leave something out of a request; there are fewer things that can be left out."""

_BUSY = frozenset({408, 409, 425, 429})
"""With 500 and above: worth another try."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window_exceeded|request_too_large"
    r"|exceed(?:s|ed)?\b.{0,60}\bcontext (?:limit|length|size|window)"
    r"|maximum context length|context (?:length|window|size) (?:of .{0,40})?(?:is )?exceeded"
    r"|input token count.{0,60}exceeds|(?:prompt|input|request).{0,40}too (?:long|large)"
    r"|context the overflows|greater than the context length|reduce the length of the messages",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(r"insufficient_quota|billing|credit balance|exceeded your current quota", re.IGNORECASE)


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


class Adjusted(Exception):
    """The request was rejected for a field that can be done without; the next attempt leaves it out."""

    def __init__(self, rejected: "Rejected") -> None:
        self.rejected = rejected
        super().__init__()


@dataclass(frozen=True, slots=True)
class ServerError:
    """What a server says went wrong."""

    kind: str
    message: str


class Busy(Exception):
    """The request failed in a way that may pass."""

    def __init__(
        self, reason: str, *, wait: float | None = None, advice: str = "Try again later.", lasting: str = ""
    ) -> None:
        self.reason = reason
        self.wait = wait
        self.advice = advice
        """For the user, after the last attempt."""
        self.lasting = lasting
        """Set when another try would be in vain: what to tell the user."""
        super().__init__(reason)


class Rejected(Exception):
    """The server understood and said no."""

    def __init__(self, status: int, error: ServerError, raw: str) -> None:
        self.status = status
        self.error = error
        self.raw = raw
        """The body, for looking up which field it speaks of; never shown."""
        super().__init__(f"{status} {error.kind}")

    @property
    def overflow(self) -> bool:
        """The request is too long."""
        return self.status == 413 or _is_overflow(self.error)


def server_error(value: Any, fallback: str = "") -> ServerError:
    """The error in a JSON answer, in any of the shapes that are in use."""
    if entries := as_list(value):
        value = entries[0]  # Google
    outer = as_dict(value)
    if text := as_str(outer.get("error")):
        return ServerError("", text)  # Ollama
    error = as_dict(outer.get("error")) or outer
    kinds = (error.get("type"), error.get("code"), error.get("status"))
    kind = " ".join(str(kind) for kind in kinds if isinstance(kind, str | int) and kind != "error")
    message = as_str(error.get("message")) or as_str(error.get("detail"))
    if not message and error.get("detail"):
        message = encode(error["detail"]).decode()  # FastAPI
    return ServerError(kind, message or fallback)


def _is_overflow(error: ServerError) -> bool:
    return _OVERFLOW.search(f"{error.kind} {error.message}") is not None


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
        self._host = parts.netloc
        self._headers = {**headers, "content-type": "application/json", "accept": "text/event-stream"}
        self._secrets = tuple(s for s in secrets if len(s) >= 8)  # "none" and "ollama" are not secrets
        self._key_variable = key_variable
        self._not_running = not_running

    def __repr__(self) -> str:
        return f"<ModelServer {self.provider} {self._host} {self.model}>"

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
                        streamed = streamed or not isinstance(event, Usage)
                        yield event
                return
            except Adjusted as adjusted:
                adjustments += 1
                if adjustments > MAX_ADJUSTMENTS:
                    raise self.explained(adjusted.rejected) from None
                continue
            except Busy as busy:
                failures += 1
                wait = self._patience(busy, failures, streamed=streamed)
                reason = busy.reason
            log.info("asking %s again in %.1f s: %s", self.provider, wait, reason)
            yield Retrying(reason, wait)
            await asyncio.sleep(wait)

    def _patience(self, busy: Busy, failures: int, *, streamed: bool) -> float:
        """Seconds to the next attempt.

        Raises:
            ModelError: there is none.
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
        """Send the request; gives the stream's events as (name, JSON object).

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
                f"the proxy named in the environment cannot be used: {self.clean(str(error))}"
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
                        raise self._failure(response, text)
                    async with aclosing(self._parts(response, deadline)) as parts:
                        async for part in parts:
                            yield part
        except httpx2.HTTPError as error:
            raise self._broken(error) from None
        except TimeoutError:
            raise Busy(f"no end after {limits.whole:.0f} s", lasting=self._silent(limits.whole)) from None

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
                raise self._no_api(kind) from None
            return
        if kind != "text/event-stream":
            raise self._no_api(kind)
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

    # -- what went wrong ----------------------------------------------------------------------------

    def clean(self, text: str) -> str:
        """Words of a server, fit for an error: no key, no control characters, not long."""
        for secret in self._secrets:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
            if len(secret) >= 16:  # servers like to show the first letters of a wrong key
                text = re.sub(re.escape(secret[:7]) + r"\S*", "***", text)
        text = re.sub(r"\S*\*{3,}\S*", "***", redact(text))
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= MAX_ERROR_TEXT else text[: MAX_ERROR_TEXT - 1] + "…"

    def in_stream(self, error: ServerError, *, streamed: bool) -> Exception:
        """The error that a server sent inside of a stream."""
        words = self.clean(error.message or error.kind or "an error without words")
        if not streamed and _is_overflow(error):
            return self._overflow(words)
        kind = error.kind.lower()
        passing = (
            "overloaded",
            "rate_limit",
            "api_error",
            "server_error",
            "timeout",
            "unavailable",
            "429",
            "50",
            "529",
        )
        if streamed or any(word in kind for word in passing) or not kind:
            return Busy(words)
        return ModelError(f"{self.provider} answered with an error: {words}")

    def cut(self) -> Busy:
        """The stream ended before the answer did."""
        return Busy("the connection was closed too early")

    def explained(self, rejected: Rejected) -> ModelError:
        """What the user should know and do about a rejected request."""
        status, words = rejected.status, self.clean(rejected.error.message)
        detail = f": {words}" if words else ""
        if rejected.overflow:
            return self._overflow(words)
        if status == 401 or status == 403:
            act = (
                f"Check {self._key_variable} in the environment." if self._key_variable else "Check its key."
            )
            return ModelError(f"{self.provider} refused the key ({status}{detail}). {act}")
        if status == 402 or _QUOTA.search(f"{rejected.error.kind} {rejected.error.message}"):
            return ModelError(f"{self.provider} wants to be paid first ({status}{detail})")
        if status == 404:
            return ModelError(
                f"{self.provider} does not know the model {self.model!r} at {self._host} (404{detail}). "
                "Choose another one (ACPELLA_MODEL), or check the base URL."
            )
        if 300 <= status < 400:
            return ModelError(
                f"{self.provider} at {self._host} sends requests elsewhere ({status}); correct the base URL. "
                "Keys are not sent after redirects."
            )
        return ModelError(f"{self.provider} rejected the request ({status}{detail})")

    def _failure(self, response: "httpx2.Response", text: str) -> Exception:
        status = response.status_code
        try:
            error = server_error(msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeError):
            error = ServerError("", "" if "<" in text[:200] else text)  # pages of proxies say nothing
        rejected = Rejected(status, error, text)
        again = status in _BUSY or status >= 500
        if response.headers.get("x-should-retry") == "false":
            again = False
        if not again or rejected.overflow or "insufficient_quota" in error.kind:
            return rejected
        words = self.clean(error.message)
        return Busy(f"{status}{': ' + words if words else ''}", wait=_retry_after(response.headers))

    def _broken(self, error: "httpx2.HTTPError") -> Busy:
        import httpx2

        words = self.clean(str(error))
        if isinstance(error, httpx2.ConnectError) and re.search("ssl|certificate", str(error), re.IGNORECASE):
            # a certificate does not get better; an https:// that should be http:// looks the same
            hint = "Check the base URL, or name the authority of your certificate in SSL_CERT_FILE."
            return Busy(
                words, lasting=f"no secure connection to {self.provider} at {self._host}: {words}. {hint}"
            )
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            reason = f"{self._host} cannot be reached"
            if is_loopback(self.url):  # it will not start by itself
                hint = self._not_running or "Is the server running?"
                return Busy(reason, lasting=f"{self.provider} cannot be reached at {self._host}. {hint}")
            return Busy(reason, advice="Is this machine online, or does it need a proxy (HTTPS_PROXY)?")
        if isinstance(error, httpx2.ReadTimeout):
            limit = self.limits.silence
            return Busy(f"no byte for {limit:.0f} s")
        return Busy(f"the connection broke: {words}" if words else "the connection broke")

    def _silent(self, seconds: float) -> str:
        return (
            f"{self.provider} did not finish its answer within {seconds:.0f} seconds. Ask for less at once."
        )

    def _overflow(self, words: str) -> ContextOverflow:
        return ContextOverflow(
            f"the conversation is too long for {self.model}{': ' + words if words else ''}"
        )

    def _no_api(self, kind: str) -> ModelError:
        return ModelError(
            f"what answers at {self._host} is not the API of {self.provider} "
            f"(it sent {self.clean(kind) or 'no type'}); check the base URL"
        )


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


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks for: a number, or a date."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after", "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time()) if value else None
    except (ValueError, OverflowError):
        return None
