"""A run in a session that stays: its daemon has the agent, and prompts wait for their turn there."""

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any

from acpella._plain_json import as_dict
from acpella.errors import ConnectionClosed
from acpella.transport import UnixChannel

from ... import exits
from ...daemon import client as daemon
from ...daemon import methods
from ...session.lookup import daemon_config
from ...session.mcp_servers import all_servers
from ...state.catalogue import Catalogue, SessionEntry
from ...terminal.output import say
from .options import RunOptions
from .prompt import Prompt
from .prompt_run import PromptRun, limited, prompt_title

if TYPE_CHECKING:
    from acpella.client import ClientSession, ClientSettings, ConnectedAgent

__all__ = ["KeptSession"]


class _TooLate(Exception):
    """The daemon ended between being found and being asked for anything."""


class KeptSession:
    """Reaches the daemon, which is started if there is none, and talks to it as if it was the agent."""

    def __init__(
        self, options: RunOptions, settings: "ClientSettings", entry: SessionEntry, prompt: Prompt
    ) -> None:
        self._options = options
        self._settings = settings
        self._entry = entry
        self._prompt = prompt
        self._title = prompt_title(prompt)

    def run(self) -> int:
        """Returns the exit code. Has an event loop of its own: a daemon is started without one."""
        options, key = self._options, self._entry.key
        servers = all_servers(options.mcp, self._settings)
        config = daemon_config(self._entry, self._settings, agent=options.agent, mcp_servers=servers)
        if options.mcp and daemon.status(key) is not None:
            say("--mcp has no effect: the session is open already; `acpella sessions close` ends it")
        began = time.monotonic()
        for _ in range(daemon.ATTACH_TRIES):
            try:
                connected = daemon.reach(
                    config,
                    on_wait=None if options.no_wait else _tell_wait,
                    until=began + options.timeout if options.timeout else None,
                    prompt=self._title,
                )
            except daemon.NotWanted:
                say("cancelled while it waited")
                return exits.CANCELLED
            try:
                waited = time.monotonic() - began
                return asyncio.run(
                    limited(options, lambda run, to=connected: self._attached(run, to), waited=waited)
                )
            except _TooLate:
                pass
            entry = Catalogue().get(key)
            if entry is not None:
                config.session_id = entry.session_id
        raise ConnectionClosed(daemon.ended_again_and_again(key))

    async def _attached(self, run: PromptRun, connected: socket.socket) -> int:
        entry = self._entry
        agent = run.connect(
            UnixChannel(connected, peer="the session's background process"),
            entry.agent,
            entry.agent,
            notifications={
                methods.QUEUED: self._tell_queue,
                methods.CANCELLED: lambda _: run.interrupts.note_cancelled(),
                methods.NOISE: daemon.tell_noise,
                methods.STDERR: lambda params: run.on_stderr(str(params["text"]).encode()),
            },
            startup=daemon.READY_WITHIN,
        )
        try:
            await agent.__aenter__()
        except ConnectionClosed as error:
            raise _TooLate from error
        try:
            try:
                own = as_dict(as_dict(agent.hello.meta).get("acpella.daemon"))
                session = await agent.resume_session(own.get("sessionId") or "new", entry.cwd)
            except ConnectionClosed as error:
                raise _TooLate from error
            if self._title and not entry.title:
                self._remember_title()
            if self._options.no_wait:
                return await self._queue_prompt(run, agent, session)
            return await run.use(session, self._prompt)
        finally:
            await agent.__aexit__(None, None, None)

    def _remember_title(self) -> None:
        try:
            entry = Catalogue().get(self._entry.key)
            if entry is not None and not entry.title:
                Catalogue().update(self._entry.key, title=self._title)
        except OSError:
            pass

    async def _queue_prompt(self, run: PromptRun, agent: "ConnectedAgent", session: "ClientSession") -> int:
        """Leave the prompt with the daemon."""
        from acpella.client.session import to_blocks
        from acpella.schema import PromptRequest

        await run.prepare(session)
        blocks = to_blocks(self._prompt, agent.capabilities.prompt_capabilities)
        request = PromptRequest(session_id=session.id, prompt=blocks)
        queued = await agent.extension(
            methods.QUEUE,
            {"request": request, "write": self._options.write, "yolo": self._options.yolo},
        )
        before = queued.get("before", 0)
        say(f"queued, {before} before it" if before else "started")
        return exits.DONE

    # -- what the daemon tells -------------------------------------------------------------------

    def _tell_queue(self, params: dict[str, Any]) -> None:
        if not (self._options.shows_frames or self._options.no_wait):
            count = params["before"]
            say(f"waiting for {count} prompt{'s' if count != 1 else ''} before this one")


def _tell_wait(text: str) -> None:
    say(f"{text}; this prompt waits for its end")
