"""What the nodes that share a store have in common: streams that any node reads, commands that one runs.

A stream is a session's log, named by the session's id, or the messages of a connection, named "c:" and the
connection's id. Whoever holds its lease is its home: it alone writes the stream and runs its commands. Any
node may read the stream from a cursor on, and submit a command. Nodes never call each other.

What a client reads on the home node itself need not come from here: it was in this process a moment ago.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

from .store import Events, Lease, StoreError

__all__ = [
    "CONNECTION",
    "NOTES",
    "SESSION_COMMANDS",
    "Cluster",
    "ClusterCommand",
    "CommandState",
    "Cursor",
    "NodeStatus",
    "Resync",
    "StreamRecord",
]

CONNECTION = "c:"
"""The prefix of the names of streams that belong to a connection and not to a session."""

SESSION_COMMANDS = "*!"
"""The topic of hints about new commands for any session."""

NOTES = "*?"
"""The topic of hints about changed notes."""

MAX_SEQ = 2**62
"""No cursor points further. Without it, a number that no database can hold would be asked for."""

CommandState: TypeAlias = Literal["new", "running", "done"]


class Resync(StoreError):
    """The cursor does not fit: it is of another generation, beyond the end, or points to what was dropped.

    Whoever has it must read the stream anew, which for a session means to load it.
    """


class Cursor(NamedTuple):
    """A place in a stream: after the entry with this number, in this generation of the store."""

    gen: str
    seq: int

    def __str__(self) -> str:
        return f"{self.gen}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Raises `Resync` for what is not a cursor."""
        gen, dash, number = text.rpartition("-")
        if (
            not dash
            or not number.isascii()
            or not number.isdecimal()
            or len(number) > 19
            or int(number) > MAX_SEQ
        ):
            raise Resync(f"{text[:60]!r} is not a place in a stream; read it from the start")
        return cls(gen, int(number))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCommand:
    """What a client wants the home of a stream to do. However often an id is submitted, it is one command."""

    id: str
    kind: str
    body: bytes = b""
    trace: bytes = b""
    """`traceparent` and its like, so that a trace goes on where the command is run."""
    number: int = 0
    """Its place among the commands of its stream; given when it is submitted."""
    state: CommandState = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRecord:
    """What is known of a stream."""

    id: str
    principal: str
    facts: bytes
    """What its home wants to find again, on this node or another; empty for sessions."""
    last_seq: int
    node: str | None
    """The living node that is its home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """One node, for people who look after the cluster."""

    name: str
    alive: bool
    silent_seconds: float
    """Since its last heartbeat."""
    sessions: int
    connections: int
    running: int
    """Commands that it runs."""
    life: str = ""
    """As `Cluster.life` of that node."""


class Cluster(Protocol):
    """Every method is safe to call from many tasks at once. `principal` is checked on every call that a
    client can cause: a foreign stream is not found.

    All methods may raise `StoreUnavailable`. The store must be open, and stay open longer than this.
    """

    @property
    def node(self) -> str:
        """The name of this node."""
        ...

    @property
    def life(self) -> str:
        """Names this life of the node: another one after a restart, or after the others have forgotten it."""
        ...

    @property
    def gen(self) -> str:
        """The generation of all cursors; another one after a failover, which may have lost entries."""
        ...

    def seconds_left(self) -> float:
        """Until this node must count itself as dead, unless its heartbeat gets through."""
        ...

    async def open(self) -> None:
        """Get ready; called once before anything else."""
        ...

    async def close(self) -> None:
        """Give back all streams, and end all tails. Safe to call twice."""
        ...

    def on_lost(self, call: Callable[[], None]) -> None:
        """Have this called when this node has lost its lease: what runs here must stop now.

        The server does so; an agent that runs without one learns of it when it writes.
        """
        ...

    async def nodes(self) -> list[NodeStatus]:
        """All nodes, by name; dead ones for a while."""
        ...

    # -- streams -------------------------------------------------------------------------------

    async def open_stream(self, stream: str, facts: bytes, *, principal: str = "") -> Lease:
        """Begin the stream of a connection; this node is its home. `SessionExists`."""
        ...

    async def stream(self, stream: str, *, principal: str = "") -> StreamRecord:
        """`SessionNotFound`."""
        ...

    async def principal_of(self, stream: str) -> str:
        """Whose stream it is; for nodes that look after what others left, not for clients.

        Raises `SessionNotFound`.
        """
        ...

    async def take(self, stream: str, *, principal: str = "") -> Lease:
        """Become the home of a stream that has none, or whose home is dead or is this node.

        Raises `SessionBusy`, whose `node` is the living home, or `SessionNotFound`.
        """
        ...

    async def give_back(self, lease: Lease) -> None:
        """Be its home no longer; harmless if that is over."""
        ...

    async def put(
        self,
        lease: Lease,
        expected_seq: int,
        entries: Sequence[tuple[str, bytes]],
        *,
        settle: str | None = None,
        facts: bytes | None = None,
    ) -> int:
        """Add entries as `Store.append` does; in the same step, settle the command whose outcome they are.

        Raises `Fenced`, `SessionNotFound`.
        """
        ...

    async def drop(self, lease: Lease, through: int, *, others: Sequence[int] = ()) -> None:
        """Forget the entries of a connection up to this number, and others after it: its client has them."""
        ...

    def kept(self, lease: Lease) -> AsyncIterator[Events]:
        """The entries of a connection that were not dropped. `Fenced`."""
        ...

    async def remove_stream(self, lease: Lease) -> None:
        """Forget a connection for good, with its entries and commands."""
        ...

    async def remove_abandoned(self, seconds: float, *, limit: int = 100) -> int:
        """Forget connections that have no home and no unfinished commands, and to which nothing was written
        for this many seconds. Returns how many."""
        ...

    async def head(self, stream: str, *, principal: str = "") -> Cursor:
        """The end of a stream as it is now. `SessionNotFound`."""
        ...

    def tail(
        self, stream: str, after: Cursor, *, principal: str = "", gaps: bool = False
    ) -> AsyncGenerator[Events]:
        """The entries after a cursor, then those that are added, each once and in order, for as long as the
        stream is there. Raises `Resync`, and `SessionNotFound` when it is gone.

        With `gaps`, what was dropped is left out without a word.
        """
        ...

    # -- commands ------------------------------------------------------------------------------

    async def submit(self, stream: str, command: ClusterCommand, *, principal: str = "") -> bool:
        """Hand a command to the home of a stream, durable on return; False if its id was submitted before."""
        ...

    async def pending(self, lease: Lease) -> list[ClusterCommand]:
        """Commands that are not done, in order. One that is `running`, but not here, was interrupted.

        Raises `Fenced`, `SessionNotFound`.
        """
        ...

    async def begin(self, lease: Lease, command_id: str) -> bool:
        """Start a command; False if it was started before: it must not run twice. `Fenced`."""
        ...

    async def start(self, lease: Lease, command: ClusterCommand) -> bool:
        """Submit and begin a command in one step, as the home does with what reaches it directly; False if
        its id was submitted before. `Fenced`."""
        ...

    async def put_back(self, lease: Lease, command_id: str) -> None:
        """A command was begun, but nothing was done for it: it is new again, for the next home. `Fenced`."""
        ...

    async def settle(self, lease: Lease, command_id: str, *, forget: bool = False) -> None:
        """A command is done, without entries of its own. One to `forget` cannot come again, so its id need
        not be remembered. `Fenced`."""
        ...

    async def command_ids(self, lease: Lease) -> list[str]:
        """The ids of all commands that are remembered, done or not. `Fenced`."""
        ...

    def commands(self, lease: Lease) -> AsyncIterator[ClusterCommand]:
        """New commands of a stream as they come, each once, for as long as the lease lasts. `Fenced`."""
        ...

    def session_commands(self) -> AsyncIterator[tuple[str, ClusterCommand]]:
        """New commands of all sessions that this node holds, with the session's id, each once; they are
        forgotten when the next one is asked for. One listener for a node, however many sessions it has."""
        ...

    async def orphans(self, limit: int = 100) -> list[str]:
        """Streams with unfinished commands whose home is not another living node, for somebody to take."""
        ...

    async def waiting(self) -> int:
        """How many commands of all streams nobody has begun."""
        ...

    # -- tickets -------------------------------------------------------------------------------

    async def keep_ticket(
        self, digest: bytes, body: bytes, *, seconds: float, limit: int, principal: str = ""
    ) -> bool:
        """Let any node take this once, within `seconds`; False if the principal has `limit` already."""
        ...

    async def take_ticket(self, digest: bytes) -> bytes | None:
        """What was kept under this digest. From now on nobody finds it, even if this answer is lost."""
        ...

    # -- notes ---------------------------------------------------------------------------------

    async def keep_notes(self, notes: Mapping[str, bytes], *, seconds: float | None = None) -> None:
        """Let every node know these, all at once; the last word on a name counts. An empty body takes a note
        away. With `seconds`, it goes by itself some time after that, unless it is kept again."""
        ...

    def notes(self) -> AsyncIterator[dict[str, bytes]]:
        """All notes, in pieces, then those that change, as they do; what was taken away has an empty body."""
        ...
