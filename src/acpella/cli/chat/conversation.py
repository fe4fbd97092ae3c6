"""What happens in a chat: prompts one after the other, commands, crashes, leaving."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial
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
from acpella.schema import AvailableCommandsUpdate, CurrentModeUpdate, SessionUpdate, UsageUpdate

from .. import exits
from ..daemon.errors import from_wire
from ..daemon.solo import Solo
from ..options import ConversationOptions
from ..session.choices import choose_mode, modes_of, prepare
from ..session.lookup import new_entry
from ..state.catalogue import MAX_TITLE, SessionEntry
from ..terminal.alerts import alerts_to
from ..terminal.clean import clean, one_line
from ..terminal.command_output import OwnTerminal
from ..terminal.keys import interrupt
from ..terminal.questions import Asker
from ..terminal.rows import Row
from ..terminal.screen import Screen
from ..terminal.update_rows import is_visible
from . import kept_session
from .agent import ChatAgent
from .commands import names, run_command, values_of
from .complete import Offers
from .foreground import Foreground
from .interface import Interface, open_history
from .mentions import to_prompt
from .messages import marked_rows, typed_rows
from .opening import open_session
from .status_line import shown_name, status_row

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
        self._tasks: set[asyncio.Task[None]] = set()
        self._interrupted = 0.0
        self._left = asyncio.Event()
        self._state = "starting"
        offers = Offers(
            commands=lambda: names(self), values=partial(values_of, self), files=lambda: self._files
        )
        self.face: Interface = Interface(self, offers, open_history())
        self.asker: Asker = Asker(cwd=self.cwd, room=self.face.room, tell=self._warn)
        self.screen: Screen = Screen(
            self.face, cwd=self.cwd, find_terminal=self._terminal, idle=True, notes=False
        )
        self.asker.stage = self.screen
        self.foreground: Foreground = Foreground(self.asker, self.cwd)
        self._agent = ChatAgent(
            options,
            settings,
            target,
            self.asker,
            on_queued=self._tell_queue,
            on_stderr=self._stderr if options.verbose else None,
            on_end=self._news.set,
        )

    @property
    def agent(self) -> ConnectedAgent | None:
        return self._agent.connected

    @property
    def env(self) -> dict[str, str]:
        return self._agent.env

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
            await self._agent.close()
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
            options = self.options
            await prepare(self.need_session(), mode=options.mode, model=options.model, options=options.option)
        except AuthRequired as error:
            self._tell_login(error)
        self._state = ""
        self.refresh()
        while not self._left.is_set():
            if self._agent.ended is not None:
                await self._after_death()
            elif self._waiting:
                await self._handle(self._waiting.popleft())
            else:
                self._news.clear()
                await self._news.wait()

    async def _start_agent(self) -> None:
        self.session = None
        await self._agent.start(self.entry)

    async def _after_death(self) -> None:
        """Say what happened, and offer to go on where we were."""
        self._fail(f"the agent ended: {self._agent.ended}")
        last = self.session.id if self.session is not None else None
        self._agent.forget()  # it need not be told twice
        self.session = None
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
            self.entry = await asyncio.to_thread(kept_session.other, self.entry, session_id)
            await self._start_agent()  # every session that stays has a daemon of its own
            self._state = ""
        agent = self.need_agent()
        again = again and session_id is not None
        if self.entry is not None:
            session_id = session_id or await asyncio.to_thread(kept_session.daemon_session, agent, self.entry)
            if again and await asyncio.to_thread(kept_session.is_busy, self.entry):
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
        self.face.offer_again()
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
            self._agent.ended = self._agent.ended or error  # told by `_after_death`
        except RpcError as error:
            cause = from_wire(error)  # of a daemon, which tells why its agent ended
            if isinstance(cause, ConnectionClosed):
                self._agent.ended = self._agent.ended or cause
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
        await asyncio.to_thread(kept_session.remember, entry, prompt=text, title=session.title)
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
        code = await self.foreground.run([shell, "-c", command], None)
        if code != 0:
            self.tell([[(f"exit {code}" if code > 0 else f"ended by signal {-code}", "red")]])

    # -- what the user does ------------------------------------------------------------------

    def on_submit(self, text: str) -> None:
        self._waiting.append(text)
        self._news.set()
        self.refresh()

    def on_interrupt(self) -> None:
        """The first Ctrl-C stops what runs, or clears the input; the second leaves."""
        if self.foreground.is_running:
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
        self.screen.aside(marked_rows(text, "! ", "yellow", width=self.width))

    def write_raw(self, text: str) -> None:
        self.face.app.output.write_raw(text)
        self.face.app.output.flush()

    def refresh(self) -> None:
        self.face.refresh()

    def queued(self) -> list[str]:
        return [one_line(text, 200) for text in self._waiting]

    def status(self) -> Row:
        return status_row(
            self._agent_name(), self._state, self.session, self._usage, self.cwd, width=self.width
        )

    def _agent_name(self) -> str:
        name = one_line(shown_name(self.agent, self.target, self.settings), 40)
        if self.entry is not None and self.entry.name:
            name = f"{name}: {one_line(self.entry.name, 30)}"
        return name

    def _echo(self, text: str) -> None:
        self.screen.tell(typed_rows(text, width=self.width), gap=True)

    def _fail(self, text: str) -> None:
        self.tell(marked_rows(text, "✗ ", "red", width=self.width, most=20))

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
        if isinstance(update, AvailableCommandsUpdate):
            self.face.offer_again()
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
