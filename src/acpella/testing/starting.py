"""What the fixtures of the pytest plugin hand out: agents and clients that a test starts by a call."""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, Unpack, cast

from acpella.client import ConnectedAgent, connect
from acpella.client.connect import ConnectOptions
from acpella.client.sync import SyncAgent, run_in_loop
from acpella.client.sync import connect as connect_blocking
from acpella.client.targets import Target
from acpella.recording import RecordedFrame, read_recording
from acpella.recording.replay import Match, ReplayedAgent
from acpella.rpc import Channel

from .reaching import Transport, reach
from .scripted.client import ClientAnswer, ScriptedClient

__all__ = ["AgentStarter", "ClientStarter", "ReplayStarter", "StartedAgent", "StartedClient", "TargetOf"]

TargetOf: TypeAlias = "Callable[[Target | None, Transport], Target]"
"""Returns the agent to test: the one that the test names, or the one in the settings."""


class StartedAgent:
    """A connection to the agent: `async with` gives a `ConnectedAgent`, `with` one whose methods block."""

    def __init__(
        self,
        target: Target,
        over: Transport,
        options: ConnectOptions,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._target = target
        self._over: Transport = over
        self._options = options
        self._check = check
        self._stack = AsyncExitStack()
        self._blocking: AbstractContextManager[SyncAgent] | None = None

    async def __aenter__(self) -> ConnectedAgent:
        target = await self._reach()
        return await self._stack.enter_async_context(connect(target, **self._options))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
        if kind is None and self._check is not None:
            self._check()

    def __enter__(self) -> SyncAgent:
        target = run_in_loop(self._reach())
        try:
            self._blocking = connect_blocking(target, **self._options)
            return self._blocking.__enter__()
        except BaseException:
            run_in_loop(self._stack.aclose())
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._blocking is not None
        try:
            self._blocking.__exit__(kind, error, trace)
        finally:
            run_in_loop(self._stack.aclose())
        if kind is None and self._check is not None:
            self._check()

    async def _reach(self) -> Target:
        env = self._options.get("env")
        hosted = self._over in ("websocket", "http")
        if hosted:
            self._options = cast(
                ConnectOptions, {k: v for k, v in self._options.items() if k not in ("env", "cwd")}
            )
        return await self._stack.enter_async_context(reach(self._target, self._over, env=env))


class AgentStarter:
    """Starts agents for a test and records what they say: `async with acp_agent() as agent:`."""

    def __init__(self, target_of: TargetOf, over: Transport, folder: Callable[[], Path]) -> None:
        self.recordings: list[Path] = []
        """A recording of each conversation, in the order in which they were begun."""
        self._target_of = target_of
        self._over: Transport = over
        self._folder = folder

    def __call__(
        self,
        target: "Target | None" = None,
        /,
        *,
        over: Transport | None = None,
        **options: Unpack[ConnectOptions],
    ) -> StartedAgent:
        """Start `target`, or the agent in the settings. The options are those of `acpella.connect`."""
        transport = over or self._over
        return StartedAgent(self._target_of(target, transport), transport, self.record(options))

    def record(self, options: ConnectOptions) -> ConnectOptions:
        """The options, with a recording for this connection added."""
        path = Path(
            options.get("record") or self._folder() / f"conversation-{len(self.recordings) + 1}.jsonl"
        )
        self.recordings.append(path)
        return {**options, "record": path}

    def conversations(self) -> list[list[RecordedFrame]]:
        """What was said so far in conversations that have ended."""
        return [talk for path in self.recordings if path.exists() for talk in read_recording(path)]


class ReplayStarter:
    """Starts recorded agents: `async with acp_replay("talk.jsonl") as agent:`."""

    def __init__(self, agents: AgentStarter, find: Callable[[str], Path]) -> None:
        self._agents = agents
        self._find = find

    def __call__(
        self,
        path: str,
        /,
        *,
        match: Match = "shape",
        over: Transport = "memory",
        **options: Unpack[ConnectOptions],
    ) -> StartedAgent:
        """Play the agent of a recording. Except over stdio, the block fails if the client did what was not
        recorded."""
        file = self._find(path)
        played = _Replayed(file, match)
        if over == "stdio":
            command = [sys.executable, "-m", "acpella", "replay", str(file), "--match", match]
            return StartedAgent(command, over, self._agents.record(options))
        return StartedAgent(played, over, self._agents.record(options), played.check)


class _Replayed:
    """An agent object that plays a recording to each client."""

    def __init__(self, file: Path, match: Match) -> None:
        self.name = file.stem
        self._match: Match = match
        self._conversations = read_recording(file)
        if not self._conversations:
            raise ValueError(f"{file} holds no conversation")
        self._served = 0
        self._failures: list[str] = []

    async def serve_on(self, channel: Channel) -> None:
        talk = self._conversations[min(self._served, len(self._conversations) - 1)]
        self._served += 1
        agent = ReplayedAgent(talk, match=self._match, more=self._conversations)
        try:
            await agent.serve_on(channel)
        finally:
            self._failures += agent.failures

    def check(self) -> None:
        """Raises `AssertionError` if a client did what was not recorded."""
        if self._failures:
            raise AssertionError("the client did what was not recorded:\n" + "\n".join(self._failures))


class StartedClient:
    """A connection in plain messages: `async with` gives a `ScriptedClient`."""

    def __init__(
        self,
        target: Target,
        over: Transport,
        make: Callable[[Target], ScriptedClient],
        env: Mapping[str, str] | None,
    ) -> None:
        self._target = target
        self._over: Transport = over
        self._make = make
        self._env = env
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> ScriptedClient:
        target = await self._stack.enter_async_context(reach(self._target, self._over, env=self._env))
        return await self._stack.enter_async_context(self._make(target))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)


class ClientStarter:
    """Starts clients in plain messages: `async with acp_client() as client:`."""

    def __init__(self, target_of: TargetOf, over: Transport) -> None:
        self._target_of = target_of
        self._over: Transport = over

    def __call__(
        self,
        target: "Target | None" = None,
        /,
        *,
        over: Transport | None = None,
        answers: Mapping[str, ClientAnswer] | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> StartedClient:
        """Talk to the agent of the settings, or to `target`. The options are those of `ScriptedClient`."""
        transport: Transport = over or self._over
        child_env = env if transport == "stdio" else None
        return StartedClient(
            self._target_of(target, transport),
            transport,
            lambda reached: ScriptedClient(reached, answers=answers, env=child_env, **options),
            env,
        )
