"""The client that an agent is checked with: it can do everything right, and everything wrong."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from acpella._version import __version__
from acpella.rpc import Channel

from .auditor import Auditor
from .conversation import CheckedConversation, CheckedFrame, as_list, as_object
from .link import Failed, GivenUp, Link, LinkRefusal, NoSessionMade, NotOffered, Unproved
from .profile import PromptProfile
from .unanswered import Unanswered

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["FULL", "Probe", "ProbedTurn", "exists", "message_text"]

FULL: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "elicitation": {"form": {}, "url": {}},
    "plan": {},
    "subagents": {},
}
"""A client that can do everything."""

BUSY_TIME = 2.0
"""Seconds to wait for a sign that the agent works. An agent that shows none is cancelled anyway."""


class ProbedTurn:
    """A prompt, and what the agent sent after it."""

    def __init__(self, probe: "Probe", request: CheckedFrame, mark: int) -> None:
        self.probe = probe
        self.request = request
        self.mark = mark
        self.answer: CheckedFrame | None = None

    @property
    def frames(self) -> list[CheckedFrame]:
        """What the agent sent since the prompt."""
        return self.probe.link.since(self.mark)

    @property
    def updates(self) -> list[CheckedFrame]:
        session = self.request.session
        return [f for f in self.frames if f.method == "session/update" and f.session == session]

    @property
    def text(self) -> str:
        """What the agent said."""
        return message_text(self.updates, "agent_message_chunk")

    async def end(self, *, within: float | None = None) -> CheckedFrame:
        """The answer to the prompt."""
        self.answer = await self.probe.link.reply_to(self.request, within=within)
        return self.answer

    @property
    def stop_reason(self) -> Any:
        return None if self.answer is None else as_object(self.answer.result).get("stopReason")


def message_text(updates: list[CheckedFrame], kind: str) -> str:
    """The text of the chunks of one kind."""
    chunks = [as_object(f.update.get("content")) for f in updates if f.update_kind == kind]
    return "".join(str(chunk.get("text", "")) for chunk in chunks)


class Probe:
    """One connection to an agent."""

    def __init__(
        self,
        channel: Channel,
        auditor: Auditor,
        *,
        profile: PromptProfile,
        patience: float,
        directory: str,
        unanswered: Unanswered | None = None,
        answers_unknown: bool = True,
    ) -> None:
        self.answers_unknown = answers_unknown
        """Whether the agent has answered a request that it cannot know."""
        self.link: Link = Link(channel, auditor, way="out", patience=patience, unanswered=unanswered)
        self.talk: CheckedConversation = auditor.talk
        self.profile = profile
        self.channel = channel
        self.directory = directory
        """The working directory of the sessions, empty at first. Whoever made it removes it."""
        self.permission: str = "allow"
        """How questions are answered: `allow`, `reject`, `cancel`, `error`, `unknown` or `wait`."""
        self.elicitation: str = "decline"
        self.connect: Callable[[], Awaitable[Probe]] | None = None
        """Opens another connection, which ends with the scenario."""
        self.files: dict[str, str] = {}
        """Texts of files that differ from the disk, like unsaved changes in an editor."""
        self._terminals: dict[str, LocalTerminal] = {}
        self._numbers = itertools.count(1)
        self._turns: list[ProbedTurn] = []
        answers = self.link.answers
        answers["session/request_permission"] = self._permit
        answers["fs/read_text_file"] = self._read
        answers["fs/write_text_file"] = self._write
        answers["terminal/create"] = self._create_terminal
        answers["terminal/output"] = self._terminal_output
        answers["terminal/wait_for_exit"] = self._wait_for_exit
        answers["terminal/kill"] = self._kill
        answers["terminal/release"] = self._release
        answers["elicitation/create"] = self._elicit

    async def close(self) -> None:
        """Disconnect from the agent, and release the terminals that it left open."""
        await self.link.stop_answering()
        for terminal in self._terminals.values():
            await terminal.release()
        await self.link.close()

    # -- the usual steps -----------------------------------------------------------------------

    async def initialize(
        self, capabilities: dict[str, Any] | None = None, *, version: int = 1, within: float | None = None
    ) -> CheckedFrame:
        """Send `initialize`; returns the answer."""
        return await self.link.reply_to(self.begin_initialize(capabilities, version=version), within=within)

    def begin_initialize(
        self, capabilities: dict[str, Any] | None = None, *, version: int = 1
    ) -> CheckedFrame:
        """Send `initialize` without waiting for the answer."""
        info = {"name": "acpella-check", "title": "acpella check", "version": __version__}
        params: dict[str, Any] = {"protocolVersion": version, "clientInfo": info}
        params["clientCapabilities"] = FULL if capabilities is None else capabilities
        return self.link.begin("initialize", params)

    async def new_session(self, **more: Any) -> str:
        """Open a session in the directory of this probe; returns its id."""
        params: dict[str, Any] = {"cwd": self.directory, "mcpServers": [], **more}
        try:
            reply = await self.link.call("session/new", params)
        except Failed as failure:
            raise NoSessionMade(failure.text, *failure.frames, timing=failure.timing) from None
        return self.session_id(reply)

    def session_id(self, reply: CheckedFrame) -> str:
        """The id in the answer to a request that makes a session."""
        id = as_object(reply.result).get("sessionId")
        if reply.is_error or not isinstance(id, str):
            raise NoSessionMade("no session was made", reply.request, reply)
        return id

    def begin(self, session: str, prompt: str | list[dict[str, Any]], **more: Any) -> ProbedTurn:
        """Send a prompt without waiting for its end.

        Raises:
            GivenUp: the agent answers no prompts.
        """
        self._expect_answers()
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        mark = self.link.mark()
        request = self.link.begin("session/prompt", {"sessionId": session, "prompt": blocks, **more})
        return ProbedTurn(self, request, mark)

    async def prompt(self, session: str, prompt: str | list[dict[str, Any]], **more: Any) -> ProbedTurn:
        """Send a prompt and wait for its end, which must not be an error."""
        turn = self.begin(session, prompt, **more)
        answer = await turn.end()
        if answer.is_error:
            raise Failed("the prompt was answered with an error", turn.request, answer)
        return turn

    def begin_and_cancel(self, session: str, words: str) -> ProbedTurn:
        """Send a prompt, and its cancel in the same write. Raises as `begin`."""
        self._expect_answers()
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": words}]}
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
        mark = self.link.mark()
        lines = [
            msgspec.json.encode(message)
            for message in (self.link.request_message("session/prompt", prompt), cancel)
        ]
        frames = [self.link.note(line) for line in lines]
        self.link.write(b"".join(line + b"\n" for line in lines))
        return ProbedTurn(self, frames[0], mark)

    def _expect_answers(self) -> None:
        if lost := self.link.unanswered.lost:
            raise GivenUp(lost)

    async def hello(self, session: str) -> ProbedTurn:
        """Run the simplest possible turn."""
        return await self.prompt(session, self.profile.text("hello"))

    async def provoke(self, session: str, need: str, **values: str) -> ProbedTurn:
        """Send the prompt that brings the agent to do something, and wait for the end.

        Raises:
            Unproved: there is no such prompt.
        """
        return await self.prompt(session, self.text_for(need, **values))

    def text_for(self, need: str, **values: str) -> str:
        """The prompt of the profile for a need."""
        if not self.profile.has(need):
            raise Unproved(f"no prompt makes this agent {need}; the profile has none for {need!r}")
        return self.profile.text(need, cwd=self.directory, **values)

    def must_name(self, need: str, placeholder: str) -> None:
        """Go on only if the prompt for a need has a placeholder, without which nothing is to be seen.

        Raises:
            Unproved: it has not.
        """
        if not self.profile.names(need, placeholder):
            raise Unproved(
                f"the prompt {need!r} of the profile does not name {{{placeholder}}}, so nothing can be seen"
            )

    def harmless(self, word: str) -> dict[str, Any]:
        """A request that changes nothing and that every agent must answer. An agent that leaves out what it
        does not know fails one requirement for that; for the others, it is asked for a session instead."""
        if self.answers_unknown:
            return self.link.request_message(f"_acpella.check/{word}", {})
        return self.link.request_message("session/new", {"cwd": self.directory, "mcpServers": []})

    async def fence(self) -> CheckedFrame:
        """Send a harmless request: once it is answered, the agent has read all earlier messages."""
        try:
            return await self.link.reply_to(self.link.send(self.harmless("fence")))
        except Failed as failure:
            if self.answers_unknown:
                raise
            raise NoSessionMade(failure.text, *failure.frames, timing=failure.timing) from None

    async def still_works(self, why: str) -> None:
        """Check that the connection still works."""
        try:
            await self.fence()
        except Failed as failure:
            kind = NoSessionMade if isinstance(failure, NoSessionMade) else Failed
            raise kind(f"{why}: {failure.text}", *failure.frames, timing=failure.timing) from None

    async def busy(self, turn: ProbedTurn) -> None:
        """Wait until a turn shows a sign of work, at most `BUSY_TIME` seconds.

        Raises:
            Unproved: the turn ended before that.
        """
        try:
            await self.link.find(
                lambda f: (
                    f.request is turn.request or (f.update_kind != "" and f.session == turn.request.session)
                ),
                "an update",
                since=turn.mark,
                within=BUSY_TIME,
            )
        except Failed as failure:
            if not failure.timing:
                raise
        if [f for f in turn.frames if f.request is turn.request]:
            raise Unproved("the turn had ended before anything could be done with it")

    async def asked(self, turn: ProbedTurn) -> CheckedFrame:
        """Wait until the agent asks for permission in a turn; returns the question.

        Raises:
            Unproved: the agent did not ask.
        """
        frame = await self.link.find(
            lambda f: f.request is turn.request or f.method == "session/request_permission",
            "a question",
            since=turn.mark,
        )
        if frame.kind == "response":
            raise Unproved("the agent did not ask")
        return frame

    async def another(self) -> "Probe":
        """A second connection to the agent, initialized with every capability."""
        if self.connect is None:
            raise Unproved("the agent cannot be connected to a second time")
        return await self.connect()

    # -- what the agent offers -----------------------------------------------------------------

    def offered(self, path: str) -> None:
        """Go on only if the agent announced a capability.

        Raises:
            NotOffered: the agent did not announce it.
        """
        if not self.talk.agent_can(path):
            raise NotOffered(f"the agent does not offer agentCapabilities.{path}")

    def modes_of(self, session: str) -> dict[str, Any]:
        """The modes of a session."""
        modes = self.talk.sessions[session].modes
        if not modes or not as_list(modes.get("availableModes")):
            raise NotOffered("the agent has no modes")
        return modes

    def options_of(self, session: str) -> list[dict[str, Any]]:
        """The options of a session."""
        options = self.talk.sessions[session].options
        if not options:
            raise NotOffered("the agent has no options")
        return [as_object(option) for option in options]

    # -- files for scenarios -------------------------------------------------------------------

    def new_path(self, ending: str = ".txt") -> Path:
        """A path in the working directory that does not exist yet."""
        return Path(self.directory, f"check-{next(self._numbers)}-{os.urandom(3).hex()}{ending}")

    def new_directory(self) -> str:
        """Another directory that is removed at the end."""
        return tempfile.mkdtemp(prefix="other-", dir=self.directory)

    # -- what the agent asks for ---------------------------------------------------------------

    async def _permit(self, frame: CheckedFrame) -> Any:
        options = [as_object(option) for option in as_list(frame.params.get("options"))]
        if self.permission == "wait":
            session = self.talk.sessions.get(frame.session or "")
            while session and session.prompt and not session.cancel:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.01)
            return {"outcome": {"outcome": "cancelled"}}
        if self.permission == "cancel":
            return {"outcome": {"outcome": "cancelled"}}
        if self.permission == "error":
            raise LinkRefusal(-32603, "Internal error")
        if self.permission == "unknown":
            return {"outcome": {"outcome": "selected", "optionId": "acpella-never-offered-this"}}
        kinds = [f"{self.permission}_once", f"{self.permission}_always"]
        for kind in kinds:
            for option in options:
                if option.get("kind") == kind:
                    return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
        return {"outcome": {"outcome": "cancelled"}}

    async def _read(self, frame: CheckedFrame) -> Any:
        path = str(frame.params.get("path", ""))
        if path in self.files:
            text = self.files[path]
        else:
            text = _file_text(path)
        line, limit = frame.params.get("line"), frame.params.get("limit")
        lines = text.splitlines(keepends=True)
        start = line - 1 if isinstance(line, int) and line > 0 else 0
        return {"content": "".join(lines[start : start + limit if isinstance(limit, int) else None])}

    async def _write(self, frame: CheckedFrame) -> Any:
        path = Path(str(frame.params.get("path", "")))
        if not path.is_relative_to(self.directory):
            raise LinkRefusal(-32602, f"{path} is outside of the session's directory")
        _write_file(path, str(frame.params.get("content", "")))
        return {}

    async def _create_terminal(self, frame: CheckedFrame) -> Any:
        from acpella.local import CommandError, LocalTerminal

        params, limit = frame.params, frame.params.get("outputByteLimit")
        env = {str(e.get("name")): str(e.get("value")) for e in map(as_object, as_list(params.get("env")))}
        try:
            terminal = await LocalTerminal.start(
                str(params.get("command", "")),
                [str(word) for word in as_list(params.get("args"))],
                cwd=str(params.get("cwd") or self.directory),
                env=env,
                output_byte_limit=limit if isinstance(limit, int) else None,
            )
        except CommandError as error:
            raise LinkRefusal(-32603, str(error)) from None
        id = f"terminal-{next(self._numbers)}"
        self._terminals[id] = terminal
        return {"terminalId": id}

    def _terminal(self, frame: CheckedFrame) -> "LocalTerminal":
        terminal = self._terminals.get(str(frame.params.get("terminalId")))
        if terminal is None:
            raise LinkRefusal(-32002, "Resource not found: no such terminal")
        return terminal

    async def _terminal_output(self, frame: CheckedFrame) -> Any:
        terminal = self._terminal(frame)
        output: dict[str, Any] = {"output": terminal.output, "truncated": terminal.truncated}
        if terminal.exit_status is not None:
            output["exitStatus"] = _exit(terminal)
        return output

    async def _wait_for_exit(self, frame: CheckedFrame) -> Any:
        terminal = self._terminal(frame)
        await terminal.wait()
        return _exit(terminal)

    async def _kill(self, frame: CheckedFrame) -> Any:
        await self._terminal(frame).kill()
        return {}

    async def _release(self, frame: CheckedFrame) -> Any:
        await self._terminal(frame).release()
        self._terminals.pop(str(frame.params.get("terminalId")), None)
        return {}

    async def _elicit(self, frame: CheckedFrame) -> Any:
        if self.elicitation == "error":
            raise LinkRefusal(-32603, "Internal error")
        return {"action": self.elicitation}


def exists(path: str) -> bool:
    """Whether there is a file."""
    return os.path.exists(path)


def _file_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise LinkRefusal(-32002, f"Resource not found: {path}") from None


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _exit(terminal: "LocalTerminal") -> dict[str, Any]:
    status = terminal.exit_status
    assert status is not None
    return {"exitCode": status.exit_code, "signal": status.signal}
