"""Watching a session that another connection has, on this node or another: its log is read as it grows.

That takes no lease. What a watching editor wants done in the session goes to its owner as a command.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Raw

from acpella.errors import AcpellaError, ConnectionClosed, RpcError
from acpella.schema import (
    ElicitationAcceptAction,
    ElicitationDeclineAction,
    ElicitationFormMode,
    ElicitationUrlMode,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionInfoUpdate,
)
from acpella.sessions import Cluster, ClusterCommand, Cursor, Event, Store, StoreError, StoreUnavailable

from .editor import Editor, Parked
from .log_writer import encoded
from .open_questions import ASKED_OF_PEOPLE, Answered, Question
from .operations import Workplace

__all__ = ["LOOK_BACK", "Watch", "Watching"]

log: logging.Logger = logging.getLogger(__name__)

LOOK_BACK = 1000
"""Entries that tell whether a turn runs, and what it asks, when the history is not wanted."""

OWNER_SECONDS = 1.0
"""How often somebody who watches a silent turn looks whether its owner is alive."""

RETRY_SECONDS = 1.0
"""Until the log is read again, when the store is away."""

_PROMPT = b'{"sessionUpdate":"user_message_chunk"'


class _Turn(msgspec.Struct):
    stop_reason: str = msgspec.field(name="stopReason", default="")


class Watch:
    """One session that an editor looks on at."""

    def __init__(
        self,
        editor: Editor,
        cluster: Cluster,
        session_id: str,
        workplace: Workplace,
        seq: int,
        *,
        close_abandoned: Callable[[str], Awaitable[None]],
    ) -> None:
        """The editor has seen everything up to the entry `seq`. `close_abandoned` closes a turn whose process
        is gone."""
        self.session_id = session_id
        self.workplace = workplace
        """What the editor sent when it opened the session, needed to load it when it prompts."""
        self.is_prompting: bool = False
        """Whether a turn is running, as far as the log tells."""
        self.seq: int = seq
        self._editor = editor
        self._cluster = cluster
        self._close_abandoned = close_abandoned
        self._questions: dict[str, Question] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()

    # -- reading -------------------------------------------------------------------------

    async def read(self, store: Store, *, show: bool) -> None:
        """Go to the end of the log as it is now; with `show`, the editor sees what is there."""
        pieces = store.read(self.session_id, after=self.seq, principal=self._editor.principal)
        async for events in pieces:
            for event in events:
                if show and event.kind == "update":
                    await self._editor.show_stored(self.session_id, event.body)
                self._learn(event)

    def _learn(self, event: Event) -> None:
        """What an entry says of the turn."""
        self.seq = event.seq
        if event.kind == "turn":
            self.is_prompting = False
            self._questions.clear()
        elif event.kind == "update":
            self.is_prompting = self.is_prompting or event.body.startswith(_PROMPT)
        elif event.kind == "question":
            question = msgspec.json.decode(event.body, type=Question)
            self._questions[question.id] = question
        elif event.kind == "answered":
            self._questions.pop(msgspec.json.decode(event.body, type=Answered).id, None)

    def start(self) -> None:
        """Show from now on what happens."""
        create = asyncio.get_running_loop().create_task
        self._tasks = [
            create(self._follow(), name=f"watch of {self.session_id}"),
            create(self._look_after(), name=f"owner of {self.session_id}"),
        ]

    async def stop(self) -> None:
        """Show nothing more, and ask nothing more. Safe to call twice."""
        tasks = [*self._tasks, *self._asking.values()]
        self._tasks = []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def until(self, seq: int) -> None:
        """Wait until the editor has seen the entry of this number."""
        while self.seq < seq and self._tasks and not self._tasks[0].done():
            self._news.clear()
            await self._news.wait()

    async def _follow(self) -> None:
        try:
            self._ask_open()
            while True:
                try:
                    await self._tail()
                except StoreUnavailable as error:
                    log.info("cannot watch session %s just now: %s", self.session_id, error)
                    await asyncio.sleep(RETRY_SECONDS)
        except ConnectionClosed:
            pass
        except StoreError as error:  # it is deleted, or has to be loaded again
            log.info("session %s is watched no more: %s", self.session_id, error)
        except Exception:
            log.exception("session %s cannot be watched", self.session_id)
        finally:
            self._news.set()
            for task in (*self._tasks[1:], *self._asking.values()):
                task.cancel()

    async def _tail(self) -> None:
        cursor = Cursor(self._cluster.gen, self.seq)
        tail = self._cluster.tail(self.session_id, cursor, principal=self._editor.principal)
        async for events in tail:
            for event in events:
                if event.kind in ("update", "state"):
                    await self._editor.show_stored(self.session_id, event.body)
                self._learn(event)
                if event.kind == "turn":
                    await self._tell_end(event.body)
                if event.kind in ("turn", "question", "answered"):
                    self._ask_open()
                self._news.set()

    async def _tell_end(self, body: bytes) -> None:
        """The answer to the prompt goes to whoever sent it; others learn here that the turn is over."""
        stop_reason = msgspec.json.decode(body, type=_Turn).stop_reason
        meta = {"acpella": {"turnRunning": False, "stopReason": stop_reason}}
        await self._editor.show(self.session_id, SessionInfoUpdate(meta=meta))

    # -- the owner -----------------------------------------------------------------------

    async def _look_after(self) -> None:
        """Close the turn if its owner is gone, unless somebody else does."""
        missing = 0
        while True:
            self._news.clear()
            try:
                async with asyncio.timeout(OWNER_SECONDS if self.is_prompting else None):
                    await self._news.wait()
                missing = 0
                continue
            except TimeoutError:
                pass
            try:
                home = await self._cluster.stream(self.session_id, principal=self._editor.principal)
                missing = missing + 1 if home.node is None else 0
                # Not at once: the connection of the prompt goes on at another node, which closes it, too.
                if missing > 2:
                    missing = 0
                    await self._close_abandoned(self.session_id)
            except AcpellaError as error:
                log.info("session %s: nobody knows whether its owner is there: %s", self.session_id, error)

    async def submit(self, kind: str, body: bytes = b"{}") -> None:
        """Let the owner of the session do something. Raises `StoreError`."""
        command = ClusterCommand(id=f"{kind}-{secrets.token_hex(8)}", kind=kind, body=body)
        await self._cluster.submit(self.session_id, command, principal=self._editor.principal)

    # -- questions -----------------------------------------------------------------------

    def _ask_open(self) -> None:
        """Ask the editor the open questions, and withdraw those that are closed."""
        for name in [name for name in self._asking if name not in self._questions]:
            self._asking.pop(name).cancel()
        for name, question in self._questions.items():
            if name not in self._asking and self._may_ask(question):
                self._asking[name] = asyncio.get_running_loop().create_task(self._ask(question))

    def _may_ask(self, question: Question) -> bool:
        return question.method in ASKED_OF_PEOPLE

    async def _ask(self, question: Question) -> None:
        method = ASKED_OF_PEOPLE[question.method]
        try:
            params = method.read_params(question.params)
            if not self._can_answer(params):
                return
            result = await self._editor.call(method, params)
            if _decides(result):
                reply = Answered(id=question.id, result=Raw(encoded(result)), by=self._editor.principal)
                await self.submit("answer", msgspec.json.encode(reply))
        except (RpcError, ConnectionClosed) as error:
            log.info("somebody who watches session %s gave no answer: %s", self.session_id, error)
        except (AcpellaError, msgspec.MsgspecError) as error:
            log.warning("session %s: a question was not answered: %s", self.session_id, error)

    def _can_answer(self, params: Any) -> bool:
        capabilities = self._editor.capabilities
        if isinstance(params, ElicitationFormMode):
            return capabilities.forms
        return capabilities.pages if isinstance(params, ElicitationUrlMode) else True


def _decides(result: Any) -> bool:
    """Whether this is a decision. A watcher that only dismisses a question does not end it for the others."""
    if isinstance(result, RequestPermissionResponse):
        return isinstance(result.outcome, SelectedPermissionOutcome)
    return isinstance(result, ElicitationAcceptAction | ElicitationDeclineAction)


class Watching:
    """The sessions that one editor looks on at."""

    def __init__(
        self,
        editor: Editor,
        cluster: Callable[[], Cluster],
        close_abandoned: Callable[[str], Awaitable[None]],
    ) -> None:
        self._editor = editor
        self._cluster = cluster
        self._close_abandoned = close_abandoned
        self._watches: dict[str, Watch] = {}

    @property
    def cluster(self) -> Cluster:
        """Of the store; open as long as that is."""
        return self._cluster()

    def get(self, session_id: str) -> Watch | None:
        return self._watches.get(session_id)

    def is_prompting(self, session_id: str) -> bool:
        """Whether somebody else's turn is seen to run in a session."""
        watch = self._watches.get(session_id)
        return watch is not None and watch.is_prompting

    def add(self, session_id: str, workplace: Workplace, seq: int) -> Watch:
        """Look on from behind the entry `seq`, once it is started."""
        watch = Watch(
            self._editor, self.cluster, session_id, workplace, seq, close_abandoned=self._close_abandoned
        )
        self._watches[session_id] = watch
        return watch

    def look_on(self, session_id: str, parked: Parked) -> None:
        """The editor had this session up to now."""
        self.add(session_id, parked.workplace, parked.seq).start()

    async def remove(self, session_id: str) -> bool:
        """Stop watching a session. Returns whether it was watched."""
        watch = self._watches.pop(session_id, None)
        if watch is not None:
            await watch.stop()
        return watch is not None

    async def close(self) -> None:
        """End all of them: the editor is gone."""
        for session_id in list(self._watches):
            await self.remove(session_id)
