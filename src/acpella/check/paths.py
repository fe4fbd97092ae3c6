"""Paths as they appear on the wire."""

import os
import re

__all__ = ["is_absolute", "same_path"]


_ANONYMOUS = re.compile(r"<(?:cwd|home|program)(?: \d+)?>(?:[/\\]|$)")


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on any system: the peer may run on a different one. A path whose beginning
    `record --anonymize` has replaced counts as absolute."""
    if _ANONYMOUS.match(path):
        return True
    return path.startswith(("/", "\\\\")) or (len(path) > 2 and path[1] == ":" and path[2] in "/\\")


def same_path(one: str, other: str) -> bool:
    """Whether two paths lead to the same place."""
    return os.path.realpath(one) == os.path.realpath(other)
