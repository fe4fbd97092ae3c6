"""The inspector as a page: its files, its login, and what it asks for."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from acpella.server.access.gate import Refusal
from acpella.server.http.requests import Request
from acpella.web import Page
from acpella.web.launch import LaunchCodes
from acpella.web.static_files import HEADERS

from .filters import KEYS, Filter, FilterError
from .log import RecordingLog
from .spans import turn_times

if TYPE_CHECKING:
    from acpella.server.access.credentials import AuthHook
    from acpella.server.targets import Target

__all__ = ["InspectorPage"]

BATCH = 5000
"""Rows of an answer."""

MAX_DOWNLOAD = 256 * 1024 * 1024
"""Bytes of a recording that are sent as a file: it is held in memory on both sides."""

LOOK_SECONDS = 0.1
"""Between two looks at a recording that is still being written."""

WAIT_SECONDS = 20.0
"""That a page is kept waiting for further rows; then it asks again."""


class InspectorPage:
    """Shows one recording to whoever has the token with the scope `admin`."""

    def __init__(self, log: RecordingLog, *, live: bool) -> None:
        """With `live`, the file may still grow."""
        self._page = Page(hidden="/")
        self.codes: LaunchCodes = self._page.codes
        self._log = log
        self._live = live
        self._reading = asyncio.Lock()

    def around(self, target: "Target") -> "Target":
        """The target as it is."""
        return target

    async def serve(self, request: Request, auth: "AuthHook | None") -> bool:
        """Answer a request that needs no credentials; False if it is none of those. Raises `Refusal`."""
        if request.path == "/" and not request.is_websocket:
            await request.reply(303, b"", headers=[*HEADERS, (b"location", b"/inspect")])
            return True
        return await self._page.serve(request, auth)

    async def serve_allowed(self, request: Request) -> bool:
        """Answer a request whose sender was let in; False if it is not for the inspector."""
        answers = {"rows": self._rows, "line": self._line, "times": self._times, "search": self._search}
        where = request.path.removeprefix("/inspect/")
        if request.is_websocket or not request.path.startswith("/inspect/"):
            return False
        if "admin" not in request.credential.scopes:
            raise Refusal(403, "this needs a token with the scope 'admin'")
        if request.method != "GET":
            raise Refusal(405, "only GET is answered here", headers=[(b"allow", b"GET")])
        if where == "recording":
            await self._send_recording(request)
            return True
        if where not in answers:
            raise Refusal(404, "nothing is here")
        body = msgspec.json.encode(await answers[where](request))
        headers = [*HEADERS, (b"cache-control", b"no-store")]
        await request.reply(200, body, kind=b"application/json", headers=headers)
        return True

    async def _rows(self, request: Request) -> object:
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
            "name": self._log.path.name,
        }

    async def _times(self, request: Request) -> object:
        spans = self._log.spans.spans
        return {
            "spans": list(spans)[-5000:],
            "turns": turn_times(spans)[-500:],
            "stats": self._log.stats.summary(),
            "findings": self._log.findings.findings,
            "finding_count": self._log.findings.count,
        }

    async def _line(self, request: Request) -> object:
        try:
            return self._log.explained(_number(request, "n"))
        except IndexError:
            raise Refusal(404, "there is no such row") from None

    async def _search(self, request: Request) -> object:
        try:
            wanted = Filter(request.query("q") or "")
        except FilterError as error:
            raise Refusal(400, str(error)) from None
        rows = await asyncio.to_thread(lambda: list(self._log.search(wanted)))
        return {"rows": rows, "keys": KEYS}

    async def _send_recording(self, request: Request) -> None:
        if self._log.path.stat().st_size > MAX_DOWNLOAD:
            raise Refusal(413, f"the recording is too long to save here; it is {self._log.path}")
        data = await asyncio.to_thread(self._log.path.read_bytes)
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in self._log.path.name)
        disposition = (b"content-disposition", f'attachment; filename="{name}"'.encode())
        await request.reply(200, data, kind=b"application/jsonl", headers=[*HEADERS, disposition])

    @property
    def _goes_on(self) -> bool:
        return self._live and not self._log.ended

    async def _read(self) -> None:
        async with self._reading:
            count = 1
            while count:
                count = self._log.read_more(1000)
                await asyncio.sleep(0)  # others are served between two pieces of a long recording


def _number(request: Request, name: str) -> int:
    value = request.query(name) or "0"
    if not value.isdecimal() or len(value) > 12:
        raise Refusal(400, f"{name} must be a number")
    return int(value)
