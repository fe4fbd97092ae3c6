"""Unpacks untrusted archives: nothing lands outside, nothing grows without end (G-033, G-034)."""

import bz2
import gzip
import os
import stat
import sys
import tarfile
import time
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from .errors import InstallError, UnsafeArchive

__all__ = ["archive_format", "find_program", "program_path", "unpack"]

LARGEST_TREE = 2 * 1024 * 1024 * 1024
"""Bytes of all files together; a bomb would fill the disk."""

MAX_FILES = 100_000
LARGEST_RATIO = 200
"""How many times larger than its archive a tree may be; real programs are three to six times as large."""

ALWAYS_ALLOWED = 16 * 1024 * 1024
"""Bytes that any archive may unpack to, however small it is: a long file of zeros is not a bomb yet."""

LARGEST_READ = 4 * 1024 * 1024
"""Bytes of a tar header; tarfile reads it whole, so that a forged length would take all memory."""

UNPACKED_WITHIN = 600.0
CHUNK = 1024 * 1024

_FORMATS = {
    ".zip": "zip",
    ".tar.gz": "gz",
    ".tgz": "gz",
    ".tar.bz2": "bz2",
    ".tbz2": "bz2",
    ".tar": "tar",
}
_INSTALLERS = (".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage")
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression that zipfile does not know
    RuntimeError,  # an encrypted member
    UnicodeError,
    ValueError,
)


def archive_format(url: str) -> str:
    """`zip`, `gz`, `bz2`, `tar`, or `file` for a bare program.

    Raises:
        InstallError: it is an installer, which would have to be run.
    """
    name = urllib.parse.unquote(urllib.parse.urlsplit(url).path).lower()
    for ending in _INSTALLERS:
        if name.endswith(ending):
            raise InstallError(f"{ending} is an installer for other programs, not an archive")
    return next((kind for ending, kind in _FORMATS.items() if name.endswith(ending)), "file")


def program_path(cmd: str) -> str:
    """The path of an agent's program below its files: `./bin\\x.exe` is `bin/x.exe`.

    Raises:
        InstallError: the path leads outside.
    """
    parts = [part for part in cmd.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or cmd.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise InstallError(f"the command {cmd!r} is not inside the agent's own files")
    return "/".join(parts)


def unpack(archive: Path, kind: str, into: Path, *, cmd: str = "") -> int:
    """Unpack an archive into an empty directory; returns the number of files.

    Raises:
        UnsafeArchive: something in it would leave the directory, or it is a bomb.
        InstallError: it is damaged.
    """
    into.mkdir(parents=True, exist_ok=True)
    tree = _Tree(into, archive.stat().st_size)
    try:
        if kind == "file":
            with open(archive, "rb") as source:
                tree.add_file(program_path(cmd), source.read, 0o755)
        elif kind == "zip":
            _unzip(archive, tree)
        else:
            _untar(archive, kind, tree)
        tree.finish()
    except InstallError:
        raise
    except _BROKEN as error:
        raise InstallError(f"the archive is damaged: {error or type(error).__name__}") from None
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, gzip.BadGzipFile) or error.errno is None:
            raise InstallError(f"the archive is damaged: {reason}") from None
        raise InstallError(f"the archive cannot be unpacked: {reason}") from None
    return tree.files


def find_program(files: Path, path: str) -> tuple[str, bool]:
    """Where the program is, and whether that is where the entry says. Elsewhere, its name must be unique.

    Raises:
        InstallError: there is none, or there are several.
    """
    program = path if (files / path).is_file() or sys.platform != "win32" else f"{path}.exe"
    if (files / program).is_file():
        return program, True
    file_name = path.rpartition("/")[2]
    hits = [
        Path(place, name).relative_to(files).as_posix()
        for place, _, names in os.walk(files)
        for name in names
        if name == file_name
    ]
    if len(hits) != 1:
        elsewhere = f"{len(hits)} files of that name elsewhere" if hits else "no file of that name elsewhere"
        raise InstallError(f"the archive has no {path}, and {elsewhere}")
    return hits[0], False


class _Tree:
    """Writes the files, and refuses everything that is not plainly harmless."""

    def __init__(self, root: Path, archive_size: int) -> None:
        self.files = 0
        self._members = 0
        self._root = root
        self._bytes = 0
        self._limit = min(LARGEST_TREE, max(ALWAYS_ALLOWED, LARGEST_RATIO * archive_size))
        self._links: list[tuple[str, str]] = []
        self._names: set[str] = set()
        self._folds = sys.platform in ("win32", "darwin")
        self._deadline = time.monotonic() + UNPACKED_WITHIN

    def take(self, count: int) -> None:
        """Count bytes against the limit."""
        self._bytes += count
        if self._bytes > self._limit:
            raise UnsafeArchive(f"the archive would become larger than {self._limit} bytes: it is a bomb")
        if time.monotonic() > self._deadline:
            raise InstallError(f"the archive was not unpacked within {UNPACKED_WITHIN:g} s")

    def _place(self, name: str) -> tuple[Path, str]:
        """Where a member goes, on the disk and in the tree. Links are made last, so no path crosses one."""
        if "\0" in name or name.startswith(("/", "\\")):
            raise UnsafeArchive(f"the archive has a file with an absolute path: {name!r}")
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if ".." in parts or any(":" in part for part in parts[:1]):
            raise UnsafeArchive(f"the archive has a file that would land outside: {name!r}")
        return self._root.joinpath(*parts), "/".join(parts)

    def _count(self) -> None:
        self._members += 1
        if self._members > MAX_FILES:
            raise UnsafeArchive(f"the archive has more than {MAX_FILES} files")
        self.take(64)  # empty files fill a disk, too

    def _claim(self, path: str, name: str) -> None:
        self._count()
        self.files += 1
        key = path.casefold() if self._folds else path
        if not path or key in self._names:
            raise UnsafeArchive(f"the archive has two files of one name: {name!r}")
        self._names.add(key)

    def add_directory(self, name: str) -> None:
        place, _ = self._place(name)
        self._count()
        place.mkdir(parents=True, exist_ok=True)

    def add_file(self, name: str, read: Callable[[int], bytes], mode: int) -> None:
        place, path = self._place(name)
        self._claim(path, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        # never setuid; always readable and writable by the user
        mode = 0o600 | (mode & 0o055) | (0o100 if mode & 0o111 else 0)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "wb") as file:
            while chunk := read(CHUNK):
                self.take(len(chunk))
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())

    def add_link(self, name: str, target: str) -> None:
        """Note a symbolic link, which is made once all files are there."""
        _, path = self._place(name)
        self._claim(path, name)
        if not target or "\0" in target or target.startswith(("/", "\\")) or ":" in target[:2]:
            raise UnsafeArchive(f"the archive has a link that leaves it: {name!r} to {target!r}")
        self._links.append((path, target))

    def add_copy(self, name: str, target: str) -> None:
        """Write a hard link as a copy of its target, which must be there already."""
        source, _ = self._place(target)
        if not source.is_file() or source.is_symlink():
            raise UnsafeArchive(f"the archive has a link to what is not in it: {name!r} to {target!r}")
        with open(source, "rb") as file:
            self.add_file(name, file.read, source.stat().st_mode)

    def finish(self) -> None:
        """Make the links, and check where they lead on the disk: a `..` after a link is not what it seems.

        No link is made behind another one, which may lead outside: only when all are there is that known.
        """
        root = os.path.realpath(self._root)
        for path, target in self._links:
            place = Path(root, path)
            if os.path.normcase(os.path.realpath(place.parent)) != os.path.normcase(place.parent):
                raise UnsafeArchive(f"the archive has a link behind a link: {path!r} to {target!r}")
            place.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target.replace("\\", "/"), place)
        for path, target in self._links:
            real = os.path.realpath(self._root / path)
            if real != root and not real.startswith(root + os.sep):
                raise UnsafeArchive(f"the archive has a link that leaves it: {path!r} to {target!r}")


def _unzip(archive: Path, tree: _Tree) -> None:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            mode = member.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if member.is_dir():
                tree.add_directory(member.filename)
            elif kind == stat.S_IFLNK:
                with file.open(member) as source:
                    tree.add_link(member.filename, source.read(4096).decode())
            elif kind in (0, stat.S_IFREG):
                with file.open(member) as source:
                    tree.add_file(member.filename, source.read, mode or 0o644)
            else:
                raise UnsafeArchive(f"the archive has a device: {member.filename!r}")


def _untar(archive: Path, kind: str, tree: _Tree) -> None:
    opened: dict[str, Callable[[Path], Any]] = {
        "gz": lambda path: gzip.open(path, "rb"),
        "bz2": lambda path: bz2.open(path, "rb"),
        "tar": lambda path: open(path, "rb"),
    }
    with (
        opened[kind](archive) as stream,
        tarfile.open(fileobj=cast("IO[bytes]", _Bounded(stream)), mode="r:") as file,
    ):  # `_Bounded` has the methods that tarfile uses
        for member in file:
            if member.isdir():
                tree.add_directory(member.name)
            elif member.issym():
                tree.add_link(member.name, member.linkname)
            elif member.islnk():
                tree.add_copy(member.name, member.linkname)
            elif member.isfile() and not member.issparse():
                source = file.extractfile(member)
                assert source is not None
                with source:
                    tree.add_file(member.name, source.read, member.mode)
            else:
                raise UnsafeArchive(f"the archive has a device or the like: {member.name!r}")


class _Bounded:
    """A stream that refuses to read too much at once."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > LARGEST_READ:
            raise UnsafeArchive("the archive has a header of many megabytes: it is a bomb")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset > LARGEST_TREE + MAX_FILES * 1024:  # a seek decompresses everything up to there
            raise UnsafeArchive("the archive has a member without end: it is a bomb")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True
