"""`acpella run`: one prompt to an agent, its answer on stdout."""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from . import exits

__all__ = ["declare"]

COMMANDS_WITHIN = 2.0
"""Seconds in which an agent announces its commands, if it has any."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exits.CODES.items())
    parser.description = (
        "Send one prompt to an agent and show its answer. Without PROMPT it is read from stdin."
    )
    parser.epilog = f"exit codes:\n{codes}"
    add = parser.add_argument
    add("prompt", nargs="*", metavar="PROMPT", help="what to ask; several words are joined")
    add(
        "-a",
        "--agent",
        metavar="NAME|COMMAND|URL",
        help="a name of the settings, a command, a Python file, or a URL (its token: ACPELLA_TOKEN);\n"
        "default: the first of the settings",
    )
    add(
        "-o",
        "--output",
        choices=("text", "simple", "jsonl", "json"),
        default="text",
        help="text: answer and doings; simple: answer only; jsonl (or json): every frame of the protocol",
    )
    add("--list-commands", action="store_true", help="show the agent's slash commands and end")
    add("--write", action="store_true", help="let the agent write files in this directory")
    add(
        "--yolo",
        action="store_true",
        help="let the agent write, run commands, and answer yes to all its questions",
    )
    add("--resume", metavar="ID", help="go on with a session of before")
    add("--save-session", metavar="PATH", help="write the id of the session to a file")
    add("--mode", metavar="ID", help="switch the agent to this mode first")
    add(
        "--option",
        action="append",
        default=[],
        metavar="ID=VALUE",
        help="set an option of the agent first; may be repeated",
    )
    add("--file", metavar="PATH", help="read the prompt, or more of it, from a file; - for stdin")
    add("--image", action="append", default=[], metavar="PATH", help="send an image along; may be repeated")
    add(
        "--mcp",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="give the agent an MCP server; may be repeated",
    )
    add("-v", "--verbose", action="store_true", help="show what the agent writes to stderr")
    add("--timeout", type=_seconds, default=0.0, metavar="SECONDS", help="give up after so long")
    add("--cwd", default=".", metavar="PATH", help="the directory that the session is about")
    add(
        "--settings",
        metavar="PATH",
        help="the settings file; default: ./.acpella/settings.json, then the user's",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
        if 0 <= value < float("inf"):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    from acpella.errors import AcpellaError

    try:
        # before the event loop starts, so that Ctrl-C works while the user types
        prompt = [] if arguments.list_commands else _prompt(arguments)
        return asyncio.run(_run(arguments, prompt))
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.DONE
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        text = str(error) or f"no end within {arguments.timeout:g} s (--timeout)"
        print(f"acpella: {text}", file=sys.stderr)  # noqa: T201 - this is what the user must know
        return exits.code_for(error)
    except KeyboardInterrupt:
        return exits.CANCELLED


async def _run(arguments: argparse.Namespace, prompt: list[Any]) -> int:
    from acpella.client import ClientSettings, SettingsError

    settings = ClientSettings.find(arguments.settings)
    target = arguments.agent or next(iter(settings.agents), None)
    if target is None:
        raise SettingsError("no agent: name one with --agent, or add one to the settings file")
    async with asyncio.timeout(arguments.timeout or None):
        return await _converse(arguments, settings, target, prompt)


async def _converse(arguments: argparse.Namespace, settings: Any, target: str, prompt: list[Any]) -> int:
    from acpella.client import Permissions, Rule, Terminals, Timeouts, Workspace, connect
    from acpella.client.targets import open_target

    mirror = None
    channel: Any = target
    if arguments.output in ("jsonl", "json"):
        from .mirror import Mirror

        name, inner = open_target(
            target, settings=settings, on_stderr=_pass_on if arguments.verbose else None
        )
        mirror = channel = Mirror(inner)
        told = {"name": name, "command": getattr(inner, "program", name)}
        note = {"jsonrpc": "2.0", "method": "client/selected_agent", "params": told}
        mirror.show(json.dumps(note).encode())
    agent = connect(
        channel,
        settings=settings,
        files=Workspace(write=arguments.write or arguments.yolo),
        terminals=Terminals() if arguments.yolo else False,
        permissions=Permissions(
            "allow-all" if arguments.yolo else "allow-reads",
            rules=[Rule("allow", kinds=["edit", "move"])] if arguments.write else [],
            ask=_asker(mirror),
        ),
        timeouts=Timeouts(cancel=5),
        on_stderr=_pass_on if arguments.verbose else None,
        on_state=_tell_state,
    )
    async with agent:
        session = await _open(arguments, agent, settings)
        if arguments.save_session:
            Path(arguments.save_session).write_text(session.id + "\n", encoding="utf-8")  # noqa: ASYNC240 - once
        if arguments.list_commands:
            return await _list_commands(session)
        if arguments.mode:
            await session.set_mode(arguments.mode)
        for pair in arguments.option:
            await _set_option(session, pair)
        return await _turn(arguments, session, prompt, quiet=mirror is not None)


async def _open(arguments: argparse.Namespace, agent: Any, settings: Any) -> Any:
    servers = [_mcp_server(text) for text in arguments.mcp] + [
        _settings_server(s) for s in settings.mcp_servers
    ]
    if not arguments.resume:
        return await agent.new_session(arguments.cwd, mcp_servers=servers)
    if agent.capabilities.session_capabilities.resume is not None:
        return await agent.resume_session(arguments.resume, arguments.cwd, mcp_servers=servers)
    return await agent.load_session(arguments.resume, arguments.cwd, mcp_servers=servers)


async def _turn(arguments: argparse.Namespace, session: Any, prompt: list[Any], *, quiet: bool) -> int:
    from acpella.errors import AcpellaError

    from .show import Simple, Text

    screen = Simple() if arguments.output == "simple" else Text()
    turn = session.prompt(prompt)
    stopping = _Interruptible(turn)
    try:
        async for update in turn:
            if not quiet:
                screen.update(update, turn.result.tool_calls)
    except BaseException as error:
        screen.end("end_turn")  # the error gets a line of its own
        if stopping.asked and isinstance(error, AcpellaError | TimeoutError):
            print(f"acpella: {error}", file=sys.stderr)  # noqa: T201
            return exits.CANCELLED
        raise
    reason = turn.result.stop_reason or "unknown"
    if not quiet:
        screen.end(reason)
    if stopping.asked or reason == "cancelled":
        return exits.CANCELLED
    return exits.REFUSED if reason == "refusal" else exits.DONE


class _Interruptible:
    """The first Ctrl-C cancels the turn, the second ends the program."""

    def __init__(self, turn: Any) -> None:
        self.asked = False
        self._turn = turn
        self._tasks: list[asyncio.Task[Any]] = []
        try:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        except NotImplementedError:
            pass  # Windows: KeyboardInterrupt ends the program at once

    def _interrupt(self) -> None:
        loop = asyncio.get_running_loop()
        if self.asked:
            loop.remove_signal_handler(signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            return
        self.asked = True
        self._tasks.append(loop.create_task(self._cancel()))

    async def _cancel(self) -> None:
        from acpella.errors import AcpellaError

        try:
            await self._turn.cancel()
        except (AcpellaError, TimeoutError):
            pass  # the turn itself tells


async def _list_commands(session: Any) -> int:
    """Agents announce commands shortly after the session was made, if they have any."""
    told = asyncio.Event()

    def on_update(update: object) -> None:
        told.set()

    session.on_update = on_update
    deadline = asyncio.get_running_loop().time() + COMMANDS_WITHIN
    while not session.commands and (left := deadline - asyncio.get_running_loop().time()) > 0:
        told.clear()
        try:
            await asyncio.wait_for(told.wait(), left)
        except TimeoutError:
            break
    for command in session.commands:
        hint = f" {command.input.hint}" if command.input is not None else ""
        print(f"/{command.name}{hint}  {command.description}")  # noqa: T201 - the output
    if not session.commands:
        print("the agent announced no commands", file=sys.stderr)  # noqa: T201
    return exits.DONE


async def _set_option(session: Any, pair: str) -> None:
    from acpella.schema import SessionConfigBoolean

    name, equals, value = pair.partition("=")
    if not equals:
        raise ValueError(f"--option wants ID=VALUE, not {pair!r}")
    toggles = {o.id for o in session.options if isinstance(o, SessionConfigBoolean)}
    if name in toggles:
        if value.lower() not in ("true", "false", "on", "off", "yes", "no"):
            raise ValueError(f"the option {name!r} is true or false, not {value!r}")
        await session.set_option(name, value.lower() in ("true", "on", "yes"))
    else:
        await session.set_option(name, value)


def _prompt(arguments: argparse.Namespace) -> list[Any]:
    parts = [" ".join(arguments.prompt)] if arguments.prompt else []
    if arguments.file and arguments.file != "-":
        parts.append(Path(arguments.file).read_text(encoding="utf-8"))
    elif arguments.file or not parts:
        if sys.stdin.isatty():
            print("Type the prompt, end it with Ctrl-D:", file=sys.stderr)  # noqa: T201
        parts.append(sys.stdin.read())
    text = "\n\n".join(parts)
    if not text.strip() and not arguments.image:
        raise ValueError("the prompt is empty")
    return [text, *(Path(image) for image in arguments.image)]


def _asker(mirror: object) -> Any:
    """Asks on the terminal, if there is one; else questions are answered no, visibly."""
    if mirror is not None:
        return None
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return _refuse

    async def ask(request: Any) -> Any:
        print(f"\n{request.tool_call.title or 'The agent asks for permission'}", file=sys.stderr)  # noqa: T201
        for number, option in enumerate(request.options, 1):
            print(f"  {number}  {option.name}", file=sys.stderr)  # noqa: T201
        answer = await _read_line()
        if answer.strip().isdigit() and 1 <= int(answer) <= len(request.options):
            return request.options[int(answer) - 1]
        return next((option for option in request.options if option.kind == "reject_once"), None)

    return ask


async def _refuse(request: Any) -> Any:
    what = request.tool_call.title or "what the agent wanted to do"
    print(f"acpella: refused: {what} (--write allows edits, --yolo everything)", file=sys.stderr)  # noqa: T201
    return next((option for option in request.options if option.kind == "reject_once"), None)


async def _read_line() -> str:
    """A line from the terminal. The thread is left behind when the question is cancelled."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        text = sys.stdin.readline()
        loop.call_soon_threadsafe(lambda: line.done() or line.set_result(text))

    sys.stderr.write("> ")
    sys.stderr.flush()
    threading.Thread(target=read, daemon=True).start()
    return await line


def _tell_state(agent: Any) -> None:
    """The connection to a remote agent is worth a word only when it is not there."""
    if agent.state in ("interrupted", "reconnecting"):
        print("acpella: the connection was cut; waiting for it", file=sys.stderr)  # noqa: T201


def _pass_on(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


def _mcp_server(text: str) -> Any:
    import shlex
    import shutil

    from acpella.schema import McpServerHttp, McpServerStdio

    name, equals, command = text.partition("=")
    if not equals or not command:
        raise ValueError(f"--mcp wants NAME=COMMAND or NAME=URL, not {text!r}")
    if command.startswith(("http://", "https://")):
        return McpServerHttp(name=name, url=command, headers=[])
    program, *args = shlex.split(command)
    return McpServerStdio(name=name, command=shutil.which(program) or program, args=args, env=[])


def _settings_server(entry: dict[str, Any]) -> Any:
    from acpella.schema import EnvVariable, HttpHeader, McpServerHttp, McpServerSse, McpServerStdio

    name = str(entry.get("name", "mcp"))
    if "url" in entry:
        kind = McpServerSse if entry.get("type") == "sse" else McpServerHttp
        headers = [HttpHeader(name=k, value=str(v)) for k, v in dict(entry.get("headers") or {}).items()]
        return kind(name=name, url=str(entry["url"]), headers=headers)
    if not isinstance(entry.get("command"), str):
        raise ValueError(f"the MCP server {name!r} in the settings needs a command or a url")
    env = [EnvVariable(name=k, value=str(v)) for k, v in dict(entry.get("env") or {}).items()]
    return McpServerStdio(name=name, command=entry["command"], args=list(entry.get("args") or []), env=env)
