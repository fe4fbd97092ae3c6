"""Commands from watchers for sessions that are open here: cancel a turn, answer it, release the session."""

import asyncio
import logging

import msgspec

from acpella.sessions import Cluster, ClusterCommand, StoreError

from .open_questions import Answered
from .open_sessions import OpenSessions
from .session import SessionCore

__all__ = ["SessionInbox"]

log: logging.Logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""Until the commands are read again, when the store is away."""


class SessionInbox:
    """Runs the commands of all sessions of this process."""

    def __init__(self, cluster: Cluster, open_sessions: OpenSessions) -> None:
        self._cluster = cluster
        self._open_sessions = open_sessions
        self._giving: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """For ever; to be cancelled."""
        while True:
            try:
                async for session_id, command in self._cluster.session_commands():
                    session = self._open_sessions.get(session_id)
                    if session is not None:
                        self._do(session, command)
            except StoreError as error:
                log.info("commands of sessions cannot be read just now: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    def _do(self, session: SessionCore, command: ClusterCommand) -> None:
        if command.kind == "cancel":
            if session.prompt is not None:
                session.prompt.cancel()
        elif command.kind == "answer":
            try:
                session.questions.answer(msgspec.json.decode(command.body, type=Answered))
            except msgspec.MsgspecError as error:
                log.warning("session %s: an unreadable answer: %s", session.id, error)
        elif command.kind == "release":
            # One of our own is left over: whoever asked has the session by now.
            if command.body.decode() != self._cluster.life:
                task = asyncio.get_running_loop().create_task(self._give(session))
                self._giving.add(task)
                task.add_done_callback(self._giving.discard)
        else:
            log.warning("session %s: unknown command %s", session.id, command.kind[:40])

    async def _give(self, session: SessionCore) -> None:
        try:
            async with self._open_sessions.alone(session.id):
                if self._open_sessions.get(session.id) is not session:
                    return
                if session.in_use:
                    await session.save()  # so that it is seen elsewhere why
                else:
                    await self._open_sessions.give(session)
        except StoreError as error:
            log.warning("session %s was not given to another node: %s", session.id, error)
