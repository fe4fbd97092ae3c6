"""Opens a name in an open directory, never through a symbolic link: one step on the way of a path."""

import errno
import os
import stat
from contextlib import suppress

from .names import names_of
from .refusals import NotAFile, OutsideRoots

__all__ = [
    "FILE_FLAGS",
    "HAS_OPENAT",
    "IsLink",
    "enter",
    "follow",
    "open_file",
    "open_listing",
    "open_root",
]

_CALLS = {os.open, os.stat, os.mkdir, os.readlink, os.rename, os.unlink}

HAS_OPENAT = hasattr(os, "O_NOFOLLOW") and _CALLS <= os.supports_dir_fd
"""Whether this system opens names in an open directory."""

_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
FILE_FLAGS: int = (
    _NOFOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""O_NONBLOCK: a pipe that takes a file's place must not hang the thread."""
_DIRECTORY: int = (
    _NOFOLLOW
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_PATH", os.O_RDONLY)
)
"""O_PATH, where there is one: to pass through a directory takes no right to list it."""

_IS_LINK = {errno.ELOOP, errno.EMLINK}
"""What systems say when O_NOFOLLOW meets a symbolic link; with O_DIRECTORY it can be ENOTDIR."""


class IsLink(Exception):
    """The last name is a symbolic link."""


def open_root(root: str) -> int:
    """Open a root without following links: it must still be where it was found."""
    if not hasattr(os, "O_PATH"):
        # to pass through others' directories would take the right to read
        return os.open(root, _DIRECTORY)
    at = os.open("/", _DIRECTORY)
    for name in names_of(root):
        above = at
        try:
            at = os.open(name, _DIRECTORY, dir_fd=above)
        except OSError as error:
            if error.errno in _IS_LINK or error.errno == errno.ENOTDIR:
                raise OutsideRoots(f"{root} is not the directory any more that it was") from None
            raise
        finally:
            os.close(above)
    return at


def enter(directory: int, name: str, full_path: str, *, make: bool) -> int:
    """A descriptor of a directory in another."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise FileNotFoundError(errno.ENOENT, "no such directory", full_path) from None
    except OSError as error:
        raise _why_not_entered(error, directory, name, full_path) from None
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=directory)
    return enter(directory, name, full_path, make=False)


def open_listing(directory: int, name: str, full_path: str) -> int:
    """A descriptor of a directory in another, to read the names in it."""
    try:
        return os.open(name, _DIRECTORY & ~getattr(os, "O_PATH", 0), dir_fd=directory)
    except OSError as error:
        raise _why_not_entered(error, directory, name, full_path) from None


def _why_not_entered(error: OSError, directory: int, name: str, full_path: str) -> Exception:
    if error.errno in _IS_LINK:
        return IsLink()
    if error.errno == errno.ENOTDIR:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode) or stat.S_ISDIR(mode):  # a directory by now: the link was taken away
            return IsLink()
    return OSError(error.errno, error.strerror, full_path)


def follow(directory: int, name: str, full_path: str) -> str:
    """Where a link leads; the same path, to try again, if it is no longer a link."""
    try:
        return os.path.join(os.path.dirname(full_path), os.readlink(name, dir_fd=directory))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return full_path


def open_file(directory: int | None, name: str, full_path: str, flags: int) -> int:
    """A descriptor of a regular file; looked at before, as opening a device can have effects, and after."""
    try:
        _check_kind(os.stat(name, dir_fd=directory, follow_symlinks=False), full_path)
        fd = os.open(name, flags | FILE_FLAGS, dir_fd=directory)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file", full_path) from None
    except OSError as error:
        if error.errno in _IS_LINK:
            raise IsLink from None
        raise OSError(error.errno, error.strerror, full_path) from None
    try:
        _check_kind(os.fstat(fd), full_path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_kind(status: os.stat_result, full_path: str) -> None:
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise IsLink
    if stat.S_ISDIR(mode):
        raise NotAFile(f"{full_path} is a directory; name a file in it")
    if not stat.S_ISREG(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise NotAFile(f"{full_path} is a {kind}; only regular files can be read and written")
