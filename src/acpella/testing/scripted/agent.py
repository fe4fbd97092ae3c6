"""An agent that does what a test tells it, right or wrong."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from acpella.rpc import Channel

from .script import Script, ScriptRule
from .steps import Json, Step

__all__ = ["ScriptedAgent"]

_MOST_SCRIPT = 100_000
"""The most characters of a script for a process; Linux refuses an argument of more than 128 KiB."""


class ScriptedAgent:
    """An agent that follows a script: `ScriptedAgent().on("hello", say("hi"), ask("Write?"))`.

    It is an agent like any other: `connect(agent)` talks to it in this process, `agent.command` starts the
    same script as a process, and `reach(agent, "websocket")` hosts it. A prompt without a rule is repeated.
    `hello` is laid over its answer to `initialize`. With `ignores_cancel` a turn goes on after a cancel.
    """

    def __init__(
        self, name: str = "scripted", *, hello: Mapping[str, Any] | None = None, ignores_cancel: bool = False
    ) -> None:
        self.name = name
        self.received: list[Json] = []
        """Every message of a client, in order; only of clients that are served in this process."""
        self._script = Script(name, dict(hello or {}), ignores_cancel)

    def on(self, text: str, *steps: Step) -> Self:
        """What to do when a prompt contains `text`. The first rule that fits counts."""
        self._script.rules.append(ScriptRule("session/prompt", text, steps))
        return self

    def on_request(self, method: str, *steps: Step) -> Self:
        """What to do when another request comes. The answer is `{}` unless there is a `reply` or `fail`."""
        self._script.rules.append(ScriptRule(method, None, steps))
        return self

    def on_start(self, *steps: Step) -> Self:
        """What to do before the first message is handled."""
        self._script.first.extend(steps)
        return self

    @property
    def command(self) -> list[str]:
        """The command line that starts this script as a process.

        Raises:
            ValueError: the script is too long for a command; says what to do instead.
        """
        script = msgspec.json.encode(self._script).decode()
        if len(script) > _MOST_SCRIPT:
            raise ValueError(
                f"this script has {len(script)} characters, too many for a command: write a program that "
                "ends with agent.run() and start that, or shorten the script with garbage() and repeat()"
            )
        return [sys.executable, "-m", "acpella.testing.scripted", script]

    @classmethod
    def from_script(cls, script: str) -> Self:
        """The agent for the script in a `command`."""
        agent = cls()
        agent._script = msgspec.json.decode(script, type=Script)
        agent.name = agent._script.name
        return agent

    def run(self) -> None:
        """Serve stdin and stdout until the client goes away."""
        from acpella.transport import StdioChannel

        asyncio.run(self._serve(StdioChannel(), is_process=True))

    async def serve_on(self, channel: Channel, **_: Any) -> None:
        """Serve one client over any channel until it goes away. Many may be served at once."""
        await self._serve(channel, is_process=False)

    async def close(self) -> None:
        """Do nothing: nothing is kept between clients."""

    async def _serve(self, channel: Channel, *, is_process: bool) -> None:
        from .serving import Serving

        await Serving(self._script, self.received, is_process=is_process).run(channel)
