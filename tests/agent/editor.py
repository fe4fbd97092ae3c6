"""An editor for tests: plain JSON on the wire, scripted answers, and a log of everything in order."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from acpella.agent import Agent
from acpella.errors import ResourceNotFound, RpcError
from acpella.rpc import Connection
from acpella.schema import SessionNotification
from acpella.schema._decode import decoder_of
from acpella.transport import memory_pair
from interaction.ends import RawEnd
from interaction.wire import PLAIN, request

PATIENCE = 60
"""Seconds after which a test that waits has failed."""

CWD = "/project"

Json = dict[str, Any]
Answer = Callable[[Any], Any]

FS: Json = {"fs": {"readTextFile": True, "writeTextFile": True}}
TERMINAL: Json = {"terminal": True}


class FakeEditor:
    """One connection to an agent, driven by the test.

    `log` holds ("update", update), ("call", method, params) and ("answer", method, result) as they came.
    `on` holds the answers to the agent's requests by method: a value, or a function of the parameters.
    """

    def __init__(self, capabilities: Json) -> None:
        self.capabilities = capabilities
        self.log: list[tuple[Any, ...]] = []
        self.hello: Json = {}
        self.cwd = CWD
        self.files: dict[str, str] = {}
        self.choice: str = "allow_once"
        """The kind of the option that permission requests are answered with, or "cancelled"."""
        self.exit: Json | None = {"exitCode": 0, "signal": None}
        """How commands in terminals end; None lets them run until they are killed."""
        self.output = "output"
        self.on: dict[str, Any] = {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": lambda params: {"terminalId": f"term_{len(self.calls('terminal/create'))}"},
            "terminal/wait_for_exit": self._wait_for_exit,
            "terminal/output": lambda params: {"output": self.output, "truncated": False},
            "terminal/kill": self._kill,
            "terminal/release": {},
        }
        self.malformed: list[str] = []
        self._news = asyncio.Event()
        self._killed = asyncio.Event()
        self.connection: Connection
        self.serving: asyncio.Task[None]

    # -- what it does ----------------------------------------------------------------------

    async def call(self, method: str, params: object = None) -> Any:
        """Send the agent a request; `log` shows when the answer came."""
        result = await self.connection.call(method, {} if params is None else params, in_order=True)
        self._add("answer", method, result)
        return result

    async def fails(self, method: str, params: object = None) -> RpcError:
        """Send the agent a request that it must refuse; returns the error."""
        try:
            result = await self.call(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was answered with {result}")

    async def initialize(self, version: int = 1) -> Json:
        params = {"protocolVersion": version, "clientCapabilities": self.capabilities}
        self.hello = await self.call("initialize", params)
        return self.hello

    async def new(self, **params: Any) -> str:
        return (await self.call("session/new", {"cwd": self.cwd, "mcpServers": [], **params}))["sessionId"]

    async def load(self, session_id: str, method: str = "session/load", **params: Any) -> Any:
        return await self.call(method, {"sessionId": session_id, "cwd": self.cwd, "mcpServers": [], **params})

    async def prompt(self, session_id: str, text: str | list[Json] = "hi") -> str:
        """Send a prompt; returns the stop reason."""
        return (await self.call("session/prompt", prompt_params(session_id, text)))["stopReason"]

    async def prompt_fails(self, session_id: str, text: str | list[Json] = "hi") -> RpcError:
        return await self.fails("session/prompt", prompt_params(session_id, text))

    async def cancel(self, session_id: str) -> None:
        await self.connection.notify("session/cancel", {"sessionId": session_id})

    async def set_option(self, session_id: str, option: str, value: Any) -> Any:
        params: Json = {"sessionId": session_id, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        return (await self.call("session/set_config_option", params))["configOptions"]

    def write(self, data: bytes) -> None:
        """Put bytes on the wire that no connection of ours would send."""
        self.connection._channel.write(data)

    # -- what it saw -----------------------------------------------------------------------

    def updates(self, kind: str | None = None, session_id: str | None = None) -> list[Json]:
        """The updates so far, of one kind and one session if given."""
        return [
            update
            for what, update, *rest in self.log
            if what == "update"
            and (kind is None or update["sessionUpdate"] == kind)
            and (session_id is None or rest[0] == session_id)
        ]

    def calls(self, method: str) -> list[Json]:
        """The parameters of the agent's requests so far."""
        return [entry[2] for entry in self.log if entry[0] == "call" and entry[1] == method]

    def said(self, session_id: str | None = None, kind: str = "agent_message_chunk") -> str:
        """The text that the agent sent so far."""
        chunks = self.updates(kind, session_id)
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    def order(self) -> list[str]:
        """What came, in short: kinds of updates, names of requests and answers."""
        return [entry[1]["sessionUpdate"] if entry[0] == "update" else entry[1] for entry in self.log]

    def forget(self) -> None:
        """Start a new log."""
        self.log.clear()

    async def until(self, seen: Callable[[], Any]) -> Any:
        """Wait until a condition holds; it is checked whenever something arrives."""
        while not (found := seen()):
            self._news.clear()
            await self._news.wait()
        return found

    async def until_said(self, text: str) -> None:
        await self.until(lambda: text in self.said())

    # -- how it answers --------------------------------------------------------------------

    def _add(self, *entry: Any) -> None:
        self.log.append(entry)
        self._news.set()

    def _heard(self, params: Any) -> None:
        try:
            decoder_of(SessionNotification).decode(json.dumps(params).encode())
        except Exception as error:
            self.malformed.append(f"{error}: {params}")
        self._add("update", params["update"], params["sessionId"])

    def _handler(self, method: str) -> Answer:
        async def answer(params: Any) -> Any:
            self._add("call", method, params)
            scripted = self.on[method]
            result = scripted(params) if callable(scripted) else scripted
            if inspect.isawaitable(result):
                result = await result
            if isinstance(result, Exception):
                raise result
            return result

        return answer

    async def _permission(self, params: Any) -> Json:
        if self.choice == "cancelled":
            return {"outcome": {"outcome": "cancelled"}}
        option = next(option for option in params["options"] if option["kind"] == self.choice)
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    def _read(self, params: Any) -> Json:
        if params["path"] not in self.files:
            raise ResourceNotFound(data={"uri": params["path"]})
        lines = self.files[params["path"]].splitlines(keepends=True)
        start = max((params.get("line") or 1) - 1, 0)
        limit = params.get("limit")
        return {"content": "".join(lines[start : None if limit is None else start + limit])}

    def _write(self, params: Any) -> Json:
        self.files[params["path"]] = params["content"]
        return {}

    async def _wait_for_exit(self, params: Any) -> Json:
        if self.exit is None:
            await self._killed.wait()
            return {"exitCode": None, "signal": "SIGKILL"}
        return self.exit

    def _kill(self, params: Any) -> Json:
        self._killed.set()
        return {}


def prompt_params(session_id: str, text: str | list[Json] = "hi") -> Json:
    blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
    return {"sessionId": session_id, "prompt": blocks}


@asynccontextmanager
async def opened(
    agent: Agent,
    *,
    principal: str = "",
    patience: float = PATIENCE,
    initialize: bool = True,
    hosted: Json | None = None,
    **capabilities: Any,
) -> AsyncIterator[FakeEditor]:
    """Connect an editor to an agent, which stays open afterwards. The block must end within `patience`."""
    here, there = memory_pair()
    editor = FakeEditor(capabilities)
    async with asyncio.timeout(patience):
        serving = agent.serve_on(there, principal=principal, **(hosted or {}))
        editor.serving = asyncio.create_task(serving, name="serving")
        requests = {
            method: editor._handler(method) for method in [*editor.on, "elicitation/create", "_test/ask"]
        }
        notifications = {
            "session/update": editor._heard,
            "_test/tell": lambda params: editor._add("told", "_test/tell", params),
        }
        editor.connection = Connection(here, PLAIN, requests=requests, notifications=notifications)
        try:
            async with editor.connection:
                if initialize:
                    await editor.initialize()
                yield editor
        finally:
            await editor.serving
        assert not editor.malformed


@asynccontextmanager
async def editing(agent: Agent, *, leaves_tasks: bool = False, **options: Any) -> AsyncIterator[FakeEditor]:
    """Connect the only editor of an agent. Afterwards the agent is closed and must have left no task."""
    before = asyncio.all_tasks()
    try:
        async with opened(agent, **options) as editor:
            yield editor
    finally:
        await agent.close()
    if not leaves_tasks:
        await asyncio.sleep(0)  # let tasks end that were cancelled just now
        left = asyncio.all_tasks() - before
        if left:  # one may still have to reap a process
            _, left = await asyncio.wait(left, timeout=2)
        assert not left, f"tasks were left: {[task.get_name() for task in left]}"


@asynccontextmanager
async def raw_end(agent: Agent, **capabilities: Any) -> AsyncIterator[tuple[RawEnd, str]]:
    """An initialized connection driven byte by byte, and a session on it."""
    here, there = memory_pair()
    raw = RawEnd(here)
    async with asyncio.timeout(PATIENCE):
        await here.open(raw, write_high=2**20)
        serving = asyncio.create_task(agent.serve_on(there), name="serving")
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities}
        raw.send(
            request("0", "initialize", hello), request("1", "session/new", {"cwd": CWD, "mcpServers": []})
        )
        answers = await raw.messages(2)
        try:
            yield raw, answers[1]["result"]["sessionId"]
        finally:
            await here.close()
            await serving
            await agent.close()


def agent_of(handler: Any, *, name: str = "tested", **options: Any) -> Agent:
    """An agent with this prompt handler."""
    agent = Agent(name, **options)
    agent.on_prompt(handler)
    return agent


def text(value: str) -> Json:
    """A text block."""
    return {"type": "text", "text": value}
