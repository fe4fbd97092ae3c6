"""Rules: what an agent may or may not do, by kind of tool and by path."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast, get_args

from acpella.schema import Diff, ToolCallUpdate, ToolKind

__all__ = ["Rule"]

_KINDS: tuple[str, ...] = get_args(ToolKind)

_ONE_CASE = sys.platform in ("darwin", "win32")
"""Whether `Secret.txt` and `secret.txt` are usually one file; a deny rule then covers both."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows or denies by kind of tool and by path; a deny rule always wins.

    Raises:
        ValueError, TypeError: it could never do what it says; a rule that is not understood protects nobody.
    """

    decision: Literal["allow", "deny"]
    kinds: Sequence[str] = ()
    """Kinds of tools (`read`, `edit`, `execute`, …); empty for all."""
    paths: Sequence[str | os.PathLike[str]] = ()
    """Globs; empty for all. A rule that allows wants each path of the call to match one of them; to one that
    denies, a single path that matches is enough.

    `*` stands for any characters, slashes too, and what matches a directory covers all that is in it.
    A name (`notes.txt`) is meant at any depth below the session's directories, a relative path (`docs/api`)
    from one of them on, and a glob that begins with `/` or `*` is compared with the whole path.
    """

    def __post_init__(self) -> None:
        if self.decision not in ("allow", "deny"):
            raise ValueError(f"a rule is 'allow' or 'deny', not {self.decision!r}")
        for name in ("kinds", "paths"):
            value: Any = getattr(self, name)
            if isinstance(value, str | bytes | os.PathLike) or not isinstance(value, Iterable):
                raise TypeError(f"{name} of a rule is a list, such as {name}=[{value!r}], not {value!r}")
        kinds = tuple(self.kinds)
        for kind in kinds:
            if kind not in _KINDS:
                from difflib import get_close_matches

                near = get_close_matches(str(kind), _KINDS, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise ValueError(f"no kind of tool {kind!r}{hint}; there are: {', '.join(_KINDS)}")
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "paths", tuple(_glob(path) for path in self.paths))

    def matches(self, call: ToolCallUpdate, roots: Sequence[str | Path] = ()) -> bool:
        """Whether it is about this call; `roots` are the session's directories."""
        paths = [location.path for location in call.locations or []]
        paths += [part.path for part in call.content or [] if isinstance(part, Diff)]
        return self.covers(call.kind or "other", paths, roots)

    def covers(self, kind: str, paths: Sequence[str], roots: Sequence[str | Path] = ()) -> bool:
        """Whether it is about such a use of these paths."""
        if self.kinds and kind not in self.kinds:
            return False
        if not self.paths:
            return True
        deny = self.decision == "deny"
        bases = list(dict.fromkeys(base for root in roots for base in (str(root), os.path.realpath(root))))
        # some agents send relative paths, against the protocol; `a/../b` becomes `b`
        whole_paths = [os.path.normpath(os.path.join(bases[0], path) if bases else path) for path in paths]
        if deny:  # a denied path may hide behind a link; an allowed one counts by its name alone
            whole_paths = list(dict.fromkeys([*whole_paths, *map(os.path.realpath, whole_paths)]))
        globs = cast("Sequence[str]", self.paths)
        covered = [any(_glob_covers(glob, path, bases, deny=deny) for glob in globs) for path in whole_paths]
        # an allowed call stays inside the globs; a denied one only has to touch them
        return bool(covered) and (any(covered) if deny else all(covered))


def _glob(path: Any) -> str:
    """A glob without detours. Raises if nothing could ever match it."""
    glob: Any = os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path
    if not isinstance(glob, str) or not glob.strip():
        raise ValueError(f"a path of a rule is a glob such as 'docs/*' or '/srv/site/*', not {path!r}")
    glob = os.path.normpath(os.path.expanduser(glob))
    if glob == ".." or glob.startswith(".." + os.sep):
        raise ValueError(f"{path!r} leads out of the session's directory; give the rule the whole path")
    return glob


def _glob_covers(glob: str, path: str, bases: Sequence[str], *, deny: bool) -> bool:
    if os.path.isabs(glob):
        return any(_matches(part, glob, deny=deny) for part in _upwards(path))
    if glob.startswith("*") and _matches(path, glob, deny=deny):
        return True
    inside = [(base, os.path.relpath(path, base)) for base in bases if _beneath(path, base)]
    if glob == ".":
        return bool(inside)
    if os.sep not in glob:
        # outside of the session's directories a name is still denied, but never allowed
        relative_paths = [relative for _, relative in inside] or ([path] if deny else [])
        return any(
            _matches(name, glob, deny=deny) for relative in relative_paths for name in relative.split(os.sep)
        )
    if glob.startswith("*"):
        joined = [os.path.join(base, part) for base, relative in inside for part in _upwards(relative)]
        return any(_matches(each, glob, deny=deny) for each in joined or (_upwards(path) if deny else ()))
    return any(_matches(part, glob, deny=deny) for _, relative in inside for part in _upwards(relative))


def _matches(path: str, glob: str, *, deny: bool) -> bool:
    if deny and _ONE_CASE:
        path, glob = path.casefold(), glob.casefold()
    # `a/**/b` is also `a/b`, as in the files of git
    return fnmatchcase(path, glob) or ("/**/" in glob and fnmatchcase(path, glob.replace("/**/", "/")))


def _upwards(path: str) -> list[str]:
    """The path, and the directories that it is in."""
    paths = [path]
    while (parent := os.path.dirname(path)) not in ("", path):
        paths.append(path := parent)
    return paths


def _beneath(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip(os.sep) + os.sep)
