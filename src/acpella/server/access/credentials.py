"""What lets somebody in: whose it is, what it allows, how long, and tickets that stand for it."""

import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

__all__ = [
    "SCOPES",
    "AuthHook",
    "Credential",
    "Requester",
    "Scope",
    "Tickets",
    "TooManyTickets",
    "digest_of",
    "scopes_of",
]

Scope: TypeAlias = Literal["prompt", "approve", "read", "admin"]

SCOPES: frozenset[Scope] = frozenset(get_args(Scope))

TICKET_SECONDS = 30.0
"""Seconds that a ticket is good for. It is in a URL, which proxies may log."""

MAX_TICKETS = 4096
MAX_TICKETS_OF_ONE = 64
"""Tickets that wait to be used, in all and of one user. Without it, one user could fill the memory."""


def scopes_of(words: Iterable[str]) -> frozenset[Scope]:
    """The scopes of these names. Whoever may prompt or approve has to see what happens, so may read, too.

    Raises:
        ValueError: there is no such scope.
    """
    names = set(words)
    for word in names - SCOPES:
        raise ValueError(f"there is no scope {word!r}; there are: {', '.join(get_args(Scope))}")
    if names & {"prompt", "approve"}:
        names.add("read")
    return frozenset(scope for scope in SCOPES if scope in names)


@dataclass(frozen=True, slots=True)
class Credential:
    """A user who was let in, and what with. An `AuthHook` gives one to say more than the user's name."""

    principal: str
    """The user's name. Connections and sessions belong to it, whichever credential made them."""
    scopes: frozenset[Scope] = SCOPES
    """`prompt` and `approve` include `read`."""
    until: float | None = None
    """When it ends, in seconds since 1970."""
    revoked: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    """Says whether it is withdrawn. Asked every second for each open stream, so it must be quick."""
    key: str = field(default="", repr=False, compare=False)
    """Identifies the token, for other nodes that have the same token file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scopes", scopes_of(self.scopes))

    def why_over(self) -> str | None:
        """Why it is not valid any more; None while it is."""
        if self.until is not None and self.until <= time.time():
            return "the token has expired"
        if self.revoked is not None and self.revoked():
            return "the token was revoked"
        return None


@dataclass(frozen=True, slots=True)
class Requester:
    """What is known of a request before it is let in."""

    headers: Mapping[str, str]
    """By lower-case name."""
    subprotocols: tuple[str, ...]
    client: str
    """The address it comes from; empty if the server does not know."""
    path: str


Admitted: TypeAlias = "Credential | str | None"

AuthHook: TypeAlias = Callable[[Requester], "Admitted | Awaitable[Admitted]"]
"""Gives the name of the user who sent a request, or a `Credential`; None refuses it."""


class TooManyTickets(Exception):
    """This user, or all of them, have too many tickets that wait to be used."""


class Tickets:
    """Stand-ins for credentials where others may see them on the way: each works once, and not for long."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[bytes, tuple[Credential, float]] = {}  # oldest first

    def issue(self, credential: Credential) -> str:
        """A new ticket. Raises `TooManyTickets`."""
        now = self._clock()
        for key, (_, end) in list(self._kept.items()):
            if end > now:
                break
            del self._kept[key]
        own = sum(1 for one, _ in self._kept.values() if one.principal == credential.principal)
        if own >= MAX_TICKETS_OF_ONE or len(self._kept) >= MAX_TICKETS:
            raise TooManyTickets
        ticket = secrets.token_hex(32)
        self._kept[digest_of(ticket)] = (credential, now + TICKET_SECONDS)
        return ticket

    def redeem(self, ticket: str) -> Credential | None:
        """The credential of a ticket, which cannot be used again; None if the ticket is not valid."""
        credential, end = self._kept.pop(digest_of(ticket), (None, 0.0))
        if credential is None or end <= self._clock() or credential.why_over() is not None:
            return None
        return credential


def digest_of(ticket: str) -> bytes:
    """What is kept in place of a ticket."""
    return hashlib.sha256(ticket.encode("utf-8", "surrogateescape")).digest()
