"""Puts the coding agent together."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acpella._version import __version__
from acpella.agent import Agent, Mode, Select, Session, Toggle, Tool, Turn
from acpella.errors import InternalError
from acpella.mcp import SessionServers, transports
from acpella.schema import ContentBlock, ResourceLink, TextContent
from acpella.schema import Usage as TokensOfTurn
from acpella.sessions import Store

from .commands import add_commands, unknown_command
from .history import History
from .loop import Loop, Pace
from .models import Model, ModelError, Text, UserMessage
from .models.model_names import available, default, open_model
from .modes import MODES, offered
from .places import private_files
from .prompt import project_notes
from .session_tools import SessionTools, ToolTally
from .tool import CoderTool, ToolError
from .tools.delegate import Delegate
from .tools.files import EditFile, ListFiles, ReadFile, WriteFile
from .tools.find import FindFiles, Search
from .tools.plan import MakePlan
from .tools.run import Run
from .tools.web import Fetch

__all__ = ["Coder", "agent"]

TITLE_CHARS = 60

_LINK = re.compile(r"\[([^\[\]\n]+)\]\([a-z][a-z+.-]*:[^()\s]*\)")
"""A file or page as some editors write it into the text: [@a.py](file:///a.py)."""

THINKING = ("off", "low", "medium", "high")

HINT = (
    "This is the offline model: it understands a few plain requests and needs no key. For a real one, "
    "start the agent with ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY set, or "
    "with ACPELLA_MODEL=ollama:NAME for a model on this machine."
)


def agent(
    *,
    model: str | None = None,
    mode: str = "full",
    thinking: str = "off",
    auto_approve: bool = False,
    store: Store | str | Path | None = "sqlite",
    pace: Pace = Pace(),
    **options: Any,
) -> Agent:
    """The coding agent, ready to be run, served or connected to: `acpella.coder.agent().run()`.

    `model` names one of those that `available` lists, by default one that the environment has a key for.
    `options` are those of `acpella.Agent`.

    Raises:
        ModelError: the model cannot be used; says which variable to set.
        ValueError: there is no such mode.
    """
    coder = Coder(
        model=model,
        mode=mode,
        thinking=thinking,
        auto_approve=auto_approve,
        pace=pace,
        options={"store": store, **options},
    )
    return coder.agent


class Coder:
    """The agent's memory of its sessions, and what happens in a turn."""

    def __init__(
        self,
        *,
        model: str | None,
        mode: str,
        thinking: str,
        auto_approve: bool,
        pace: Pace,
        options: dict[str, Any],
    ) -> None:
        self._pace = pace
        self._models: dict[str, Model] = {}
        self._tools_by_session: dict[str, SessionTools] = {}
        first = model or default()
        if first != "offline":  # a wrong name or a missing key is told now, not with the first prompt
            first = self._open(first).name
        names = list(dict.fromkeys([first, *available()]))
        self.hint = HINT if names == ["offline"] else ""
        self.agent: Agent = Agent(
            "coder",
            version=__version__,
            title="acpella coder",
            local=True,
            images=True,
            audio=True,
            mcp=transports(),
            modes=_modes_from(mode),
            options=[
                Select("model", "Model", names, category="model"),
                Select(
                    "thinking",
                    "Thinking",
                    THINKING,
                    default=thinking,
                    category="thought_level",
                    description="How long the model may think before it answers",
                ),
                Toggle(
                    "auto-approve",
                    "Approve everything",
                    default=auto_approve,
                    description="Do not ask before writing files and running commands",
                ),
            ],
            tools=[Tool(tool.spec.name, tool.spec.description, tool.kind) for tool in self._tools(None)],
            **options,
        )
        self._servers = SessionServers(self.agent)
        self.agent.on_prompt(self._reply)
        self.agent.on_session(self._open_session)
        self.agent.on_close(self._close_session)
        self.agent.on_mode(self._mode_changed)
        add_commands(self)

    # -- models ----------------------------------------------------------------------------------

    def _open(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = open_model(name)
        return self._models[name]

    def model_of(self, session: Session) -> Model:
        """The model that the session's option names."""
        try:
            return self._open(session.option("model"))
        except ModelError as error:
            raise InternalError(str(error)) from None

    # -- sessions --------------------------------------------------------------------------------

    def _tools(self, session_tools: SessionTools | None) -> list[CoderTool]:
        """The built-in tools; without a session only to be looked at."""
        at: Any = session_tools

        async def help_with(turn: Turn, task: str) -> str:
            return await self._help(at, turn, task)

        return [
            ReadFile(at),
            ListFiles(at),
            FindFiles(at),
            Search(at),
            EditFile(at),
            WriteFile(at),
            Run(at),
            Fetch(at),
            MakePlan(at),
            Delegate(at, help_with),
        ]

    async def _open_session(self, session: Session) -> None:
        session_tools = SessionTools(session, private_files(self.agent))
        session_tools.tools = self._tools(session_tools)
        session_tools.tools_of_others = self._mcp_tools
        self._tools_by_session[session.id] = session_tools
        await self._servers.open(session)

    async def _mcp_tools(self, turn: Turn) -> list[CoderTool]:
        if not turn.session.mcp_servers:
            return []
        from .mcp_tools import mcp_tools

        return list(await mcp_tools(self._servers.of(turn.session), turn))

    async def _close_session(self, session: Session) -> None:
        session_tools = self._tools_by_session.pop(session.id, None)
        leaving = [] if session_tools is None else [session_tools.leave_sandbox()]
        await asyncio.gather(self._servers.close(session), *leaving)  # at once: there is a second for both

    async def _mode_changed(self, session: Session, mode: str) -> None:
        session_tools = self._tools_by_session[session.id]
        session_tools.mode_changed(mode)
        if mode != "sandbox" and await session_tools.leave_sandbox():
            await session.notice("The sandbox and what was changed in it are gone.")

    def tool_names(self, session: Session) -> list[str]:
        """The built-in tools that the mode of the session allows."""
        return [tool.spec.name for tool in offered(session.mode, self._tools_by_session[session.id].tools)]

    # -- turns -----------------------------------------------------------------------------------

    async def _reply(self, turn: Turn) -> None:
        if (answer := unknown_command(turn, self.agent)) is not None:
            await turn.say(answer)
            return
        from .resources import resolve  # loads what fetches pages

        session = turn.session
        model = self.model_of(session)
        history = History(session.state)
        before = history.messages
        history.add(UserMessage(await resolve(turn, turn.prompt, model.accepts)))
        await session.save()  # whatever happens now, the prompt is not lost
        session_tools = self._tools_by_session[session.id]
        session_tools.tally = ToolTally()
        loop = self._loop(turn, session_tools, model, history, notes=await project_notes(turn))
        try:
            reason = await loop.run()
        except ModelError as error:
            # An error rather than text: scripts notice it, and editors offer to try again.
            raise InternalError(str(error)) from None
        if reason == "refusal":
            history.replace(before)  # the protocol says so: what was refused is not part of the next turn
        elif reason == "max_turn_requests":
            await turn.say(
                f"\n\nI stop here after {self._pace.max_requests} requests to the model. Say `go on` to "
                "continue."
            )
        turn.stop(reason)
        spent = session_tools.tally
        turn.tokens = TokensOfTurn(
            total_tokens=spent.input + spent.output,
            input_tokens=spent.input,
            output_tokens=spent.output,
            cached_read_tokens=spent.cached or None,
        )
        await turn.usage(history.tokens, model.context_window)
        if not session.state.get("titled"):
            session.state["titled"] = True
            await turn.title(_title(turn.prompt))

    def _loop(
        self,
        turn: Turn,
        session_tools: SessionTools,
        model: Model,
        history: History,
        *,
        notes: str,
        helper: bool = False,
    ) -> Loop:
        session = turn.session
        return Loop(
            turn,
            session_tools,
            model,
            history,
            pace=self._pace,
            tally=session_tools.tally,
            notes=notes,
            thinking=session.option("thinking"),
            auto_approve=lambda: bool(session.option("auto-approve")),
            helper=helper,
        )

    async def _help(self, session_tools: SessionTools, turn: Turn, task: str) -> str:
        history = History({})
        history.add(UserMessage([Text(task)]))
        model = self.model_of(turn.session)
        loop = self._loop(turn, session_tools, model, history, notes=await project_notes(turn), helper=True)
        try:
            reason = await loop.run()
        except ModelError as error:
            raise ToolError(f"the helper could not go on: {error}") from None
        if reason == "refusal":
            raise ToolError("the helper refused the task")
        report = loop.answer.strip() or "(the helper gave no report)"
        return report if reason == "end_turn" else f"{report}\n[the helper stopped early: {reason}]"


def _modes_from(first: str) -> list[Mode]:
    """All modes, the default one first."""
    if not any(mode.id == first for mode in MODES):
        raise ValueError(f"no mode {first!r}; there are: {', '.join(mode.id for mode in MODES)}")
    return sorted(MODES, key=lambda mode: mode.id != first)


def _title(prompt: Sequence[ContentBlock]) -> str:
    """A name for the session from its first prompt: what was typed, and the names of files in it."""
    parts = [
        block.name if isinstance(block, ResourceLink) else _LINK.sub(r"\1", block.text)
        for block in prompt
        if isinstance(block, TextContent | ResourceLink)
    ]
    words = " ".join(" ".join(parts).split()) or "Untitled"
    return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"
