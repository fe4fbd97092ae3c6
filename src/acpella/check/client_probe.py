"""One connection to a client that is checked, from the agent's end."""

import asyncio
import itertools
import os
from typing import Any

from .conversation import CheckedConversation, CheckedFrame, as_object
from .link import Failed, Link, NotOffered

__all__ = ["ClientProbe"]


class ClientProbe:
    """One connection to a client, from the agent's end."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.talk: CheckedConversation = link.talk
        self.session = ""
        self.cwd = ""
        self.cancelled: asyncio.Event = asyncio.Event()
        self._numbers = itertools.count(1)

    def offered(self, path: str) -> None:
        """Go on only if the client announced a capability.

        Raises:
            NotOffered: it did not.
        """
        if not self.talk.client_can(path):
            raise NotOffered(f"the client does not offer clientCapabilities.{path}")

    async def call(self, method: str, within: float | None = None, **params: Any) -> CheckedFrame:
        """Send the client a request in the session of the prompt; returns its answer."""
        return await self.link.call(method, {"sessionId": self.session, **params}, within=within)

    async def get(self, method: str, **params: Any) -> dict[str, Any]:
        """Send the client a request; the answer must not be an error."""
        reply = await self.call(method, **params)
        if reply.is_error:
            raise Failed(f"{method} failed", reply.request, reply)
        return as_object(reply.result)

    async def refused(self, method: str, **params: Any) -> CheckedFrame:
        """Send the client a request; the answer must be an error."""
        reply = await self.call(method, **params)
        if not reply.is_error:
            raise Failed(f"{method} succeeded", reply.request, reply)
        return reply

    def update(self, name: str, /, *, session: str | None = None, **fields: Any) -> CheckedFrame:
        """Send an update."""
        update = {"sessionUpdate": name, **fields}
        return self.link.notify("session/update", {"sessionId": session or self.session, "update": update})

    def say(self, text: str) -> None:
        """Send text for the user."""
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    async def still_works(self, why: str) -> None:
        """Check that the client still works: it must answer a request that it cannot know."""
        try:
            await self.link.call("_acpella.check/fence", {})
        except Failed as failure:
            raise Failed(f"{why}: {failure.text}", *failure.frames, timing=failure.timing) from None

    def path(self, ending: str = ".txt") -> str:
        """A path in the directory of the session that does not exist yet."""
        return os.path.join(self.cwd, f"acpella-check-{next(self._numbers)}-{os.urandom(3).hex()}{ending}")

    async def ask(self, *kinds: str, title: str = "Allow the check to go on?") -> CheckedFrame:
        """Ask for permission, with one option for each kind; returns the answer."""
        call = f"call-{next(self._numbers)}"
        self.update("tool_call", toolCallId=call, title=title, kind="other", status="pending")
        options = [{"optionId": f"{kind}-{n}", "name": kind, "kind": kind} for n, kind in enumerate(kinds)]
        reply = await self.call(
            "session/request_permission", toolCall={"toolCallId": call, "title": title}, options=options
        )
        self.update("tool_call_update", toolCallId=call, status="completed")
        return reply
