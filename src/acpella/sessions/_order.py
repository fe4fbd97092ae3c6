"""The order of lists: time stamps that only grow, and cursors that point between them."""

import base64
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from .store import InvalidCursor, StoreError

__all__ = ["Clock", "decode_cursor", "encode_cursor", "json_bytes", "normal_stamp", "page_size", "stamp"]

MAX_PAGE = 1000
"""Sessions in one page of a list. Without it, one request could load the whole catalogue."""

MAX_CURSOR = 4096
"""Characters of a cursor that are looked at. Without it, nonsense of any length would be decoded."""

_CURSOR_VERSION = 1
_EPOCH = datetime(1970, 1, 1)


class Clock:
    """Gives the time, each stamp later than the one before, even when the system clock is set back."""

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> str:
        self._last = max(time.time_ns() // 1000, self._last + 1)
        return _text(_EPOCH + timedelta(microseconds=self._last))


def normal_stamp(text: str) -> str:
    """The one spelling of a time that sorts as text: "2026-01-02T03:04:05.123456Z". Raises `ValueError`."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"no such time: {text!r}") from None
    return _text(moment)


def stamp(moment: datetime) -> str:
    """The same spelling of a time that has a zone."""
    return _text(moment.astimezone(UTC).replace(tzinfo=None))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds") + "Z"


def encode_cursor(updated_at: str, session_id: str) -> str:
    """A cursor that points behind this session."""
    data = msgspec.json.encode((_CURSOR_VERSION, updated_at, session_id))
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def decode_cursor(cursor: str) -> tuple[str, str]:
    """The stamp and the id of the last session seen. Raises `InvalidCursor`."""
    try:
        if len(cursor) > MAX_CURSOR:
            raise ValueError
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        version, updated_at, session_id = msgspec.json.decode(data, type=tuple[int, str, str])
        if version != _CURSOR_VERSION or normal_stamp(updated_at) != updated_at:
            raise ValueError
    except ValueError:  # also what msgspec and base64 raise
        raise InvalidCursor(
            f"the cursor {cursor[:40]!r} did not come from this list; leave it out to start at the newest"
        ) from None
    return updated_at, session_id


def page_size(limit: int) -> int:
    """How many sessions to give when `limit` were asked for."""
    if limit < 1:
        raise ValueError(f"a page holds at least one session, not {limit}")
    return min(limit, MAX_PAGE)


def json_bytes(session_id: str, name: str, value: Mapping[str, Any]) -> bytes:
    """A session's state or settings, as they are at this moment."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as exc:
        raise StoreError(f"the {name} of session {session_id!r} cannot be kept: no JSON: {exc}") from exc
