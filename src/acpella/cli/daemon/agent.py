"""The agent that a background process keeps, and what is known of the session that is open there."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from acpella._plain_json import as_dict
from acpella._redact import redact
from acpella.errors import (
    AcpellaError,
    AuthRequired,
    ConnectionClosed,
    RpcError,
    TransportError,
    Unsupported,
)
from acpella.rpc import Channel
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame
from acpella.transport import ProcessChannel

from ..state.agents import startup_of
from .client import Config
from .history import ReplayHistory
from .links import AgentLink, ClientLink, request_id

__all__ = ["LOAD", "START_ERRORS", "AgentListener", "KeptAgent"]

START_ERRORS = (AcpellaError, TimeoutError, OSError, ValueError)
"""What starting an agent and opening its session can raise."""

OPEN = 60.0
"""Seconds for it to make or resume the session."""

LOAD = 300.0
"""Seconds for it to load the session, which replays it whole. A client's load has this limit once that client
is gone."""

_STATE = (
    "current_mode_update",
    "config_option_update",
    "available_commands_update",
    "session_info_update",
    "user_message_chunk",
)
"""Updates about the state of the session, and what the user said."""


class _Update(msgspec.Struct, frozen=True):
    kind: str = msgspec.field(default="", name="sessionUpdate")


class _UpdateParams(msgspec.Struct):
    update: _Update = _Update()


_read_update = msgspec.json.Decoder(_UpdateParams)


class AgentListener(Protocol):
    """Who hears what the agent sends."""

    @property
    def is_loading(self) -> bool: ...
    def on_update(self, frame: Frame) -> None: ...
    def on_request(self, frame: Frame) -> None: ...
    def on_notification(self, frame: Frame) -> None: ...
    def on_noise(self, text: str) -> None: ...
    def on_stderr(self, data: bytes) -> None: ...
    def on_full(self, full: bool) -> None: ...
    def on_agent_lost(self, reason: ConnectionClosed) -> None: ...


class KeptAgent:
    """Starts the agent, opens the session, and does both again when needed."""

    def __init__(
        self,
        config: Config,
        listener: AgentListener,
        *,
        on_started: Callable[[int], None],
        remember: Callable[..., None],
    ) -> None:
        self.name: str = config.agent
        self.starting: asyncio.Lock = asyncio.Lock()
        """Held by whoever starts it, or opens its session."""
        self.link: AgentLink | None = None
        """The way to it; None while there is none."""
        self.pid: int | None = None
        self.session_id: str = config.session_id
        self.session: dict[str, Any] = {}
        """Modes and options: what a resume answers."""
        self.told: dict[str, bytes] = {}
        """The last commands and title, as the frames they came in."""
        self.history: ReplayHistory = ReplayHistory()
        """What was said, for clients that come later."""
        self.refusal: RpcError | None = None
        """Why the agent made no session; a login may be missing."""
        self.greeting: bytes = b""
        """The params of `initialize` that it got."""
        self._hello: dict[str, Any] = {}
        self._opening = False
        self._config = config
        self._listener = listener
        self._on_started = on_started
        self._remember = remember
        self._replayed = 0  # updates that tell of the conversation

    @property
    def resumes(self) -> bool:
        sessions = as_dict(as_dict(self._hello.get("agentCapabilities")).get("sessionCapabilities"))
        return sessions.get("resume") is not None

    @property
    def loads(self) -> bool:
        return bool(as_dict(self._hello.get("agentCapabilities")).get("loadSession"))

    def hello(self) -> dict[str, Any]:
        """The answer to a client's `initialize`: the agent's, and how to attach to the session."""
        own = {
            "sessionId": self.session_id,
            "pid": os.getpid(),
            "agent": self._config.agent,
            "identity": self._config.identity,
        }
        capabilities = as_dict(self._hello.get("agentCapabilities"))
        sessions = as_dict(capabilities.get("sessionCapabilities")) | {"resume": as_dict(None)}
        return {
            **self._hello,
            # the daemon tells a conversation again by itself, see `history`
            "agentCapabilities": {**capabilities, "loadSession": True, "sessionCapabilities": sessions},
            "_meta": {**as_dict(self._hello.get("_meta")), "acpella.daemon": own},
        }

    # -- starting ------------------------------------------------------------------------------

    async def start(self, greeting: bytes) -> None:
        """Start the agent, greet it as the client does, open the session.

        Raises:
            START_ERRORS
        """
        listener = self._listener
        channel = self._channel()

        def on_request(frame: Frame) -> None:
            if self.link is link:
                listener.on_request(frame)
            else:  # it is being started: nobody has the session yet
                link.decline(request_id(frame), frame.method)

        link = AgentLink(
            channel,
            on_update=self._update,
            on_request=on_request,
            on_notification=listener.on_notification,
            on_noise=listener.on_noise,
            on_lost=lambda reason: self._lost(link, reason),
        )
        link.on_full = listener.on_full
        await link.open()
        process = channel.about.process
        self.pid = None if process is None else process.pid
        if self.pid is not None:
            self._on_started(self.pid)
        try:
            await self._greet(link, greeting, tail=lambda: channel.about.stderr_tail)
            await self.open_session(link)
            link.check_alive()  # it may have ended during the wait for the rest of a replay
        except BaseException:
            await link.close()
            raise
        self.link = link

    def _channel(self) -> Channel:
        config, on_stderr = self._config, self._listener.on_stderr
        if config.command:
            return ProcessChannel(
                config.command, cwd=config.where, env=config.env or None, on_stderr=on_stderr
            )
        from acpella.client.targets import open_endpoint, open_target

        if config.url:
            from acpella.transport.endpoint import Endpoint

            return open_endpoint(
                Endpoint.of(config.url, headers=config.headers, of_environment=not config.of_project),
                identity=redact(config.url),
            )
        _, channel = open_target(config.target, cwd=config.where, on_stderr=on_stderr)
        return channel

    async def _greet(self, link: AgentLink, greeting: bytes, *, tail: Callable[[], str]) -> None:
        limit = startup_of(self._config.command)
        try:
            self._hello = as_dict(await link.call("initialize", greeting, timeout=limit))
        except TimeoutError:
            text = f"{self._config.agent} did not answer within {limit:g} s; is it an ACP agent?"
            raise TransportError(text, stderr_tail=tail()) from None
        except ConnectionClosed as error:
            guess = "" if error.stderr_tail.strip() else "; is it an ACP agent?"
            error.reason += f" before it answered{guess}"
            error.answered = False
            raise
        self.greeting = greeting

    async def open_session(self, link: AgentLink) -> None:
        """Open the session, or note why the agent does not; after a login it may."""
        self.refusal = None
        self._opening = True
        again = bool(self.session_id)
        try:
            self.session = await self._open(link)
        except RpcError as error:
            if again and not isinstance(error, AuthRequired):
                error.message += "; --new with -s NAME begins another session under that name"
            self.refusal = error  # for whoever attaches
        finally:
            self._opening = False

    async def _open(self, link: AgentLink) -> dict[str, Any]:
        params: dict[str, Any] = {"cwd": self._config.cwd, "mcpServers": self._config.mcp_servers}
        if not self.session_id:
            answer = as_dict(await link.call("session/new", params, timeout=OPEN))
            self.session_id = str(answer.pop("sessionId", ""))
            if not self.session_id:
                raise TransportError(f"{self._config.agent} made a session without an id")
            self._remember(session_id=self.session_id)
            self.history.begin()
            return answer
        params["sessionId"] = self.session_id
        if self.resumes:
            return as_dict(await link.call("session/resume", params, timeout=OPEN))
        if self.loads:
            before = self.history.take()
            try:
                answer = as_dict(await link.call("session/load", params, timeout=LOAD))
            except BaseException:
                self.history.restore(before)
                raise
            await self.until_replayed()
            return answer
        raise Unsupported(
            f"{self._config.agent} can neither load nor resume sessions, so this one ended with the process "
            "that held it; begin afresh (--new with -s NAME)"
        )

    def needs_restart_for(self, greeting: bytes) -> bool:
        """Whether a client offers other capabilities than the agent was told, and a restart is possible."""
        if not (self.resumes or self.loads):
            return False
        one, other = (
            as_dict(as_dict(msgspec.json.decode(text)).get("clientCapabilities"))
            for text in (greeting, self.greeting)
        )
        return any(one.get(part) != other.get(part) for part in ("fs", "terminal"))

    async def restart(self, greeting: bytes) -> None:
        """Restart the agent with its session: it learns only once, in `initialize`, what a client offers."""
        await self.close()
        await self.start(greeting)

    def note_descendants(self) -> None:
        """Remember which processes it has started, for them to end with it."""
        if self.link is not None and (process := self.link.channel.about.process) is not None:
            process.note_descendants()

    def decline_open(self, client: ClientLink, why: str = "the client is gone") -> None:
        """Answer what the agent has asked a client, which is not going to answer any more."""
        for pending in client.side.drain().values():
            if self.link is not None:
                self.link.decline(pending.id, pending.method, why)

    async def close(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            await link.close()

    def _lost(self, link: AgentLink, reason: ConnectionClosed) -> None:
        if self.link is link:
            self._listener.on_agent_lost(reason)  # otherwise `start` raises the error

    # -- what is true of the session ---------------------------------------------------------------

    def _update(self, frame: Frame) -> None:
        try:
            kind = _read_update.decode(frame.envelope.params).update.kind
        except UNREADABLE:
            kind = ""  # the client will complain
        if kind not in _STATE or not self._note(kind, frame):
            self._replayed += 1
            self.history.add(frame.data)
        if not self._opening:  # what a load tells again is not new to anybody
            self._listener.on_update(frame)

    async def until_replayed(self) -> None:
        """Wait for updates that a load sends after its answer, since they do not belong to the next turn."""
        from acpella.client.replay import until_quiet

        await until_quiet(lambda: self._replayed)

    def _note(self, kind: str, frame: Frame) -> bool:
        """Keep the state that later clients need; False if the update is part of the conversation."""
        update = as_dict(as_dict(msgspec.json.decode(frame.envelope.params)).get("update"))
        if kind == "user_message_chunk":
            return not (self._opening or self._listener.is_loading)  # a prompt that the agent repeats
        if kind == "current_mode_update":
            self._set_mode(update.get("currentModeId"))
        elif kind == "config_option_update":
            self.session["configOptions"] = update.get("configOptions")
        else:
            self.told[kind] = frame.data
            if kind == "session_info_update" and update.get("title"):
                self._remember(title=str(update["title"])[:200])
        return True

    def learn(self, request: Frame, response: Frame) -> None:
        """A client changed the mode or an option; not every agent tells the others."""
        if request.method == "session/set_mode":
            self._set_mode(as_dict(msgspec.json.decode(request.envelope.params)).get("modeId"))
        elif request.method == "session/set_config_option":
            result = as_dict(msgspec.json.decode(response.envelope.result))
            if "configOptions" in result:
                self.session["configOptions"] = result["configOptions"]
        elif request.method == "session/set_model":
            models = as_dict(self.session.get("models"))
            if models:
                models["currentModelId"] = as_dict(msgspec.json.decode(request.envelope.params)).get(
                    "modelId"
                )

    def _set_mode(self, mode: Any) -> None:
        modes = as_dict(self.session.get("modes"))
        if modes:
            modes["currentModeId"] = mode
