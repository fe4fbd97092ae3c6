"""Prompts that are running: one at a time in each session, each told to stop from anywhere."""

import asyncio
from collections.abc import Callable

__all__ = ["RunningPrompt", "RunningPrompts"]

CANCEL_GRACE = 2.0
"""Seconds that a cancelled handler gets to clean up before the prompt is answered without it."""

SAVE_GRACE = 0.5
"""Seconds to save the turn of a handler that was left behind when the agent ends."""


class RunningPrompt:
    """The one running prompt of a session; it is registered before anything is awaited."""

    def __init__(self, session_id: str, table: "RunningPrompts") -> None:
        self.session_id = session_id
        self.task: asyncio.Task[None] | None = None
        """What runs the author's handler."""
        self.on_cancel: Callable[[], None] | None = None
        self.cancelled: bool = False
        self.given_up: asyncio.Event = asyncio.Event()
        self.done: asyncio.Event = asyncio.Event()
        self._table = table

    def cancel(self) -> None:
        if self.cancelled:
            return
        self.cancelled = True
        if self.on_cancel is not None:
            self.on_cancel()
        if self.task is not None:
            self.task.cancel()
            asyncio.get_running_loop().call_later(CANCEL_GRACE, self.give_up)

    def give_up(self) -> None:
        """Answer without the handler."""
        self.given_up.set()

    def move_to(self, table: "RunningPrompts") -> None:
        """The editor of this prompt is on another connection now, which may cancel it."""
        self._table.remove(self)
        self._table = table
        table.add(self)

    def end(self) -> None:
        """The prompt is answered."""
        self._table.remove(self)
        self.done.set()


class RunningPrompts:
    """The prompts of one connection."""

    def __init__(self) -> None:
        self._prompts: dict[str, RunningPrompt] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._prompts

    def start(self, session_id: str) -> RunningPrompt:
        """Take the session's place, which must be free."""
        prompt = RunningPrompt(session_id, self)
        self.add(prompt)
        return prompt

    def add(self, prompt: RunningPrompt) -> None:
        self._prompts[prompt.session_id] = prompt

    def remove(self, prompt: RunningPrompt) -> None:
        self._prompts.pop(prompt.session_id, None)

    def is_cancelled(self, session_id: str) -> bool:
        """Whether the prompt that runs in the session was told to stop."""
        prompt = self._prompts.get(session_id)
        return prompt is not None and prompt.cancelled

    def cancel(self, session_id: str) -> None:
        """Without a running prompt there is nothing to do (R-213)."""
        prompt = self._prompts.get(session_id)
        if prompt is not None:
            prompt.cancel()

    async def stop(self, session_id: str) -> None:
        """Cancel a prompt and wait until it was answered (R-175)."""
        prompt = self._prompts.get(session_id)
        if prompt is not None:
            prompt.cancel()
            await prompt.done.wait()

    async def stop_all(self, grace: float) -> None:
        """Cancel every prompt and wait; after `grace` seconds, handlers that ignore it are left behind."""
        prompts = list(self._prompts.values())
        for prompt in prompts:
            prompt.cancel()
        waits = [asyncio.ensure_future(prompt.done.wait()) for prompt in prompts]
        if waits:
            await asyncio.wait(waits, timeout=grace)
            for prompt in prompts:
                prompt.give_up()
            _, late = await asyncio.wait(waits, timeout=SAVE_GRACE)
            for wait in late:
                wait.cancel()
