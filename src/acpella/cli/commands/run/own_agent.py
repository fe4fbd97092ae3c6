"""A run with an agent of its own, which ends with it."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from ...daemon.solo import Solo
from ...session.lookup import new_entry
from ...session.mcp_servers import all_servers
from ...state.agents import default_agent, startup_of
from ...state.catalogue import Catalogue
from ...terminal.output import say
from .options import RunOptions
from .prompt import Prompt
from .prompt_run import PromptRun, prompt_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acpella.client import ClientSession, ClientSettings, ConnectedAgent
    from acpella.rpc import Channel

__all__ = ["OwnAgent"]

DISCARD_WITHIN = 2.0
"""Seconds for an agent to forget a session that was not used."""


class OwnAgent:
    """Starts the agent, sends the prompt, and lets other shells see the session meanwhile."""

    def __init__(
        self, options: RunOptions, settings: "ClientSettings", catalogue: Catalogue, prompt: Prompt
    ) -> None:
        self._options = options
        self._settings = settings
        self._catalogue = catalogue
        self._prompt = prompt
        self._target = options.agent or default_agent(settings)

    async def run(self, run: PromptRun) -> int:
        """Returns the exit code."""
        solo = Solo(
            "acpella run",
            self._options.agent or "",
            cancel=run.interrupts.cancel_turn,
            stop=_end_for_others,
        )
        try:
            return await self._run(run, solo)
        finally:
            await solo.release()

    async def _run(self, run: PromptRun, solo: Solo) -> int:
        async with self._open_agent(run) as agent:
            session = await self._open_session(agent)
            key = await self._remember(session, solo, agent.pid)
            try:
                code = await run.use(session, self._prompt)
            finally:
                if not (run.sent or self._options.resume):
                    await self._forget(agent, session, key)
            if key and (session.title or self._options.resume):
                try:
                    self._catalogue.update(key, **({"title": session.title} if session.title else {}))
                except OSError:
                    pass
            return code

    def _open_agent(self, run: PromptRun) -> "ConnectedAgent":
        from acpella.client.targets import find_endpoint, open_target

        target, settings = self._target, self._settings
        remote = find_endpoint(target, settings=settings)
        channel: Channel | str
        command_words: Sequence[str] = ()
        if remote is not None and not self._options.shows_frames:
            name, channel = remote[0], target  # so that a lost connection is made again
        else:
            name, channel = open_target(
                target, settings=settings, on_stderr=run.on_stderr if run.wants_stderr else None
            )
            process = run.interrupts.process = channel.about.process
            command_words = () if process is None else process.command
        command = settings.agents[target].command if target in settings.agents else name
        startup = max(startup_of(command_words), self._options.timeout)
        return run.connect(channel, name, command, settings=settings, startup=startup)

    async def _open_session(self, agent: "ConnectedAgent") -> "ClientSession":
        options = self._options
        servers = all_servers(options.mcp, self._settings)
        if not options.resume:
            return await agent.new_session(options.cwd, mcp_servers=servers)
        if agent.capabilities.session_capabilities.resume is not None:
            return await agent.resume_session(options.resume, options.cwd, mcp_servers=servers)
        return await agent.load_session(options.resume, options.cwd, mcp_servers=servers)

    async def _remember(self, session: "ClientSession", solo: Solo, agent_pid: int | None) -> str:
        """Let other shells find the session; returns its key in the catalogue, empty if it is not kept."""
        if not self._prompt:
            return ""  # there is nothing to go on with
        key = ""
        try:
            entry = new_entry(self._settings, cwd=self._options.cwd, agent=self._target)
            entry.session_id, entry.title = session.id, prompt_title(self._prompt)
            key = self._catalogue.add(entry).key
            await solo.hold(key, session.id, agent_pid=agent_pid)
            solo.begin(entry.title)
        except OSError:
            pass  # nothing can be kept here; a single prompt needs no memory
        return key

    async def _forget(self, agent: "ConnectedAgent", session: "ClientSession", key: str) -> None:
        """No prompt was sent in the new session: delete it at the agent and in the catalogue."""
        from acpella.errors import AcpellaError

        from ...session.discard import discard

        try:
            if key:
                self._catalogue.remove(key)
            async with asyncio.timeout(DISCARD_WITHIN):
                await discard(agent, session)
        except (AcpellaError, TimeoutError, OSError):
            pass  # it is empty; what went wrong before is told


def _end_for_others() -> None:
    say("ended from another shell")
    os.kill(os.getpid(), signal.SIGTERM)
