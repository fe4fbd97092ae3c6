"""The index on this machine: fetched at most hourly, kept on the disk, usable without a network."""

import hashlib
import os
import sys
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import msgspec

from acpella import _directories as directories
from acpella._redact import redact

from .download import fetch
from .entries import Index, parse_index
from .errors import RegistryError
from .settings import RegistrySettings
from .variables import DEFAULT_URL, INDEX_URL

__all__ = ["FoundIndex", "find_index", "index_url"]

FRESH_FOR = 3600.0
"""Seconds; versions change several times a day, and nobody needs to know sooner."""

FETCHED_WITHIN = 30.0
LARGEST_INDEX = 8 * 1024 * 1024
"""Bytes; the index of 2026 has 57,000."""


class _Cached(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the copy on the disk."""

    url: str
    fetched_at: float
    sha256: str
    """The digest of the copy, to detect that only one of the two files was written."""
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class FoundIndex:
    """An index, and how current it is."""

    url: str
    index: Index
    age: float
    """Seconds since it was fetched."""
    problem: str = ""
    """Why the index could not be fetched again; if set, this is the old copy."""


def index_url(option: str | None = None, settings: RegistrySettings = RegistrySettings()) -> str:
    """The index to use: that of the option, of the environment, of the user's settings, or the public one."""
    address = option or os.environ.get(INDEX_URL) or settings.url or DEFAULT_URL
    if "://" not in address and not address.startswith("file:"):
        return Path(address).expanduser().absolute().as_uri()
    return address


def find_index(url: str, *, refresh: bool = False, offline: bool = False) -> FoundIndex:
    """The index at a URL, from the disk if that copy is fresh enough or the index cannot be fetched.

    Raises:
        RegistryError: there is no index; the message says why.
    """
    if url.startswith("file:"):
        path = _file_path(url)
        return FoundIndex(url, parse_index(_read_file(path), f"the index {path}"), 0.0)
    cache = _Cache(url)
    copy = cache.read()
    if copy is not None and not refresh:
        age = max(0.0, time.time() - copy[0].fetched_at)
        if offline or age < FRESH_FOR:
            return FoundIndex(url, parse_index(copy[1]), age)
    if offline:
        raise RegistryError("there is no copy of the index on this machine yet; run this once with a network")
    try:
        data = cache.renew(copy)
        return FoundIndex(url, parse_index(data), 0.0)
    except RegistryError as error:
        if copy is None:
            raise
        age = max(0.0, time.time() - copy[0].fetched_at)
        return FoundIndex(url, parse_index(copy[1]), age, str(error))


def _file_path(url: str) -> str:
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    return path.lstrip("/") if sys.platform == "win32" else path  # /C:/index.json


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_INDEX + 1)
    except OSError as error:
        raise RegistryError(f"the index {path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST_INDEX:
        raise RegistryError(f"the index {path} is larger than {LARGEST_INDEX} bytes")
    return data


class _Cache:
    """The copy of one index."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._directory = directories.state() / "registry"
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._data = self._directory / f"{name}.json"
        self._about = self._directory / f"{name}.about.json"

    def read(self) -> tuple[_Cached, bytes] | None:
        """The copy, if it is whole and can be read."""
        try:
            about = msgspec.json.decode(self._about.read_bytes(), type=_Cached)
            data = self._data.read_bytes()
            if about.url != self._url or hashlib.sha256(data).hexdigest() != about.sha256:
                return None
            parse_index(data)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RegistryError):
            return None
        return about, data

    def renew(self, copy: tuple[_Cached, bytes] | None) -> bytes:
        """Fetch the index if it has changed. An invalid one is not stored. Raises `RegistryError`."""
        headers: dict[str, str] = {"Accept": "application/json"}
        if copy is not None and copy[0].etag:
            headers["If-None-Match"] = copy[0].etag
        if copy is not None and copy[0].last_modified:
            headers["If-Modified-Since"] = copy[0].last_modified
        answer = fetch(self._url, limit=LARGEST_INDEX, timeout=FETCHED_WITHIN, headers=headers)
        data = answer.body
        if data is None:
            if copy is None:
                raise RegistryError(f"{self._url} says that nothing has changed, but there is no copy yet")
            data = copy[1]
        parse_index(data, f"the index {redact(self._url)}")
        about = _Cached(
            url=self._url,
            fetched_at=time.time(),
            sha256=hashlib.sha256(data).hexdigest(),
            etag=answer.headers.get("etag", copy[0].etag if copy and answer.body is None else ""),
            last_modified=answer.headers.get(
                "last-modified", copy[0].last_modified if copy and answer.body is None else ""
            ),
        )
        try:
            directories.private(self._directory)
            if answer.body is not None:
                directories.write_private(self._data, data)
            directories.write_private(self._about, msgspec.json.encode(about))
        except OSError:
            pass  # it is fetched again next time
        return data
