"""The environment of programs that acpella starts: ours without the secrets that are ours alone."""

import os
import re
from collections.abc import Mapping

__all__ = ["inherited_environment", "is_own_secret"]

_PASSWORD = re.compile(r"://[^/@\s]*:[^@\s]*@|[?&\s](?:ssl)?password=", re.IGNORECASE)


def inherited_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child inherits: every variable that is not a secret of acpella's own."""
    every = os.environ if environ is None else environ
    return {name: value for name, value in every.items() if not is_own_secret(name, value)}


def is_own_secret(name: str, value: str) -> bool:
    """Whether a variable opens one of our servers, or holds the password of our session database.

    Keys of models are not meant: agents need them.
    """
    upper = name.upper()  # Windows does not tell them apart
    return upper.startswith("ACPELLA_TOKEN") or (
        upper.startswith("ACPELLA_") and _PASSWORD.search(value) is not None
    )
