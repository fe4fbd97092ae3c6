"""The stored sessions of an agent: how many there may be, and how they go out and come in as documents."""

from typing import Any

from acpella.errors import RpcError
from acpella.sessions import Cluster, Store, export_session, import_session

from .guards import check_history, new_session_id

__all__ = ["StoredSessions"]


class StoredSessions:
    """What is in the store, whether or not it is in memory."""

    def __init__(self, store: Store, *, max_stored_sessions: int = 0) -> None:
        self.store = store
        self.cluster: Cluster | None = None
        """The nodes that share the store, while it is open."""
        self._most = max_stored_sessions

    async def check_room(self, principal: str) -> None:
        """Raises `RpcError` when this user has as many sessions in the store as they may."""
        room = self._most
        cursor: str | None = None
        while room:
            page = await self.store.list(principal=principal, cursor=cursor, limit=room)
            room -= len(page.sessions)
            cursor = page.next_cursor
            if room <= 0:
                raise RpcError(
                    f"{self._most} sessions are kept for you already; delete some first", code=-32001
                )
            if cursor is None:
                return

    async def export_session(self, session_id: str, principal: str) -> dict[str, Any]:
        """A session as one portable JSON document."""
        record = await self.store.get(session_id, principal=principal)
        events = [event async for page in self.store.read(session_id, principal=principal) for event in page]
        return export_session(record, events)

    async def import_session(self, document: Any, principal: str) -> str:
        """Add a session from such a document; returns its new id."""
        imported, events = import_session(document)
        check_history(imported.cwd, [body for kind, body in events if kind == "update"])
        await self.check_room(principal)
        record = imported.to_record(new_session_id(), principal=principal)
        lease = await self.store.create(record, events)
        await self.store.release(lease)
        return record.id
