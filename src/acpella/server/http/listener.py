"""Sockets that a server has accepted: never more than it can serve, and room for the next one."""

import asyncio
import errno
import logging
import os
import socket
import sys
import time
from typing import Any

__all__ = ["Listener", "raise_file_limit"]

log: logging.Logger = logging.getLogger(__name__)

WANTED_FILES = 65_536
"""Open files that the system is asked for. The usual 1,024 are gone with as many idle sockets."""

HANG_UP_ROUNDS = 100
"""How often to check, every 10 ms, whether connections have ended. One that nobody reads may never end."""

TELL_AGAIN = 1.0
"""Seconds between two lines in the log about a flood."""


def raise_file_limit() -> int:
    """Raise the limit of open files as far as the system allows; returns the limit."""
    if sys.platform == "win32":
        return WANTED_FILES
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError) as error:  # some systems allow less than they say
        log.debug("the limit of open files stays at %d: %s", soft, error)
        return soft
    return limit


class Listener(socket.socket):
    """A listening socket with a limit. At the limit, the connection that has been idle longest makes room.

    Those who were let in before are the last to go. With one descriptor to spare, it works even when the
    program has no other left.
    """

    def __init__(self, family: int, *, most: int) -> None:
        # asyncio sends small messages at once only on what says that it is TCP
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._most = most
        self._open: dict[int, _Accepted] = {}
        self._strangers: dict[int, None] = {}  # that ask for nothing, the longest first
        self._known: dict[int, None] = {}  # the same for those who were let in
        self._spare = _spare()
        self._turned_away = 0
        self._logged_at = float("-inf")

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises `BlockingIOError` when there is none, or no room yet."""
        if len(self._open) >= self._most:
            self._make_room()
            raise BlockingIOError(errno.EAGAIN, "too many connections")
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or self._spare is None:
                raise
            self._turn_away()
            raise BlockingIOError(errno.EAGAIN, "too many open files") from None
        tracked = _Accepted(self, accepted)
        self._open[tracked.fileno()] = tracked
        self._strangers[tracked.fileno()] = None
        return tracked, address

    def _make_room(self) -> None:
        waiting = [*self._strangers, *self._known][: max(1, self._most // 16)]
        if not waiting:
            self._turn_away()
        for descriptor in waiting:
            self.works(descriptor)  # it is not asked twice
            self._tell(1)
            try:
                self._open[descriptor].shutdown(socket.SHUT_RDWR)  # its transport notices, and closes it
            except OSError:
                pass  # its client was quicker

    def _turn_away(self) -> None:
        """Hang up on the next client: one that waits in the queue would wait for ever."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        try:
            super().accept()[0].close()
            self._tell(1)
        except OSError:
            pass
        self._spare = _spare()

    def _tell(self, count: int) -> None:
        self._turned_away += count
        now = time.monotonic()
        if now - self._logged_at >= TELL_AGAIN:
            log.warning(
                "hung up on %d clients that asked for nothing or came too many: %d are connected",
                *(self._turned_away, len(self._open)),
            )
            self._turned_away, self._logged_at = 0, now

    def works(self, descriptor: int) -> None:
        """A request of this connection is under way."""
        self._strangers.pop(descriptor, None)
        self._known.pop(descriptor, None)

    def waits(self, descriptor: int, *, known: bool) -> None:
        """This connection asks for nothing; `known` says that it was let in before."""
        self.works(descriptor)
        if descriptor in self._open:
            (self._known if known else self._strangers)[descriptor] = None

    def forget(self, descriptor: int) -> None:
        """It is closed."""
        self._open.pop(descriptor, None)
        self.works(descriptor)

    async def hang_up(self) -> None:
        """End what is still connected when the server is done: clients that came late, or do not read."""
        for _ in range(HANG_UP_ROUNDS):
            for accepted in list(self._open.values()):
                try:
                    accepted.shutdown(socket.SHUT_RDWR)  # its transport notices, and closes it
                except OSError:
                    pass  # its client was quicker
            if not self._open:
                return
            await asyncio.sleep(0.01)
        log.debug("%d connections could not be ended", len(self._open))

    def close(self) -> None:
        super().close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None


class _Accepted(socket.socket):
    """Tells its listener when it is closed, whoever does that."""

    def __init__(self, listener: Listener, accepted: socket.socket) -> None:
        family, kind, protocol = accepted.family, accepted.type, accepted.proto
        super().__init__(family, kind, protocol, fileno=accepted.detach())
        self._listener = listener

    def close(self) -> None:
        descriptor = self.fileno()
        super().close()
        if descriptor != -1 and self.fileno() == -1:
            self._listener.forget(descriptor)


def _spare() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None
