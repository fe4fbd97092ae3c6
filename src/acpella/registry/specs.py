"""How an index names the packages of npm and PyPI."""

import re

from .errors import InstallError

__all__ = ["split_npm", "split_pypi"]

_PYPI = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._ -]*\])?)(?:(?:==|@)(.+))?")


def split_npm(spec: str) -> tuple[str, str]:
    """Name and version of `@scope/name@1.2.3` (G-021)."""
    at = spec.rfind("@")
    return (spec, "") if at <= 0 else (spec[:at], spec[at + 1 :])


def split_pypi(spec: str) -> tuple[str, str]:
    """Name and version of `name==1.2.3` or `name@1.2.3`. Raises `InstallError`."""
    match = _PYPI.fullmatch(spec)
    if match is None:
        raise InstallError(f"{spec!r} is not a package with a version")
    return match[1], match[2] or ""
