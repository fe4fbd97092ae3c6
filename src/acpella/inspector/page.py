"""The inspector as a page: its files, its login, and what it asks for."""

import asyncio
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from acpella.server.access.gate import Refusal
from acpella.server.http.requests import HttpRequest
from acpella.web import Page
from acpella.web.launch import LaunchCodes
from acpella.web.static_files import HEADERS

from .control_client import Control
from .filters import Filter, FilterError
from .holding import ActionError, HoldRule, Then
from .log import RecordingLog
from .program import as_program, as_test
from .sources import Source, SourceList
from .spans import turn_times

if TYPE_CHECKING:
    from acpella.server.access.credentials import AuthHook
    from acpella.server.agent_factories import AgentFactory
    from acpella.sessions import Cluster

__all__ = ["InspectorPage", "View"]

BATCH = 5000
"""Rows of an answer."""

MAX_DOWNLOAD = 256 * 1024 * 1024
"""Bytes of a recording that are sent as a file: it is held in memory on both sides."""

LOOK_SECONDS = 0.1
"""Seconds between two looks at a recording that is still being written."""

WAIT_SECONDS = 20.0
"""Seconds that a page is kept waiting for further rows; then it asks again."""


HOLD_SECONDS = 5.0
"""Seconds that a page waits for news of held messages. It must ask again before `LEASE` is over."""

MAX_ORDER = 16 * 1024 * 1024
"""Bytes of what a page wants done to a message."""

MAX_VIEWS = 16
"""Recordings whose rows are kept in memory at once."""


class _Order(msgspec.Struct):
    """What a person does to messages on their way."""

    do: Literal["start", "stop", "act", "send"]
    filter: str = ""
    then: Then = "hold"
    seconds: float = 1.0
    n: int = 0
    how: str = ""
    text: str | None = None
    result: Any = None
    error: Any = None
    dir: Literal["in", "out"] = "in"


class InspectorPage:
    """Shows recordings to whoever has a token with the scope `admin`."""

    def __init__(self, sources: SourceList, *, live: bool, page: Page | None = None) -> None:
        """With `live`, files may still grow. `page` is the chat's, if the server offers that, too."""
        self._chat = page
        self._page = page or Page(hidden="/")
        self.codes: LaunchCodes = self._page.codes
        self._sources = sources
        self._live = live
        self._views: dict[str, View] = {}

    def around(self, factory: "AgentFactory") -> "AgentFactory":
        """The factory, shared by pages of the chat if there are any."""
        return factory if self._chat is None else self._chat.around(factory)

    async def join(self, cluster: "Cluster", auth: object) -> None:
        """Make links of this node work at the other nodes, and theirs here. Raises `StoreError`."""
        await self._page.join(cluster, auth)

    async def leave(self) -> None:
        """Stop sharing links with the other nodes."""
        await self._page.leave()

    async def serve(self, request: HttpRequest, auth: "AuthHook | None") -> bool:
        """Answer a request that needs no credentials; False for any other request. Raises `Refusal`."""
        if self._chat is None and request.path == "/" and not request.is_websocket:
            await request.reply(303, b"", headers=[*HEADERS, (b"location", b"/inspect")])
            return True
        return await self._page.serve(request, auth)

    async def serve_allowed(self, request: HttpRequest) -> bool:
        """Answer a request whose sender was let in; False if it is not for the inspector."""
        if request.is_websocket or not request.path.startswith("/inspect/"):
            return False
        if "admin" not in request.credential.scopes:
            raise Refusal(403, "this needs a token with the scope 'admin'")
        where = request.path.removeprefix("/inspect/")
        if request.method != "GET" and (where != "hold" or request.method != "POST"):
            raise Refusal(405, "only GET is answered here", headers=[(b"allow", b"GET")])
        if where == "sources":
            sources = [_told(source) for source in self._sources()]
            answer: object = {"sources": sources, "chat": self._chat is not None and self._chat.in_frames}
        elif where == "rows" and not request.query("source") and not await self._any_source():
            answer = _NOTHING
        else:
            view = self._view(request.query("source") or "")
            answers = {
                "rows": view.rows,
                "line": view.line,
                "times": view.times,
                "search": view.search,
                "copy": view.copy,
                "hold": view.hold,
            }
            if where == "recording":
                await view.send_recording(request)
                return True
            if where not in answers:
                raise Refusal(404, "nothing is here")
            answer = await answers[where](request)
        headers = [*HEADERS, (b"cache-control", b"no-store")]
        body = msgspec.json.encode(answer)
        await request.reply(200, body, kind=b"application/json", headers=headers)
        return True

    async def _any_source(self) -> bool:
        """False if no conversation began, after waiting for one. True also if none can begin any more."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_SECONDS
        while not self._sources():
            if not self._live or loop.time() >= end:
                return not self._live  # without `live`, `_view` refuses the request
            await asyncio.sleep(LOOK_SECONDS)
        return True

    def _view(self, name: str) -> "View":
        """The recording that is asked for; the latest if none is named."""
        sources = self._sources()
        chosen = [source for source in sources if source.id == name] if name else sources[-1:]
        if not chosen:
            raise Refusal(404, "there is no such conversation" if name else "there is no conversation yet")
        source = chosen[0]
        view = self._views.pop(source.id, None)
        if view is None:
            try:
                view = View(source, live=self._live)
            except OSError as error:
                raise Refusal(404, f"the recording cannot be read: {error.strerror}") from None
        view.hold_by(source.control)
        self._views[source.id] = view  # the one that was used last is at the end
        if len(self._views) > MAX_VIEWS:
            self._views.pop(next(iter(self._views))).close()
        return view

    async def close(self) -> None:
        """Close the files, and let every message pass that is held."""
        for view in self._views.values():
            view.close()
        self._views.clear()


def _told(source: Source) -> dict[str, object]:
    return {
        "id": source.id,
        "name": source.name,
        "started": source.started,
        "can_hold": source.control != "",
    }


_NOTHING: dict[str, Any] = {
    "rows": [],
    "rules": {},
    "total": 0,
    "left_out": 0,
    "live": True,
    "header": {},
    "name": "",
    "source": "",
    "can_hold": False,
}
"""The answer to a page that waits for the first conversation."""


_NOTHING_HELD: dict[str, object] = {"rule": None, "held": [], "last": None, "changes": 0, "ended": True}
"""The answer if nothing can be held: that a conversation ends while a page asks is no error."""


class View:
    """One recording."""

    def __init__(self, source: Source, *, live: bool) -> None:
        """Raises OSError: it cannot be read."""
        self._source = source
        self._log = RecordingLog(source.path)
        self._live = live
        self._reading = asyncio.Lock()
        self._socket = ""
        self._control: Control | None = None

    def hold_by(self, socket: str) -> None:
        """Hold messages through this socket: each connection has its own."""
        if socket != self._socket:
            if self._control is not None:
                self._control.drop()
            self._socket = socket
            self._control = Control(socket) if socket else None

    def close(self) -> None:
        self._log.close()
        if self._control is not None:
            self._control.drop()

    async def rows(self, request: HttpRequest) -> object:
        """The rows after one that the page has. Waits for a while if there are none yet."""
        after = _number(request, "after")
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_SECONDS
        while True:
            await self._read()
            if len(self._log.rows) > after or not self._goes_on or loop.time() >= end:
                break
            await asyncio.sleep(LOOK_SECONDS)
        rows = self._log.rows[after : after + BATCH]
        return {
            "rows": rows,
            "rules": {str(row.n): self._log.rules[row.n] for row in rows if row.n in self._log.rules},
            "total": len(self._log.rows),
            "left_out": self._log.left_out,
            "live": self._goes_on,
            "header": self._log.header,
            "name": self._source.name,
            "source": self._source.id,
            "can_hold": self._control is not None and self._goes_on,
        }

    async def times(self, request: HttpRequest) -> object:
        spans = self._log.spans.spans
        return {
            "spans": list(spans)[-5000:],
            "turns": turn_times(spans)[-500:],
            "stats": self._log.stats.summary(),
            "findings": self._log.findings.findings,
            "finding_count": self._log.findings.count,
        }

    async def line(self, request: HttpRequest) -> object:
        try:
            return self._log.explained(_number(request, "n"))
        except IndexError:
            raise Refusal(404, "there is no such row") from None

    async def search(self, request: HttpRequest) -> object:
        try:
            row_filter = Filter(request.query("q") or "")
        except FilterError as error:
            raise Refusal(400, str(error)) from None
        after, until = _number(request, "after"), len(self._log.rows)
        rows = await asyncio.to_thread(self._log.search, row_filter, after=after)
        return {"rows": rows, "until": until}

    async def copy(self, request: HttpRequest) -> object:
        """The conversation up to a row, as a program or as a test."""
        n = _number(request, "n")
        if not 0 < n <= len(self._log.rows):
            raise Refusal(404, "there is no such row")
        make = as_test if request.query("as") == "pytest" else as_program
        connection = self._log.rows[n - 1].c
        try:
            text = await asyncio.to_thread(make, self._log.path, connection=connection, last=n)
        except ValueError as error:
            raise Refusal(409, str(error)) from None
        return {"text": text}

    async def hold(self, request: HttpRequest) -> object:
        """What is held now, or, with POST, what is to be done. The page asks for as long as it is open."""
        control = self._control
        if control is None:
            if request.method == "POST":
                raise Refusal(409, "messages of this conversation cannot be held; it is a recording")
            return _NOTHING_HELD
        try:
            if request.method == "POST":
                await self._do(control, await request.body(limit=MAX_ORDER, seconds=30))
            else:
                await control.ping()
                if control.changes == _number(request, "after"):
                    changed = control.changed
                    try:
                        await asyncio.wait_for(changed.wait(), HOLD_SECONDS)
                    except TimeoutError:
                        pass
        except (ActionError, FilterError) as error:
            raise Refusal(409, str(error)) from None
        except OSError:
            if request.method == "POST":
                raise Refusal(409, "the conversation has ended") from None
            return _NOTHING_HELD
        items = [control.held[n] for n in sorted(control.held)]
        return {"rule": control.rule, "held": items, "last": control.last, "changes": control.changes}

    async def _do(self, control: Control, body: bytes) -> None:
        try:
            order = msgspec.json.decode(body, type=_Order)
        except msgspec.MsgspecError as error:
            raise Refusal(400, str(error)) from None
        match order.do:
            case "start":
                await self._read()
                rule = HoldRule(order.filter, order.then, order.seconds)
                await control.start(rule, requests=self._log.open_requests)
            case "stop":
                await control.stop()
            case "act":
                more = {"text": order.text, "seconds": order.seconds, "result": order.result}
                await control.act(order.n, order.how, **more, error=order.error)
            case "send":
                await control.send(order.dir, order.text or "")

    async def send_recording(self, request: HttpRequest) -> None:
        if self._log.path.stat().st_size > MAX_DOWNLOAD:
            raise Refusal(413, f"the recording is too long to save here; it is {self._log.path}")
        data = await asyncio.to_thread(self._log.path.read_bytes)
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in self._log.path.name)
        disposition = (b"content-disposition", f'attachment; filename="{name}"'.encode())
        await request.reply(200, data, kind=b"application/jsonl", headers=[*HEADERS, disposition])

    @property
    def _goes_on(self) -> bool:
        return self._live and (self._source.goes_on or not self._log.ended)

    async def _read(self) -> None:
        async with self._reading:
            count = 1
            while count:
                count = self._log.read_more(200)
                await asyncio.sleep(0)  # others are served between two pieces of a long recording


def _number(request: HttpRequest, name: str) -> int:
    value = request.query(name) or "0"
    if not value.isdecimal() or len(value) > 12:
        raise Refusal(400, f"{name} must be a number")
    return int(value)
