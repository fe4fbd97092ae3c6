"""Who is asking: bearer tokens, the author's own check, and the headers that keep web pages out."""

import asyncio
import hashlib
import hmac
import inspect
import ipaddress
import logging
import math
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from .settings import ServerSettings

__all__ = ["AuthHook", "Bucket", "Gate", "Refusal", "Requester", "Tokens", "describe", "is_loopback"]

log = logging.getLogger(__name__)

SHORTEST_TOKEN = 32
"""Characters of a token. Shorter ones can be guessed."""

SUBPROTOCOL = "acpella.token."
"""How a web page, which can set no header on a WebSocket, sends its token."""

REMEMBERED = 10_000
"""Addresses and users whose requests are counted. Without it, a flood from many of them fills the memory."""

HOOK_SECONDS = 10.0
"""Seconds for the author's own check."""


@dataclass(frozen=True, slots=True)
class Requester:
    """What is known of a request before it is let in."""

    headers: Mapping[str, str]
    """By lower-case name."""
    subprotocols: tuple[str, ...]
    client: str
    """The address it comes from; empty if the server does not know."""
    path: str


AuthHook: TypeAlias = Callable[[Requester], "str | None | Awaitable[str | None]"]
"""Gives the name of the user who sent a request; None refuses it."""


class Refusal(Exception):
    """The request is not let in."""

    def __init__(self, status: int, text: str, *, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        self.text = text
        self.headers = list(headers)
        super().__init__(text)


class Tokens:
    """Bearer tokens and whose they are. Only their SHA-256 is kept."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens` maps each token, or `sha256:` and the hash of one, to the user whose it is.

        Raises:
            ValueError: one is shorter than 32 characters.
        """
        self._ends: dict[bytes, float] = {}
        self._users: dict[bytes, str] = {}
        for token, user in tokens.items():
            self._users[_hash_of(token)] = user
        if not self._users:
            raise ValueError("no token was given")
        self._file: Path | None = None
        self._stamp = (0, 0)

    @classmethod
    def single(cls, token: str) -> "Tokens":
        """One token for one user."""
        return cls({token: "token"})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Tokens":
        """Read lines of `USER TOKEN` or `USER sha256:HASH`; `#` begins a remark.

        A third word such as `until=2030-12-31` or `until=2030-12-31T18:00+00:00` ends a token then (a date at
        its beginning, UTC if no zone is named). The file is read again when it has changed.

        Raises:
            ValueError: the file is missing or wrong; the message never holds a token.
        """
        place = Path(path)
        stamp = _stamp_of(place)
        try:
            text = place.read_text(encoding="utf-8")
            if os.name == "posix" and place.stat().st_mode & 0o077:
                log.warning("%s can be read by other users of this machine; chmod 600 it", place)
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the token file {place} cannot be read: {error}") from None
        tokens: dict[str, str] = {}
        ends: dict[bytes, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) not in (2, 3):
                raise ValueError(f"{place}:{number}: expected a user and a token")
            try:
                key = _hash_of(words[1])
                if len(words) == 3:
                    ends[key] = _end_of(words[2])
            except ValueError as error:
                raise ValueError(f"{place}:{number}: {error}") from None
            tokens[words[1]] = words[0]
        if not tokens:
            raise ValueError(f"the token file {place} holds no token")
        read = cls(tokens)
        read._file, read._stamp, read._ends = place, stamp, ends
        return read

    def _refresh(self) -> None:
        if self._file is None or (stamp := _stamp_of(self._file)) == self._stamp:
            return
        self._stamp = stamp
        try:
            fresh = Tokens.from_file(self._file)
            self._users, self._ends = fresh._users, fresh._ends
        except ValueError as error:
            log.error("the tokens of before stay valid: %s", error)

    @property
    def users(self) -> set[str]:
        self._refresh()
        return set(self._users.values())

    def user_of(self, token: str) -> str | None:
        """Whose token it is. Takes the same time whichever it is."""
        self._refresh()
        given = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found: str | None = None
        for known, user in self._users.items():
            is_over = self._ends.get(known, math.inf) <= time.time()
            if hmac.compare_digest(known, given) and not is_over:
                found = user
        return found

    def __call__(self, request: Requester) -> str | None:
        """The user of a request's token: in `Authorization: Bearer`, or in a WebSocket's subprotocol."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and token:
            return self.user_of(token.strip())
        for protocol in request.subprotocols:
            if protocol.startswith(SUBPROTOCOL):
                return self.user_of(protocol[len(SUBPROTOCOL) :])
        return None


def _stamp_of(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _end_of(word: str) -> float:
    """The moment in `until=…`, in seconds since 1970."""
    name, _, text = word.partition("=")
    try:
        if name != "until":
            raise ValueError
        end = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("after the token may come until=2030-12-31 (or a time of that day)") from None
    return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()


def _hash_of(token: str) -> bytes:
    kind, _, value = token.partition("sha256:")
    if not kind and value:
        try:
            digest = bytes.fromhex(value)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise ValueError("after sha256: come 64 hexadecimal digits")
        return digest
    if len(token) < SHORTEST_TOKEN:
        raise ValueError(
            f"a token has at least {SHORTEST_TOKEN} characters; `openssl rand -hex 32` makes one"
        )
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Bucket:
    """Lets so many through at once, and so many a second in the long run; for each key by itself."""

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spent(self, key: str) -> bool:
        """Whether nothing is left for this key."""
        return self._rate > 0 and self._level(key)[0] < 1

    def spend(self, key: str) -> bool:
        """Take one; False if there was none."""
        if self._rate <= 0:
            return True
        level, now = self._level(key)
        if level < 1:
            return False
        self._levels[key] = (level - 1, now)
        self._levels.move_to_end(key)
        if len(self._levels) > REMEMBERED:
            self._levels.popitem(last=False)
        return True

    def _level(self, key: str) -> tuple[float, float]:
        now = self._clock()
        level, then = self._levels.get(key, (self._burst, now))
        return min(self._burst, level + (now - then) * self._rate), now


class Gate:
    """Lets requests in, or raises `Refusal`, before any of their body is read."""

    def __init__(self, settings: ServerSettings, auth: AuthHook | None) -> None:
        self._settings = settings
        self._auth = auth
        self._failures = Bucket(settings.failures_per_minute / 60, settings.failures_per_minute)
        self._any_host = "*" in settings.allowed_hosts
        self._hosts = {host.strip("[]").lower() for host in settings.allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in settings.allowed_origins}

    @property
    def asks_for_credentials(self) -> bool:
        return self._auth is not None

    @property
    def one_user(self) -> bool:
        """Whether everybody who gets in is the same user."""
        return self._auth is None or (isinstance(self._auth, Tokens) and len(self._auth.users) == 1)

    def check_source(self, request: Requester) -> None:
        """Names and web pages that are not ours are refused, on every method."""
        if not self._any_host and _name_of(request.headers.get("host", "")) not in self._hosts:
            raise Refusal(403, "this server does not answer to that name; --allow-host would let it")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower().rstrip("/") not in self._origins:
            raise Refusal(403, "web pages of that origin may not connect; --allow-origin would let them")

    def allows_origin(self, origin: str) -> bool:
        return origin.lower().rstrip("/") in self._origins

    async def principal_of(self, request: Requester) -> str:
        """The user who sent it."""
        if self._auth is None:
            if request.client and not is_loopback(request.client):
                raise Refusal(403, "without a token only programs on the server's own machine are let in")
            return ""
        if self._failures.spent(request.client):
            raise Refusal(429, "too many wrong credentials; wait a minute", headers=[(b"retry-after", b"60")])
        try:
            answer = self._auth(request)
            if inspect.isawaitable(answer):
                answer = await asyncio.wait_for(answer, HOOK_SECONDS)
        except Exception:
            log.exception("the check of credentials failed")
            raise Refusal(500, "credentials cannot be checked right now") from None
        if answer is None:
            self._failures.spend(request.client)
            raise Refusal(
                401,
                "a valid bearer token is needed",
                headers=[(b"www-authenticate", b'Bearer realm="acpella"')],
            )
        return answer


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


def _name_of(host: str) -> str:
    """A Host header without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() and ":" not in name else host


def describe(auth: Any) -> str:
    """For the start-up line."""
    if auth is None:
        return "no credentials are asked for"
    if isinstance(auth, Tokens):
        count = len(auth.users)
        return "a token is asked for" if count == 1 else f"tokens of {count} users are taken"
    return "the program checks credentials"
