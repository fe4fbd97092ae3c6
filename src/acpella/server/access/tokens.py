"""Bearer tokens of several users: their file, which may change while the server runs."""

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from .credentials import SCOPES, Credential, Requester, Scope, scopes_of

__all__ = ["SUBPROTOCOL", "Token", "Tokens", "end_of", "read_line"]

log: logging.Logger = logging.getLogger("acpella.server.auth")  # `tokens: …` would be taken for a secret

SHORTEST_TOKEN = 32
"""Characters of a token. Shorter ones can be guessed."""

SUBPROTOCOL = "acpella.token."
"""How a program that can set no header on a WebSocket sends its token."""

LOOK_EVERY = 1.0
"""Seconds between looks at a token file, however many requests come."""

_OPTIONS = "until=2030-12-31 (or a time of that day) and scopes=prompt,read"


@dataclass(frozen=True, slots=True)
class Token:
    """A line of a token file."""

    user: str
    sha256: bytes
    is_clear: bool
    """Whether the file holds the token itself."""
    until: float | None = None
    scopes: frozenset[Scope] = SCOPES


def read_line(line: str) -> Token | None:
    """`USER TOKEN` or `USER sha256:HASH`, then `until=…` and `scopes=…`; None if the line is a remark.

    Raises:
        ValueError: it is neither; the message never holds a token.
    """
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    if len(words) < 2:
        raise ValueError("expected a user and a token")
    user, token, *options = words
    sha256 = _hash_of(token)
    values: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if name not in ("until", "scopes") or not equals or name in values:
            raise ValueError(f"after the token may come {_OPTIONS}, each once")
        values[name] = value
    return Token(
        user,
        sha256,
        not token.startswith("sha256:"),
        end_of(values["until"]) if "until" in values else None,
        scopes_of(values["scopes"].split(",")) if "scopes" in values else SCOPES,
    )


def end_of(text: str) -> float:
    """A date or time, in seconds since 1970; UTC if it names no zone. Raises `ValueError`."""
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"after the token may come {_OPTIONS}, each once") from None
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
        raise ValueError(f"a token has at least {SHORTEST_TOKEN} characters; `acpella tokens add` makes one")
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Tokens:
    """Bearer tokens and whose they are. Only their SHA-256 is kept."""

    def __init__(self, tokens: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        """`tokens` maps each token, or `sha256:` and the hash of one, to the user whose it is.

        Raises:
            ValueError: a token is shorter than 32 characters, a hash is malformed, or there is no token.
        """
        self._file: Path | None = None
        self._stamp: _Stamp | None = None
        self._clock = clock
        self._next_look = 0.0
        self._learned: dict[bytes, Credential] = {}
        self._credentials = self._table(
            [Token(user, _hash_of(token), is_clear=True) for token, user in tokens.items()]
        )
        if not self._credentials:
            raise ValueError("no token was given")

    @classmethod
    def single(cls, token: str) -> "Tokens":
        """One token for one user."""
        return cls({token: "token"})

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.monotonic
    ) -> "Tokens":
        """Read lines of `USER TOKEN` or `USER sha256:HASH`; `#` begins a remark.

        Further words may be `until=2030-12-31` or `until=2030-12-31T18:00+00:00`, which ends a token then (a
        date at its beginning, UTC if no zone is named), and `scopes=prompt,read`. The file is read again when
        it has changed: a token that was added counts at once, one that is not in it any more is revoked
        within a second. Mistakes in it change nothing, and are logged; while it is gone, nobody is let in.

        Raises:
            ValueError: the file is missing or wrong; the message never holds a token.
        """
        self = cls.__new__(cls)
        self._file = Path(path)
        self._clock = clock
        self._next_look = clock() + LOOK_EVERY
        self._stamp = _stamp_of(self._file)
        self._learned = {}
        self._credentials = self._table(_read(self._file))
        if not self._credentials:
            raise ValueError(f"the token file {path} holds no token; `acpella tokens add` makes one")
        return self

    def _table(self, tokens: list[Token]) -> dict[bytes, Credential]:
        return {
            token.sha256: Credential(
                token.user,
                token.scopes,
                token.until,
                partial(self._is_revoked, token.sha256, token.user, token.scopes),
                hashlib.sha256(token.sha256).hexdigest(),
            )
            for token in tokens
        }

    def _is_revoked(self, sha256: bytes, user: str, scopes: frozenset[Scope]) -> bool:
        """Whether the token is gone, or worth less than when it was let in."""
        self._refresh()
        now = self._credentials.get(sha256) or self._learned.get(sha256)
        if now is None or now.principal != user or not scopes <= now.scopes:
            return True
        return now.until is not None and now.until <= time.time()  # it may have been given an end meanwhile

    def _refresh(self, *, at_once: bool = False) -> None:
        if self._file is None or (self._clock() < self._next_look and not at_once):
            return
        self._next_look = self._clock() + LOOK_EVERY
        stamp = _stamp_of(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        if stamp is None:
            self._credentials = {}
            log.error("the token file %s is gone; nobody is let in until it is back", self._file)
            return
        try:
            self._credentials = self._table(_read(self._file))
        except ValueError as error:
            log.error("the earlier tokens stay valid: %s", error)
            return
        if not self._credentials:
            log.error("the token file %s holds no token any more; nobody is let in", self._file)

    @property
    def users(self) -> set[str]:
        self._refresh()
        return {credential.principal for credential in self._credentials.values()}

    def credential_of(self, token: str) -> Credential | None:
        """What a token stands for. Takes the same time whichever of the known tokens it is."""
        self._refresh()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        match = self._find(digest)
        if match is None:  # perhaps it was added just now
            self._refresh(at_once=True)
            match = self._find(digest)
        return None if match is None or match.why_over() is not None else match

    def _find(self, digest: bytes) -> Credential | None:
        match: Credential | None = None
        for stored_digest, credential in (*self._credentials.items(), *self._learned.items()):
            if hmac.compare_digest(stored_digest, digest):
                match = credential
        return match

    def by_key(self, key: str) -> Credential | None:
        """The credential with this key, which is the same at every node with the same tokens."""
        self._refresh()
        every = (*self._credentials.values(), *self._learned.values())
        return next((each for each in every if each.key == key), None)

    def learn(self, sha256: bytes, user: str) -> None:
        """Accept a token of another node, too; with an empty user, stop accepting it."""
        self._learned.pop(sha256, None)
        if user:
            self._learned.update(self._table([Token(user, sha256, is_clear=False)]))

    def user_of(self, token: str) -> str | None:
        """Whose token it is."""
        credential = self.credential_of(token)
        return None if credential is None else credential.principal

    def __call__(self, request: Requester) -> Credential | None:
        """What a request's token stands for: in `Authorization: Bearer`, or in a WebSocket's subprotocol."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and token:
            return self.credential_of(token.strip())
        for protocol in request.subprotocols:
            if protocol.startswith(SUBPROTOCOL):
                return self.credential_of(protocol[len(SUBPROTOCOL) :])
        return None


_Stamp = tuple[int, ...]


def _stamp_of(path: Path) -> _Stamp | None:
    """Changes with the file, also when a clock is coarse or set back; None if there is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ()  # reading it says why
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _read(path: Path) -> list[Token]:
    """Raises `ValueError` with the number of the line."""
    try:
        text = path.read_text(encoding="utf-8")
        if os.name == "posix" and path.stat().st_mode & 0o077:
            log.warning("%s can be read by other users of this machine; chmod 600 it", path)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the token file {path} cannot be read: {error}") from None
    tokens: dict[bytes, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            token = read_line(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if token is None:
            continue
        if token.sha256 in tokens:
            raise ValueError(f"{path}:{number}: this token is in the file twice")
        tokens[token.sha256] = token
    return list(tokens.values())
