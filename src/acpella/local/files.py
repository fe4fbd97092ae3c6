"""Files below given roots and nowhere else, even while somebody swaps directories on the way."""

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from .content import READ_LIMIT, read_lines, replace_content
from .names import SECRET_NAME, SECRET_PLACE, is_beneath, names_of, own_directories
from .openat import HAS_OPENAT, IsLink, enter, follow, open_file, open_listing, open_root
from .refusals import Forbidden, NotAFile, NotText, OutsideRoots, SecretPath, TooLarge

__all__ = ["Entry", "Jail"]

LINK_LIMIT = 40
"""Symbolic links followed for one path, as in Linux; without it two links to each other never end."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory. A symbolic link counts as a `link`, wherever it leads."""

    name: str
    kind: Literal["file", "directory", "link", "other"]


_T = TypeVar("_T")
_Act = Callable[[int | None, str, str], _T]
"""Does the work in the last directory: its descriptor, the name in it, the canonical path to show.

Without `openat` the descriptor is None and the name is the whole path.
"""


class _Elsewhere(Exception):
    """The path continues somewhere else, and is looked at again from the roots."""

    def __init__(self, path: str) -> None:
        self.path = path


class _Absent(Exception):
    """A directory on the way does not exist; this is what the path would be."""

    def __init__(self, path: str) -> None:
        self.path = path


class Jail:
    """Reads and writes files beneath the roots; anything that leads out of them is refused.

    Each path is walked from a root's own directory descriptor, one name at a time and never through a
    symbolic link: links are read and walked from the roots again. So links inside the roots work, and
    nothing that is swapped during a call leads out (R-152). The methods block; call them in a thread.
    A hard link to a file outside cannot be told from a file, but a write replaces the name, not that file.
    """

    def __init__(
        self,
        roots: Sequence[str | Path],
        *,
        secrets: bool = True,
        real: Sequence[str] | None = None,
        refuse: Callable[[str], str | None] | None = None,
    ) -> None:
        """Fence in these directories; relative paths start at the first.

        `secrets` refuses `SECRET_PATHS` and the directories of acpella's own settings, answers and sessions,
        for a root that holds more than a project. `real` are the real paths of the roots when somebody
        decided on them; a link that has taken the place of one since is refused. `refuse` is called with
        every path on the way, without links, and returns why it must not be touched, or None.
        """
        if isinstance(roots, str) or not roots:
            raise ValueError("a jail needs a list of at least one root directory")
        spelled = [os.path.abspath(root) for root in roots]
        self._roots = [os.path.realpath(root) for root in spelled] if real is None else list(real)
        # A root within a root is reached through the outer one: its own way in could be swapped.
        self._anchors = [
            root for root in self._roots if not any(o != root and is_beneath(root, o) for o in self._roots)
        ]
        self._aliases = list(zip(spelled, self._roots, strict=True))
        self._secrets = secrets
        self._own = own_directories(self._roots) if secrets else ()
        self._forbids = refuse

    @property
    def roots(self) -> tuple[Path, ...]:
        """The roots with their symbolic links resolved."""
        return tuple(Path(root) for root in self._roots)

    # -- what callers do ---------------------------------------------------------------------

    def resolve(self, path: str | Path) -> Path:
        """The path without links and dots, to show or to decide on; it need not exist.

        Open the path with this jail nevertheless: what it stands for may have changed meanwhile.

        Raises:
            JailError: the path is refused.
        """

        def look(directory: int | None, name: str, full_path: str) -> Path:
            with suppress(FileNotFoundError):
                if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                    raise IsLink
            return Path(full_path)

        try:
            return self._visit(path, look, missing="tell")
        except _Absent as absent:
            return Path(absent.path)

    def read_bytes(self, path: str | Path, max_bytes: int = READ_LIMIT) -> bytes:
        """The content of a file.

        Raises:
            JailError: the path is refused, or the file is larger than `max_bytes`.
            FileNotFoundError: there is no such file.
        """
        return self._read(path, None, None, max_bytes)

    def read_text(
        self,
        path: str | Path,
        *,
        line: int | None = None,
        limit: int | None = None,
        max_bytes: int = READ_LIMIT,
    ) -> str:
        """The text of a file, or `limit` lines of it from `line` on, with its line endings as they are.

        Lines count from 1, and 0 is like 1; beyond the end there is nothing (R-323). `max_bytes` is about
        what is returned, so a part of a large file can be read.

        Raises:
            JailError: the path is refused, or the text is too long or not UTF-8.
            FileNotFoundError: there is no such file.
        """
        data = self._read(path, line, limit, max_bytes)
        if b"\0" in data:
            raise NotText(f"{path} is a binary file, not text; read it as bytes")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = (
                f"byte {data[error.start]:#04x} in line {data.count(10, 0, error.start) + max(line or 1, 1)}"
            )
            raise NotText(f"{path} is not UTF-8 text ({byte}); convert it or read it as bytes") from error

    def write_text(self, path: str | Path, text: str) -> None:
        """Replace a file's content in one step, or create it with the directories it needs.

        Readers see the old or the new content, and a crash leaves one of them. An existing file keeps its
        mode, and its CRLF line endings if it has no others and the text has none. A symbolic link stays; the
        file it stands for is written.

        Raises:
            JailError: the path is refused, or the text cannot be written as UTF-8.
            PermissionError: the file is read-only.
        """
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise NotText(
                f"cannot write {path}: character {error.start} of the text is half a pair"
            ) from error
        if os.fspath(path).endswith("/"):
            raise NotAFile(f"{path} names a directory; name a file in it")

        def write(directory: int | None, name: str, full_path: str) -> None:
            replace_content(directory, name, full_path, data)

        # without dots, so that nothing is made on the way of a path that leads out again
        self._visit(self.resolve(path), write, missing="make")

    def list_dir(self, path: str | Path = ".") -> list[Entry]:
        """The names in a directory, sorted.

        Raises:
            JailError: the path is refused.
            NotADirectoryError: it is a file.
        """

        def scan(directory: int | None, name: str, full_path: str) -> list[Entry]:
            if directory is None:
                with os.scandir(name) as entries:
                    return [_entry(each) for each in entries]
            fd = open_listing(directory, name, full_path)
            try:
                with os.scandir(fd) as entries:
                    return [_entry(each) for each in entries]
            finally:
                os.close(fd)

        return sorted(self._visit(path, scan, missing="raise"), key=lambda entry: entry.name)

    def _read(self, path: str | Path, line: int | None, limit: int | None, max_bytes: int) -> bytes:
        def read(directory: int | None, name: str, full_path: str) -> bytes:
            with os.fdopen(open_file(directory, name, full_path, os.O_RDONLY), "rb", buffering=0) as file:
                data = read_lines(file, max(line or 1, 1), limit, max_bytes)
                if data is None:
                    part = "a part of it with `line` and `limit`" if limit is None else "fewer lines"
                    raise TooLarge(f"{path} has more than {max_bytes} bytes to read; read {part}")
                return data

        return self._visit(path, read, missing="raise")

    # -- how a path is walked ----------------------------------------------------------------

    def _visit(self, path: str | Path, act: _Act[_T], *, missing: Literal["raise", "make", "tell"]) -> _T:
        requested = os.fspath(path)
        _check_spelling(requested)
        here = os.path.join(self._roots[0], requested)
        for _ in range(LINK_LIMIT):
            anchor, names = self._place(here, requested)
            self._refuse(os.path.normpath(os.path.join(anchor, *names)), requested)
            try:
                if not HAS_OPENAT:
                    return self._descend_simply(os.path.join(anchor, *names), requested, act, missing)
                return self._descend(anchor, names, requested, act, missing)
            except _Elsewhere as elsewhere:
                here = elsewhere.path
        raise NotAFile(f"{requested} goes through too many symbolic links; name the file itself")

    def _place(self, path: str, requested: str) -> tuple[str, list[str]]:
        """The outermost root of an absolute path, and the names that lead on from there."""
        for spelled, root in self._aliases:
            if is_beneath(path, spelled):
                path = os.path.join(root, *names_of(path)[len(names_of(spelled)) :])
                break
        for anchor in self._anchors:
            if is_beneath(path, anchor):
                return anchor, names_of(path)[len(names_of(anchor)) :]
        # Another name for a place inside, perhaps. This only finds a name, which is walked like any other.
        real = os.path.realpath(path)
        for anchor in self._anchors:
            if is_beneath(real, anchor):
                return anchor, names_of(real)[len(names_of(anchor)) :]
        raise self._outside(requested)

    def _outside(self, requested: str) -> OutsideRoots:
        roots = ", ".join(self._roots)
        return OutsideRoots(
            f"{requested} is outside of {roots}; use a path inside, or add its directory to the roots"
        )

    def _refuse(self, path: str, requested: str) -> None:
        if self._forbids is not None and (why := self._forbids(path)):
            raise Forbidden(f"{requested} {why}")
        if not self._secrets:
            return
        root = max((root for root in self._roots if is_beneath(path, root)), key=len, default=None)
        if root is None:  # dots lead out of it; the walk will tell
            return
        below = "/".join(["", *names_of(path)[len(names_of(root)) :], ""]).casefold()
        whole, home = "/".join(["", *names_of(path), ""]), "/".join(["", *names_of(root), ""])
        if any(is_beneath(path.casefold(), own.casefold()) for own in self._own):
            raise SecretPath(
                f"{requested} is not touched: it belongs to acpella, which keeps there what agents may do; "
                "it is changed by hand or by acpella's commands"
            )
        if SECRET_NAME.search(below) or (SECRET_PLACE.match(whole) and not SECRET_PLACE.match(home)):
            raise SecretPath(
                f"{requested} may hold keys or passwords and is not touched; if it must be, ask the user, "
                "who can allow secret paths"
            )

    def _descend(self, anchor: str, names: list[str], requested: str, act: _Act[_T], missing: str) -> _T:
        fds = [open_root(anchor)]
        directories: list[str] = []
        try:
            for index, name in enumerate(names):
                rest = names[index + 1 :]
                if name == "..":
                    if not directories:
                        raise _Elsewhere(os.path.join(os.path.dirname(anchor), *rest))
                    directories.pop()
                    os.close(fds.pop())  # the parent we came through, wherever the directory is by now
                    continue
                full_path = os.path.join(anchor, *directories, name)
                if not rest or not any(
                    is_beneath(root, full_path) for root in self._roots
                ):  # on the way to a root
                    self._refuse(full_path, requested)
                try:
                    if not rest:
                        return act(fds[-1], name, full_path)
                    fds.append(enter(fds[-1], name, full_path, make=missing == "make"))
                    directories.append(name)
                except FileNotFoundError:
                    if missing != "tell":
                        raise
                    path = os.path.join(full_path, *rest)
                    raise _Elsewhere(os.path.normpath(path)) if ".." in rest else _Absent(path) from None
                except IsLink:
                    raise _Elsewhere(os.path.join(follow(fds[-1], name, full_path), *rest)) from None
            return act(fds[-1], ".", os.path.join(anchor, *directories))
        finally:
            for fd in fds:
                os.close(fd)

    def _descend_simply(self, path: str, requested: str, act: _Act[_T], missing: str) -> _T:
        """For systems without `openat`: look, then open. Links swapped in between are not noticed."""
        real = os.path.realpath(path)
        if not any(is_beneath(real, root) for root in self._roots):
            raise self._outside(requested)
        self._refuse(real, requested)
        if missing == "make":
            os.makedirs(os.path.dirname(real), exist_ok=True)
        try:
            return act(None, real, real)
        except IsLink:
            raise _Elsewhere(real) from None


def _check_spelling(path: str) -> None:
    if not path:
        raise NotAFile("the path is empty; name a file")
    if "\0" in path:
        raise NotAFile(f"{path!r} contains a NUL character, which no file name can")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise NotAFile(f"{path!r} contains a character that no file name can") from None


def _entry(item: "os.DirEntry[str]") -> Entry:
    if item.is_symlink():
        return Entry(item.name, "link")
    if item.is_dir(follow_symlinks=False):
        return Entry(item.name, "directory")
    return Entry(item.name, "file" if item.is_file(follow_symlinks=False) else "other")
