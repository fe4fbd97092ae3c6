"""What happens in a chat: prompts one after the other, commands, crashes, leaving."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from acpella._processes import HANGUP, on_signals
from acpella.client import (
    ClientSession,
    ClientSettings,
    ConnectedAgent,
    PromptTurn,
    Result,
    UpdatesDropped,
)
from acpella.errors import AcpellaError, AuthRequired, ConnectionClosed, RpcError, TransportError
from acpella.local.listing import ListedFiles
from acpella.schema import CurrentModeUpdate, SessionUpdate, UsageUpdate

from .. import exits
from ..daemon.errors import from_wire
from ..daemon.solo import Solo
from ..options import ConversationOptions
from ..session.choices import SessionChoices, choose_mode, models_of, modes_of, options_of, prepare
from ..session.lookup import new_entry
from ..session.mcp_servers import all_servers
from ..state.catalogue import MAX_TITLE, SessionEntry
from ..terminal.alerts import alerts_to
from ..terminal.clean import clean, one_line
from ..terminal.facts import OwnTerminal, is_visible, usage_text
from ..terminal.keys import interrupt
from ..terminal.questions import Asker
from ..terminal.rows import Row, cell_len, wrap
from ..terminal.screen import Screen
from . import kept
from .commands import COMMANDS, foreground, names, run_command
from .complete import Offers
from .interface import Interface, open_history
from .mentions import to_prompt
from .opening import open_agent, open_session

__all__ = ["ChatConversation"]

TWICE = 2.0
"""Seconds within which a second Ctrl-C leaves."""

MAX_SAID = 2000
"""Messages that are kept for `/export`."""

LEAVE_TIME = 6.0
"""Seconds for a running turn to stop when the user leaves."""


class ChatConversation:
    """One chat, from the start of the agent to the end."""

    def __init__(
        self,
        options: ConversationOptions,
        settings: ClientSettings,
        target: str,
        entry: SessionEntry | None = None,
    ) -> None:
        self.options = options
        self.settings = settings
        self.target = target
        self.entry = entry
        """The session that is kept alive by a daemon; None if the agent is this chat's own."""
        self.cwd: str = os.path.abspath(options.cwd)
        self.env: dict[str, str] = {}
        self.agent: ConnectedAgent | None = None
        self.session: ClientSession | None = None
        self.said: deque[tuple[str, str]] = deque(maxlen=MAX_SAID)
        self._solo = Solo(
            "acpella chat", target, cancel=self._cancel_turn, stop=self._stop_for_others, queued=self.queued
        )
        self._stopped = False
        self._noted: SessionEntry | None = None  # the session of this chat's own agent, in the catalogue
        self._usage: UsageUpdate | None = None
        self._files = ListedFiles(Path(self.cwd))
        self._waiting: deque[str] = deque()
        self._news = asyncio.Event()
        self._turn: PromptTurn | None = None
        self._working: asyncio.Task[None] | None = None  # what Ctrl-C may stop, if it is not a turn
        self._tasks: set[asyncio.Task[None]] = set()
        self._interrupted = 0.0
        self._left = asyncio.Event()
        self._died: ConnectionClosed | None = None
        self._watch: asyncio.Task[None] | None = None
        self._open = AsyncExitStack()
        self._state = "starting"
        offers = Offers(commands=lambda: names(self), values=self._values, files=lambda: self._files)
        self.face: Interface = Interface(self, offers, open_history())
        self.asker: Asker = Asker(cwd=self.cwd, room=self.face.room, tell=self._warn)
        self.screen: Screen = Screen(
            self.face, cwd=self.cwd, find_terminal=self._terminal, idle=True, notes=False
        )
        self.asker.stage = self.screen

    # -- life --------------------------------------------------------------------------------

    async def run(self) -> int:
        """Talk until the user leaves; the exit code."""
        with alerts_to(self._warn, verbose=self.options.verbose):
            return await self._run()

    async def _run(self) -> int:
        on_signals((signal.SIGTERM, *HANGUP), self.on_leave)
        face = asyncio.ensure_future(self.face.run())
        work = asyncio.ensure_future(self._work())
        leave = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait({face, work, leave}, return_when=asyncio.FIRST_COMPLETED)
            self._left.set()
            await self._stop_work(work)
            self.face.leave()
            await face
            if work.done() and not work.cancelled():
                work.result()
        finally:
            rest: list[asyncio.Future[Any]] = [work, face, leave, *self._tasks]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            await self._close_agent()
            await self._solo.release()
        if self._stopped:
            print("acpella: ended from another shell", file=sys.stderr)  # noqa: T201 - the chat is gone
        return exits.DONE

    async def _stop_work(self, work: "asyncio.Future[None]") -> None:
        """Let a running turn end properly, but not for ever."""
        if self._turn is not None:
            try:
                await self._turn.cancel(within=LEAVE_TIME)
            except (AcpellaError, TimeoutError):
                pass
        work.cancel()
        await asyncio.wait({work}, timeout=LEAVE_TIME)

    async def _work(self) -> None:
        await self._start_agent()
        try:
            session_id = self.entry.session_id if self.entry is not None else ""
            await self.open_session(session_id or self.options.resume)
            named = self.options
            await prepare(self.need_session(), mode=named.mode, model=named.model, options=named.option)
        except AuthRequired as error:
            self._tell_login(error)
        self._state = ""
        self.refresh()
        while not self._left.is_set():
            if self._died is not None:
                await self._after_death()
            elif self._waiting:
                await self._handle(self._waiting.popleft())
            else:
                self._news.clear()
                await self._news.wait()

    async def _start_agent(self) -> None:
        await self._close_agent()
        on_stderr = self._stderr if self.options.verbose else None
        if self.entry is not None:
            self.agent = await kept.attach(
                self.options,
                self.settings,
                self.entry,
                self.asker,
                self._open,
                env=self.env,
                mcp_servers=all_servers(self.options.mcp, self.settings),
                on_queued=self._tell_queue,
                on_stderr=on_stderr,
            )
        else:
            agent = open_agent(
                self.options, self.settings, self.target, self.asker, env=self.env, on_stderr=on_stderr
            )
            self.agent = await self._open.enter_async_context(agent)
        self._watch = asyncio.ensure_future(self._wait_for_death(self.agent))

    async def _close_agent(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._died = None
        self.agent = self.session = None
        await self._open.aclose()

    async def _wait_for_death(self, agent: ConnectedAgent) -> None:
        self._died = await agent.connection.wait_closed()
        self._news.set()

    async def _after_death(self) -> None:
        """Say what happened, and offer to go on where we were."""
        error, self._died = self._died, None
        if self._watch is not None:
            self._watch.cancel()  # it need not be told twice
        self._fail(f"the agent ended: {error}")
        last = self.session.id if self.session is not None else None
        self.agent = self.session = None
        self._state = "not running"
        async with self.asker.floor():
            again = await self.asker.yes_or_no("start it again and go on?", default=True)
        if again:
            try:
                await self.restart(last)
            except (AcpellaError, TimeoutError, OSError) as problem:
                self._fail(str(problem) or "it took too long")
        else:
            self.tell([[("/restart starts it again", "dim")]])

    async def restart(self, session_id: str | None = None) -> None:
        """Start the agent again and open the session that was open, if it can be."""
        last = session_id or (self.session.id if self.session is not None else None)
        if self.entry is not None:
            last = self.entry.session_id or None
        self._state = "starting"
        self.refresh()
        try:
            await self._start_agent()
        except BaseException:
            self._state = "not running"
            raise
        self._state = ""
        agent = self.need_agent()
        keeps = agent.capabilities.load_session or agent.capabilities.session_capabilities.resume is not None
        if last is not None and keeps:
            try:
                await self.open_session(last, again=False)
                self.tell([[("the agent runs again, in the same session", "dim")]])
                return
            except (AcpellaError, TimeoutError) as error:
                self._fail(f"the session could not be opened again: {error}")
        await self.open_session(None)
        if last is None:
            self.tell([[("the agent runs", "dim")]])
        else:
            self.tell(
                [[("the agent runs again, in a new session: it has forgotten what was said", "yellow")]]
            )

    async def open_session(self, session_id: str | None, *, again: bool = True) -> None:
        """Begin a session, or go on with one; `again` shows what was said in it."""
        if self.entry is not None and (session_id or "") != self.entry.session_id:
            self.entry = await asyncio.to_thread(kept.other, self.entry, session_id)
            await self._start_agent()  # every session that stays has a daemon of its own
            self._state = ""
        agent = self.need_agent()
        again = again and session_id is not None
        if self.entry is not None:
            session_id = session_id or await asyncio.to_thread(kept.daemon_session, agent, self.entry)
            if again and await asyncio.to_thread(kept.is_busy, self.entry):
                again = False
                self.tell([[("a prompt runs in this session; what was said before is not shown", "dim")]])
        replayed = Result()

        def replay(update: SessionUpdate) -> None:
            replayed.fold(update)
            self.screen.update(update, replayed.tool_calls)

        if again:
            self.screen.forget()
            self.screen.start()
            self.screen.show_user = True
        try:
            session = await open_session(
                self.options, self.settings, agent, session_id, on_update=replay if again else None
            )
        finally:
            if again:
                self.screen.end()
                self.screen.show_user = False
        session.on_update = self._aside
        self.session = session
        if self.entry is not None:
            self.entry.session_id = session.id
        self._usage = replayed.context
        self.refresh()

    # -- prompts -----------------------------------------------------------------------------

    async def _handle(self, text: str) -> None:
        if not text.strip().startswith("/:"):
            self._echo(text)
        try:
            if text.startswith("!"):
                await self._shell(text[1:].strip())
            elif text.startswith("/") and await run_command(self, text.strip()):
                pass
            else:
                await self._prompt(text)
        except AuthRequired as error:
            self._tell_login(error)
        except ConnectionClosed as error:
            self._died = self._died or error  # told by `_after_death`
        except RpcError as error:
            cause = from_wire(error)  # of a daemon, which tells why its agent ended
            if isinstance(cause, ConnectionClosed):
                self._died = self._died or cause
            else:
                self._fail(str(cause) or "it took too long")
        except (AcpellaError, TimeoutError, OSError, ValueError) as error:
            self._fail(str(error) or "it took too long")
        self.refresh()

    async def _prompt(self, text: str) -> None:
        session = self.need_session()
        agent = self.need_agent()
        accepts = agent.capabilities.prompt_capabilities
        prompt = await asyncio.to_thread(to_prompt, text, session.cwd, accepts)
        turn = self._turn = session.prompt(prompt)
        reason = ""
        silent = True
        self.screen.start()
        self.said.append(("user", text))
        await self._remember(text)
        self._solo.begin(one_line(text, MAX_TITLE))
        try:
            async for update in turn:
                if isinstance(update, UsageUpdate):
                    self._usage = update
                if not isinstance(update, UpdatesDropped):
                    silent = silent and not is_visible(update)
                    self.screen.update(update, turn.result.tool_calls)
            reason = turn.result.stop_reason or "unknown"
            if reason == "cancelled":  # perhaps by another shell
                self._give_back()
        finally:
            self._turn = None
            self._solo.end()
            self.screen.end(reason or "end_turn", turn.result.usage)
            if silent and reason == "end_turn" and not turn.result.refused:
                self.tell([[("the agent ended its turn without saying or doing anything", "dim")]])
            if turn.result.text:
                self.said.append(("agent", turn.result.text))
        if session.title:
            await self._remember(text)

    async def _remember(self, text: str) -> None:
        """Let `--continue` find this session."""
        session = self.need_session()
        entry = self.entry or self._noted
        if entry is None or entry.session_id != session.id:
            entry = self._noted = new_entry(self.settings, cwd=self.cwd, agent=self.target)
            entry.session_id = session.id
        await asyncio.to_thread(kept.remember, entry, prompt=text, title=session.title)
        if self.entry is None and entry.key:
            await self._solo.hold(entry.key, session.id, agent_pid=self.need_agent().pid)

    def _cancel_turn(self) -> None:
        """Another shell wants the turn to end."""
        if self._turn is not None:
            self._beside(self._cancel(self._turn))

    async def _shell(self, command: str) -> None:
        """A command of the user's own, with the terminal to itself."""
        if not command:
            raise ValueError("! runs a command: !ls")
        shell = os.environ.get("SHELL") or "/bin/sh"
        code = await self.in_foreground([shell, "-c", command], None)
        if code != 0:
            self.tell([[(f"exit {code}" if code > 0 else f"ended by signal {-code}", "red")]])

    async def in_foreground(self, command: list[str], env: dict[str, str] | None) -> int:
        """Run a program that reads the keyboard and draws for itself; its exit code."""
        async with self.asker.floor():
            self._working = asyncio.current_task()
            try:
                process = foreground(command, env, self.cwd)
            except OSError as error:
                raise ValueError(f"cannot run {command[0]}: {error.strerror}") from None
            try:
                return await asyncio.to_thread(process.wait)
            finally:
                if process.poll() is None:
                    process.kill()
                self._working = None

    # -- what the user does ------------------------------------------------------------------

    def on_submit(self, text: str) -> None:
        self._waiting.append(text)
        self._news.set()
        self.refresh()

    def on_interrupt(self) -> None:
        """The first Ctrl-C stops what runs, or clears the input; the second leaves."""
        if self._working is not None:
            return  # the program in the foreground got the signal, too
        if self._turn is None and interrupt():
            return  # a question of the chat's own
        loop = asyncio.get_running_loop()
        twice = loop.time() - self._interrupted < TWICE
        self._interrupted = loop.time()
        buffer = self.face.buffer
        if twice and not (buffer.text and self._turn is None):
            self.on_leave()
        elif self._turn is not None:
            self._give_back()
            self._beside(self._cancel(self._turn))
        elif buffer.text:
            buffer.append_to_history()
            buffer.reset()
            self._interrupted = 0.0
        else:
            self.tell([[("Ctrl-C again, or Ctrl-D, leaves", "dim")]])

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something for a key without making the keyboard wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _cancel(self, turn: PromptTurn) -> None:
        try:
            await turn.cancel()
        except (AcpellaError, TimeoutError):
            pass  # the turn itself tells

    def _give_back(self) -> None:
        """What had not been sent goes back to where it was typed."""
        buffer = self.face.buffer
        if self._waiting:
            buffer.text = "\n".join([*self._waiting, *([buffer.text] if buffer.text else [])])
            buffer.cursor_position = len(buffer.text)
            self._waiting.clear()

    def _stop_for_others(self) -> None:
        """Another shell wants the chat to end; what was typed is found with the arrow key next time."""
        self._stopped = True
        self._give_back()
        if self.face.buffer.text:
            self.face.buffer.append_to_history()
        self.on_leave()

    def on_leave(self) -> None:
        self._left.set()

    def on_cycle(self) -> None:
        """Shift-Tab: the next mode."""
        choices = modes_of(self.session) if self.session is not None else None
        after = choices.after() if choices is not None else None
        if choices is not None and after is not None:
            self._beside(self._cycle(after.id))

    async def _cycle(self, mode: str) -> None:
        try:
            await choose_mode(self.need_session(), mode)
            self.refresh()
        except (AcpellaError, TimeoutError, ValueError) as error:
            self._fail(str(error) or "the agent did not answer")

    # -- what is seen ------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return self.face.width

    def tell(self, rows: Sequence[Row]) -> None:
        self.screen.tell(rows)

    def _warn(self, text: str) -> None:
        lines = [row for row in wrap(clean(text), max(self.width - 2, 8)) if row.strip()]
        marks = ("! " if i == 0 else "  " for i in range(len(lines)))
        self.screen.aside(
            [[(mark, "yellow"), (line, "yellow")] for mark, line in zip(marks, lines, strict=True)]
        )

    def write_raw(self, text: str) -> None:
        self.face.app.output.write_raw(text)
        self.face.app.output.flush()

    def refresh(self) -> None:
        self.face.refresh()

    def queued(self) -> list[str]:
        return [one_line(text, 200) for text in self._waiting]

    def status(self) -> Row:
        """What fits: first the agent, then its mode and model, how full it is, and where we are."""
        name = one_line(self._agent_name(), 40)
        if self.entry is not None and self.entry.name:
            name = f"{name}: {one_line(self.entry.name, 30)}"
        parts = [f"{name} ({self._state})" if self._state else name]
        if self.session is not None:
            settings = (modes_of(self.session), models_of(self.session))
            parts += [one_line(choices.name, 30) for choices in settings if choices is not None]
        if usage := usage_text(self._usage):
            parts.append(usage)
        home = os.path.expanduser("~")
        parts.append("~" + self.cwd[len(home) :] if self.cwd.startswith(home + "/") else self.cwd)
        while len(parts) > 1 and cell_len(" · ".join(parts)) > self.width:
            parts.pop()
        return [(" · ".join(parts), "dim")]

    def _agent_name(self) -> str:
        """The name that the user gave it, or else what it calls itself rather than its file."""
        if self.agent is None:
            return self.target
        info = self.agent.info
        if info is None or self.target in self.settings.agents:
            return self.agent.name
        return info.title or info.name or self.agent.name

    def _echo(self, text: str) -> None:
        rows = [row for line in clean(text).split("\n") for row in wrap(line, max(self.width - 2, 8))]
        echo: list[Row] = [[("› " if i == 0 else "  ", "cyan"), (row, "bold")] for i, row in enumerate(rows)]
        self.screen.tell(echo, gap=True)

    def _fail(self, text: str) -> None:
        lines = [row for row in wrap(clean(text), max(self.width - 2, 8)) if row.strip()]
        self.tell([[("✗ " if i == 0 else "  ", "red"), (line, "red")] for i, line in enumerate(lines[:20])])

    def _tell_login(self, error: AuthRequired) -> None:
        self._fail(error.message)
        ways = [m.id for m in self.agent.auth_methods] if self.agent is not None else []
        self.tell([[(f"/login {ways[0] if len(ways) == 1 else ''}".rstrip() + " logs in", "yellow")]])

    def _tell_queue(self, before: int) -> None:
        """Other shells were first."""
        self.tell([[(f"waiting for {before} prompt{'s' if before != 1 else ''} before this one", "dim")]])

    def _aside(self, update: SessionUpdate) -> None:
        """An update outside a turn."""
        if isinstance(update, UsageUpdate):
            self._usage = update
        if not isinstance(update, CurrentModeUpdate):  # the status line tells
            self.screen.update(update, {})
        self.refresh()

    def _stderr(self, data: bytes) -> None:
        self.tell([[(line, "dim")] for line in clean(data.decode("utf-8", "replace")).splitlines()])

    # -- for commands and completion -----------------------------------------------------------

    def need_agent(self) -> ConnectedAgent:
        if self.agent is None:
            raise TransportError("the agent does not run; /restart starts it")
        return self.agent

    def need_session(self) -> ClientSession:
        self.need_agent()
        if self.session is None:
            raise TransportError("there is no session; /login or /new first")
        return self.session

    def _terminal(self, terminal_id: str) -> OwnTerminal | None:
        if self.agent is None or self.session is None:
            return None
        return self.agent.terminal(self.session.id, terminal_id)

    def _values(self, command: str, before: list[str]) -> SessionChoices | list[tuple[str, str]] | None:
        """What may follow a command of ours."""
        if self.session is None or command.removeprefix(":") not in COMMANDS:
            return None
        match command.removeprefix(":"), before:
            case "mode", []:
                return modes_of(self.session)
            case "model", []:
                return models_of(self.session)
            case "option", []:
                return [(key, title) for key, (title, _) in options_of(self.session).items()]
            case "option", [name]:
                choices = options_of(self.session).get(name)
                return choices[1] if choices is not None else None
            case "login", []:
                return [(m.id, m.name) for m in self.need_agent().auth_methods]
            case _:
                return None
