"""Getting files over https: bounded in time and size, with progress."""

import errno
import hashlib
import http.client
import ipaddress
import os
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import IO, Any, Protocol

from acpella._redact import redact
from acpella._version import __version__

from .errors import InstallError, RegistryError, Unreachable

__all__ = ["Progress", "Quiet", "Response", "check_url", "download", "fetch", "reach"]

STALLED_AFTER = 30.0
"""Seconds to wait for a byte. Without a limit, a dead server would be waited for forever."""

DOWNLOADED_WITHIN = 1800.0
"""Seconds for a whole archive: 200 MB over a slow line."""

LARGEST_ARCHIVE = 1024 * 1024 * 1024
"""Bytes; a server that sends more would fill the disk."""

CHUNK = 256 * 1024

TRIES = 3
"""How often `reach` asks whether a file is there."""


class Progress(Protocol):
    """Receives reports of progress."""

    def step(self, text: str) -> None:
        """A step begins, such as "download"."""

    def bytes(self, done: int, total: int | None) -> None:
        """`done` bytes of the step are done."""


class Quiet:
    """Reports progress to nobody."""

    def step(self, text: str) -> None: ...

    def bytes(self, done: int, total: int | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered; `body` is None if the file has not changed since the last fetch."""

    body: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def check_url(url: str) -> None:
    """Refuse a URL that is not https; on this machine http is accepted. Raises `RegistryError`."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname and _is_loopback(parts.hostname):
        return
    raise RegistryError(f"{redact(url)} is not an https URL")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to https, where nobody can change the answer on its way, and never from another
    machine to this one."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:  # type: ignore[override] - the stub has HTTPMessage
        check_url(newurl)
        if _is_loopback(urllib.parse.urlsplit(newurl).hostname or "") and not _is_loopback(
            urllib.parse.urlsplit(req.full_url).hostname or ""
        ):
            raise RegistryError(f"{redact(req.full_url)} redirects to this machine, which is refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _open(url: str, headers: Mapping[str, str], timeout: float, *, method: str = "GET") -> Any:
    check_url(url)
    opener = urllib.request.build_opener(_Redirects)
    all_headers = {"User-Agent": f"acpella/{__version__}", **headers}
    request = urllib.request.Request(url, headers=all_headers, method=method)
    return opener.open(request, timeout=timeout)


def reach(url: str) -> None:
    """Check that a file is there, without downloading it. A busy or silent server is asked three times.

    Raises:
        RegistryError: the file is not there, or the server does not answer; the message says why.
    """
    problem = ""
    for _ in range(TRIES):
        try:
            _request_head(url)
            return
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"{redact(url)} answers with {error.code} {error.reason}"
            if error.code < 500 and error.code != 429:
                break
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = f"{redact(url)} cannot be reached: {_reason(error, STALLED_AFTER)}"
    raise RegistryError(problem)


def _request_head(url: str) -> None:
    try:
        _open(url, {}, STALLED_AFTER, method="HEAD").close()
    except urllib.error.HTTPError as error:
        if error.code not in (403, 405):  # some servers support only GET
            raise
        error.close()
        _open(url, {}, STALLED_AFTER).close()


def fetch(url: str, *, limit: int, timeout: float, headers: Mapping[str, str] | None = None) -> Response:
    """Fetch a small file.

    Raises:
        RegistryError: the file cannot be fetched; the message says why.
    """
    deadline = time.monotonic() + timeout
    try:
        with _open(url, headers or {}, timeout) as answer:
            body = bytearray()
            while chunk := answer.read1(CHUNK):
                body += chunk
                if len(body) > limit:
                    raise RegistryError(f"{redact(url)} is larger than {limit} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError
            _check_length(answer, len(body))
            return Response(bytes(body), {name.lower(): value for name, value in answer.headers.items()})
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 304:
                return Response(None, {name.lower(): value for name, value in error.headers.items()})
        raise Unreachable(f"{redact(url)} answers with {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(f"{redact(url)} cannot be reached: {_reason(error, timeout)}") from None


def download(url: str, path: Path, progress: Progress, *, limit: int = LARGEST_ARCHIVE) -> str:
    """Download a file to the disk; returns its SHA-256. An incomplete file is deleted.

    Raises:
        InstallError: the file cannot be downloaded; the message says why.
    """
    deadline = time.monotonic() + DOWNLOADED_WITHIN
    try:
        with _open(url, {}, STALLED_AFTER) as answer, open(path, "xb") as file:
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            if total is not None and total > limit:
                raise InstallError(f"{redact(url)} is {total} bytes long; more than {limit} are refused")
            digest, done = hashlib.sha256(), 0
            progress.bytes(0, total)
            while chunk := answer.read1(CHUNK):
                done += len(chunk)
                if done > limit:
                    raise InstallError(f"{redact(url)} is longer than {limit} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError
                digest.update(chunk)
                file.write(chunk)
                progress.bytes(done, total)
            _check_length(answer, done)
            file.flush()
            os.fsync(file.fileno())
            return digest.hexdigest()
    except urllib.error.HTTPError as error:
        error.close()
        path.unlink(missing_ok=True)
        raise Unreachable(f"{redact(url)} answers with {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        path.unlink(missing_ok=True)
        is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        raise (InstallError if is_full else Unreachable)(
            f"{redact(url)} cannot be downloaded: {_reason(error, STALLED_AFTER)}; nothing was installed"
        ) from None
    except RegistryError:
        path.unlink(missing_ok=True)
        raise


def _check_length(answer: Any, done: int) -> None:
    """Raise if the answer is shorter than announced: `read1` does not notice that a connection was cut."""
    length = answer.headers.get("Content-Length", "")
    if length.isdecimal() and done < int(length):
        raise ConnectionError(f"the connection was cut after {done} of {length} bytes")


def _reason(error: BaseException, timeout: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {timeout:g} s"
    if isinstance(cause, socket.gaierror):
        return "the name of the server cannot be resolved; are you offline?"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
