"""Slash commands: answered here, before any model."""

import difflib
import re
from typing import Protocol

from acpella.agent import Agent, Select, Session, Turn

from .compaction import compact
from .history import History
from .models import Model

__all__ = ["Commanded", "add_commands", "unknown_command"]

_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s|$)")
"""What looks like a command; `/etc/hosts is wrong` does not."""


class Commanded(Protocol):
    """What the commands show and change."""

    agent: Agent
    hint: str

    def model_of(self, session: Session) -> Model: ...

    def tool_names(self, session: Session) -> list[str]: ...


def add_commands(coder: Commanded) -> None:
    """Declare the commands on the coder's agent."""
    agent = coder.agent

    @agent.command("help", "What this agent can do")
    async def help_(turn: Turn) -> str:
        return _help(turn, coder)

    @agent.command("model", "Show or switch the model", hint="name of a model")
    async def model(turn: Turn) -> str:
        return await _choose(turn, "model", turn.argument, coder)

    @agent.command("mode", "Show or switch the mode", hint="full, read-only, safe or sandbox")
    async def mode(turn: Turn) -> str:
        return await _switch_mode(turn, turn.argument, agent)

    @agent.command("clear", "Forget the conversation so far")
    async def clear(turn: Turn) -> str:
        history = History(turn.session.state)
        forgotten = len(history)
        history.replace([])
        model = coder.model_of(turn.session)
        await turn.usage(0, model.context_window)
        return f"Forgotten: {forgotten} messages. What you see above is not known to the model any more."

    @agent.command("compact", "Summarize the conversation to make room")
    async def compact_(turn: Turn) -> str:
        history = History(turn.session.state)
        if not len(history):
            return "There is nothing to summarize yet."
        model = coder.model_of(turn.session)
        before = history.tokens
        await compact(turn, model, history, running=False)
        after = history.tokens
        await turn.usage(after, model.context_window)
        return f"Summarized: about {before} tokens became {after}."


def unknown_command(turn: Turn, agent: Agent) -> str | None:
    """What to answer to a command that is none; None if the prompt is not a command."""
    typed = _COMMAND.match(turn.text.lstrip())
    if typed is None:
        return None
    names = [command.name for command in agent.commands]
    near = difflib.get_close_matches(typed[1], names, n=1)
    hint = f" Did you mean `/{near[0]}`?" if near else ""
    return f"There is no command `/{typed[1]}`.{hint} There are: {', '.join(f'`/{name}`' for name in names)}."


def _help(turn: Turn, coder: Commanded) -> str:
    agent, session = coder.agent, turn.session
    lines = [
        "I read, search, change and run things in this directory. Say what you want in plain words, or:",
        "",
    ]
    for command in agent.commands:
        hint = f" {command.hint}" if command.hint else ""
        lines.append(f"- `/{command.name}{hint}`: {command.description}")
    lines += ["", f"Mode: `{session.mode}`. Model: `{coder.model_of(session).name}`.", ""]
    lines.append("Modes:")
    lines += [f"- `{mode.id}`: {mode.description}" for mode in agent.modes]
    lines += ["", "Tools now: " + ", ".join(f"`{name}`" for name in coder.tool_names(session)) + "."]
    if coder.hint:
        lines += ["", coder.hint]
    return "\n".join(lines)


async def _switch_mode(turn: Turn, argument: str, agent: Agent) -> str:
    session = turn.session
    if not argument:
        modes = "\n".join(
            f"- `{mode.id}`{' (now)' if mode.id == session.mode else ''}: {mode.description}"
            for mode in agent.modes
        )
        return f"{modes}\n\nSwitch with `/mode NAME`."
    try:
        await session.set_mode(argument)
    except ValueError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}."
    chosen = next(mode for mode in agent.modes if mode.id == argument)
    return f"Mode `{chosen.id}`: {chosen.description}."


async def _choose(turn: Turn, option_id: str, argument: str, coder: Commanded) -> str:
    session = turn.session
    option = next(o for o in coder.agent.options if o.id == option_id and isinstance(o, Select))
    if not argument:
        now = session.option(option_id)
        lines = [f"- `{value}`{' (now)' if value == now else ''}" for value in option.values]
        hint = f"\n\n{coder.hint}" if coder.hint else ""
        return "\n".join(lines) + f"\n\nSwitch with `/{option_id} NAME`.{hint}"
    try:
        await session.set_option(option_id, argument)
    except ValueError as error:
        near = difflib.get_close_matches(argument, option.values, n=1, cutoff=0.4)
        return f"{str(error)[:1].upper()}{str(error)[1:]}." + (f" Did you mean `{near[0]}`?" if near else "")
    return f"From the next prompt on: `{argument}`."
