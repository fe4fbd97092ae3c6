"""How an index names the packages of npm and PyPI, by name and version (G-021).

Package managers take more: files, addresses, repositories, a package by another name. That would come from
another place than the npm or PyPI that is shown to the user, so nothing of it is taken here.
"""

import re
from urllib.parse import urlsplit

from .errors import InstallError

__all__ = ["origin", "split_npm", "split_pypi"]

_VERSION = re.compile(r"\d\.\d")
_NPM = re.compile(
    r"(?!.*\.(?:tgz|tar|tar.gz)(?:@|$))"  # npm takes these for files, without a slash, too
    r"((?:@[A-Za-z0-9_-][A-Za-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*)"
    r"(?:@(?:latest|([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)))?",
    re.IGNORECASE,
)
_PYPI = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]*\])?)(?:@latest|(?:==|@)([0-9][0-9A-Za-z.!+_-]*))?"
)


def split_npm(spec: str) -> tuple[str, str]:
    """Name and version of `@scope/name@1.2.3`; `@latest` is no version. Raises `InstallError`."""
    return _split(_NPM, spec)


def split_pypi(spec: str) -> tuple[str, str]:
    """Name and version of `name==1.2.3` or `name@1.2.3`; `@latest` is no version. Raises `InstallError`."""
    return _split(_PYPI, spec)


def _split(pattern: re.Pattern[str], spec: str) -> tuple[str, str]:
    match = pattern.fullmatch(spec)
    if match is None:
        raise InstallError(f"{spec!r} is not the name of a package, with one version or none")
    return match[1], match[2] or ""


def origin(kind: str, source: str) -> str:
    """Whose a source is, whatever the version: a package's name, or where archives are, such as `host/owner`.

    An update that has another one is not the program that the user once agreed to.
    """
    if kind == "npx":
        return f"the npm package {source.rpartition('@')[0] or source}"
    if kind == "uvx":
        return f"the PyPI package {source.partition('==')[0].partition('[')[0]}"
    url = urlsplit(source)
    owner = url.path.strip("/").partition("/")
    return f"archives of {url.netloc}" + (
        f"/{owner[0]}" if owner[2] and not _VERSION.search(owner[0]) else ""
    )
