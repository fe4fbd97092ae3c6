"""What is in a file: a part of its lines, or new content in its place in one step."""

import os
import stat
import sys
from contextlib import suppress
from typing import BinaryIO

from .openat import FILE_FLAGS, open_file

__all__ = ["READ_LIMIT", "read_lines", "replace_content"]

READ_LIMIT = 10 * 1024 * 1024
"""Bytes that one read returns at most; without it one log file fills the memory and the model's context."""

CHUNK = 64 * 1024


def read_lines(file: BinaryIO, first: int, limit: int | None, max_bytes: int) -> bytes | None:
    """The lines from `first` on, None if they are more than `max_bytes`; holds little more than that."""
    chunk = b""
    skip = first - 1
    while skip:
        chunk = file.read(CHUNK)
        if not chunk:
            return b""
        ends = chunk.count(b"\n")
        if ends >= skip:
            chunk = chunk[_after_lines(chunk, skip) :]
            break
        skip -= ends
    text = bytearray()
    while limit is None or limit > 0:
        chunk = chunk or file.read(CHUNK)
        if not chunk:
            break
        if limit is not None:
            ends = chunk.count(b"\n")
            if ends >= limit:
                chunk = chunk[: _after_lines(chunk, limit)]
            limit = max(limit - ends, 0)
        text += chunk
        if len(text) > max_bytes:
            return None
        chunk = b""
    return bytes(text)


def _after_lines(data: bytes, count: int) -> int:
    end = 0
    for _ in range(count):
        end = data.index(b"\n", end) + 1
    return end


def replace_content(directory: int | None, name: str, full_path: str, data: bytes) -> None:
    """Put new content in a file's place: a new file beside it, then a rename over it."""
    old: os.stat_result | None = None
    with suppress(FileNotFoundError):
        # Opened for writing, although a rename needs no right to: read-only files stay as they are.
        with os.fdopen(open_file(directory, name, full_path, os.O_RDWR), "rb", buffering=0) as file:
            old = os.fstat(file.fileno())
            if b"\n" in data and b"\r" not in data and _has_only_crlf(file.read(READ_LIMIT)):
                data = data.replace(b"\n", b"\r\n")
    temporary = os.path.join(os.path.dirname(name), f".acpella-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE_FLAGS
    fd = os.open(temporary, flags, 0o666 if old is None else 0o600, dir_fd=directory)
    try:
        try:
            _write_all(fd, data)
            if old is not None:
                _keep_owner_and_mode(fd, old)
            os.fsync(fd)
        finally:
            os.close(fd)
        if directory is None:
            os.replace(temporary, name)
        else:
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _keep_owner_and_mode(fd: int, old: os.stat_result) -> None:
    if sys.platform == "win32":
        return  # what a new file gets from its directory is all there is
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)  # a write takes the set-user-id bit, as it always does


def _has_only_crlf(data: bytes) -> bool:
    return data.count(b"\n") == data.count(b"\r\n") > 0
