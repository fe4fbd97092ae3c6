"""What a peer leaves unanswered, and how long it is still waited for. Pure: nothing is sent or awaited."""

from collections import Counter

__all__ = ["Unanswered"]

PROMPT = "session/prompt"

MISSES = 2
"""How often in a row a method may go unanswered before it gets less time. Waiting in full for a silent peer
every time would take an hour."""

MISSED_SHARE = 5
"""The divisor for the time of such a method."""

LOST_PROMPTS = 3
"""How many prompts may go unanswered before no more are sent, if none was ever answered."""


class Unanswered:
    """Counts the requests without an answer, over all connections that share this."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._prompts_work = False
        self._without_id = False
        """Whether prompts are answered, but without their id."""

    def time(self, method: str, patience: float) -> float:
        """How long to wait for an answer to that method."""
        silent_at_prompts = method == PROMPT and not self._prompts_work
        if self._in_a_row[method] < MISSES or silent_at_prompts:
            return patience
        return patience / MISSED_SHARE

    def why_short(self, method: str) -> str:
        """What to say beside a time that was shorter than usual; empty if it was not."""
        if self.time(method, 1.0) == 1.0:
            return ""
        return f", less than the timeout, as {self._in_a_row[method]} before it were not answered, either"

    def miss(self, method: str, *, without_id: bool = False) -> None:
        """Note that no answer came; `without_id`: one came that named no request."""
        self._in_a_row[method] += 1
        self._without_id = self._without_id or (without_id and method == PROMPT)

    def answer(self, method: str, *, is_error: bool) -> None:
        """Note an answer. An error for a prompt is no sign that prompts work: some are sent to be refused."""
        if method == PROMPT and is_error:
            return
        del self._in_a_row[method]
        self._prompts_work = self._prompts_work or method == PROMPT

    def try_again(self) -> None:
        """Give slow methods another chance. Of a peer that answered no prompt, one more is waited for."""
        lost = self.lost
        self._in_a_row.clear()
        if lost:
            self._in_a_row[PROMPT] = LOST_PROMPTS if self._without_id else LOST_PROMPTS - 1

    @property
    def lost(self) -> str:
        """Why no more prompts are sent; empty as long as they are."""
        if self._prompts_work or self._in_a_row[PROMPT] < LOST_PROMPTS:
            return ""
        how = "were answered without an id; see messages.known-id" if self._without_id else "had no answer"
        return f"no more prompts were sent, as the first {LOST_PROMPTS} {how}"
