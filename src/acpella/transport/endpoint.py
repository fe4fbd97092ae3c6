"""The address of a remote agent and what is sent with it: URL, headers, token, cookies."""

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import Request as CookieRequest

from acpella._redact import redact
from acpella.errors import TransportError

__all__ = ["Denied", "Endpoint", "shown_body"]

TOKEN_VARIABLE = "ACPELLA_TOKEN"

DEFAULT_PATH = "/acp"
"""Where servers listen when the URL names no path."""

MAX_ERROR_BODY = 8 * 1024
"""Bytes of an error answer that are kept (T-090)."""

MAX_MESSAGE = 32 * 1024 * 1024
"""Longest message in bytes (T-090). Without it, a server that never ends one fills the memory."""

CONNECT_WITHIN = 10.0
"""Seconds for a connection to a server, its handshake included."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED = frozenset(
    ("acp-connection-id", "acp-session-id", "last-event-id", "content-length", "transfer-encoding", "host")
)
_CREDENTIALS = frozenset(("authorization", "proxy-authorization", "cookie", "x-api-key"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A remote agent. Keeps its cookies, so that a new connection reaches the same machine (T-080)."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every request, the token included (T-081)."""

    jar: CookieJar = field(default_factory=CookieJar, repr=False)

    tls: ssl.SSLContext | None = field(default=None, repr=False)

    withheld: bool = False
    """There is a token in the environment, which is not for this URL."""

    @classmethod
    def of(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        of_environment: bool = True,
    ) -> "Endpoint":
        """Check what a user has given. Without `token`, the one of the environment is used.

        It is not with `of_environment=False`, for a URL that the user has not chosen.

        Raises:
            TransportError: the URL or a header cannot be used, or a secret would travel unencrypted.
        """
        parts = _split(url)
        sent = {name: _checked(name, value) for name, value in (headers or {}).items()}
        names = {name.lower() for name in sent}
        source = "the token"
        ambient = token is None and "authorization" not in names and bool(os.environ.get(TOKEN_VARIABLE))
        if ambient and of_environment:
            token, source = os.environ[TOKEN_VARIABLE].strip(), f"the token of {TOKEN_VARIABLE}"
        if token is not None:
            if "authorization" in names:
                raise TransportError("give a token or an Authorization header, not both")
            if not token or not token.isascii() or any(letter <= " " for letter in token):
                raise TransportError(f"{source} must be printable ASCII without spaces")
            sent["Authorization"] = f"Bearer {token}"
        secret = {name.lower() for name in sent} & _CREDENTIALS
        if secret and parts.scheme in ("http", "ws") and not _is_loopback(parts.hostname or ""):
            what = source if token is not None else f"the header {sorted(secret)[0]}"
            secure = "https" if parts.scheme == "http" else "wss"
            raise TransportError(
                f"{what} would travel unencrypted to {parts.hostname}: use a {secure}:// URL, "
                "or a tunnel to this machine"
            )
        where = urlunsplit(parts._replace(fragment=""))
        return cls(url=where, headers=sent, tls=tls, withheld=ambient and not of_environment)

    # -- about the URL -----------------------------------------------------------------------

    @property
    def is_websocket(self) -> bool:
        return self.url.startswith("ws")

    @property
    def is_secure(self) -> bool:
        return self.url.startswith(("https", "wss"))

    @property
    def shown(self) -> str:
        """The URL without its query, which may hold a secret."""
        return urlunsplit(urlsplit(self.url)._replace(query=""))

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or (443 if self.is_secure else 80)

    @property
    def http_url(self) -> str:
        return "http" + self.url[2:] if self.is_websocket else self.url

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @property
    def has_credentials(self) -> bool:
        return any(name.lower() in _CREDENTIALS for name in self.headers)

    def context(self) -> ssl.SSLContext:
        """What checks the server's certificate."""
        return self.tls or ssl.create_default_context()

    # -- cookies, for a handshake that httpx2 does not make ------------------------------------

    def cookie_header(self) -> str | None:
        request = CookieRequest(self.http_url)
        self.jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def keep_cookies(self, headers: Iterable[tuple[str, str]]) -> None:
        message = Message()
        for name, value in headers:
            if name.lower() == "set-cookie":
                message[name] = value
        if message.keys():
            self.jar.extract_cookies(cast("Any", _Answer(message)), CookieRequest(self.http_url))

    # -- what went wrong -------------------------------------------------------------------------

    def refused(self, status: int, body: bytes = b"", *, location: str | None = None) -> TransportError:
        """What the person who gave the URL must know about an answer that is not a success."""
        detail = shown_body(body)
        note = f": {detail}" if detail else ""
        if status == 401:
            if self.has_credentials:
                return Denied(f"{self.shown} does not accept the token (401){note}")
            if self.withheld:
                return Denied(
                    f"{self.shown} wants a token (401). {TOKEN_VARIABLE} is not sent to a URL that a "
                    "project's settings name; name the URL yourself, or add it to your own settings"
                )
            return Denied(
                f"{self.shown} wants a token (401): pass token=, or set the environment variable "
                f"{TOKEN_VARIABLE}"
            )
        if status == 403:
            hint = "" if self.has_credentials else f"; does it want a token ({TOKEN_VARIABLE} or token=)?"
            return Denied(f"{self.shown} refuses access (403){note}{hint}")
        if 300 <= status < 400:
            where = f" to {redact(location)}" if location else ""
            return TransportError(f"{self.shown} redirects{where} ({status}); use that URL if you trust it")
        if status == 404:
            hint = "" if self.url.endswith(DEFAULT_PATH) else f"; the path is usually {DEFAULT_PATH}"
            return TransportError(f"there is no ACP server at {self.shown} (404){hint}")
        if status in (429, 503):
            return TransportError(f"{self.shown} is too busy ({status}){note}; try again later")
        if status >= 500:
            return TransportError(f"{self.shown} failed ({status}){note}")
        return TransportError(f"{self.shown} does not answer like an ACP server ({status}){note}")

    def unreachable(self, error: BaseException) -> TransportError:
        """Why the connection failed."""
        chain: list[BaseException] = []
        one: BaseException | None = error
        while one is not None and one not in chain:
            chain.append(one)
            one = one.__cause__ or one.__context__
        what = f"cannot reach {self.shown}"
        for cause in chain:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return TransportError(f"{what}: its certificate is not trusted: {cause.verify_message}")
            if isinstance(cause, ssl.SSLError):
                hint = "is it a plain http server?" if self.is_secure else "TLS failed"
                return TransportError(f"{what}: TLS failed ({cause.reason or 'no reason given'}); {hint}")
            if isinstance(cause, socket.gaierror):
                return TransportError(f"{what}: the host {self.host} is not known")
            if isinstance(cause, ConnectionRefusedError):
                return TransportError(f"{what}: connection refused; is the server running?")
        text = " ".join(f"{type(cause).__name__} {cause}" for cause in chain).lower()
        if "certificate" in text:
            return TransportError(f"{what}: its certificate is not trusted")
        if "refused" in text or "all connection attempts failed" in text:
            return TransportError(f"{what}: connection refused; is the server running?")
        if "name or service" in text or "getaddrinfo" in text or "nodename" in text:
            return TransportError(f"{what}: the host {self.host} is not known")
        if "timeout" in text:
            return TransportError(f"{what}: no answer within {CONNECT_WITHIN:g} s")
        return TransportError(f"{what}: {redact(str(error) or type(error).__name__)}")


class Denied(TransportError):
    """The server refuses us, and trying again will not help."""


class _Answer:
    """What a cookie jar wants to see of an answer."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def info(self) -> Message:
        return self._message


def shown_body(body: bytes, limit: int = 200) -> str:
    """The beginning of an error answer, fit for one line of an error message."""
    text = body[:MAX_ERROR_BODY].decode("utf-8", "replace")
    if "<html" in text.lower() or "<!doctype" in text.lower():
        return ""  # a page for people with a browser
    text = redact(" ".join(text.split()))
    return text if len(text) <= limit else text[:limit] + "…"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise TransportError(f"cannot read the URL: {error}") from None
    if parts.scheme not in ("http", "https", "ws", "wss"):
        raise TransportError(f"a URL of an agent begins with http, https, ws or wss, not {parts.scheme!r}")
    if not parts.hostname or port == 0:
        raise TransportError("the URL names no host")
    if parts.username is not None or parts.password is not None:
        raise TransportError("a URL must not hold a password: give headers= or token= instead")
    return parts._replace(scheme=parts.scheme.lower(), path=parts.path or DEFAULT_PATH)


def _checked(name: str, value: Any) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise TransportError(f"{name!r} cannot be the name of a header")
    if name.lower() in _RESERVED:
        raise TransportError(f"the header {name} belongs to the transport")
    if not isinstance(value, str) or not all(" " <= letter <= "\xff" or letter == "\t" for letter in value):
        raise TransportError(f"the header {name} has a value that cannot be sent")
    return value


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
