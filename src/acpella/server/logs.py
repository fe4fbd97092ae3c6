"""What a server logs: lines for people, or JSON lines for machines; never a token, an id or a message."""

import json
import logging
import sys
import time
from typing import Any, cast

from acpella._redact import redact

__all__ = ["MAX_LINE", "hide_secrets", "one_line", "set_up_logging"]


_IN_THE_LINE = ("method", "path", "status")
"""Facts that the text of the line tells anyway."""


MAX_LINE = 2000
"""Characters of a line, tracebacks aside. What clients send appears in some."""


class _Lines(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts = _facts(record)
        extra = {name: value for name, value in facts.items() if name not in _IN_THE_LINE}
        pairs = " ".join(f"{name}={value}" for name, value in extra.items() if value not in (None, ""))
        return redact(f"{line} ({one_line(pairs)})" if pairs else line)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()[:MAX_LINE]),
            **_facts(record),
        }
        if record.exc_info:
            document["error"] = redact(self.formatException(record.exc_info))
        return json.dumps(document, default=str)


def one_line(text: str) -> str:
    """Without the characters by which a client could write lines of its own into the log."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:MAX_LINE])


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", getattr(record, "facts", {}))


class _Discreet(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        text = redact(record.getMessage())
        record.msg, record.args = text, None
        return (
            "without completing handshake" not in text
        )  # said of every upgrade that is refused with a status


def hide_secrets() -> None:
    """Take secrets out of what uvicorn logs: from INFO on, the queries of WebSockets and their headers."""
    logger = logging.getLogger("uvicorn.error")
    if not any(isinstance(one, _Discreet) for one in logger.filters):
        logger.addFilter(_Discreet())


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
