"""The audit log of one connection: who did what, without a word of what was said."""

import hashlib
import logging
from collections.abc import Callable

__all__ = ["ConnectionAudit", "short_name"]

log: logging.Logger = logging.getLogger("acpella.audit")

AUDITED = ("session/", "_session/", "_agent/")
"""Prefixes of the methods whose requests and outcomes are logged."""

TELL_AGAIN = 1.0
"""Seconds between two lines about dropped notifications. Clients must not be able to fill the log."""


def short_name(opaque: str) -> str:
    """The name of a session or connection in logs, since whoever has the id itself can open it."""
    return hashlib.sha256(opaque.encode()).hexdigest()[:8]


class ConnectionAudit:
    """Writes the lines of one connection."""

    def __init__(self, *, label: str, principal: str, profile: str) -> None:
        self._facts = {"connection": label, "user": principal, "kind": profile}
        self._dropped = 0  # notifications, since the log was told
        self._dropped_at = float("-inf")

    def _extra(self, **more: object) -> dict[str, object]:
        return {"facts": {**self._facts, **more}}

    def opened(self, address: str) -> None:
        log.info("connection opened", extra=self._extra(address=address))

    def closed(self, reason: str) -> None:
        log.info("connection closed", extra=self._extra(reason=reason))

    def hung_up(self, why: str) -> None:
        log.info("hung up: %s", why, extra=self._extra())

    def asked(self, method: str, session_id: str | None) -> None:
        """A request went to the agent."""
        if method.startswith(AUDITED):
            log.info("%s", method[:100], extra=self._extra(session=_session(session_id)))

    def answered(self, method: str, session_id: str | None, outcome: Callable[[], str]) -> None:
        """The agent has answered it."""
        if method.startswith(AUDITED):
            extra = self._extra(session=_session(session_id), outcome=outcome())
            log.info("%s answered", method[:100], extra=extra)

    def refused(self, method: str, why: str) -> None:
        log.warning("refused %s: %s", method[:100], why, extra=self._extra())

    def refused_answer(self, why: str) -> None:
        log.warning("refused an answer: %s", why, extra=self._extra())

    def permission_answered(self, session_id: str | None, outcome: str) -> None:
        log.info("permission answered", extra=self._extra(session=_session(session_id), outcome=outcome))

    def permission_refused(self, session_id: str | None) -> None:
        log.info("permission refused: no scope 'approve'", extra=self._extra(session=_session(session_id)))

    def permission_cancelled(self, session_id: str | None) -> None:
        log.info("permission cancelled: the client is gone", extra=self._extra(session=_session(session_id)))

    def dropped_notification(self, now: float) -> None:
        """A notification was dropped, since there are too many; logged once in a while."""
        self._dropped += 1
        if now - self._dropped_at >= TELL_AGAIN:
            extra = self._extra(count=self._dropped)
            log.warning("dropped notifications: there are too many", extra=extra)
            self._dropped, self._dropped_at = 0, now


def _session(session_id: str | None) -> str | None:
    return None if session_id is None else short_name(session_id)
