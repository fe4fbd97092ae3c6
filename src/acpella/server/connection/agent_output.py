"""What an agent says: put on the streams of its connection, and noted as far as those need to know it."""

import logging
from collections.abc import Callable

from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import write_error, write_result
from acpella.rpc.relay import Frame, Pending, read_frame, unreadable, with_id
from acpella.server.access.policy import Violation, read_params

from .audit import ConnectionAudit
from .messages import can_load, outcome_of_request
from .pending import PROMPT, PendingTables
from .services import ConnectionServices
from .streams import Streams, TooManyStreams

__all__ = ["AgentOutput"]

log: logging.Logger = logging.getLogger(__name__)

CREATES_SESSION = frozenset({"session/new", "session/fork", "_session/import"})
"""Requests whose answer names a new session."""


class AgentOutput:
    """Gets the bytes of one agent."""

    def __init__(
        self,
        services: ConnectionServices,
        streams: Streams,
        pending: PendingTables,
        *,
        audit: ConnectionAudit,
        label: str,
        principal: str,
        on_greeting: Callable[[], None],
        on_turn_end: Callable[[], None],
    ) -> None:
        """`on_greeting` hears that `initialize` was answered, `on_turn_end` that a prompt was."""
        self._policy = services.policy
        self._metrics = services.metrics
        self._streams = streams
        self._pending = pending
        self._audit = audit
        self._label = label
        self._principal = principal
        self._on_greeting = on_greeting
        self._on_turn_end = on_turn_end
        self._framer = Framer(max_frame=services.settings.max_message, framing="lines")
        self.can_load: bool = False
        """Whether the agent opens sessions that it did not make on this connection."""

    def feed(self, data: bytes) -> None:
        """More bytes, in any pieces."""
        if b"\r" in data:
            data = data.replace(b"\r", b" ")  # in an event stream, it would end the line
        count = 0
        for block in self._framer.feed(data):
            if isinstance(block, Broken):
                self._on_noise(block)
            else:
                lines = block.split(b"\n")
                count += len(lines)
                self._streams.put(lines, self._route)
        self._metrics.add("acpella_messages_total", 'direction="out"', count)
        self._metrics.add("acpella_message_bytes_total", 'direction="out"', len(data))

    def expect_stream(self, session_id: str) -> None:
        """The client is going to open a stream for this session."""
        try:
            self._streams.expect(session_id)
        except TooManyStreams:
            log.warning("connection %s: too many sessions; the rest shares a stream", self._label)

    def _on_noise(self, noise: Frame | Broken) -> None:
        """What cannot be read: whoever waits for it must not wait for ever."""
        self._metrics.add("acpella_noise_total")
        message = unreadable(noise)
        if message is None:
            log.info("connection %s: skipped output of the agent that is not a message", self._label)
            return
        log.warning("connection %s: a message of the agent cannot be read: %s", self._label, noise.reason)
        if not message.is_response:
            self._pending.refuse(message.id, message.error)
        elif (pending := self._pending.answered(message.answer)) is not None:
            self._end(pending, message.answer)

    def _route(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            return
        frame = read_frame(line)
        if frame.envelope.method is not None:
            session_id = read_params(frame.envelope.params).session
            if frame.kind != "request" or self._may_ask(frame, session_id):
                self._streams.stream_for(session_id).put((line,))
        elif frame.kind == "response":
            self._settle(frame)
        else:
            self._on_noise(frame)

    def _may_ask(self, question: Frame, session_id: str | None) -> bool:
        """Whether a question goes to the client."""
        accepted = self._pending.add_question(question, session_id)
        if accepted == "rejected":
            self._audit.permission_refused(session_id)
        return accepted == "open"

    def _settle(self, response: Frame) -> None:
        pending = self._pending.answered(response)
        if pending is None:
            self._streams.main.put((response.data,))  # an error without an id, or an answer nobody asked for
        else:
            self._end(pending, response)

    def _end(self, pending: Pending, response: Frame) -> None:
        self._note_end(pending)
        creates = pending.method in CREATES_SESSION
        new_session = read_params(response.envelope.result).session if creates else None
        self._audit.answered(
            pending.method, new_session or pending.session, lambda: outcome_of_request(response.envelope)
        )
        pending.reply(self._noted(pending, with_id(response, pending.id), new_session))

    def _note_end(self, pending: Pending) -> None:
        if pending.method == PROMPT:
            self._on_turn_end()
        elif pending.method == "initialize":
            self._on_greeting()

    def _noted(self, pending: Pending, response: Frame, new_session: str | None) -> Frame:
        """Update the streams and rules from an answer; returns it without what is not for this client."""
        result = response.envelope.result
        if not result:
            return response
        if new_session is not None:
            self._policy.made(new_session, self._principal)
            self._streams.know(new_session)
            self.expect_stream(new_session)
        elif pending.method in ("session/load", "session/resume") and pending.session is not None:
            self._streams.know(pending.session)
        elif pending.method in ("session/list", "_session/list") and self._policy.filters_lists:
            try:
                return _with_result(pending.id, self._policy.filtered(result, self._principal))
            except Violation as violation:
                return read_frame(write_error(pending.id, violation.code, violation.message))
        elif pending.method == "initialize":
            self.can_load = can_load(result)
            if not self._policy.takes_urls:
                return _with_result(pending.id, self._policy.offered(result))
        return response


def _with_result(request_id: bytes, result: object) -> Frame:
    return Frame(write_result(request_id, result), "response", id=request_id)
