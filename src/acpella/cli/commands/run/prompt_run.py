"""One prompt and its answer, whoever runs the agent: the connection, the turn on the screen, its end."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import exits
from ...state.catalogue import title_of
from ...terminal.interrupts import Interrupts
from ...terminal.output import say, show, show_json
from .options import RunOptions
from .prompt import Prompt

if TYPE_CHECKING:
    from acpella.client import ClientSession, ClientSettings, ConnectedAgent, RemoteAgent, Result
    from acpella.rpc import Channel
    from acpella.schema import (
        CreateElicitationRequest,
        CreateElicitationResponse,
        PermissionOption,
        RequestPermissionRequest,
    )

    from ...terminal.display import Display
    from ...terminal.questions import Asker

__all__ = ["PromptRun", "limited", "prompt_title"]

COMMANDS_WITHIN = 2.0
"""Seconds in which an agent announces its commands, if it has any."""


async def limited(
    options: RunOptions, work: "Callable[[PromptRun], Awaitable[int]]", *, waited: float = 0.0
) -> int:
    """Run `work` under the time limit and with Ctrl-C handled; returns the exit code.

    `waited` is how many seconds of the limit are over already.
    """
    from acpella.errors import AcpellaError

    from ...failures import without_stderr
    from ...terminal.alerts import alerts_to

    run = PromptRun(options)
    limit = asyncio.timeout(options.timeout - waited if options.timeout else None)
    try:
        with alerts_to(run.warn, verbose=options.verbose):
            async with limit:
                return await work(run)
    except AcpellaError as error:
        if run.showed_stderr:
            raise without_stderr(error) from error
        raise
    except TimeoutError as error:
        if limit.expired() and str(error):  # it did not even stop when the time was over
            raise TimeoutError(f"{options.too_long}: {error}") from error
        raise
    except asyncio.CancelledError:
        if run.interrupts.asked:
            return run.interrupts.code
        raise


class PromptRun:
    """What both kinds of run do alike. Make it inside the program's main task."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.interrupts: Interrupts = Interrupts()
        self.sent: bool = False
        """Whether a prompt came into the session."""
        self.showed_stderr: bool = False
        """Whether the user has seen what the agent wrote to its stderr."""
        self._agent: ConnectedAgent | None = None
        self._screen: Display | None = None
        self._asker: Asker | None = None
        self._cwd = ""

    def connect(
        self,
        channel: "Channel | str",
        name: str,
        command: str,
        *,
        settings: "ClientSettings | None" = None,
        notifications: dict[str, Callable[[dict[str, Any]], None]] | None = None,
        startup: float = 30.0,
    ) -> "ConnectedAgent":
        """The agent behind a channel, allowed what the user allows; to be entered."""
        from acpella.client import ClientSettings, connect

        from ...capabilities import offers

        interactive = False
        if self.options.shows_frames:
            assert not isinstance(channel, str)
            channel = _mirrored(channel, name, command)
        else:
            interactive = sys.stdin.isatty() and sys.stderr.isatty()
        allowed = offers(
            write=self.options.write,
            yolo=self.options.yolo,
            ask=None if self.options.shows_frames else self._ask_permission,
            tell=self.warn,
            interactive=interactive,
        )
        if interactive:
            allowed["on_elicit"] = self._ask_form
        allowed["timeouts"] = replace(allowed["timeouts"], startup=startup)
        agent = connect(
            channel,
            settings=settings or ClientSettings(),
            notifications=notifications,
            on_state=_tell_state,
            record=self.options.record,
            **allowed,
        )
        agent.name = name
        self._agent = agent
        return agent

    @property
    def wants_stderr(self) -> bool:
        """Whether anybody is to know what the agent writes to its stderr."""
        return bool(self.options.verbose or self.options.record)

    def on_stderr(self, data: bytes) -> None:
        """The agent wrote this to its stderr."""
        if self._agent is not None:
            self._agent.note_stderr(data)
        if self.options.verbose:
            self.showed_stderr = True
            _pass_stderr(data)

    async def use(self, session: "ClientSession", prompt: Prompt) -> int:
        """Do with the session what the command is for; returns the exit code."""
        if self.options.save_session:
            Path(self.options.save_session).write_text(session.id + "\n", encoding="utf-8")  # noqa: ASYNC240 - once
        if self.options.list_commands:
            return await _list_commands(session, as_json=self.options.output == "json")
        await self.prepare(session)
        return await self._turn(session, prompt)

    async def prepare(self, session: "ClientSession") -> None:
        """Set the mode, the model and the options that were named."""
        options = self.options
        if not (options.mode or options.model or options.option):
            return
        from ...session.choices import prepare

        await prepare(session, mode=options.mode, model=options.model, options=options.option)

    async def _turn(self, session: "ClientSession", prompt: Prompt) -> int:
        from acpella.client import UpdatesDropped
        from acpella.errors import AcpellaError

        from ...terminal.display import is_visible, open_screen

        interrupts = self.interrupts
        screen = open_screen(self.options.output, session, live=not self.options.verbose)
        self._screen, self._cwd = screen, str(session.cwd)
        interrupts.turn = turn = session.prompt(prompt)
        self.sent = True
        silent = True
        try:
            async for update in turn:
                if isinstance(update, UpdatesDropped):
                    continue
                silent = silent and not is_visible(update)
                screen.update(update, turn.result.tool_calls)
        except BaseException as error:
            screen.end("end_turn")  # the error gets a line of its own
            self._show_result(session, turn.result, error)
            if interrupts.asked and isinstance(error, AcpellaError | TimeoutError):
                say(str(error))
                return interrupts.code
            raise
        finally:
            interrupts.turn = None
        reason = turn.result.stop_reason or "unknown"
        screen.end(reason, turn.result.usage)
        self._show_result(session, turn.result)
        refused = turn.result.refused > 0
        quiet = self.options.output in ("json", "jsonl")
        if silent and reason == "end_turn" and not (quiet or refused or interrupts.asked):
            say("the agent ended its turn without saying or doing anything")
        return self._exit_code(reason, refused=refused)

    def _show_result(
        self, session: "ClientSession", result: "Result", error: BaseException | None = None
    ) -> None:
        if self.options.output != "json":
            return
        from ...terminal.document import show_result

        assert self._agent is not None
        why = None if error is None else self._why_it_broke_off(error)
        show_result(session, result, agent=self._agent.name, error=why)

    def _why_it_broke_off(self, error: BaseException) -> str:
        from acpella.errors import RpcError

        from ...daemon.errors import from_wire

        if isinstance(error, asyncio.CancelledError):
            return "cancelled" if self.interrupts.asked else self.options.too_long
        return str(from_wire(error) if isinstance(error, RpcError) else error) or type(error).__name__

    def _exit_code(self, stop_reason: str, *, refused: bool) -> int:
        if self.interrupts.asked:
            return self.interrupts.code
        if stop_reason == "cancelled" and (self.interrupts.cancelled or not refused):
            return exits.CANCELLED
        if stop_reason == "refusal":
            return exits.REFUSED
        return exits.DENIED if refused else exits.DONE

    # -- the person at the terminal --------------------------------------------------------------

    def warn(self, text: str) -> None:
        """Tell of a trouble without writing over what the screen draws."""
        if self._screen is not None:
            self._screen.pause()
        say(text)
        if self._screen is not None:
            self._screen.resume()

    async def _ask_permission(self, request: "RequestPermissionRequest") -> "PermissionOption | None":
        return await self._questions().permission(request)

    async def _ask_form(self, request: "CreateElicitationRequest") -> "CreateElicitationResponse":
        return await self._questions().elicitation(request)

    def _questions(self) -> "Asker":
        """Made with the first question: most runs have none, and it costs 10 ms to load."""
        from ...terminal.questions import Asker

        if self._asker is None:
            self._asker = Asker(hint="--write allows edits, --yolo everything")
        if self._screen is not None:
            self._asker.stage, self._asker.cwd = self._screen, self._cwd
        return self._asker


def _mirrored(channel: "Channel", name: str, command: str) -> "Channel":
    """The channel with every frame on stdout, after a line that says which agent it is."""
    from acpella.rpc.message import write_notification

    from ...terminal.mirror import Mirror

    mirror = Mirror(channel)
    mirror.show(write_notification("client/selected_agent", {"name": name, "command": command}))
    return mirror


async def _list_commands(session: "ClientSession", *, as_json: bool) -> int:
    from ...session.announcements import commands

    await commands(session, within=COMMANDS_WITHIN)
    if as_json:
        import msgspec

        show_json(msgspec.to_builtins(session.commands))
        return exits.DONE
    for command in session.commands:
        hint = f" {command.input.hint}" if command.input is not None else ""
        show(f"/{command.name}{hint}  {command.description}")
    if not session.commands:
        say("the agent announced no commands")
    return exits.DONE


def prompt_title(prompt: Prompt) -> str:
    """What a session is called until the agent gives it a title."""
    return title_of(str(prompt[0])) if prompt else ""


def _tell_state(agent: "RemoteAgent") -> None:
    """The connection to a remote agent is worth a word only when it is not there."""
    if agent.state in ("interrupted", "reconnecting"):
        say("the connection was cut; waiting for it")


def _pass_stderr(data: bytes) -> None:
    """Show what an agent writes to its stderr."""
    from ...terminal.clean import clean

    if sys.stderr.isatty():  # a terminal would obey escape sequences
        data = clean(data.decode("utf-8", "replace")).encode("utf-8", "replace")
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()
