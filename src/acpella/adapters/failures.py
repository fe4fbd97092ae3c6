"""What went wrong in a framework or at a model's provider, in one sentence for the user."""

import logging
from typing import cast

from acpella._redact import redact
from acpella.errors import AcpellaError, InternalError

__all__ = ["explained", "turn_failure"]

log: logging.Logger = logging.getLogger(__name__)

LONGEST = 500
"""Characters of a message; providers quote whole requests."""


def turn_failure(error: Exception, framework: str) -> Exception:
    """The error that answers the prompt: one of ours unchanged, any other as a sentence, not a traceback."""
    inner = _unwrapped(error)
    if isinstance(inner, AcpellaError):
        return inner
    log.error("%s failed", framework, exc_info=error)
    return InternalError(explained(inner))


def explained(error: BaseException) -> str:
    """The kind and message of an error in one line, shortened and without secrets."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    sentence = f"{kind}: {text}" if text else kind
    sentence = redact(sentence)
    return sentence if len(sentence) <= LONGEST else sentence[: LONGEST - 1] + "…"


def _unwrapped(error: BaseException) -> BaseException:
    """The error inside a group that holds only one."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(inner) != 1:
            break
        error = inner[0]
    return cast("BaseException", error)
