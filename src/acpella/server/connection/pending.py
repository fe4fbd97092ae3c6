"""What is under way between a client and its agent: requests for the agent, questions for the client."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from acpella.errors import RpcError
from acpella.rpc.message import RequestId
from acpella.rpc.relay import Frame, Pending, Reply, Side

from .messages import Message, rejection

__all__ = ["PERMISSION", "PROMPT", "Asked", "PendingTables"]

PROMPT = "session/prompt"
PERMISSION = "session/request_permission"

MAX_QUESTIONS = 1024
"""Questions of one agent that wait for their answer. Without it, one that only asks fills the memory."""

OVERLOADED = -32001

Asked: TypeAlias = Literal["open", "rejected", "too many"]


class PendingTables:
    """Both tables of a connection. It writes to the agent itself; what is for the client goes on streams."""

    def __init__(self, write_to_agent: Callable[[bytes], None], *, may_approve: bool = True) -> None:
        """`may_approve`: whether the client may answer when an agent asks for permission."""
        self._agent = Side(write_to_agent)
        self._client = Side(_not_written)
        self._may_approve = may_approve

    @property
    def requests(self) -> Mapping[bytes, Pending]:
        """What the agent has to answer, by `id_key`."""
        return self._agent.pending

    @property
    def questions(self) -> Mapping[bytes, Pending]:
        """What the client has to answer."""
        return self._client.pending

    @property
    def turns(self) -> int:
        """Turns that were begun here and run."""
        return sum(pending.method == PROMPT for pending in self.requests.values())

    @property
    def prompted(self) -> set[str]:
        """Sessions in which a turn runs that was begun here."""
        pending = self.requests.values()
        return {one.session for one in pending if one.method == PROMPT and one.session is not None}

    def has_turn(self, session_id: str) -> bool:
        """Whether a turn that was begun here runs in that session."""
        pending = self.requests.values()
        return any(one.method == PROMPT and one.session == session_id for one in pending)

    # -- requests of the client ------------------------------------------------------------------

    def forward(self, message: Message, reply: Reply) -> None:
        """Give a client's message to the agent; `reply` gets the response if it is a request."""
        if message.is_request:
            self._agent.expect(message.frame, reply, session=message.session)
        self._agent.send(message.data)

    def cancel_turn(self, session_id: str) -> None:
        """Tell the agent to end the turn of a session."""
        self._agent.notify("session/cancel", {"sessionId": session_id})

    def answered(self, response: Frame) -> Pending | None:
        """The request that the agent has answered; None if there is none. Its `reply` was not called."""
        return self._agent.take(response)

    def redirect(self, request_id: bytes, reply: Reply) -> bool:
        """Let somebody else have the response."""
        return self._agent.redirect(request_id, reply)

    # -- questions of the agent ------------------------------------------------------------------

    def add_question(self, question: Frame, session_id: str | None) -> Asked:
        """The agent asks something. Unless it is `open`, it was answered here, so that the agent goes on."""
        assert question.id is not None
        if question.method == PERMISSION and not self._may_approve:
            self._agent.answer(question.id, {"outcome": rejection(question.envelope.params)})
            return "rejected"
        if len(self.questions) >= MAX_QUESTIONS:
            text = "too many questions wait for their answer"
            self._agent.refuse(question.id, RpcError(text, code=OVERLOADED))
            return "too many"
        self._client.expect(question, _not_called, session=session_id)
        return "open"

    def refuse(self, question_id: RequestId, error: RpcError) -> None:
        """The agent asks something that cannot be passed on."""
        self._agent.refuse(question_id, error)

    def question_of(self, response: Frame) -> Pending | None:
        """The question that a client's response is for, which is open no more. Each is answered once."""
        return self._client.take(response)

    def cancel_questions(self) -> list[Pending]:
        """Nobody will answer, so the agent is not to wait. Returns what was open."""
        cancelled = list(self.questions.values())
        self._client.forget(None)
        for question in cancelled:
            if question.method == PERMISSION:
                self._agent.answer(question.id, {"outcome": {"outcome": "cancelled"}})
            elif question.method == "elicitation/create":
                self._agent.answer(question.id, {"action": "cancel"})
            else:
                self._agent.refuse(question.id, RpcError("the client is gone", code=-32603))
        return cancelled

    # -- the end ---------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """The connection has ended: every request gets an error, and questions are nobody's."""
        self._client.forget(None)
        self._agent.fail(RpcError(why, code=-32603))


def _not_written(data: bytes) -> None:
    raise AssertionError("what the client gets goes on its streams")


def _not_called(response: Frame) -> None:
    """A client's answer goes to the agent as any other message does."""
