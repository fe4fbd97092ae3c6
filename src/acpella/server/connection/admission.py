"""Which messages of a client reach its agent: each passes, is refused or dropped.

`ClientInput` asks, and delays what the agent cannot take yet.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from acpella.errors import RpcError
from acpella.rpc.message import RequestId, id_key
from acpella.rpc.relay import Pending, cancelled_request
from acpella.server.access.credentials import SCOPES, Scope
from acpella.server.access.policy import REOPENING, AccessPolicy, Violation, check_form, check_scopes, missing
from acpella.server.access.rate_limit import RateLimit
from acpella.server.settings import ServerSettings

from .messages import Message
from .pending import OVERLOADED, PROMPT

__all__ = ["Admission", "DelayedMessages", "Drop", "MessageNumbers", "Refuse", "Verdict"]

EVERY_SCOPE = SCOPES - {"admin"}
"""The scopes that concern a connection."""

CANCELLING = frozenset({"session/cancel", "$/cancel_request"})

MAX_NUMBERS = 1024
"""Messages whose numbers are kept, to detect one that is sent again. That happens soon, or never."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The client gets an error instead of the agent's answer. A notification is just not passed on."""

    error: RpcError
    metric: str | None = None
    """The reason that is counted."""
    by_policy: bool = False
    """A rule forbids it, which the audit log tells."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The message is not passed on, and nobody waits for an answer."""

    metric: str
    why: str


Verdict: TypeAlias = Refuse | Drop | Literal["pass"]


class Admission:
    """Judges by the rules of the server, the client's scopes, and how much is under way."""

    def __init__(
        self,
        *,
        principal: str,
        scopes: frozenset[Scope],
        policy: AccessPolicy,
        rate: RateLimit,
        settings: ServerSettings,
        requests: Mapping[bytes, Pending],
        has_turn: Callable[[str], bool],
    ) -> None:
        """`requests` are those that the agent has to answer; `has_turn` tells whether a turn of this user's
        runs in a session, on whichever connection."""
        self._principal = principal
        self._scopes = scopes
        self._policy = policy
        self._rate = rate
        self._settings = settings
        self._requests = requests
        self._has_turn = has_turn

    def judge_request(
        self, message: Message, *, prompts_delayed: int = 0, is_delayed: bool = False
    ) -> Verdict:
        """Whether a request may pass; `prompts_delayed` of its session wait to be passed on, and `is_delayed`
        tells whether one with the same id does."""
        assert message.id is not None
        if not self._rate.spend(self._principal):
            return _overloaded("too many requests; wait a little", metric="rate")
        if is_delayed or id_key(message.id) in self._requests:
            return Refuse(RpcError("a request with this id is running", code=-32600))
        if len(self._requests) >= self._settings.max_pending:
            return _overloaded("too many requests wait for their answer")
        if message.method == PROMPT:
            waiting = [(pending.method, pending.session) for pending in self._requests.values()]
            if waiting.count((PROMPT, message.session)) + prompts_delayed >= self._settings.max_prompts:
                return _overloaded("too many prompts of this session wait")
        return self._judge_rules(message)

    def judge_notification(self, message: Message) -> Verdict:
        """The same for a notification, which counts as a request does. Those that cancel something have
        another limit of their own, so that they pass when nothing else does."""
        if not self._rate.spend(self._principal) and not (
            message.method in CANCELLING and self._rate.spend("cancel:" + self._principal)
        ):
            return Drop("rate", "there are too many")
        return self._judge_rules(message)

    def judge_response(self, message: Message) -> Verdict:
        """The same for a response, which must be the answer to one thing only."""
        try:
            self._check_form(message)
        except Violation as violation:
            return Drop("answer", violation.message)
        if message.id is None and "approve" not in self._scopes:
            return Drop("answer", "it names no question, so it could be for any")
        return "pass"

    def _judge_rules(self, message: Message) -> Verdict:
        try:
            self._check_form(message)
            if self._scopes != EVERY_SCOPE:
                self._check_scopes(message)
            self._policy.check(message.method, message.params, self._principal)
        except Violation as violation:
            return Refuse(violation, metric="policy", by_policy=True)
        return "pass"

    def _check_form(self, message: Message) -> None:
        """Where rules apply, the agent must read exactly what is checked. Raises `Violation`."""
        if self._scopes != EVERY_SCOPE or self._policy.is_strict:
            check_form(message.data, None if message.is_response else message.method)

    def _check_scopes(self, message: Message) -> None:
        check_scopes(message.method, message.params, self._scopes)
        if message.method in REOPENING and not self._scopes & {"prompt", "approve"}:
            if message.session is not None and self._has_turn(message.session):
                raise missing("prompt", "a turn is running in this session, and would be taken over")


def _overloaded(text: str, *, metric: str | None = None) -> Refuse:
    return Refuse(RpcError(text, code=OVERLOADED), metric)


T = TypeVar("T")


class DelayedMessages(Generic[T]):
    """Messages that wait because the client is behind with reading what the agent says.

    Each comes with something of the caller's, such as who gets the answer.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._waiting: deque[tuple[Message, T]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= self._most

    def must_wait(self, message: Message, *, stalled: bool) -> bool:
        """Whether a message has to wait: a request does while the client is behind, and so does what must not
        overtake one that waits, such as the cancellation of a prompt."""
        if stalled and message.is_request:
            return True
        if message.method == "$/cancel_request":  # names a request, and no session
            cancelled = cancelled_request(message.frame)
            return cancelled is not None and self.has(cancelled)
        session = message.session
        return session is not None and any(waiting.session == session for waiting, _ in self._waiting)

    def has(self, request_id: RequestId) -> bool:
        """Whether a request with this id waits."""
        key = id_key(request_id)
        return any(waiting.id is not None and id_key(waiting.id) == key for waiting, _ in self._waiting)

    def prompts(self, session_id: str | None) -> int:
        """How many prompts of a session wait."""
        return sum(waiting.method == PROMPT and waiting.session == session_id for waiting, _ in self._waiting)

    def add(self, message: Message, companion: T) -> None:
        """Let it wait."""
        self._waiting.append((message, companion))

    def next(self) -> tuple[Message, T]:
        """The one that waits longest, which waits no more."""
        return self._waiting.popleft()


class MessageNumbers:
    """Numbers that a client gave its last messages, so that one which is sent again is taken once."""

    def __init__(self, *, most: int = MAX_NUMBERS) -> None:
        self._most = most
        self._taken: dict[int, None] = {}  # oldest first
        self._all_before = 0  # every number up to this one counts as taken

    def take(self, number: int) -> bool:
        """Mark the message of this number as taken; False if it was taken before."""
        if number <= self._all_before or number in self._taken:
            return False
        self._taken[number] = None
        if len(self._taken) > self._most:
            oldest = next(iter(self._taken))
            del self._taken[oldest]
            self._all_before = max(self._all_before, oldest)
        return True

    def forget(self, number: int) -> None:
        """The message of this number was not taken after all."""
        self._taken.pop(number, None)
