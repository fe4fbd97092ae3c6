"""Connections to PostgreSQL: few, opened when needed, replaced when broken, given up when nothing answers.

The driver's own pool resets a connection after each use, which is one more round trip, and waits for a server
that is gone when it replaces a broken one. So there is a small one here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import asyncpg

from ._postgres_address import PostgresAddress
from ._postgres_errors import explain, is_passing
from .store import StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["ANSWER_SECONDS", "LONG_SECONDS", "ConnectionPool", "Retry", "hang_up", "time_limit"]

log: logging.Logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
"""Seconds for one attempt to connect."""

ANSWER_SECONDS = 5.0
"""Seconds after which a connection that is silent counts as broken. Without it, a cut that no packet tells of
keeps its callers for ever."""

LONG_SECONDS = 60.0
"""The same for what may take long: to copy or to delete a whole session."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two attempts to reach a database that is away."""

_SETTINGS = {
    "application_name": "acpella",
    "jit": "off",  # all our statements are short
    # a node that hangs in the middle of a transaction must not keep a row from the others
    "idle_in_transaction_session_timeout": "10000",
    "lock_timeout": "10000",
}

_DURABLE = """SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'"""
"""What is acknowledged is on disk, whatever the server's default; a stricter one stays."""

_T = TypeVar("_T")


class Retry:
    """The pauses between attempts while a database is away, for as long as patience lasts."""

    def __init__(self, address: PostgresAddress, patience: Callable[[], float]) -> None:
        self._address = address
        self._patience = patience
        self._pause = FIRST_PAUSE

    async def after(self, error: Exception) -> None:
        """Wait before the next attempt. Raises `StoreError` if there is to be none."""
        if not is_passing(error) or self._patience() < self._pause:
            raise explain(self._address, error) from None
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


class ConnectionPool:
    """A bounded pool, and the way to connections outside of it."""

    def __init__(self, address: PostgresAddress, *, limit: int, patience: Callable[[], float]) -> None:
        self.address = address
        self._patience = patience
        self._room = asyncio.Semaphore(limit)
        self._idle: list[AnyConnection] = []
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def connect(self) -> "AnyConnection":
        """A connection of the caller's own. Raises what the driver raises."""
        settings = {**_SETTINGS, "search_path": self.address.schema}
        connection = await asyncpg.connect(
            self.address.reveal(), timeout=CONNECT_SECONDS, server_settings=settings
        )
        try:
            with time_limit(connection, CONNECT_SECONDS):
                await connection.execute(_DURABLE)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def run(
        self, operation: "Callable[[AnyConnection, bool], Awaitable[_T]]", *, seconds: float = ANSWER_SECONDS
    ) -> _T:
        """Run this with a connection, and retry while the database is away, until it has succeeded once.

        The second argument of `operation` is whether an earlier attempt was cut off and may have succeeded
        after all. The operation goes on when its caller is cancelled, so that no connection is left in the
        middle of something.
        """
        task = asyncio.get_running_loop().create_task(self._attempt(operation, seconds))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait a while for what runs to finish, then close all connections."""
        self._closed = True
        if self._running:
            await asyncio.wait(self._running, timeout=ANSWER_SECONDS)
        for connection in self._idle:
            await hang_up(connection)
        self._idle.clear()

    async def _attempt(
        self, operation: "Callable[[AnyConnection, bool], Awaitable[_T]]", seconds: float
    ) -> _T:
        retry, again = Retry(self.address, self._patience), False
        while True:
            try:
                async with self._room:
                    return await self._once(operation, again, seconds)
            except StoreError:
                raise
            except Exception as exc:
                await retry.after(exc)
                again = True

    async def _once(
        self, operation: "Callable[[AnyConnection, bool], Awaitable[_T]]", again: bool, seconds: float
    ) -> _T:
        connection = self._take() or await self.connect()
        try:
            with time_limit(connection, seconds):
                result = await operation(connection, again)
        except StoreError:
            self._give_back(connection)
            raise
        except BaseException as exc:
            if isinstance(exc, asyncpg.PostgresError) and not is_passing(exc):
                self._give_back(connection)  # the server is well, and so is the connection
            else:
                connection.terminate()
                if isinstance(exc, Exception):
                    self._drop_idle()  # the same cut has hit those too, though they may not know it yet
            raise
        self._give_back(connection)
        return result

    def _take(self) -> "AnyConnection | None":
        while self._idle:
            if not (connection := self._idle.pop()).is_closed():
                return connection
        return None

    def _give_back(self, connection: "AnyConnection") -> None:
        if self._closed or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
        else:
            self._idle.append(connection)

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.terminate()
        self._idle.clear()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may be gone


async def hang_up(connection: "AnyConnection") -> None:
    """Close a connection in good order, or by force if that fails."""
    with suppress(Exception), time_limit(connection, 1.0):
        await connection.close()
    connection.terminate()


@contextmanager
def time_limit(connection: "AnyConnection", seconds: float) -> Generator[None]:
    """Cut the connection if the block takes longer, which ends the block with an error of the driver.

    A plain timeout would make the driver ask the server to stop, over a second connection that hangs as well.
    """
    timer = asyncio.get_running_loop().call_later(seconds, connection.terminate)
    try:
        yield
    finally:
        timer.cancel()
