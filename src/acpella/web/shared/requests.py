"""What a page asks: of its agent, and of the server beside it."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from acpella.errors import AcpellaError, InvalidParams, MethodNotFound, RpcError
from acpella.local.listing import ListedFiles
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame

from .agent_host import AgentHost
from .agents import SharedAgents
from .clock import now
from .json_values import as_object
from .session import SharedPrompt, SharedSession
from .switches import names_of
from .viewer import Role, Viewer

__all__ = ["ViewerRequests"]

log: logging.Logger = logging.getLogger(__name__)
audit: logging.Logger = logging.getLogger("acpella.audit")

NO_SESSION = RpcError("no such session is open here", code=-32002)
CREATES_SESSION = frozenset({"session/new", "session/fork"})
"""Requests whose answer names a new session."""


class _Watch(msgspec.Struct):
    session_id: str = msgspec.field(name="sessionId")
    epoch: str = ""
    after: int = 0
    role: str = "controller"


class _Answer(msgspec.Struct):
    session_id: str = msgspec.field(name="sessionId")
    question: int
    result: Raw


class _Invite(msgspec.Struct):
    session_id: str = msgspec.field(name="sessionId")
    user: str
    role: str = "observer"


class _Rename(msgspec.Struct):
    session_id: str = msgspec.field(name="sessionId")
    title: str


class _Find(msgspec.Struct):
    query: str = ""
    session_id: str = msgspec.field(name="sessionId", default="")


class _Switches(msgspec.Struct):
    off: list[str]


class _Opening(msgspec.Struct):
    session_id: str = msgspec.field(name="sessionId", default="")
    cwd: str = ""


class ViewerRequests:
    """The messages of one page. Scopes, rates and directories were judged before they come here."""

    def __init__(self, shared: SharedAgents, viewer: Viewer) -> None:
        self._shared = shared
        self._viewer = viewer
        self._host = shared.host_of(viewer.principal)
        self._files: dict[str, ListedFiles] = {}
        self._handlers: dict[str, Callable[[Frame], Any]] = {
            "initialize": self._initialize,
            "_acpella/sessions": self._list,
            "_acpella/session/watch": self._watch,
            "_acpella/session/unwatch": self._unwatch,
            "_acpella/session/answer": self._answer,
            "_acpella/session/invite": self._invite,
            "_acpella/session/rename": self._rename,
            "_acpella/files": self._find_files,
            "_acpella/client": self._switch,
            "session/load": self._open,
            "session/resume": self._open,
        }

    def take(self, frame: Frame) -> None:
        """Take a message of the page."""
        if frame.kind == "notification":
            self._on_notification(frame)
        elif frame.kind == "request":
            if frame.method == "session/prompt":
                self._prompt(frame)
            else:
                handler = self._handlers.get(frame.method, self._pass_on)
                self._host.spawn(self._run(handler, frame))

    async def _run(self, handler: Callable[[Frame], Any], frame: Frame) -> None:
        assert frame.id is not None
        try:
            result = await handler(frame)
        except UNREADABLE as error:
            self._viewer.refuse(frame.id, InvalidParams(str(error)))
        except RpcError as error:
            self._viewer.refuse(frame.id, error)
        except TimeoutError:
            self._viewer.refuse(frame.id, RpcError("the agent did not answer in time", code=-32603))
        except AcpellaError as error:
            log.error("%s for a page: %s", frame.method, error)
            self._viewer.refuse(frame.id, RpcError(str(error), code=-32603))
        else:
            if result is not None:
                self._viewer.answer(frame.id, result)

    def _found(self, frame_session: str | None) -> tuple[AgentHost, SharedSession]:
        session = self._shared.find(frame_session or "", self._viewer.principal)
        if session is None:
            raise NO_SESSION
        return session

    def _controlled(self, session_id: str | None) -> tuple[AgentHost, SharedSession]:
        host, session = self._found(session_id)
        if not session.may_control(self._viewer):
            raise RpcError("you watch this session, and may not change it", code=-32003)
        return host, session

    # -- of the server ---------------------------------------------------------------------------

    async def _initialize(self, frame: Frame) -> object:
        await self._host.ready()
        return self._welcome()

    def _welcome(self) -> object:
        answer = dict(self._host.initialized)
        about = self._host.about
        mine = {
            "user": self._viewer.principal,
            "scopes": sorted(self._viewer.scopes),
            "agent": about.name,
            "cwd": about.cwd,
            "home": str(Path.home()),
            "now": int(now() * 1000),
            "inspector": about.inspector and self._viewer.is_admin,
            "switches": self._host.switches,
            "others": about.others if self._viewer.is_admin else (),  # not for guests
            "keys": about.keys if self._viewer.is_admin else (),
        }
        answer["_meta"] = {**as_object(answer.get("_meta")), "acpella": mine}
        return answer

    async def _switch(self, frame: Frame) -> object:
        """The client shall declare less to the agent, or more again."""
        if not self._host.about.switches:
            raise MethodNotFound("what the client declares cannot be changed here")
        try:
            names = names_of(msgspec.json.decode(frame.envelope.params, type=_Switches).off)
        except ValueError as error:
            raise InvalidParams(str(error)) from None
        await self._host.switch_off(names)
        for viewer in self._shared.viewers:
            if viewer.principal == self._viewer.principal and viewer is not self._viewer:
                viewer.notify("_acpella/client_changed", {"switches": self._host.switches})
        return self._welcome()

    async def _list(self, frame: Frame) -> object:
        """The sessions that are open here. A page asks for the agent's other sessions with
        `session/list`, from which the server removes those of other users."""
        mine = self._host.sessions.values()
        every = [*mine, *self._shared.shared_with(self._viewer.principal)]
        names = {one.session: one.name for one in self._shared.records.of(self._viewer.principal) if one.name}
        return {"sessions": [session.to_entry() for session in every], "names": names}

    async def _watch(self, frame: Frame) -> object:
        params = msgspec.json.decode(frame.envelope.params, type=_Watch)
        _, session = self._found(params.session_id)
        if not session.is_open and not session.log.last:
            raise NO_SESSION
        role: Role = session.role_of(self._viewer.principal) or "observer"
        if params.role == "observer" or not self._viewer.may("prompt"):
            role = "observer"
        log_ = session.log
        after = params.after if params.epoch == log_.epoch and 0 <= params.after <= log_.last else 0
        self._viewer.answer(
            frame.id or b"null",
            {
                "epoch": log_.epoch,
                "after": max(after, log_.first - 1),
                "last": log_.last,
                "role": role,
                "entry": session.to_entry(),
            },
        )
        session.join(self._viewer, role, after)
        return None

    async def _unwatch(self, frame: Frame) -> object:
        _, session = self._found(frame.session)
        session.leave(self._viewer)
        return {}

    async def _answer(self, frame: Frame) -> object:
        answer = msgspec.json.decode(frame.envelope.params, type=_Answer)
        host, session = self._found(answer.session_id)
        if not session.may_answer(self._viewer):
            raise RpcError("you may not answer for this session", code=-32003)
        host.answer(session, answer.question, by=self._viewer.principal, result=answer.result)
        audit.info(
            "a question was answered",
            extra={"facts": {"user": self._viewer.principal, "question": answer.question}},
        )
        return {}

    async def _invite(self, frame: Frame) -> object:
        invited = msgspec.json.decode(frame.envelope.params, type=_Invite)
        host, session = self._controlled(invited.session_id)
        if session.owner != self._viewer.principal:
            raise RpcError("only the owner of a session invites others", code=-32003)
        guests: dict[str, Role] = {
            user: role for user, role in session.guests.items() if user != invited.user
        }
        if invited.role in ("controller", "observer"):
            guests[invited.user] = "controller" if invited.role == "controller" else "observer"
        elif invited.role != "nobody":
            raise InvalidParams("role is controller, observer or nobody")
        session.let_in(guests)
        host.remember(session)
        await self._shared.saved()
        return {}

    async def _rename(self, frame: Frame) -> object:
        renamed = msgspec.json.decode(frame.envelope.params, type=_Rename)
        host, session = self._controlled(renamed.session_id)
        session.title = renamed.title.strip()[:500]
        session.is_named = bool(session.title)
        host.remember(session)
        session.touch()
        await self._shared.saved()
        return {}

    async def _find_files(self, frame: Frame) -> object:
        params = msgspec.json.decode(frame.envelope.params, type=_Find)
        cwd = self._controlled(params.session_id)[1].cwd if params.session_id else self._host.about.cwd
        files = self._files.setdefault(cwd, ListedFiles(Path(cwd)))
        names = await asyncio.to_thread(files.matching, params.query, 30) if cwd else []
        return {"files": [{"path": name, "uri": (Path(cwd) / name).as_uri()} for name in names]}

    # -- of the agent ----------------------------------------------------------------------------

    async def _open(self, frame: Frame) -> object:
        """Open a session unless it is open here. If its log is empty, the agent replays what was said."""
        params = msgspec.json.decode(frame.envelope.params, type=_Opening)
        open_session = self._shared.find(params.session_id, self._viewer.principal)
        host = self._host if open_session is None else open_session[0]
        session = host.session(params.session_id, cwd=params.cwd)
        if session.is_open:
            return {}
        is_new = session.log.last == 0
        try:
            await host.reopen(session, replay=is_new)
        except BaseException:
            if is_new and not session.viewers:
                host.sessions.pop(session.id, None)
            raise
        session.touch()
        return {}

    async def _pass_on(self, frame: Frame) -> object:
        host = self._host
        if frame.session is not None and frame.method not in CREATES_SESSION:
            host, session = self._controlled(frame.session)
            if not session.is_open:
                await host.reopen(session, replay=False)
        else:
            await host.ready()
        host.pass_on(frame, partial(self._on_answer, host, frame))
        return None

    def _on_answer(self, host: AgentHost, frame: Frame, response: Frame) -> None:
        """What an answer of the agent changes for everybody goes into the log before its asker has it."""
        if not response.is_error:
            if frame.method in CREATES_SESSION:
                self._on_made(host, frame, response)
            elif (session := host.sessions.get(frame.session or "")) is not None:
                self._on_changed(host, session, frame, response)
        self._viewer.send(response.data)

    def _on_made(self, host: AgentHost, frame: Frame, response: Frame) -> None:
        opened = msgspec.json.decode(frame.envelope.params or b"{}", type=_Opening)
        opening = msgspec.json.decode(response.envelope.result, type=_Opening)
        session = host.new_session(opening.session_id, cwd=opened.cwd)
        source = host.sessions.get(opened.session_id)
        if frame.method == "session/fork" and source is not None and not session.log.last:
            session.log.begin_with(source.log)
            session.title = f"{source.title} (fork)" if source.title else ""
        session.is_open = True
        session.note("state", state=response.envelope.result)
        session.touch()

    def _on_changed(self, host: AgentHost, session: SharedSession, frame: Frame, response: Frame) -> None:
        if frame.method == "session/set_mode":
            session.note("chosen", what="mode", params=frame.envelope.params, by=self._viewer.principal)
        elif frame.method == "session/set_model":
            session.note("chosen", what="model", params=frame.envelope.params, by=self._viewer.principal)
        elif frame.method == "session/set_config_option":
            session.note("state", state=response.envelope.result or Raw(b"{}"))
        elif frame.method in ("session/delete", "session/close"):
            for viewer in list(session.viewers):
                session.leave(viewer)
            host.sessions.pop(session.id, None)
            if frame.method == "session/delete":
                host.forget(session)
            for viewer in self._shared.viewers:
                if viewer.principal == session.owner and frame.method == "session/delete":
                    viewer.notify("_acpella/sessions_changed", {"deleted": [session.id]})

    def _prompt(self, frame: Frame) -> None:
        assert frame.id is not None
        try:
            host, session = self._controlled(frame.session)
        except RpcError as error:
            self._viewer.refuse(frame.id, error)
        else:
            host.prompt(session, SharedPrompt(frame, self._viewer))

    def _on_notification(self, frame: Frame) -> None:
        try:
            host, session = self._controlled(frame.session)
        except RpcError:
            return
        if frame.method == "session/cancel":
            host.cancel(session)
        else:
            host.tell(frame.data)
