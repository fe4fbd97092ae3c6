"""The editor at the other end of a connection, as sessions and turns see it."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from acpella.errors import InvalidParams
from acpella.rpc import Connection, Method
from acpella.rpc.writing import SENT
from acpella.schema import SessionUpdate

from .codec import Codec, EditorCapabilities
from .operations import Workplace

__all__ = ["Editor", "Parked"]

P = TypeVar("P")
R = TypeVar("R")


class Parked(NamedTuple):
    """A session that is open for an editor but unloaded."""

    workplace: Workplace
    seq: int
    """The last entry of its log that the editor knows."""


class Editor:
    """One editor, reached through one connection. What goes to it goes through here."""

    def __init__(
        self,
        codec: Codec,
        *,
        principal: str = "",
        log_first: bool = False,
        is_detached: Callable[[], bool] | None = None,
        roots: Sequence[str] = (),
    ) -> None:
        self.principal = principal
        """Who uses it; one of several users of a server, or nobody in particular."""
        self.log_first = log_first
        """Whether it is shown only what is in the log already."""
        self.may_detach: bool = is_detached is not None
        self.parked: dict[str, Parked] = {}
        """Sessions that are open for it but unloaded."""
        self.look_on: Callable[[str, Parked], None] | None = None
        """Makes it watch a session that another connection has taken over; None without a store."""
        self._is_detached = is_detached
        self._fence = [os.path.realpath(os.path.expanduser(root)) for root in roots]
        self._connection: Connection | None = None
        self.speak(codec)

    def speak(self, codec: Codec) -> None:
        """Use this codec for what goes to it."""
        self.codec = codec
        self._encode = codec.update
        self._update_method = codec.update_method

    def attach(self, connection: Connection) -> None:
        """Reach it through this connection."""
        self._connection = connection
        self._notify = connection.notify

    @property
    def _reached(self) -> Connection:
        assert self._connection is not None, "attached before the first request comes"
        return self._connection

    # -- what it is ----------------------------------------------------------------------

    @property
    def capabilities(self) -> EditorCapabilities:
        return self.codec.editor

    @property
    def is_gone(self) -> bool:
        return self._reached.closed is not None

    @property
    def is_away(self) -> bool:
        """Whether it reads nothing now, though it may come back."""
        return self.is_gone or (self._is_detached is not None and self._is_detached())

    def is_left_for(self, other: "Editor") -> bool:
        """Whether another connection may take over what runs here, because this editor is away."""
        return other is not self and self._is_detached is not None and self._is_detached()

    def check_inside(self, places: list[str]) -> None:
        """Raises `InvalidParams` for a place outside this connection's roots; `places` hold no links."""
        for place in places if self._fence else ():
            if not any(place == root or Path(root) in Path(place).parents for root in self._fence):
                raise InvalidParams(f"sessions may not work in {place!r}")

    # -- what goes to it -----------------------------------------------------------------

    def show(self, session_id: str, update: SessionUpdate) -> Awaitable[None]:
        """Send an update; kept back if the editor does not know its kind."""
        params = self._encode(session_id, update)  # no coroutine of its own: each token of a model comes here
        return SENT if params is None else self._notify(self._update_method, params)

    def show_stored(self, session_id: str, body: bytes) -> Awaitable[None]:
        """The same with an update as it stands in the log."""
        params = self.codec.stored_update(session_id, body)
        return SENT if params is None else self._notify(self._update_method, params)

    async def call(self, method: Method[P, R] | str, params: P, *, timeout: float | None = None) -> R:
        return await self._reached.call(method, params, timeout=timeout)  # type: ignore[arg-type]

    async def notify(self, method: str, params: Any) -> None:
        await self._notify(method, params)

    def after_answer(self, work: Callable[[], None]) -> None:
        """Do this when the request that is being handled was answered."""
        self._reached.after_answer(work)
