"""What a daemon has heard of its session, to tell it again without the agent."""

from collections import deque

import msgspec

from acpella._plain_json import as_dict, as_list
from acpella.rpc.message import UNREADABLE, write_notification

__all__ = ["ReplayHistory"]

MAX_BYTES = 16 * 1024 * 1024
"""Of the frames that are kept. Without it, a session of days fills the memory; the oldest go first."""


class ReplayHistory:
    """The updates of a session as the frames they came in, and what users said between them."""

    def __init__(self) -> None:
        self.complete: bool = False
        """Whether this is the whole conversation: it was begun or loaded here, and nothing was dropped."""
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._prompts = 0

    def __bool__(self) -> bool:
        return bool(self._frames)

    def frames(self) -> list[bytes]:
        return list(self._frames)

    def begin(self) -> None:
        """The conversation begins, or is told again from its start."""
        self.complete = True
        self._frames = deque()
        self._size = 0

    def add(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._size += len(frame)
        while self._size > MAX_BYTES:
            self._size -= len(self._frames.popleft())
            self.complete = False

    def add_prompt(self, params: bytes) -> None:
        """What a user said: agents do not repeat it."""
        try:
            request = as_dict(msgspec.json.decode(params))
        except UNREADABLE:
            return  # the agent will complain, as of a prompt that is no list
        self._prompts += 1
        for block in as_list(request.get("prompt")):
            update = {"sessionUpdate": "user_message_chunk", "content": block}
            update["messageId"] = f"acpella-{self._prompts}"  # tells it from the prompt before
            notice = {"sessionId": request.get("sessionId"), "update": update}
            self.add(write_notification("session/update", notice))

    def take(self) -> "ReplayHistory":
        """Return the history so far, and begin an empty one."""
        before = ReplayHistory()
        before.complete, before._frames, before._size = self.complete, self._frames, self._size
        self.begin()
        return before

    def restore(self, before: "ReplayHistory") -> None:
        """Go back to what `take` gave."""
        self.complete, self._frames, self._size = before.complete, before._frames, before._size
