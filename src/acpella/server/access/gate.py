"""Checks who is asking: the credentials, and the headers that keep foreign web pages out."""

import asyncio
import inspect
import ipaddress
import logging
import re
from collections.abc import Iterable
from typing import Any, Protocol

from acpella.server.settings import ServerSettings

from .credentials import AuthHook, Credential, Requester, Tickets
from .rate_limit import RateLimit
from .tokens import Tokens

__all__ = [
    "AuthHook",
    "Credential",
    "Gate",
    "Refusal",
    "Requester",
    "SharedTickets",
    "Tokens",
    "describe",
    "is_loopback",
]

log: logging.Logger = logging.getLogger(__name__)

HOOK_SECONDS = 10.0
"""Seconds for the author's own check."""


_HOST = re.compile(r"[\w.-]+|\[?[0-9a-fA-F.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.%\w]*\]?")
_ORIGIN = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?/?")

ANYBODY = Credential("")
"""Where no credentials are asked for."""


class SharedTickets(Protocol):
    """Tickets that several nodes have in common."""

    def can_hold(self, credential: Credential) -> bool: ...

    async def issue(self, credential: Credential) -> str: ...

    async def redeem(self, ticket: str) -> Credential | None: ...


class Refusal(Exception):
    """The request is not let in."""

    def __init__(self, status: int, text: str, *, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        self.text = text
        self.headers: list[tuple[bytes, bytes]] = list(headers)
        super().__init__(text)


class Gate:
    """Lets requests in, or raises `Refusal`, before any of their body is read."""

    def __init__(self, settings: ServerSettings, auth: AuthHook | None) -> None:
        self._settings = settings
        self._auth = auth
        self.tickets: Tickets = Tickets()
        self.shared_tickets: SharedTickets | None = None
        """Those that other nodes take, too."""
        self._failures = RateLimit(settings.failures_per_minute / 60, settings.failures_per_minute)
        self._any_host = "*" in settings.allowed_hosts
        self._hosts = {host.strip("[]").lower() for host in settings.allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in settings.allowed_origins}
        for name in settings.allowed_hosts:
            _check_host(name)
        for origin in settings.allowed_origins:
            _check_origin(origin)

    @property
    def asks_for_credentials(self) -> bool:
        return self._auth is not None

    @property
    def one_user(self) -> bool:
        """Whether everybody who gets in is the same user."""
        return self._auth is None or (isinstance(self._auth, Tokens) and len(self._auth.users) == 1)

    def check_source(self, request: Requester, *, own_pages: bool = False) -> None:
        """Raises `Refusal` for host names and web pages that are not ours, whatever the method.

        With `own_pages` this server offers pages itself, which come from the same host that they call.
        """
        if not self._any_host and _name_of(request.headers.get("host", "")) not in self._hosts:
            raise Refusal(403, "this server does not answer to that name; --allow-host would let it")
        origin = request.headers.get("origin")
        is_own = own_pages and origin is not None and _is_same(origin, request.headers.get("host", ""))
        if origin is not None and not is_own and not self.allows_origin(origin):
            raise Refusal(403, "web pages of that origin may not connect; --allow-origin would let them")
        # requests for images, scripts and links do not name their page, but say that it is another one
        if origin is None and request.headers.get("sec-fetch-site", "").lower() in (
            "cross-site",
            "same-site",
        ):
            raise Refusal(403, "this comes from a web page that does not say which; open the address itself")

    def allows_origin(self, origin: str) -> bool:
        return origin.lower().rstrip("/") in self._origins

    async def credential_of(self, request: Requester, *, ticket: str | None = None) -> Credential:
        """The credential of a request: its ticket's if it has one, or else the one that it carries."""
        if self._auth is None:
            if request.client and not is_loopback(request.client):
                raise Refusal(403, "without a token only programs on the server's own machine are let in")
            return ANYBODY
        if ticket is not None:
            answer = self.tickets.redeem(ticket)
            if answer is None and self.shared_tickets is not None:
                answer = await self.shared_tickets.redeem(ticket)
        else:
            answer = await self._checked(request)
        if answer is None:  # the reason is not given, so that guessing reveals nothing
            # only failures count: many users may share an address, and some of them have valid credentials
            if not self._failures.spend(request.client):
                raise Refusal(
                    429, "too many wrong credentials; wait a minute", headers=[(b"retry-after", b"60")]
                )
            raise Refusal(
                401,
                "a valid token is needed",
                headers=[(b"www-authenticate", b'Bearer realm="acpella"')],
            )
        return answer

    async def issue_ticket(self, credential: Credential) -> str:
        """A new ticket. Every node accepts it if all of them can find out when the credential is revoked.

        Raises `TooManyTickets`, `StoreError`.
        """
        if self.shared_tickets is not None and self.shared_tickets.can_hold(credential):
            return await self.shared_tickets.issue(credential)
        return self.tickets.issue(credential)

    async def _checked(self, request: Requester) -> Credential | None:
        assert self._auth is not None
        try:
            answer = self._auth(request)
            if inspect.isawaitable(answer):
                answer = await asyncio.wait_for(answer, HOOK_SECONDS)
            if isinstance(answer, str):
                return Credential(answer)
            return None if answer is None or answer.why_over() is not None else answer
        except Exception:
            log.exception("the check of credentials failed")
            raise Refusal(500, "credentials cannot be checked right now") from None


def _check_host(name: str) -> None:
    """Raises `ValueError` for what no Host header could be compared with."""
    if name != "*" and not _HOST.fullmatch(name):
        raise ValueError(
            f"allowed hosts: {name!r} is not a name as in a Host header: write agents.example.com, without "
            "scheme, port or path (or * for any)"
        )


def _check_origin(origin: str) -> None:
    """Raises `ValueError` for what cannot be an Origin header, and for `*`."""
    if origin == "*":
        raise ValueError(
            "allowed origins: * would let every web page that somebody here opens use this server; name "
            "those that may, such as https://app.example.com"
        )
    if not _ORIGIN.fullmatch(origin):
        raise ValueError(
            f"allowed origins: {origin!r} is not an origin such as https://app.example.com or "
            "http://localhost:3000: a scheme and a name, without a path"
        )


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


_HOST_HEADER = re.compile(r"(?:\[([0-9a-f.]*:[0-9a-f:.]*)\]|([^\s\[\]:/@]+))(?::[0-9]{1,5})?", re.ASCII)


def _name_of(host: str) -> str:
    """A Host header without its port; empty for what cannot be one."""
    match = _HOST_HEADER.fullmatch(host.strip(" \t").lower())
    return "" if match is None else match[1] or match[2]


def _is_same(origin: str, host: str) -> bool:
    """Whether a page comes from the host and port that it calls. Behind a proxy, the scheme may differ."""
    scheme, _, name = origin.lower().partition("://")
    return scheme in ("http", "https") and bool(name) and name == host.strip(" \t").lower()


def describe(auth: Any) -> str:
    """For the start-up line."""
    if auth is None:
        return "no credentials are asked for"
    if isinstance(auth, Tokens):
        count = len(auth.users)
        return "a token is asked for" if count == 1 else f"tokens of {count} users are taken"
    return "the program checks credentials"
