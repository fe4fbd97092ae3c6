"""`acpella run`: one prompt to an agent, its answer on stdout."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import exits
from ..options import check_session, declare_conversation
from ..terminal.output import say, show

if TYPE_CHECKING:
    from ..state.catalogue import Catalogue, Entry

__all__ = ["declare", "parse", "run"]

COMMANDS_WITHIN = 2.0
"""Seconds in which an agent announces its commands, if it has any."""

DISCARD_WITHIN = 2.0
"""Seconds for an agent to forget a session that was not used."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exits.CODES.items())
    parser.description = (
        "Send one prompt to an agent and show its answer. Without PROMPT it is read from stdin."
    )
    parser.epilog = f"exit codes:\n{codes}"
    add = parser.add_argument
    add("prompt", nargs="*", metavar="PROMPT", help="what to ask; several words are joined")
    declare_conversation(parser)
    add(
        "-o",
        "--output",
        choices=("text", "simple", "jsonl", "json"),
        default="text",
        help="text: answer and doings; simple: answer only; jsonl (or json): every frame of the protocol",
    )
    add("--list-commands", action="store_true", help="show the agent's slash commands and end")
    add(
        "--no-wait",
        action="store_true",
        help="with -s or -c: leave the prompt there and return; `acpella status` tells how it went",
    )
    add("--save-session", metavar="PATH", help="write the id of the session to a file")
    add("--file", metavar="PATH", help="read the prompt, or more of it, from a file; - for stdin")
    add("--image", action="append", default=[], metavar="PATH", help="send an image along; may be repeated")
    add("--timeout", type=_seconds, default=0.0, metavar="SECONDS", help="give up after so long")


def _seconds(text: str) -> float:
    try:
        value = float(text)
        if 0 <= value < float("inf"):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")


def parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Options may stand before, after and between the words of the prompt."""
    end = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_intermixed_args(words[:end])
    arguments.prompt += words[end + 1 :]
    check_session(parser, arguments)
    if arguments.no_wait and arguments.session is None and not arguments.last:
        parser.error("--no-wait needs a session that stays: add --session NAME or --continue")
    if arguments.no_wait and arguments.list_commands:
        parser.error("--no-wait and --list-commands exclude each other")
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit code."""
    from acpella.errors import AcpellaError

    from ..session.lookup import find_settings, named_session
    from ..state.catalogue import Catalogue

    entry = None
    try:
        # before the event loop starts, so that Ctrl-C works while the user types
        prompt = [] if arguments.list_commands else _prompt(arguments)
        settings = find_settings(arguments.settings, arguments.cwd, agent=arguments.agent, yes=arguments.yes)
        catalogue = Catalogue()
        entry = named_session(arguments, settings, catalogue)
        if entry is not None:
            return _run_kept(arguments, settings, entry, prompt)
        return asyncio.run(_limited(arguments, _direct(arguments, settings, catalogue, prompt)))
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        from ..failures import report

        return report(error, silent=_too_long(arguments), agent=_agent_option(arguments, entry))
    except KeyboardInterrupt:
        return exits.CANCELLED


def _too_long(arguments: argparse.Namespace) -> str:
    return f"no end within {arguments.timeout:g} s (--timeout)"


def _agent_option(arguments: argparse.Namespace, entry: "Entry | None") -> str:
    """How another command names the same agent."""
    import shlex

    from acpella._redact import redact

    target, settings = arguments.agent, arguments.settings
    if entry is not None and not target:
        target = entry.target if isinstance(entry.target, str) else shlex.join(entry.target)
        settings = settings or entry.settings
    given = [("-a", target), ("--settings", settings)]
    return " ".join(f"{option} {shlex.quote(redact(value))}" for option, value in given if value)


async def _limited(arguments: argparse.Namespace, work: Any) -> int:
    """Under the time limit, with Ctrl-C looked after."""
    from ..terminal.alerts import alerts_to
    from ..terminal.interrupts import Interrupts

    arguments.interrupts = interrupts = Interrupts()
    arguments.stage = None
    arguments.sent = False
    limit = asyncio.timeout(arguments.timeout or None)
    try:
        with alerts_to(lambda text: _warn(arguments, text), verbose=arguments.verbose):
            async with limit:
                return await work
    except TimeoutError as error:
        if limit.expired() and str(error):  # it did not even stop when the time was over
            raise TimeoutError(f"{_too_long(arguments)}: {error}") from error
        raise
    except asyncio.CancelledError:
        if interrupts.asked:
            return interrupts.code
        raise


# -- a session of its own ------------------------------------------------------------------------


async def _direct(
    arguments: argparse.Namespace, settings: Any, catalogue: "Catalogue", prompt: list[Any]
) -> int:
    """An agent for this prompt alone."""
    from ..daemon.solo import Alone

    arguments.alone = alone = Alone(
        "acpella run",
        arguments.agent or "",
        cancel=arguments.interrupts.cancel_turn,
        stop=_end_for_others,
    )
    try:
        return await _with_own_agent(arguments, settings, catalogue, prompt)
    finally:
        await alone.release()


def _end_for_others() -> None:
    say("ended from another shell")
    os.kill(os.getpid(), signal.SIGTERM)


async def _with_own_agent(
    arguments: argparse.Namespace, settings: Any, catalogue: "Catalogue", prompt: list[Any]
) -> int:
    from acpella.client.targets import find_endpoint, open_target

    from ..session.lookup import new_entry
    from ..state.agents import default_agent, startup_of

    target = arguments.agent or default_agent(settings)
    remote = find_endpoint(target, settings=settings)
    if remote is not None and arguments.output in ("text", "simple"):
        name, channel, command_words = remote[0], target, ()  # so that a lost connection is made again
    else:
        name, channel = open_target(
            target, settings=settings, on_stderr=_pass_on if arguments.verbose else None
        )
        arguments.interrupts.process = channel.about.process
        command_words = () if channel.about.process is None else channel.about.process.command
    command = settings.agents[target].command if target in settings.agents else name
    startup = max(startup_of(command_words), arguments.timeout)
    async with _connect(arguments, channel, name, command, settings=settings, startup=startup) as agent:
        session = await _open(arguments, agent, settings)
        key = ""
        try:
            if prompt:  # else there is nothing to go on with
                entry = new_entry(settings, cwd=arguments.cwd, agent=target)
                entry.session_id, entry.title = session.id, _title(prompt)
                key = catalogue.add(entry).key
                await arguments.alone.hold(key, session.id, agent_pid=agent.pid)
                arguments.alone.begin(entry.title)
        except OSError:
            pass  # nothing can be kept here; a single prompt needs no memory
        try:
            code = await _with_session(arguments, session, prompt)
        finally:
            if not (arguments.sent or arguments.resume):
                await _forget(agent, session, catalogue, key)
        if key and (session.title or arguments.resume):
            try:
                catalogue.update(key, **({"title": session.title} if session.title else {}))
            except OSError:
                pass
        return code


async def _forget(agent: Any, session: Any, catalogue: "Catalogue", key: str) -> None:
    """No prompt came into the session that was made: leave it neither there nor here."""
    from acpella.errors import AcpellaError

    from ..session.discard import discard

    try:
        if key:
            catalogue.remove(key)
        async with asyncio.timeout(DISCARD_WITHIN):
            await discard(agent, session)
    except (AcpellaError, TimeoutError, OSError):
        pass  # it is empty; what went wrong before is told


# -- a session that stays --------------------------------------------------------------------------


def _run_kept(arguments: argparse.Namespace, settings: Any, entry: "Entry", prompt: list[Any]) -> int:
    from acpella.errors import ConnectionClosed

    from ..daemon import client as daemon
    from ..session.lookup import daemon_config

    config = daemon_config(
        entry, settings, agent=arguments.agent, mcp_servers=_mcp_servers(arguments, settings)
    )
    if arguments.mcp and daemon.ask(entry.key, "_daemon/status") is not None:
        say("--mcp has no effect: the session is open already; `acpella sessions close` ends it")
    for _ in range(daemon.ATTACH_TRIES):
        try:
            connected = daemon.reach(
                config,
                on_wait=None if arguments.no_wait else _tell_wait,
                within=arguments.timeout,
                prompt=_title(prompt),
            )
        except daemon.NotWanted:
            say("cancelled while it waited")
            return exits.CANCELLED
        try:
            return asyncio.run(_limited(arguments, _attached(arguments, entry, connected, prompt)))
        except _TooLate:
            pass
        known = _refreshed(entry)
        if known is not None:
            config.session_id = known.session_id
    raise ConnectionClosed(daemon.ended_again_and_again(entry.key))


def _tell_wait(text: str) -> None:
    say(f"{text}; this prompt waits for its end")


class _TooLate(Exception):
    """The daemon ended between being found and being asked for anything."""


def _refreshed(entry: "Entry") -> "Entry | None":
    from ..state.catalogue import Catalogue

    return Catalogue().get(entry.key)


async def _attached(arguments: argparse.Namespace, entry: "Entry", connected: Any, prompt: list[Any]) -> int:
    """Talk to the daemon as if it was the agent."""
    from acpella.errors import ConnectionClosed
    from acpella.transport import UnixChannel

    from ..daemon import client as daemon

    channel = UnixChannel(connected, peer="the session's background process")
    agent = _connect(
        arguments,
        channel,
        entry.agent,
        entry.agent,
        notifications={
            "_daemon/queued": lambda told: _waiting(arguments, told),
            "_daemon/cancelled": lambda told: arguments.interrupts.note_cancelled(),
            "_daemon/noise": daemon.tell_noise,
            "_daemon/stderr": lambda told: arguments.verbose and _pass_on(str(told["text"]).encode()),
        },
        startup=daemon.READY_WITHIN,
    )
    try:
        await agent.__aenter__()
    except ConnectionClosed as error:
        raise _TooLate from error
    try:
        try:
            own = daemon.table(daemon.table(agent.hello.meta).get("acpella.daemon"))
            session = await agent.resume_session(own.get("sessionId") or "new", entry.cwd)
        except ConnectionClosed as error:
            raise _TooLate from error
        title = _title(prompt)
        if title and not entry.title:
            _remember_title(entry, title)
        if arguments.no_wait:
            return await _leave(arguments, agent, session, prompt)
        return await _with_session(arguments, session, prompt)
    finally:
        await agent.__aexit__(None, None, None)


def _remember_title(entry: "Entry", title: str) -> None:
    from ..state.catalogue import Catalogue

    try:
        known = Catalogue().get(entry.key)
        if known is not None and not known.title:
            Catalogue().update(entry.key, title=title)
    except OSError:
        pass


async def _leave(arguments: argparse.Namespace, agent: Any, session: Any, prompt: list[Any]) -> int:
    """Leave the prompt with the daemon."""
    from acpella.client.session import to_blocks
    from acpella.schema import PromptRequest

    await _prepare(arguments, session)
    blocks = to_blocks(prompt, agent.capabilities.prompt_capabilities)
    request = PromptRequest(session_id=session.id, prompt=blocks)
    told = await agent.extension(
        "_daemon/queue", {"request": request, "write": arguments.write, "yolo": arguments.yolo}
    )
    before = told.get("before", 0)
    say(f"queued, {before} before it" if before else "started")
    return exits.DONE


def _waiting(arguments: argparse.Namespace, told: Any) -> None:
    if arguments.output in ("text", "simple") and not arguments.no_wait:
        count = told["before"]
        say(f"waiting for {count} prompt{'s' if count != 1 else ''} before this one")


# -- both --------------------------------------------------------------------------------------------


def _connect(
    arguments: argparse.Namespace,
    channel: Any,
    name: str,
    command: str,
    *,
    settings: Any = None,
    notifications: dict[str, Callable[[Any], Any]] | None = None,
    startup: float = 30.0,
) -> Any:
    """The agent behind a channel, allowed what the user allows."""
    import dataclasses

    from acpella.client import ClientSettings, connect

    from ..session.capabilities import offers

    async def permission(request: Any) -> Any:
        return await _asker(arguments).permission(request)

    async def elicitation(request: Any) -> Any:
        return await _asker(arguments).elicitation(request)

    ask: Callable[[Any], Any] | None = permission
    if arguments.output in ("jsonl", "json"):
        import msgspec

        from ..terminal.mirror import Mirror

        channel = mirror = Mirror(channel)
        ask = None
        note = {
            "jsonrpc": "2.0",
            "method": "client/selected_agent",
            "params": {"name": name, "command": command},
        }
        mirror.show(msgspec.json.encode(note))
    interactive = ask is not None and sys.stdin.isatty() and sys.stderr.isatty()
    allowed = offers(
        write=arguments.write,
        yolo=arguments.yolo,
        ask=ask,
        tell=lambda text: _warn(arguments, text),
        interactive=interactive,
    )
    if interactive:
        allowed["on_elicit"] = elicitation
    allowed["timeouts"] = dataclasses.replace(allowed["timeouts"], startup=startup)
    agent = connect(
        channel,
        settings=settings or ClientSettings(),
        notifications=notifications,
        on_state=_tell_state,
        **allowed,
    )
    agent.name = name
    return agent


async def _with_session(arguments: argparse.Namespace, session: Any, prompt: list[Any]) -> int:
    if arguments.save_session:
        Path(arguments.save_session).write_text(session.id + "\n", encoding="utf-8")  # noqa: ASYNC240 - once
    if arguments.list_commands:
        return await _list_commands(session)
    await _prepare(arguments, session)
    return await _turn(arguments, session, prompt, quiet=arguments.output in ("jsonl", "json"))


async def _prepare(arguments: argparse.Namespace, session: Any) -> None:
    if not (arguments.mode or arguments.model or arguments.option):
        return
    from ..session.choices import prepare

    await prepare(session, mode=arguments.mode, model=arguments.model, options=arguments.option)


def _title(prompt: list[Any]) -> str:
    """The start of the prompt, without secrets."""
    from acpella._redact import redact

    from ..state.catalogue import MAX_TITLE

    text = " ".join(redact(prompt[0]).split()) if prompt else ""
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1] + "…"


async def _open(arguments: argparse.Namespace, agent: Any, settings: Any) -> Any:
    servers = _mcp_servers(arguments, settings)
    if not arguments.resume:
        return await agent.new_session(arguments.cwd, mcp_servers=servers)
    if agent.capabilities.session_capabilities.resume is not None:
        return await agent.resume_session(arguments.resume, arguments.cwd, mcp_servers=servers)
    return await agent.load_session(arguments.resume, arguments.cwd, mcp_servers=servers)


async def _turn(arguments: argparse.Namespace, session: Any, prompt: list[Any], *, quiet: bool) -> int:
    from acpella.errors import AcpellaError

    from ..terminal.display import is_visible, open_screen

    screen = open_screen(arguments.output, session, live=not (arguments.verbose or quiet))
    arguments.stage, arguments.place = screen, str(session.cwd)
    stopping = arguments.interrupts
    stopping.turn = turn = session.prompt(prompt)
    arguments.sent = True
    silent = True
    try:
        async for update in turn:
            silent = silent and not is_visible(update)
            if not quiet:
                screen.update(update, turn.result.tool_calls)
    except BaseException as error:
        if not quiet:
            screen.end("end_turn")  # the error gets a line of its own
        if stopping.asked and isinstance(error, AcpellaError | TimeoutError):
            say(str(error))
            return stopping.code
        raise
    finally:
        stopping.turn = None
    reason = turn.result.stop_reason or "unknown"
    if not quiet:
        screen.end(reason, turn.result.usage)
    if stopping.asked:
        return stopping.code
    refused = turn.result.refused > 0
    if reason == "cancelled" and (stopping.cancelled or not refused):
        return exits.CANCELLED
    if reason == "refusal":
        return exits.REFUSED
    if silent and reason == "end_turn" and not (quiet or refused):
        say("the agent ended its turn without saying or doing anything")
    return exits.DENIED if refused else exits.DONE


async def _list_commands(session: Any) -> int:
    from ..session.announcements import commands

    await commands(session, within=COMMANDS_WITHIN)
    for command in session.commands:
        hint = f" {command.input.hint}" if command.input is not None else ""
        show(f"/{command.name}{hint}  {command.description}")
    if not session.commands:
        say("the agent announced no commands")
    return exits.DONE


def _prompt(arguments: argparse.Namespace) -> list[Any]:
    parts = [" ".join(arguments.prompt)] if arguments.prompt else []
    if arguments.file and arguments.file != "-":
        parts.append(_text(Path(arguments.file).read_bytes(), arguments.file))
    elif arguments.file or not parts:
        if sys.stdin.isatty():
            print("Type the prompt, end it with Ctrl-D:", file=sys.stderr)  # noqa: T201
        parts.append(_text(sys.stdin.buffer.read(), "stdin"))
    text = "\n\n".join(parts)
    if not text.strip() and not arguments.image:
        raise ValueError("the prompt is empty")
    return [text, *map(_image, arguments.image)]


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError(
            f"{where} is no text in UTF-8; --file takes text, --image takes pictures, and other files are "
            "best named in the prompt"
        ) from None


def _image(name: str) -> Path:
    import mimetypes

    kind, _ = mimetypes.guess_type(name)
    if not Path(name).is_file():
        raise ValueError(f"no image {name}")
    if kind is None or not kind.startswith("image/"):
        raise ValueError(f"{name} is no image by its name; name other files in the prompt")
    return Path(name)


def _asker(arguments: argparse.Namespace) -> Any:
    """Made with the first question: most runs have none, and it costs 10 ms to load."""
    from ..terminal.questions import Asker

    if getattr(arguments, "asker", None) is None:
        arguments.asker = Asker(hint="--write allows edits, --yolo everything")
    if arguments.stage is not None:
        arguments.asker.stage, arguments.asker.cwd = arguments.stage, arguments.place
    return arguments.asker


def _warn(arguments: argparse.Namespace, text: str) -> None:
    """Tell of a trouble without writing over what the screen draws."""
    if arguments.stage is not None:
        arguments.stage.pause()
    say(text)
    if arguments.stage is not None:
        arguments.stage.resume()


def _tell_state(agent: Any) -> None:
    """The connection to a remote agent is worth a word only when it is not there."""
    if agent.state in ("interrupted", "reconnecting"):
        say("the connection was cut; waiting for it")


def _pass_on(data: bytes) -> None:
    from ..terminal.clean import clean

    if sys.stderr.isatty():  # which would obey it
        data = clean(data.decode("utf-8", "replace")).encode("utf-8", "replace")
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


def _mcp_servers(arguments: argparse.Namespace, settings: Any) -> list[Any]:
    from ..session.mcp_servers import from_settings, from_word

    return [from_word(text) for text in arguments.mcp] + [from_settings(s) for s in settings.mcp_servers]
