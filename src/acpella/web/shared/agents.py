"""The agents that pages share: one for each user, and who is invited to whose sessions."""

import asyncio

from acpella.server.agent_factories import AgentFactory
from acpella.sessions import Cluster

from .about import About
from .agent_host import AgentHost
from .record_notes import RecordNotes
from .records import SessionRecords, SharedSessionRecord
from .session import SharedSession
from .viewer import Viewer

__all__ = ["SharedAgents"]

IDLE_SECONDS = 1800.0
"""Seconds that an agent is kept without a page and without a turn."""


class SharedAgents:
    """All of a server."""

    def __init__(self, factory: AgentFactory, about: About, records: SessionRecords) -> None:
        self._factory = factory
        self._about = about
        self.records: SessionRecords = records
        self._hosts: dict[str, AgentHost] = {}
        self._resting: dict[str, asyncio.TimerHandle] = {}
        self._notes: RecordNotes | None = None
        self.viewers: set[Viewer] = set()
        """Pages that are open."""

    async def join(self, cluster: Cluster) -> None:
        """Keep the records together with other nodes. Raises `StoreError`."""
        self._notes = RecordNotes(cluster, self.records, self._on_record)
        await self._notes.open()

    async def saved(self) -> None:
        """Wait until what people decided is known to all nodes. Raises `StoreError`."""
        if self._notes is not None:
            await self._notes.saved()

    async def close(self) -> None:
        """Let all agents go."""
        if self._notes is not None:
            await self._notes.close()
        for timer in self._resting.values():
            timer.cancel()
        for host in self._hosts.values():
            await host.close()

    def leave(self, viewer: Viewer) -> None:
        """A page is closed. An agent that nobody needs for a while is let go; its sessions stay."""
        self.viewers.discard(viewer)
        viewer.close()
        host = self._hosts.get(viewer.principal)
        if host is not None:
            self._rest_later(host)

    def _rest_later(self, host: AgentHost) -> None:
        """The time without pages begins, or begins anew."""
        if (timer := self._resting.pop(host.principal, None)) is not None:
            timer.cancel()
        self._resting[host.principal] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rest, host)

    def _rest(self, host: AgentHost) -> None:
        del self._resting[host.principal]
        if any(viewer.principal == host.principal for viewer in self.viewers):
            return
        if host.is_idle:
            host.rest()
        else:  # a turn runs, or a guest is here
            self._rest_later(host)

    def host_of(self, principal: str) -> AgentHost:
        """The agent that a user's pages share."""
        host = self._hosts.get(principal)
        if host is None:
            host = self._hosts[principal] = AgentHost(
                self._factory, principal, self._about, records=self.records, on_change=self._on_change
            )
        return host

    def find(self, session_id: str, principal: str) -> tuple[AgentHost, SharedSession] | None:
        """A session that this user may see, and whose agent has it."""
        own = self._hosts.get(principal)
        for host in (*([own] if own is not None else []), *self._hosts.values()):
            session = host.sessions.get(session_id)
            if session is not None and session.role_of(principal) is not None:
                return host, session
        for record in self.records.shared_with(principal):  # its owner was not here since the server started
            if record.session == session_id:
                host = self.host_of(record.owner)
                return host, host.session(session_id)
        return None

    def shared_with(self, principal: str) -> list[SharedSession]:
        """Sessions of others that this user was invited to."""
        for record in self.records.shared_with(principal):
            self.host_of(record.owner).session(record.session)
        every = (session for host in self._hosts.values() for session in host.sessions.values())
        return [session for session in every if principal in session.guests]

    def _on_record(self, record: SharedSessionRecord) -> None:
        """Another node changed what is known of a session: pages that are open here shall see it."""
        host = self._hosts.get(record.owner)
        if any(viewer.principal in record.guests for viewer in self.viewers):
            host = self.host_of(record.owner)
            host.session(record.session)
        session = host.sessions.get(record.session) if host is not None else None
        if session is not None:
            if record.name or session.is_named:
                session.title, session.is_named = record.name, bool(record.name)
            session.let_in(dict(record.guests))

    def _on_change(self, session: SharedSession) -> None:
        entry = session.to_entry()
        for viewer in self.viewers:
            if session.role_of(viewer.principal) is not None:
                viewer.notify("_acpella/sessions_changed", {"sessions": [entry]})
