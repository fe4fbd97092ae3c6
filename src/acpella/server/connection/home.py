"""What a connection asks of the node that is its home, where several nodes serve the same clients."""

from typing import Protocol

from acpella.server.access.credentials import Credential

from .hosted import HostedConnection
from .memory_outbox import Ledger
from .messages import Message
from .outbox import Outbox
from .profile import Profile

__all__ = ["ConnectionHome", "Node"]


class ConnectionHome(Protocol):
    """Keeps what concerns one connection where other nodes find it. A server of one process has none."""

    def bind(self, connection: HostedConnection) -> None:
        """The connection whose home it is; called once, when it is made."""
        ...

    def new_outbox(
        self,
        session_id: str | None,
        ledger: Ledger,
        *,
        high: int,
        window_frames: int,
        window_bytes: int,
        lossless: bool,
    ) -> Outbox:
        """An outbox whose messages are kept before anybody reads them."""
        ...

    async def record(
        self, message: Message, *, number: int | None, ordinal: int, command: str | None
    ) -> bool:
        """Keep a message of the client before its agent gets it; False if it was taken before.

        `number` is the client's own, `ordinal` its place among those that came on sockets. `command` is the
        one that brought it, if it came by way of another node.

        Raises `StoreError`.
        """
        ...

    def resumable(self) -> None:
        """The client confirms what it gets, from now on."""
        ...

    def ended(self, reason: str, code: int) -> None:
        """The connection is over, for all nodes."""
        ...

    async def close(self, *, keep: bool) -> None:
        """Let go of it. With `keep`, another node may go on with it."""
        ...


class Node(Protocol):
    """This server as one of several."""

    def check_ready(self) -> None:
        """Raises `Refusal` if it cannot serve just now."""
        ...

    def new_home(
        self, connection_id: str, credential: Credential, profile: Profile, *, resumable: bool
    ) -> ConnectionHome | None:
        """For a new connection; None for one that only this node can serve."""
        ...

    async def reach(self, connection_id: str, credential: Credential) -> HostedConnection | None:
        """A connection of this user's that is not at this node, or not yet.

        Raises `Refusal`, `StoreError`.
        """
        ...
