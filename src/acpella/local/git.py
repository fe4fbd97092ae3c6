"""Asks git about a repository without running what the repository says.

Whoever unpacks an archive gets its `.git/config`, too, and git runs several programs that are named there.
"""

from acpella._processes import inherited_environment

__all__ = ["LIST_FILES", "git_environment"]

LIST_FILES = (
    *("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard"),
)
"""Lists what git tracks or does not ignore; run it with `git_environment`."""


def git_environment() -> dict[str, str]:
    """The variables for git: it uses the repository that it is started in, and fetches nothing for it.

    An object that is missing may be fetched from a remote, by a program that the repository names. Older gits
    know the last variable alone: no way to fetch is allowed.
    """
    ours = {name: value for name, value in inherited_environment().items() if not name.startswith("GIT_")}
    return ours | {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
