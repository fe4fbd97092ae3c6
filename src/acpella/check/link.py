"""One end of a connection that sends anything, valid or not, and keeps everything it receives."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc import Channel
from acpella.rpc.framing import Broken, Framer

from .auditor import Auditor
from .conversation import CheckedConversation, CheckedFrame, Way
from .unanswered import Unanswered

__all__ = [
    "Answer",
    "Failed",
    "GivenUp",
    "Gone",
    "Link",
    "LinkRefusal",
    "NoSessionMade",
    "NotOffered",
    "TimedOut",
    "Unproved",
]

MAX_FRAME = 128 * 1024 * 1024
"""The most bytes of a message. Without a limit, a peer that never ends its line fills the memory."""

ID_GRACE = 0.5
"""Seconds that an answer may still take after one without an id, which may be about something else."""

FIRST_SHARE = 3
"""The factor for the time of a peer's first answer: the peer has to start as well."""

KEPT_START = 1024
"""How many of the peer's first bytes are kept, to show what came of a peer that never ends its line."""

WRITE_HIGH = 4 * 1024 * 1024

Answer = Callable[[CheckedFrame], Awaitable[Any]]
"""Answers a request of the peer with a result; raises `LinkRefusal` for an error."""


class Failed(AcpellaError):
    """The requirement does not hold."""

    def __init__(self, text: str, *frames: "CheckedFrame | None", timing: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.frames: tuple[CheckedFrame, ...] = tuple(frame for frame in frames if frame is not None)
        self.timing = timing
        """Whether this was a timeout, for which a busy machine may be to blame."""


class TimedOut(Failed):
    """A message that had to come did not come in time."""

    def __init__(self, text: str, *frames: "CheckedFrame | None") -> None:
        super().__init__(text, *frames, timing=True)


class Gone(Failed):
    """The peer has closed the connection or died."""


class NoSessionMade(Failed):
    """No session was made, so that nothing could be tried in it."""


class NotOffered(AcpellaError):
    """The peer does not offer what the requirement is about."""


class Unproved(AcpellaError):
    """The peer could not be brought to do what the requirement is about."""


class GivenUp(Unproved):
    """The peer answers no prompts, so that none was sent."""


class LinkRefusal(AcpellaError):
    """Raised to answer a request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Link:
    """A connection to the peer that is checked."""

    def __init__(
        self,
        channel: Channel,
        auditor: Auditor,
        *,
        way: Way,
        patience: float,
        unanswered: Unanswered | None = None,
    ) -> None:
        self.channel = channel
        self.auditor = auditor
        self.talk: CheckedConversation = auditor.talk
        self.patience = patience
        self.unanswered: Unanswered = unanswered or Unanswered()
        """What was not answered, over all connections that share this."""
        self.gone: ConnectionClosed | None = None
        self.answers: dict[str, Answer] = {}
        """How requests of the peer are answered, by method."""
        self.on_notification: Callable[[CheckedFrame], None] | None = None
        self.heard: list[CheckedFrame] = []
        """What the peer sent, in order."""
        self.sent: list[CheckedFrame] = []
        self.start: bytes = b""
        """The first bytes of the peer, whatever they are."""
        self._way: Way = way
        self._framer = Framer(framing="lines", max_frame=MAX_FRAME)
        self._ids = itertools.count(1)
        self._news = asyncio.Event()
        self._began = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answering = True
        self.own_errors: list[BaseException] = []
        """Exceptions raised by our own answers."""

    async def open(self) -> None:
        """Start the peer, or reach it.

        Raises:
            TransportError: the peer cannot be started or reached.
        """
        await self.channel.open(self, write_high=WRITE_HIGH)

    async def close(self) -> None:
        """Stop answering, and close the channel."""
        await self.stop_answering()
        await self.channel.close()

    async def stop_answering(self) -> None:
        """From now on, record the peer's requests without answering them."""
        self._answering = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- sending -------------------------------------------------------------------------------

    def send(self, message: Any) -> CheckedFrame:
        """Send JSON values as one message."""
        return self.send_bytes(msgspec.json.encode(message))

    def send_bytes(self, data: bytes, *, end: bytes = b"\n") -> CheckedFrame:
        """Send a line, whatever it is."""
        frame = self.note(data)
        self.channel.write(data + end)
        return frame

    def write(self, data: bytes) -> None:
        """Send bytes without recording them; `note` records the whole frame."""
        self.channel.write(data)

    def note(self, data: bytes) -> CheckedFrame:
        """Record a frame that `write` sends, in pieces or together with others."""
        frame, _ = self.auditor.see(self._way, data, self._now())
        self.sent.append(frame)
        return frame

    def begin(self, method: str, params: Any = None, *, id: Any = None) -> CheckedFrame:
        """Send a request; `reply_to` waits for its answer."""
        return self.send(self.request_message(method, params, id=id))

    def request_message(self, method: str, params: Any = None, *, id: Any = None) -> dict[str, Any]:
        """A request with the next id."""
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is None else id, "method": method}
        return message if params is None else {**message, "params": params}

    def notify(self, method: str, params: Any = None) -> CheckedFrame:
        message = {"jsonrpc": "2.0", "method": method}
        return self.send(message if params is None else {**message, "params": params})

    async def call(self, method: str, params: Any = None, *, within: float | None = None) -> CheckedFrame:
        """Send a request and wait for its answer, a result or an error."""
        return await self.reply_to(self.begin(method, params), within=within)

    async def reply_to(self, request: CheckedFrame, *, within: float | None = None) -> CheckedFrame:
        """Wait for the answer to a request.

        Raises:
            TimedOut: none came in time.
            Gone: the peer went away before one came.
            Unproved: one came without an id.
        """
        method, why_short = request.method, ""
        what = f"an answer to {method} (id {request.id!r})"
        if within is not None:
            limit = within
        else:
            limit = self.unanswered.time(method, self.patience if self.heard else self.patience * FIRST_SHARE)
            why_short = self.unanswered.why_short(method)
        try:
            reply = await self.find(
                lambda f: f.request is request or (f.lacks_id and f.number > request.number),
                what,
                within=limit,
                about=(request,),
            )
            if reply.lacks_id:
                reply = await self._find_with_id(request, what)
        except TimedOut as failure:
            self.unanswered.miss(method)
            raise TimedOut(failure.text + why_short, *failure.frames) from None
        self.unanswered.answer(method, is_error=reply.is_error)
        return reply

    async def _find_with_id(self, request: CheckedFrame, what: str) -> CheckedFrame:
        """The answer to a request after a response without an id has come."""
        try:
            return await self.find(lambda f: f.request is request, what, within=ID_GRACE)
        except TimedOut:
            self.unanswered.miss(request.method, without_id=True)
            side = "" if self._way == "out" else "client."
            raise Unproved(
                f"{request.method} was answered without an id; see {side}messages.known-id"
            ) from None

    # -- hearing -------------------------------------------------------------------------------

    def mark(self) -> int:
        """The current position in `heard`, for `since`."""
        return len(self.heard)

    def since(self, mark: int) -> list[CheckedFrame]:
        return self.heard[mark:]

    async def find(
        self,
        matches: Callable[[CheckedFrame], bool],
        what: str,
        *,
        since: int = 0,
        within: float | None = None,
        about: tuple[CheckedFrame, ...] = (),
    ) -> CheckedFrame:
        """Wait for the first frame of the peer, from a mark on, that matches.

        Raises:
            TimedOut: none came in time.
            Gone: the peer went away before one came.
        """
        limit = self.patience if within is None else within
        deadline = time.monotonic() + limit
        place = since
        while True:
            while place < len(self.heard):
                if matches(self.heard[place]):
                    return self.heard[place]
                place += 1
            if self.gone is not None:
                raise Gone(f"{what} did not come: {self.gone}", *about)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut(f"{what} did not come within {limit:g} seconds", *about)
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                pass

    async def quiet(self, seconds: float) -> None:
        """Wait this long, to give a message that must not come the time to arrive."""
        if self.gone is None:
            await asyncio.sleep(seconds)

    async def wait_for_end(self, seconds: float) -> bool:
        """Whether the peer goes away in time."""
        deadline = time.monotonic() + seconds
        while self.gone is None and (left := deadline - time.monotonic()) > 0:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                pass
        return self.gone is not None

    # -- the channel's receiver ----------------------------------------------------------------

    def received(self, data: bytes) -> None:
        if len(self.start) < KEPT_START:
            self.start = (self.start + data)[:KEPT_START]
        for block in self._framer.feed(data):
            self._take(block)

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass

    def ended(self, reason: ConnectionClosed) -> None:
        for block in self._framer.finish():
            self._take(block)
        self.gone = reason
        self._news.set()

    def _take(self, block: "bytes | Broken") -> None:
        if isinstance(block, Broken):
            self._hear(block.head)
            return
        for line in block.split(b"\n"):
            if line.strip():
                self._hear(line)

    def _hear(self, line: bytes) -> None:
        frame, _ = self.auditor.see("in" if self._way == "out" else "out", line, self._now())
        self.heard.append(frame)
        self._news.set()
        if frame.kind == "notification" and self.on_notification is not None:
            self.on_notification(frame)
        if frame.kind == "request" and self._answering:
            task = asyncio.get_running_loop().create_task(self._reply(frame))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _reply(self, frame: CheckedFrame) -> None:
        answer = self.answers.get(frame.method)
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": frame.id}
        try:
            if answer is None:
                raise LinkRefusal(-32601, f"Method not found: {frame.method}")
            reply["result"] = await answer(frame)
        except LinkRefusal as refusal:
            reply["error"] = {"code": refusal.code, "message": refusal.message}
        except Exception as error:
            self.own_errors.append(error)
            reply["error"] = {"code": -32603, "message": "Internal error"}
        self.send(reply)

    def _now(self) -> float:
        return time.monotonic() - self._began
