"""Where an agent's log goes: a file, because editors show what comes on stderr as errors."""

import logging
import logging.handlers
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acpella import _directories as directories

__all__ = ["logging_failures", "set_up_logging"]

log: logging.Logger = logging.getLogger(__name__)

MAX_LOG = 1024 * 1024
"""Bytes of a log file; one older file is kept."""


@contextmanager
def logging_failures(name: str) -> Generator[Path | None]:
    """Set up logging; what the block raises stands in the file, too, because editors may hide stderr."""
    path = set_up_logging(name)
    try:
        yield path
    except Exception:
        if path is not None:
            log.exception("the agent %s ended with an error", name)
        raise


def set_up_logging(name: str) -> Path | None:
    """Log to `$ACPELLA_LOG` ("stderr", "off", or a path), to a terminal if there is one, or to a file.

    `$ACPELLA_LOG_LEVEL` says how much. Does nothing if the program has set up logging itself. Gives the path
    of the file, if it is one.
    """
    logger = logging.getLogger("acpella")
    for handler in logger.handlers:  # set up before
        if isinstance(handler, logging.handlers.RotatingFileHandler):
            return Path(handler.baseFilename)
    if logging.getLogger().handlers or logger.handlers:
        return None
    variable = os.environ.get("ACPELLA_LOG", "")
    level = (os.environ.get("ACPELLA_LOG_LEVEL") or "INFO").upper()
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"ACPELLA_LOG_LEVEL={level!r} is not DEBUG, INFO, WARNING or ERROR")
    if variable == "off":
        logger.addHandler(logging.NullHandler())
        return None
    handler: logging.Handler
    path: Path | None = None
    if variable == "stderr" or (not variable and sys.stderr is not None and sys.stderr.isatty()):
        handler = logging.StreamHandler()
    else:
        try:
            path = Path(variable).expanduser() if variable else _default_path(name)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handler = logging.handlers.RotatingFileHandler(
                path, maxBytes=MAX_LOG, backupCount=1, encoding="utf-8", delay=True
            )
        except OSError as error:
            if variable:
                raise ValueError(f"ACPELLA_LOG={variable!r} cannot be written: {error}") from None
            handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)
    return path


def _default_path(name: str) -> Path:
    safe = re.sub(r"[^\w.-]+", "-", name) or "agent"
    return directories.logs() / f"{safe}.log"
