"""The chat's own slash commands. One that the agent has, too, is the agent's; ours is `/:name` then."""

import asyncio
import base64
import shlex
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from acpella.client import ClientSession, ClientSettings, ConnectedAgent
from acpella.errors import Unsupported
from acpella.schema import AuthMethod, AuthMethodEnvVar, AuthMethodTerminal

from ..session.choices import SessionChoices, choose_mode, choose_option, models_of, modes_of, options_of
from ..state.catalogue import SessionEntry
from ..terminal.clean import one_line
from ..terminal.output import ago
from ..terminal.questions import Asker
from ..terminal.reveal import reveal
from ..terminal.rows import Row, wrap
from . import kept_session
from .foreground import Foreground

__all__ = ["COMMANDS", "Chat", "names", "run_command", "values_of"]


class Chat(Protocol):
    """What a command may do with the chat that it was typed in."""

    session: ClientSession | None
    entry: SessionEntry | None
    settings: ClientSettings
    target: str
    cwd: str
    said: deque[tuple[str, str]]
    asker: Asker
    foreground: Foreground

    @property
    def env(self) -> dict[str, str]: ...
    @property
    def width(self) -> int: ...
    def need_agent(self) -> ConnectedAgent: ...
    def need_session(self) -> ClientSession: ...
    def tell(self, rows: Sequence[Row]) -> None: ...
    def refresh(self) -> None: ...
    def write_raw(self, text: str) -> None: ...
    async def open_session(self, session_id: str | None, *, again: bool = True) -> None: ...
    async def restart(self, session_id: str | None = None) -> None: ...
    def on_leave(self) -> None: ...


Command: TypeAlias = Callable[[Chat, str], Awaitable[None]]


async def _help(chat: Chat, rest: str) -> None:
    rows: list[Row] = []
    for name, about in names(chat):
        first, *more = wrap(one_line(about), max(chat.width - 16, 20))
        rows.append([(f"  /{name:<12} ", "cyan"), (first, "")])
        rows += [[(" " * 16, ""), (line, "")] for line in more]
    keys = (
        ("Enter", "send; while the agent works, it waits its turn"),
        ("Alt-Enter, Ctrl-J", "a new line"),
        ("@file", "sends a file along; Tab completes"),
        ("!command", "runs a command here"),
        ("Shift-Tab", "the next mode"),
        ("Ctrl-C", "stops the agent; twice leaves"),
        ("Ctrl-D", "leaves"),
    )
    rows.append([])
    rows += [[(f"  {key:<18} ", "cyan"), (what, "")] for key, what in keys]
    chat.tell(rows)


async def _mode(chat: Chat, rest: str) -> None:
    session = chat.need_session()
    choices = modes_of(session)
    if choices is None:
        raise Unsupported("this agent has no modes")
    if (value := await _value(chat, "mode", choices, rest)) is not None:
        await choose_mode(session, value)
        chat.refresh()


async def _model(chat: Chat, rest: str) -> None:
    session = chat.need_session()
    choices = models_of(session)
    if choices is None:
        raise Unsupported("this agent offers no choice of models")
    if (value := await _value(chat, "model", choices, rest)) is not None:
        await session.set_model(value)
        chat.refresh()


async def _option(chat: Chat, rest: str) -> None:
    session = chat.need_session()
    options = options_of(session)
    if not options:
        raise Unsupported("this agent has no options")
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    if not name:
        pairs = [(key, f"{title}: {choices.name}") for key, (title, choices) in options.items()]
        chosen = await chat.asker.pick("which option?", pairs)
        if chosen is None:
            return
        name = chosen
    if name not in options:
        raise ValueError(f"no option {name!r}; there are: {', '.join(options)}")
    if (chosen := await _value(chat, name, options[name][1], value.strip())) is not None:
        await choose_option(session, name, chosen)
        chat.refresh()


async def _value(chat: Chat, what: str, choices: SessionChoices, text: str) -> str | None:
    """The value that was typed, or one picked from a list."""
    if not text:
        pairs = [(v.id, f"{v.name}  {v.description}".rstrip()) for v in choices.values]
        return await chat.asker.pick(f"which {what}?", pairs, current=choices.current)
    return choices.find(what, text).id


async def _sessions(chat: Chat, rest: str) -> None:
    agent = chat.need_agent()
    if rest:
        await chat.open_session(rest)
        return
    sessions: dict[str, tuple[str, str]] = {}
    for entry in await asyncio.to_thread(kept_session.known, chat.cwd, agent.name):
        name = f"{entry.name}: " if entry.name else ""
        sessions[entry.session_id] = (name + (entry.title or "no title"), entry.updated_at)
    try:
        for info in await agent.list_sessions(cwd=chat.cwd):
            title, at = sessions.get(info.session_id, ("no title", ""))
            sessions[info.session_id] = (
                title if title != "no title" else info.title or title,
                info.updated_at or at,
            )
    except Unsupported:
        can = agent.capabilities
        if not sessions or not (can.load_session or can.session_capabilities.resume):
            raise
    latest = sorted(sessions.items(), key=lambda item: item[1][1], reverse=True)[:30]
    pairs = [(key, f"{one_line(title, 60)}  {one_line(ago(at), 30)}") for key, (title, at) in latest]
    if not pairs:
        chat.tell([[("no sessions for this directory", "dim")]])
        return
    current = chat.session.id if chat.session is not None else None
    chosen = await chat.asker.pick("which session?", pairs, current=current, show_id=False)
    if chosen is not None and chosen != current:
        await chat.open_session(chosen)


async def _new(chat: Chat, rest: str) -> None:
    await chat.open_session(None)
    chat.tell([[("a new session", "dim")]])


async def _restart(chat: Chat, rest: str) -> None:
    if chat.entry is not None:
        await kept_session.stop(chat.entry)
    await chat.restart()


async def _login(chat: Chat, rest: str) -> None:
    agent = chat.need_agent()
    methods = agent.auth_methods
    if not methods:
        chat.tell([[(f"{agent.name} needs no login", "dim")]])
        return
    chosen = rest or await chat.asker.pick(
        "how?", [(m.id, f"{m.name}  {m.description or ''}") for m in methods]
    )
    if chosen is None:
        return
    method = next((m for m in methods if m.id == chosen), None)
    if method is None:
        raise ValueError(f"no login {chosen!r}; there are: {', '.join(m.id for m in methods)}")
    program = _login_program(chat, method)
    if program is not None:
        command, env = program
        if _names_program(method):
            words = [*(f"{name}={shlex.quote(value)}" for name, value in env.items()), shlex.join(command)]
            if not await chat.asker.confirm("This login runs a program on your machine:", " ".join(words)):
                return
        code = await chat.foreground.run(command, env)
        if code != 0:
            raise ValueError(f"the login ended with code {code}")
        await _restart(chat, "")  # it reads what the login has left when it starts
    elif isinstance(method, AuthMethodEnvVar):
        for variable in method.vars:
            about = "" if variable.label in (None, variable.name) else f" ({variable.label})"
            async with chat.asker.floor():
                value = await chat.asker.line(
                    f"  {reveal(f'{variable.name}{about}')}: ", secret=variable.secret
                )
            if value:
                chat.env[variable.name] = value
        await _restart(chat, "")
    else:
        await agent.authenticate(method.id)
        if chat.session is None:
            await chat.open_session(None)
    chat.tell([[("logged in", "green")]])


def _names_program(method: AuthMethod) -> bool:
    """Whether a login starts another program than the agent, which the user has never seen."""
    own: Any = (method.meta or {}).get("terminal-auth")
    return isinstance(own, dict) and isinstance(own.get("command"), str)  # pyright: ignore[reportUnknownMemberType] - any JSON


def _login_program(chat: Chat, method: AuthMethod) -> tuple[list[str], dict[str, str]] | None:
    """What to run in the terminal for a login, if it works that way."""
    from acpella.client.targets import resolve_command

    program: Any = (method.meta or {}).get("terminal-auth")
    if _names_program(method):
        args, env = program.get("args") or [], program.get("env") or {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
        return [program["command"], *map(str, args)], {str(k): str(v) for k, v in dict(env).items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any JSON
    if not isinstance(method, AuthMethodTerminal):
        return None
    _, command, env = resolve_command(chat.target, chat.settings)
    return [*command, *method.args], {**env, **method.env}


async def _logout(chat: Chat, rest: str) -> None:
    await chat.need_agent().logout()
    chat.tell([[("logged out", "dim")]])


async def _copy(chat: Chat, rest: str) -> None:
    answers = [text for role, text in chat.said if role == "agent"]
    if not answers:
        raise ValueError("there is no answer yet")
    # the terminal puts it into the clipboard of the machine it runs on, also over ssh
    chat.write_raw(f"\x1b]52;c;{base64.b64encode(answers[-1].encode()).decode()}\x07")
    chat.tell([[(f"copied {len(answers[-1])} characters, if the terminal lets programs do that", "dim")]])


async def _export(chat: Chat, rest: str) -> None:
    path = Path(rest or "chat.md").expanduser()  # noqa: ASYNC240 - no disk is touched
    text = "".join(f"## {role.capitalize()}\n\n{words.strip()}\n\n" for role, words in chat.said)
    with open(path, "x", encoding="utf-8") as file:  # noqa: ASYNC230 - small
        file.write(text)
    chat.tell([[(f"wrote {path}", "dim")]])


async def _quit(chat: Chat, rest: str) -> None:
    chat.on_leave()


COMMANDS: dict[str, tuple[str, Command]] = {
    "help": ("what can be typed here", _help),
    "mode": ("change the agent's mode", _mode),
    "model": ("change the model", _model),
    "option": ("change any option of the agent", _option),
    "sessions": ("list the sessions of this directory, and go on with one", _sessions),
    "new": ("begin a new session", _new),
    "login": ("log in at the agent", _login),
    "logout": ("forget the login", _logout),
    "restart": ("start the agent again, and go on with this session", _restart),
    "copy": ("put the last answer into the clipboard", _copy),
    "export": ("write the conversation to a file", _export),
    "quit": ("leave", _quit),
}


def names(chat: Chat) -> list[tuple[str, str]]:
    """All commands with what they do; the agent's first."""
    theirs = chat.session.commands if chat.session is not None else []
    agent_names = {command.name for command in theirs}
    agent_commands = [(one_line(command.name, 60), command.description) for command in theirs]
    ours = [(f":{n}" if n in agent_names else n, about) for n, (about, _) in COMMANDS.items()]
    return agent_commands + ours


def values_of(chat: Chat, command: str, before: list[str]) -> SessionChoices | list[tuple[str, str]] | None:
    """What may follow a command of ours."""
    if chat.session is None or command.removeprefix(":") not in COMMANDS:
        return None
    match command.removeprefix(":"), before:
        case "mode", []:
            return modes_of(chat.session)
        case "model", []:
            return models_of(chat.session)
        case "option", []:
            return [(key, title) for key, (title, _) in options_of(chat.session).items()]
        case "option", [name]:
            choices = options_of(chat.session).get(name)
            return choices[1] if choices is not None else None
        case "login", []:
            return [(m.id, m.name) for m in chat.need_agent().auth_methods]
        case _:
            return None


async def run_command(chat: Chat, text: str) -> bool:
    """Run one of our commands; False if it is not ours and so goes to the agent."""
    name, _, rest = text[1:].partition(" ")
    theirs = chat.session.commands if chat.session is not None else []
    if name.startswith(":"):
        name = name[1:]
        if name not in COMMANDS:
            raise ValueError(f"no command /:{name}; /:help lists them")
    elif name not in COMMANDS or any(command.name == name for command in theirs):
        return False
    await COMMANDS[name][1](chat, rest.strip())
    return True
