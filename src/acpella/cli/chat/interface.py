"""The lower end of the screen: what changes, the input and the status, drawn by prompt_toolkit."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from ..state import paths
from ..terminal.rows import Row, has_colour, paint

__all__ = ["Interface", "Listens", "open_history"]

QUIET = 0.7
"""Seconds without a key before a question takes the keyboard: what is being typed must not answer it."""

OFFERS = 20
"""How often the menu is made again when there are new commands, a moment apart."""

OFFER_PAUSE = 0.1

MAX_HISTORY = 2 * 1024 * 1024
"""Bytes of the history file; older prompts are forgotten."""

_STYLE = {
    "completion-menu": "bg:default noinherit",
    "completion-menu.completion": "noinherit",
    "completion-menu.completion.current": "noinherit reverse",
    "completion-menu.meta.completion": "noinherit",
    "completion-menu.meta.completion.current": "noinherit reverse",
    "scrollbar.background": "noinherit",
    "scrollbar.button": "noinherit reverse",
}


class Listens(Protocol):
    """Hears what the user does."""

    def on_submit(self, text: str) -> None: ...
    def on_interrupt(self) -> None: ...
    def on_leave(self) -> None: ...
    def on_cycle(self) -> None: ...
    def status(self) -> Row: ...
    def queued(self) -> list[str]: ...


class _Application(Application[None]):
    """Erases all of itself after the window has become narrower."""

    columns: int = 0
    """Of the window when it was drawn last."""

    def settle(self) -> None:
        """Go to where what was drawn begins. Terminals break rows that have become too long."""
        columns = self.output.get_size().columns
        if columns < self.columns:
            self.output.cursor_up(self._more_rows(columns))
        self.columns = columns

    def _redraw(self, render_as_done: bool = False) -> None:
        self.settle()  # the signal that tells of another size may come later
        super()._redraw(render_as_done)

    def _on_resize(self) -> None:
        self.settle()
        super()._on_resize()

    def _more_rows(self, columns: int) -> int:
        renderer: Any = self.renderer
        screen, cursor = renderer.last_rendered_screen, renderer._cursor_pos
        if screen is None:
            return 0
        more = cursor.x // columns
        for number in range(cursor.y):
            row = screen.data_buffer[number]
            length = max((x + cell.width for x, cell in row.items() if cell.char.strip()), default=0)
            more += max(-(-length // columns), 1) - 1
        return more


class Interface:
    """Paper for a screen, with an input line beneath. Rows that stay are printed above it."""

    def __init__(self, listener: Listens, completer: Completer, history: History) -> None:
        self.colour: bool = has_colour()
        self._listener = listener
        self._live: list[str] = []
        self._last_key = 0.0
        self.buffer: Buffer = Buffer(
            multiline=True,
            history=history,
            completer=ThreadedCompleter(completer),
            complete_while_typing=Condition(self._may_complete),
        )
        self.app: _Application = _Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            style=Style.from_dict(_STYLE),
            # where the cursor is need not be asked: nothing here hangs on it, and over ssh the answers
            # would mix with what is typed
            output=Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False),
            color_depth=None if self.colour else ColorDepth.DEPTH_1_BIT,
            enable_page_navigation_bindings=False,
            erase_when_done=True,
        )
        self.app.columns = self.app.output.get_size().columns
        self.app.ttimeoutlen = 0.05  # Esc is felt at once, and arrow keys still arrive whole over ssh
        self.app.key_processor.before_key_press += self._pressed

    async def run(self) -> None:
        """Until `leave`."""
        await self.app.run_async(set_exception_handler=False)

    def leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def refresh(self) -> None:
        if self.app.is_running:
            self.app.invalidate()

    def offer_again(self, times: int = OFFERS) -> None:
        """Update the menu while the user is typing, because the possible completions have changed.

        A completion that is already running works with the old ones and blocks another, so this is repeated.
        """
        state = self.buffer.complete_state
        chosen = state is not None and state.current_completion is not None
        if times and self.app.is_running and self.buffer.text and self._may_complete() and not chosen:
            self.buffer.start_completion()
            asyncio.get_running_loop().call_later(OFFER_PAUSE, self.offer_again, times - 1)

    # -- paper -------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return max(self.app.output.get_size().columns - 1, 10)

    @property
    def height(self) -> int:
        below = min(self.buffer.document.line_count, self._input_rows()) + len(self._listener.queued()[:3])
        return max(self.app.output.get_size().rows - below - 3, 4)

    def draw(self, rows: Sequence[str], live: Sequence[str]) -> None:
        changed = list(live) != self._live
        self._live = list(live)
        if not self.app.is_running:
            sys.stdout.write("".join(f"{row}\n" for row in rows))
            sys.stdout.flush()
        elif rows:
            out = self.app.output
            out.write_raw("\x1b[?2026h")  # one picture, on terminals that can wait for it
            self.app.settle()
            self.app.renderer.erase(leave_alternate_screen=False)
            out.write_raw("".join(f"{row}\r\n" for row in rows))
            self.app._redraw()  # pyright: ignore[reportPrivateUsage] - at once, or the input would flicker
            out.write_raw("\x1b[?2026l")
            out.flush()
        elif changed:
            self.app.invalidate()

    @asynccontextmanager
    async def room(self) -> AsyncGenerator[None]:
        """The terminal for somebody else, as soon as the user does not type."""
        loop = asyncio.get_running_loop()
        for _ in range(10):  # whoever types on and on is asked in the end, too
            if (left := self._last_key + QUIET - loop.time()) > 0:
                await asyncio.sleep(left)
        async with in_terminal():
            yield

    # -- what is seen ------------------------------------------------------------------------

    def _layout(self) -> Layout:
        live = FormattedTextControl(lambda: ANSI("\n".join(self._live)))
        queued = FormattedTextControl(lambda: ANSI("\n".join(self._queued())))
        status = FormattedTextControl(lambda: ANSI(self._status()))
        control = BufferControl(self.buffer, input_processors=[BeforeInput("› ")], focusable=True)
        field = Window(
            control,
            wrap_lines=True,
            height=lambda: Dimension(min=1, max=self._input_rows()),
            dont_extend_height=True,
        )
        parts = [
            Window(live, height=lambda: Dimension.exact(len(self._live)), dont_extend_height=True),
            Window(height=1, dont_extend_height=True),
            Window(queued, height=lambda: Dimension.exact(len(self._queued())), dont_extend_height=True),
            field,
            CompletionsMenu(max_height=6, scroll_offset=1),
            Window(status, height=1, dont_extend_height=True),
            Window(char=" "),  # takes what is left when something above has become smaller
        ]
        return Layout(HSplit(parts), focused_element=field)

    def _input_rows(self) -> int:
        return max(self.app.output.get_size().rows // 3, 1)

    def _queued(self) -> list[str]:
        texts = self._listener.queued()
        rows: list[Row] = [[("  ⏎ ", "dim"), (text.replace("\n", " "), "dim")] for text in texts[:3]]
        if len(texts) > 3:
            rows.append([(f"  and {len(texts) - 3} more wait", "dim")])
        return [paint(row, self.width, colour=self.colour) for row in rows]

    def _status(self) -> str:
        return paint(self._listener.status(), self.width, colour=self.colour)

    # -- keys --------------------------------------------------------------------------------

    def _pressed(self, _: Any) -> None:
        self._last_key = asyncio.get_running_loop().time()

    def _may_complete(self) -> bool:
        before = self.buffer.document.current_line_before_cursor
        return self.buffer.text.startswith("/") or before.rpartition(" ")[2].startswith("@")

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        listener, buffer = self._listener, self.buffer
        add: Callable[..., Any] = keys.add

        @add("enter")
        def _(event: KeyPressEvent) -> None:
            if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
                buffer.complete_state = None  # the choice stands in the input now
                return
            text = buffer.text
            if text.strip():
                buffer.append_to_history()
                buffer.reset()
                listener.on_submit(text)

        @add("c-j")
        @add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            buffer.insert_text("\n")

        @add("tab")
        def _(event: KeyPressEvent) -> None:
            if buffer.complete_state is not None:
                buffer.complete_next()
            else:
                buffer.start_completion(select_first=True)

        @add("s-tab")
        def _(event: KeyPressEvent) -> None:
            if buffer.complete_state is not None:
                buffer.complete_previous()
            else:
                listener.on_cycle()

        @add("escape", eager=False)
        def _(event: KeyPressEvent) -> None:
            buffer.cancel_completion()

        @add("c-c")
        @add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            listener.on_interrupt()

        @add("c-d")
        def _(event: KeyPressEvent) -> None:
            if buffer.text:
                buffer.delete()
            else:
                listener.on_leave()

        @add("c-l")
        def _(event: KeyPressEvent) -> None:
            self.app.renderer.clear()

        @add("c-z")
        def _(event: KeyPressEvent) -> None:
            self.app.suspend_to_background()

        return keys


def _size() -> Size:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return Size(rows=rows or 24, columns=columns or 80)  # a terminal that does not know says 0


def open_history() -> History:
    """The user's earlier prompts, in a file that nobody else can read."""
    path = paths.state() / "chat-history"
    try:
        paths.private(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        if path.stat().st_size > MAX_HISTORY:
            newest = path.read_bytes()[-MAX_HISTORY // 2 :]
            path.write_bytes(newest[newest.find(b"\n# ") + 1 :])
    except OSError:
        return InMemoryHistory()  # a full disk or a read-only home must not end the chat
    return FileHistory(str(path))
