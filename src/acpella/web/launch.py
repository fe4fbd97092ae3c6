"""Launch codes: what a browser is opened with, good once and not for long."""

import hashlib
import secrets
import time
from collections.abc import Callable

__all__ = ["LaunchCodes"]

CODE_SECONDS = 60.0
"""That a code is good for when the browser is opened at once."""

MAX_CODES = 16
"""Codes that wait to be used. Each new one beyond that makes the oldest worthless."""


class LaunchCodes:
    """Each code stands for a token until it is used, or too old. Only its hash is kept."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens: dict[bytes, tuple[str, float]] = {}  # oldest first

    def issue(self, token: str, *, seconds: float = CODE_SECONDS) -> str:
        """A new code for a token."""
        code = secrets.token_urlsafe(32)
        self._tokens[_digest(code)] = (token, self._clock() + seconds)
        while len(self._tokens) > MAX_CODES:
            del self._tokens[next(iter(self._tokens))]
        return code

    def redeem(self, code: str) -> str | None:
        """The token of a code, which stands for nothing from now on; None if it never did."""
        token, end = self._tokens.pop(_digest(code), (None, 0.0))
        return token if token is not None and end > self._clock() else None


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "surrogateescape")).digest()
