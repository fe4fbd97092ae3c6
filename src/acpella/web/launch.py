"""Launch codes: what a browser is opened with, good once and not for long."""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acpella.sessions import Cluster

__all__ = ["LaunchCodes"]

log: logging.Logger = logging.getLogger(__name__)

CODE_SECONDS = 60.0
"""Seconds that a code is good for when the browser is opened at once."""

MAX_CODES = 16
"""Codes that wait to be used. Each new one beyond that makes the oldest worthless."""

MAX_CODES_OF_ALL = 256
"""The same for those that several nodes have in common."""


class LaunchCodes:
    """Each code stands for a token until it is used, or too old.

    Only its hash is kept, and the token in a form that nobody can read without the code.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sealed: dict[bytes, tuple[bytes, float]] = {}  # oldest first
        self._cluster: Cluster | None = None
        self.tokens: set[str] = set()
        """What codes were issued for."""

    def issue(self, token: str, *, seconds: float = CODE_SECONDS) -> str:
        """A new code for a token."""
        code = secrets.token_urlsafe(32)
        self._sealed[_digest(code)] = (_mixed(token.encode(), code), self._clock() + seconds)
        self.tokens.add(token)
        while len(self._sealed) > MAX_CODES:
            del self._sealed[next(iter(self._sealed))]
        return code

    async def share(self, cluster: "Cluster") -> None:
        """Let every node take the codes that were issued so far, each only once. Raises `StoreError`."""
        self._cluster = cluster
        while self._sealed:
            digest, (sealed, end) = next(iter(self._sealed.items()))
            seconds = max(0.0, end - self._clock())
            if not await cluster.keep_ticket(digest, sealed, seconds=seconds, limit=MAX_CODES_OF_ALL):
                log.warning("too many links to the page wait to be used; the one of this node is worthless")
            del self._sealed[digest]

    async def redeem(self, code: str) -> str | None:
        """The token of a code, which cannot be used again; None if it is unknown, used or too old.

        Raises `StoreError`.
        """
        sealed, end = self._sealed.pop(_digest(code), (None, 0.0))
        if sealed is None and self._cluster is not None:
            sealed, end = await self._cluster.take_ticket(_digest(code)), float("inf")
        if sealed is None or end <= self._clock():
            return None
        return _mixed(sealed, code).decode(errors="replace")


def _digest(code: str) -> bytes:
    return hashlib.sha256(b"launch:" + code.encode("utf-8", "surrogateescape")).digest()


def _mixed(data: bytes, code: str) -> bytes:
    """Encrypts with the code; done twice, it gives the data back. A code is random, and used once."""
    pad = hashlib.shake_256(b"token:" + code.encode("utf-8", "surrogateescape")).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, pad, strict=True))
