"""The session service: what one editor can do with sessions, on the store and in memory."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from acpella.errors import InvalidParams
from acpella.schema import ListSessionsResponse, SessionInfo
from acpella.sessions import (
    Cluster,
    Lease,
    SessionBusy,
    SessionNotFound,
    SessionRecord,
    Store,
    StoreError,
)

from .choices import Choices
from .definition import Definition
from .editor import Editor, Parked
from .guards import check_absolute, check_places, checked_id, new_session_id, no_session, real_places
from .interrupted import close_interrupted
from .leases import Leases, still_running
from .log_writer import LogWriter
from .open_sessions import OpenSessions
from .operations import (
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    NewSession,
    OpenedSession,
    ReopenSession,
    SetMode,
    SetOption,
    Workplace,
)
from .running import RunningPrompts
from .session import SessionCore
from .stored_sessions import StoredSessions
from .watching import LOOK_BACK, Watching

__all__ = ["CURRENT_SERVICE", "SessionService"]

log: logging.Logger = logging.getLogger(__name__)

PAGES_AT_ONCE = 20
"""Pages of the store that one answer to `session/list` reads at most, to leave out unused sessions."""

CURRENT_SERVICE: ContextVar["SessionService"] = ContextVar("acpella_current_service")
"""The service of the editor whose request is being answered, for handlers of extension methods."""


class SessionService:
    """Opens, lists, closes and deletes sessions for one editor.

    A session that its editor has opened is loaded (in memory here, with the lease to write it), parked
    (unloaded while nobody uses it), or watched (another connection has it, and the editor looks on).
    """

    def __init__(
        self,
        definition: Definition,
        editor: Editor,
        open_sessions: OpenSessions,
        stored_sessions: StoredSessions | None,
        running: RunningPrompts,
    ) -> None:
        self.editor = editor
        self._definition = definition
        self._open_sessions = open_sessions
        self._stored_sessions = stored_sessions
        self._running = running
        self.watching: Watching = Watching(editor, lambda: self._cluster, self.close_abandoned)
        if stored_sessions is not None:
            editor.look_on = self.watching.look_on
            store = stored_sessions.store
            self._stored_leases = Leases(editor, store, open_sessions, running, self.watching)

    # -- opening -------------------------------------------------------------------------

    async def new(self, request: NewSession) -> OpenedSession:
        self._check_workplace(request.workplace)
        record = self._new_record(request.workplace)
        log_writer = None
        if self._stored_sessions is not None:
            await self._stored_sessions.check_room(self.editor.principal)
            store = self._stored_sessions.store
            log_writer = LogWriter(store, await store.create(record), 0)
        return await self._open_new(record, request.workplace, log_writer)

    async def reopen(self, request: ReopenSession) -> OpenedSession:
        session = await self._open_or_watch(request)
        if session is None:
            return await self._describe_watched(request)
        if not request.replay:
            self._tell_commands_later(session)
        elif self._definition.commands:  # before the answer: with it, everything of the session was told
            await session.tell_commands()
            await session.all_shown()
        return session.opened()

    async def fork(self, request: ForkSession) -> OpenedSession:
        source_id = checked_id(request.session_id)
        self._check_workplace(request.workplace)
        await self._stored.check_room(self.editor.principal)
        await self._open_sessions.settled(source_id)
        source = self._in_memory(source_id)
        if source is not None:
            await source.save()
        record = self._new_record(request.workplace)
        lease = await self._store.fork(source_id, record, principal=self.editor.principal)
        try:
            record = await self._store.get(record.id, principal=self.editor.principal)
        except BaseException:
            await self._open_sessions.give_back(lease)
            raise
        log_writer = LogWriter(self._store, lease, record.last_seq)
        return await self._open_new(record, request.workplace, log_writer)

    def _new_record(self, workplace: Workplace) -> SessionRecord:
        return SessionRecord(
            id=new_session_id(),
            cwd=workplace.cwd,
            principal=self.editor.principal,
            created_at=_now(),
            updated_at=_now(),
        )

    async def _open_new(
        self, record: SessionRecord, workplace: Workplace, log_writer: LogWriter | None
    ) -> OpenedSession:
        """Open a session that was just created; if that fails, it is deleted again."""
        try:
            session = await self._open(record, workplace, log_writer)
        except BaseException:
            if self._stored_sessions is not None:
                await self._store.delete(record.id, principal=self.editor.principal)
            raise
        self._tell_commands_later(session)
        return session.opened()

    async def _open(
        self, record: SessionRecord, workplace: Workplace, log_writer: LogWriter | None
    ) -> SessionCore:
        session = SessionCore(self._definition, self.editor, record, workplace, log_writer=log_writer)
        await self._open_sessions.admit(session)
        self.editor.parked.pop(session.id, None)
        return session

    def _tell_commands_later(self, session: SessionCore) -> None:
        """Tell the commands once the editor knows the session."""
        if self._definition.commands:
            self.editor.after_answer(lambda: session.start(session.tell_commands))

    async def _open_or_watch(self, request: ReopenSession) -> SessionCore | None:
        """Load the session; or, if it is in use elsewhere, let the editor watch it and return None."""
        session_id = checked_id(request.session_id)
        self._check_workplace(request.workplace)
        async with self._open_sessions.alone(session_id):  # two loads at once take turns
            await self._open_sessions.settled(session_id)
            live = self._in_memory(session_id)
            if live is not None and live.prompt is not None:
                if live.editor.is_left_for(self.editor):
                    await self._move_turn_here(live, replay=request.replay)
                    return live
                if live.editor is not self.editor and session_id not in self._running:
                    await live.save()
                    await self._watch(request)
                    return None
            try:
                lease = await self._leases.acquire_idle(session_id)
            except SessionBusy as busy:
                if busy.node is None:  # another process without a way to us
                    raise
                await self._watch(request)
                return None
            try:
                await self.watching.remove(session_id)
                record = await self._store.get(session_id, principal=self.editor.principal)
                last_seq = await self._close_interrupted(lease, record, show=not request.replay)
                if request.replay:
                    await self._replay(session_id)
                log_writer = LogWriter(self._store, lease, last_seq)
                return await self._open(record, request.workplace, log_writer)
            except BaseException:
                await self._open_sessions.give_back(lease)
                raise

    async def _move_turn_here(self, session: SessionCore, *, replay: bool) -> None:
        """Go on with a session whose turn runs on a connection that its editor has left.

        The editor gets the history so far, then what the turn does from now on. The turn's answer goes to
        whoever asked; that it ended is in the log.
        """
        async with session.moving():
            await session.save()
            if replay:
                await self._replay(session.id)
            session.move_to(self.editor)
            if session.prompt is not None:
                session.prompt.move_to(self._running)

    # -- watching ------------------------------------------------------------------------

    async def _watch(self, request: ReopenSession) -> None:
        """Look on at a session that another connection has, on this node or another."""
        session_id, workplace = request.session_id, request.workplace
        self.editor.check_inside(real_places(workplace))
        await self.watching.remove(session_id)
        record = await self._store.get(session_id, principal=self.editor.principal)
        after = 0 if request.replay else max(0, record.last_seq - LOOK_BACK)
        watch = self.watching.add(session_id, workplace, after)
        self.editor.parked.pop(session_id, None)
        try:
            await watch.read(self._store, show=request.replay)
        except BaseException:
            await self.watching.remove(session_id)
            raise
        self.editor.after_answer(watch.start)

    async def _describe_watched(self, request: ReopenSession) -> OpenedSession:
        """The answer to an editor that watches the session instead of loading it."""
        session_id = request.session_id
        record = await self._store.get(session_id, principal=self.editor.principal)
        if self._definition.commands:
            commands = [command.to_wire() for command in self._definition.commands.values()]
            update = self.editor.codec.commands(commands)
            if update is not None and request.replay:
                await self.editor.show(session_id, update)
        live = self._in_memory(session_id)
        is_prompting = live.prompt is not None if live else self.watching.is_prompting(session_id)
        choices = Choices(self._definition.modes, self._definition.options, record.settings)
        return OpenedSession(session_id, choices, is_prompting=is_prompting)

    async def cancel(self, session_id: str) -> None:
        """End the turn, wherever it runs. Without one there is nothing to do (R-213)."""
        watch = self.watching.get(session_id)
        if session_id in self._running or watch is None:
            self._running.cancel(session_id)
            return
        try:
            await watch.submit("cancel")
        except StoreError as error:
            log.warning("session %s was not cancelled: %s", session_id, error)

    async def close_abandoned(self, session_id: str) -> None:
        """Close a turn whose process is gone; those who watch see it in the log."""
        async with self._open_sessions.alone(session_id):
            await self._open_sessions.settled(session_id)
            if self._open_sessions.get(session_id) is not None:
                return  # it runs here
            try:
                lease = await self._leases.acquire(session_id)
            except SessionBusy:
                return  # somebody was faster
            try:
                record = await self._store.get(session_id, principal=self.editor.principal)
                await self._close_interrupted(lease, record, show=False)
            finally:
                await self._open_sessions.give_back(lease)

    async def _close_interrupted(self, lease: Lease, record: SessionRecord, *, show: bool) -> int:
        """Close a turn that its process left open; `show` tells the editor. Returns the log's last number."""
        if not record.last_seq:
            return 0
        last_seq, updates = await close_interrupted(
            self._store, lease, record.last_seq, principal=self.editor.principal
        )
        for update in updates if show else ():
            await self.editor.show_stored(record.id, update)
        return last_seq

    async def _replay(self, session_id: str, *, after: int = 0) -> None:
        """Send the conversation again from an entry on, in order (R-142)."""
        show = self.editor.show_stored
        async for events in self._store.read(session_id, after=after, principal=self.editor.principal):
            for event in events:
                if event.kind == "update":
                    await show(session_id, event.body)

    # -- working with one ----------------------------------------------------------------

    @asynccontextmanager
    async def using(self, session_id: str) -> AsyncGenerator[SessionCore]:
        """A session that the editor has opened on this connection; it stays in memory meanwhile."""
        session = await self._loaded(checked_id(session_id))
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1

    async def _loaded(self, session_id: str) -> SessionCore:
        """A session that this editor has opened, loaded if need be. Raises `ResourceNotFound` for others."""
        session = self._open_sessions.get(session_id)
        if session is not None and session.editor is self.editor:
            return session
        if session_id not in self.editor.parked and self.watching.get(session_id) is None:
            raise no_session(session_id)
        async with self._open_sessions.alone(session_id):
            return await self._load_again(session_id)

    async def _load_again(self, session_id: str) -> SessionCore:
        """Load a session that is parked or watched; the editor first sees what others did in it."""
        await self._open_sessions.settled(session_id)
        session = self._open_sessions.get(session_id)
        if session is not None and session.editor is self.editor:
            return session  # somebody was faster
        watch = self.watching.get(session_id)
        parked = self.editor.parked.get(session_id)
        if watch is None and parked is None:
            raise no_session(session_id)  # closed meanwhile
        if session is not None:
            if session.in_use:
                raise still_running()
            await self._open_sessions.give(session)
        lease = await self._leases.acquire_from_node(session_id)
        try:
            record = await self._store.get(session_id, principal=self.editor.principal)
            if watch is not None:
                await watch.until(record.last_seq)
                await self.watching.remove(session_id)
                parked = Parked(watch.workplace, watch.seq)
                self.editor.parked[session_id] = parked
            assert parked is not None
            await self._replay(session_id, after=parked.seq)  # what others did in it meanwhile
            self.editor.parked[session_id] = Parked(parked.workplace, record.last_seq)
            last_seq = await self._close_interrupted(lease, record, show=True)
            log_writer = LogWriter(self._store, lease, last_seq)
            return await self._open(record, parked.workplace, log_writer)
        except BaseException:
            await self._open_sessions.give_back(lease)
            raise

    async def set_mode(self, request: SetMode) -> OpenedSession:
        return await self._change(request.session_id, lambda session: session.set_mode(request.mode_id))

    async def set_option(self, request: SetOption) -> OpenedSession:
        return await self._change(
            request.session_id, lambda session: session.set_option(request.option_id, request.value)
        )

    async def _change(
        self, session_id: str, change: Callable[[SessionCore], Awaitable[None]]
    ) -> OpenedSession:
        async with self.using(session_id) as session:
            try:
                await change(session)
            except ValueError as error:
                raise InvalidParams(str(error)) from None
            await session.all_shown()
            return session.opened()

    async def saved(self, session_id: str) -> None:
        """Write what a session in memory has not written yet."""
        live = self._in_memory(session_id)
        if live is not None:
            await live.save()

    # -- what the store holds ------------------------------------------------------------

    async def list(self, request: ListSessions) -> ListSessionsResponse:
        if request.cwd is not None:
            check_absolute(request.cwd)
        page_size = self._definition.settings.page_size
        sessions: list[SessionInfo] = []
        cursor = request.cursor
        for _ in range(PAGES_AT_ONCE):
            page = await self._store.list(
                principal=self.editor.principal,
                cwd=request.cwd,
                cursor=cursor,
                limit=page_size - len(sessions),
            )
            sessions += [
                SessionInfo(session_id=r.id, cwd=r.cwd, title=r.title, updated_at=r.updated_at)
                for r in page.sessions
                if self._was_used(r)
            ]
            cursor = page.next_cursor
            if cursor is None or len(sessions) >= page_size:
                break
        return ListSessionsResponse(sessions=sessions, next_cursor=cursor)

    def _was_used(self, record: SessionRecord) -> bool:
        """Editors open a session with every window; one without a prompt is nothing to come back to."""
        if record.last_seq or record.title is not None:
            return True
        live = self._in_memory(record.id)
        return live is not None and live.prompt is not None

    async def close(self, request: CloseSession) -> None:
        session_id = checked_id(request.session_id)
        await self._running.stop(session_id)
        async with self._open_sessions.alone(session_id):
            live = self._open_sessions.get(session_id)
            if live is not None and live.editor is self.editor:
                await self._open_sessions.forget(live)
                return
            parked = self.editor.parked.pop(session_id, None)
            watched = await self.watching.remove(session_id)
            if parked is None and not watched:
                raise no_session(session_id)

    async def delete(self, request: DeleteSession) -> None:
        session_id = checked_id(request.session_id)
        await self._running.stop(session_id)
        async with self._open_sessions.alone(session_id):
            await self._open_sessions.settled(session_id)
            live = self._in_memory(session_id)
            if live is not None:
                self._leases.check_idle(live)
                await self._open_sessions.forget(live, save=False)
            try:
                try:
                    await self._store.delete(session_id, principal=self.editor.principal)
                except SessionBusy:
                    lease = await self._leases.acquire_from_node(session_id)
                    try:
                        await self._store.delete(session_id, principal=self.editor.principal)
                    except BaseException:
                        await self._open_sessions.give_back(lease)
                        raise
                self.editor.parked.pop(session_id, None)
                await self.watching.remove(session_id)
            except SessionNotFound:
                pass  # deleting what is not there succeeds

    # -- guards --------------------------------------------------------------------------

    @property
    def _stored(self) -> StoredSessions:
        assert self._stored_sessions is not None, "only served with a store"
        return self._stored_sessions

    @property
    def _leases(self) -> Leases:
        assert self._stored_sessions is not None, "only served with a store"
        return self._stored_leases

    @property
    def _store(self) -> Store:
        return self._stored.store

    @property
    def _cluster(self) -> Cluster:
        assert self._stored.cluster is not None, "open as long as the store is"
        return self._stored.cluster

    def _in_memory(self, session_id: str) -> SessionCore | None:
        return self._open_sessions.of_user(session_id, self.editor.principal)

    def _check_workplace(self, workplace: Workplace) -> None:
        check_places(workplace.cwd, workplace.directories, workplace.mcp_servers, self._definition.mcp)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
