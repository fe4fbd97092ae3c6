"""What a server logs: lines for people, or JSON lines for machines; never a token, an id or a message."""

import json
import logging
import sys
import time
from typing import Any, cast

from acpella._redact import redact

__all__ = ["set_up_logging"]


_IN_THE_LINE = ("method", "path", "status")
"""Facts that the text of the line tells anyway."""


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts = _facts(record)
        told = {name: value for name, value in facts.items() if name not in _IN_THE_LINE}
        shown = " ".join(f"{name}={value}" for name, value in told.items() if value not in (None, ""))
        return redact(f"{line} ({shown})" if shown else line)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
            **_facts(record),
        }
        if record.exc_info:
            told["error"] = redact(self.formatException(record.exc_info))
        return json.dumps(told, ensure_ascii=False, default=str)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", getattr(record, "facts", {}))


def set_up_logging(form: str = "text", *, level: str = "INFO") -> None:
    """Log to stderr. Does nothing if the program has set up logging itself."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _Json() if form == "json" else _Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("acpella").setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
