"""Paths as they are shown: from the directory that the session is about."""

from .clean import one_line

__all__ = ["relative_path", "short_path"]


def short_path(path: str, cwd: str) -> str:
    """Relative to where the user is, if it is beneath."""
    return one_line(relative_path(path, cwd), 200)


def relative_path(path: str, cwd: str) -> str:
    """The same without cutting or cleaning it."""
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
