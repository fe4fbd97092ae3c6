"""What a client says: admitted, delayed while the client is behind with reading, and given to its agent."""

from collections.abc import Callable

from acpella.errors import RpcError
from acpella.rpc.message import write_error, write_result
from acpella.rpc.relay import Frame, Reply
from acpella.server.access.credentials import Scope

from .admission import Admission, DelayedMessages, Drop, Refuse
from .audit import ConnectionAudit
from .cursor import read_cursor
from .liveness import Liveness
from .messages import Message, outcome_of, read_ack
from .outbox import OutOfWindow
from .pending import OVERLOADED, PERMISSION, PendingTables
from .services import ConnectionServices
from .streams import Streams

__all__ = ["ClientInput"]


class ClientInput:
    """Gets the messages of one client."""

    def __init__(
        self,
        services: ConnectionServices,
        streams: Streams,
        pending: PendingTables,
        *,
        audit: ConnectionAudit,
        liveness: Liveness,
        principal: str,
        scopes: frozenset[Scope],
        has_turn: Callable[[str], bool],
        on_refusal: Callable[[int], None],
    ) -> None:
        """`on_refusal` hears the size of each answer that the server gave itself."""
        self._metrics = services.metrics
        self._generation = services.generation
        self._streams = streams
        self._pending = pending
        self._audit = audit
        self._liveness = liveness
        self._on_refusal = on_refusal
        self._delayed = DelayedMessages[Reply](most=services.settings.max_delayed)
        self._admission = Admission(
            principal=principal,
            scopes=scopes,
            policy=services.policy,
            rate=services.rate,
            settings=services.settings,
            requests=pending.requests,
            has_turn=has_turn,
        )
        self.stalled = False
        """While the client does not read what the agent says, no more is asked of the agent."""

    def take(self, message: Message, reply: Reply, *, now: float) -> None:
        """Pass a message to the agent if it is allowed; if not, call `reply` with the server's own answer."""
        self._metrics.add("acpella_messages_total", 'direction="in"')
        self._metrics.add("acpella_message_bytes_total", 'direction="in"', len(message.data))
        if not self._admits(message, reply, now):
            return
        if not self._delayed.must_wait(message, stalled=self.stalled):
            self._forward(message, reply, now)
        elif self._delayed.is_full:
            error = RpcError("too much is waiting because nothing is read", code=OVERLOADED)
            self._refuse(message, reply, Refuse(error))
        else:
            self._delayed.add(message, reply)

    def release(self, *, now: float) -> None:
        """The client reads again: what was delayed goes on, until it is behind again."""
        while self._delayed and not self.stalled:
            message, reply = self._delayed.next()
            self._forward(message, reply, now)

    def end(self, why: str) -> None:
        """The connection has ended: what was delayed gets an error."""
        while self._delayed:
            message, reply = self._delayed.next()
            self._answer(message, reply, RpcError(why, code=-32603))

    def acknowledge(self, message: Message, reply: Reply, *, now: float) -> None:
        """The client has everything up to some event."""
        ack = read_ack(message)
        outbox = None if ack is None else self._streams.acknowledged(ack.session)
        if ack is not None and outbox is not None:
            try:
                cursor = read_cursor(ack.cursor, self._generation)
            except OutOfWindow:
                pass  # from another server, or an earlier start of this one
            else:
                self._liveness.progressed(now)
                outbox.ack(cursor.number)
        if message.id is not None:  # an ack needs no id, but a client that sends one waits for an answer
            reply(_response(message.id, write_result(message.id, {})))

    def _forward(self, message: Message, reply: Reply, now: float) -> None:
        if message.is_request:
            if message.method == "initialize":
                self._liveness.greeted(now)
            self._audit.asked(message.method, message.session)
        self._pending.forward(message, reply)

    # -- admission -----------------------------------------------------------------------------

    def _admits(self, message: Message, reply: Reply, now: float) -> bool:
        """Whether a message may pass; if not, whoever waits for an answer gets it."""
        if message.is_response:
            return self._admits_response(message)
        if message.is_request:
            prompts = self._delayed.prompts(message.session)
            is_delayed = message.id is not None and self._delayed.has(message.id)
            verdict = self._admission.judge_request(message, prompts_delayed=prompts, is_delayed=is_delayed)
        else:
            verdict = self._admission.judge_notification(message)
        if isinstance(verdict, Refuse):
            self._refuse(message, reply, verdict)
        elif isinstance(verdict, Drop):
            self._metrics.add("acpella_refused_total", f'reason="{verdict.metric}"')
            self._audit.dropped_notification(now)
        return verdict == "pass"

    def _admits_response(self, message: Message) -> bool:
        verdict = self._admission.judge_response(message)
        if verdict == "pass" and message.id is not None:
            question = self._pending.question_of(message.frame)
            if question is None:
                verdict = Drop("answer", "no question of that id is open")
            elif question.method == PERMISSION:
                self._audit.permission_answered(question.session, outcome_of(message.data))
        if isinstance(verdict, Drop):
            self._metrics.add("acpella_refused_total", f'reason="{verdict.metric}"')
            self._audit.refused_answer(verdict.why)
        return verdict == "pass"

    def _refuse(self, message: Message, reply: Reply, verdict: Refuse) -> None:
        if verdict.metric is not None:
            self._metrics.add("acpella_refused_total", f'reason="{verdict.metric}"')
        if verdict.by_policy:
            self._audit.refused(message.method, verdict.error.message)
        self._on_refusal(self._answer(message, reply, verdict.error))

    def _answer(self, message: Message, reply: Reply, error: RpcError) -> int:
        """Answer a request with an error; returns the size of the answer, 0 if nobody waits for one."""
        if not message.is_request or message.id is None:
            return 0
        line = write_error(message.id, error.code, error.message, error.data)
        reply(_response(message.id, line))
        return len(line)


def _response(request_id: bytes, data: bytes) -> Frame:
    return Frame(data, "response", id=request_id)
