"""What goes wrong with the server of a model: what may pass, and what the user can do about the rest."""

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from acpella._plain_json import as_dict, as_list, as_str
from acpella._redact import redact

from .base import ContextOverflow, ModelError
from .loose import encode

if TYPE_CHECKING:
    import httpx2

__all__ = ["Adjusted", "Busy", "Rejected", "ServerError", "ServerErrors", "server_error"]

MAX_ERROR_TEXT = 600
"""Characters of a server's own words in our errors."""

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


class ServerErrors:
    """Words for the errors of one server, which name it, tell what to do, and hold no key."""

    def __init__(
        self,
        provider: str,
        model: str,
        host: str,
        *,
        is_local: bool,
        secrets: tuple[str, ...] = (),
        key_variable: str = "",
        not_running: str = "",
    ) -> None:
        self._provider = provider
        self._model = model
        self._host = host
        self._is_local = is_local
        self._secrets = tuple(s for s in secrets if len(s) >= 8)  # "none" and "ollama" are not secrets
        self._key_variable = key_variable
        self._not_running = not_running

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
        return ModelError(f"{self._provider} answered with an error: {words}")

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
            return ModelError(f"{self._provider} refused the key ({status}{detail}). {act}")
        if status == 402 or _QUOTA.search(f"{rejected.error.kind} {rejected.error.message}"):
            return ModelError(f"{self._provider} wants to be paid first ({status}{detail})")
        if status == 404:
            return ModelError(
                f"{self._provider} does not know the model {self._model!r} at {self._host} (404{detail}). "
                "Choose another one (ACPELLA_MODEL), or check the base URL."
            )
        if 300 <= status < 400:
            return ModelError(
                f"{self._provider} at {self._host} sends requests elsewhere ({status}); correct the base URL."
                " Keys are not sent after redirects."
            )
        return ModelError(f"{self._provider} rejected the request ({status}{detail})")

    def failure(self, response: "httpx2.Response", text: str) -> Exception:
        """The server answered with another status than 200."""
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

    def broken(self, error: "httpx2.HTTPError", *, silence: float) -> Busy:
        """The connection failed, perhaps because no byte came for `silence` seconds."""
        import httpx2

        words = self.clean(str(error))
        if isinstance(error, httpx2.ConnectError) and re.search("ssl|certificate", str(error), re.IGNORECASE):
            # a certificate does not get better; an https:// that should be http:// looks the same
            hint = "Check the base URL, or name the authority of your certificate in SSL_CERT_FILE."
            return Busy(
                words, lasting=f"no secure connection to {self._provider} at {self._host}: {words}. {hint}"
            )
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            reason = f"{self._host} cannot be reached"
            if self._is_local:  # it will not start by itself
                hint = self._not_running or "Is the server running?"
                return Busy(reason, lasting=f"{self._provider} cannot be reached at {self._host}. {hint}")
            return Busy(reason, advice="Is this machine online, or does it need a proxy (HTTPS_PROXY)?")
        if isinstance(error, httpx2.ReadTimeout):
            return Busy(f"no byte for {silence:.0f} s")
        return Busy(f"the connection broke: {words}" if words else "the connection broke")

    def silent(self, seconds: float) -> str:
        """What to say of an answer that did not end in time."""
        return (
            f"{self._provider} did not finish its answer within {seconds:.0f} seconds. Ask for less at once."
        )

    def _overflow(self, words: str) -> ContextOverflow:
        return ContextOverflow(
            f"the conversation is too long for {self._model}{': ' + words if words else ''}"
        )

    def no_api(self, kind: str) -> ModelError:
        """What answered is something else; `kind` is the type of what it sent."""
        return ModelError(
            f"what answers at {self._host} is not the API of {self._provider} "
            f"(it sent {self.clean(kind) or 'no type'}); check the base URL"
        )


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
