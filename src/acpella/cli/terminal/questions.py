"""Questions of agents to the user: permissions by key, forms, pages to open."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from acpella.client.result import command_in
from acpella.schema import (
    BooleanPropertySchema,
    CreateElicitationRequest,
    CreateElicitationResponse,
    Diff,
    ElicitationAcceptAction,
    ElicitationCancelAction,
    ElicitationDeclineAction,
    ElicitationFormMode,
    ElicitationPropertySchema,
    ElicitationUrlMode,
    MultiSelectPropertySchema,
    PermissionOption,
    RequestPermissionRequest,
)

from .clean import one_line
from .forms import choice_text, choices_of, read_value, show_value
from .permission_rows import call_rows, head_rows, keys_for, note_of, option_rows
from .reveal import CUT, is_cut, is_hidden, reveal, reveal_rows, whole_rows
from .rows import Row, cell_len, has_colour, paint, plain, terminal_height, terminal_width

__all__ = ["Asker", "Stage", "is_interactive", "refuse"]

INVISIBLE = (
    r"! Part of this would be invisible. It is shown as \x1b, \u202e and the like, or as a number of blanks."
)

INCOMPLETE = "! Not all of this is shown: it is too long."

_ALSO = {"y": "a", "Y": "a", "n": "r", "N": "r"}


class Stage(Protocol):
    """What must step aside while a question is asked."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def saw_diff(self, tool_call_id: str) -> None:
        """The user has seen what a call will change; it need not be shown again when it has."""
        ...


class Asker:
    """Asks one question after the other on the terminal; without one every answer is a visible no.

    `room` gives the terminal over for a question, where pausing a stage is not enough. `tell` shows a line
    beside the conversation.
    """

    def __init__(
        self,
        *,
        cwd: str = "",
        hint: str = "",
        room: Callable[[], Any] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.tell = tell
        self.stage: Stage | None = None
        self.cwd = cwd
        self._hint = hint
        self._room = room
        self._lock: asyncio.Lock | None = None
        self._waiting = 0

    # -- permissions -------------------------------------------------------------------------

    async def permission(self, request: RequestPermissionRequest) -> PermissionOption | None:
        """Let the user choose an option; None if there is none to say no with."""
        if not is_interactive():
            async with self._floor():
                return refuse(request, self._hint)
        async with self._floor():
            keys = keys_for(request.options)
            head = head_rows(request.tool_call, waiting=self._waiting)
            rows: list[Row] = [[], *head, *call_rows(request.tool_call, self.cwd)]
            choices = option_rows(request, keys)
            self._write(rows)
            if self.stage is not None and any(isinstance(i, Diff) for i in request.tool_call.content or []):
                self.stage.saw_diff(request.tool_call.tool_call_id)
            if len(rows) > len(head) + 1 and len(rows) + len(choices) + 4 > terminal_height():
                self._write([[], *head])  # what it is about has scrolled away
            self._warn([*rows, *choices])
            self._write(choices)
            chosen = await self._choose(request.options, keys)
            option = None if chosen is None else request.options[chosen]
            colour = "green" if option is not None and option.kind.startswith("allow") else "yellow"
            answer = "no" if option is None else option.name
            note = "" if option is None else note_of(option, request.tool_call)
            self._write(whole_rows(answer, [("  → ", "dim")], colour, lines=False, note=note))
            return option

    async def _choose(self, options: Sequence[PermissionOption], keys: dict[str, int]) -> int | None:
        """The index of the chosen option; Esc is the one that says no this once."""
        from .keys import open_keys

        no = next((i for i, option in enumerate(options) if option.kind == "reject_once"), None)
        typed = ""
        try:
            async with open_keys() as pressed:
                yes = "y: yes, " if "a" in keys and "y" not in keys else ""
                deny = "n or Esc: no" if "r" in keys and "n" not in keys else "Esc: no"
                wide = f"  [1-{len(options)} or letter, {yes}{deny}] " if options else "  [any key] "
                self._prompt(wide if len(wide) < terminal_width() else "  [Esc: no] ")
                while True:
                    key = await pressed.read()
                    if key in ("", "\x1b", "\x04", "\x03"):
                        return no
                    key = _ALSO.get(key, key) if key not in keys else key
                    if key in keys:
                        return keys[key]
                    if len(options) > 9 and (key.isdigit() or key == "\n"):
                        if key == "\n" and typed and 1 <= int(typed) <= len(options):
                            return int(typed) - 1
                        typed = "" if key == "\n" else (typed + key)[-3:]
                    if not options:
                        return None
        finally:
            sys.stderr.write("\n")
            sys.stderr.flush()

    # -- elicitation -------------------------------------------------------------------------

    async def elicitation(self, request: CreateElicitationRequest) -> CreateElicitationResponse:
        """Fill in a form, or go to a page."""
        if not is_interactive():
            self._write([[(f"acpella: not answered: {one_line(getattr(request, 'message', ''))}", "")]])
            return ElicitationCancelAction()
        async with self._floor():
            if isinstance(request, ElicitationFormMode):
                return await self._form(request)
            if isinstance(request, ElicitationUrlMode):
                return await self._page(request)
        return ElicitationCancelAction()

    async def _page(self, request: ElicitationUrlMode) -> CreateElicitationResponse:
        self._tell([[], *whole_rows(request.message, [("? ", "yellow bold")], "bold")])
        self._say(request.url, "cyan")
        if not request.url.startswith(("https://", "http://")):
            self._say("this is not a web page, so it is not opened", "red")
            return ElicitationDeclineAction()
        match await self.yes_or_no("open it in the browser?"):
            case None:
                return ElicitationCancelAction()
            case False:
                return ElicitationDeclineAction()
            case True:
                import webbrowser

                opened = await asyncio.to_thread(webbrowser.open, request.url)
                if not opened:
                    self._say("no browser here; open the address yourself", "yellow")
                return ElicitationAcceptAction()

    async def _form(self, request: ElicitationFormMode) -> CreateElicitationResponse:
        schema = request.requested_schema
        self._tell([[], *whole_rows(request.message, [("? ", "yellow bold")], "bold")])
        for text in (schema.title, schema.description):
            if text:
                self._say(text, "dim")
        self._say("Enter takes what is in brackets, !no declines, Ctrl-D cancels", "dim")
        content: dict[str, Any] = {}
        required = schema.required or []
        for name, field in schema.properties.items():
            try:
                value = await self._field(name, field, required=name in required)
            except _Declined:
                return ElicitationDeclineAction()
            except EOFError:
                sys.stderr.write("\n")
                return ElicitationCancelAction()
            if value is not None:
                content[name] = value
        return ElicitationAcceptAction(content=content)

    async def _field(self, name: str, field: ElicitationPropertySchema, *, required: bool) -> Any:
        title = getattr(field, "title", None) or name
        if description := getattr(field, "description", None):
            self._say(description, "dim")
        choices = choices_of(field)
        rows: list[Row] = []
        for number, (value, words) in enumerate(choices, 1):
            rows += whole_rows(
                choice_text(value, words), [("    ", ""), (f"{number}  ", "cyan")], lines=False
            )
        self._tell(rows)
        default = getattr(field, "default", None)
        note = "" if required or default is not None else " (optional)"
        if default is not None:
            note = f" [{show_value(default, choices)}]"
        self._warn(reveal_rows(title + note, terminal_width(), lines=False))
        if isinstance(field, MultiSelectPropertySchema):
            note += " numbers with commas"
        elif isinstance(field, BooleanPropertySchema):
            note += " y/n"
        while True:
            answer = await self.line(f"  {reveal(title + note)}: ")
            if answer is None:
                raise EOFError
            if answer.strip() == "!no":
                raise _Declined
            if not answer.strip():
                if default is not None:
                    return default
                if not required:
                    return None
            try:
                return read_value(field, answer)
            except ValueError as error:
                self._say(str(error), "red")

    # -- other questions, of the program itself ----------------------------------------------

    async def yes_or_no(self, question: str, *, default: bool | None = None) -> bool | None:
        """y, n, or None for Esc; Enter is the default, if there is one."""
        from .keys import open_keys

        choice = {True: "[Y/n]", False: "[y/N]", None: "[y/n]"}[default]
        answer: bool | None = None
        try:
            async with open_keys() as pressed:
                self._prompt(f"  {question} {choice} ")
                while True:
                    key = await pressed.read()
                    if key in ("", "\x1b", "\x04", "\x03"):
                        return answer
                    if key in ("\n", "\r") and default is not None:
                        key = "y" if default else "n"
                    if key.lower() in ("y", "n"):
                        answer = key.lower() == "y"
                        return answer
        finally:
            sys.stderr.write({True: "yes\n", False: "no\n", None: "\n"}[answer])
            sys.stderr.flush()

    async def confirm(self, question: str, what: str) -> bool:
        """Whether to go on with something that an agent names; all of it is shown."""
        async with self._floor():
            self._tell(
                [*whole_rows(question, [("? ", "yellow bold")], "bold"), *whole_rows(what, [("    ", "")])]
            )
            return bool(await self.yes_or_no("go on?", default=False))

    async def pick(
        self,
        question: str,
        pairs: Sequence[tuple[str, str]],
        *,
        current: str | None = None,
        show_id: bool = True,
    ) -> str | None:
        """One of several values by its number; None for Esc or nothing."""
        async with self._floor():
            rows: list[Row] = whole_rows(question, [("? ", "yellow bold")], "bold", lines=False)
            for number, (value, about) in enumerate(pairs, 1):
                before = [(f"  {'●' if value == current else ' '} {number:>2}  ", "cyan")]
                if show_id:
                    *rest, last = whole_rows(value, before, lines=False)
                    rows += rest
                    before = [*last, ("  ", "")]
                    if cell_len(plain(last)) > terminal_width() // 2:  # no room for more
                        rows.append(last)
                        before = [(" " * 8, "")]
                rows += whole_rows(about, before, "dim", lines=False, indent=8)
            self._tell(rows)
            if len(pairs) > 9:
                answer = (await self.line("  number: ") or "").strip()
            else:
                answer = await self._key(f"  [1-{len(pairs)}, Esc: none] ", "123456789"[: len(pairs)])
            if answer.isdigit() and 1 <= int(answer) <= len(pairs):
                return pairs[int(answer) - 1][0]
            return None

    async def _key(self, prompt: str, keys: str) -> str:
        from .keys import open_keys

        key = ""
        try:
            async with open_keys() as pressed:
                self._prompt(prompt)
                while True:
                    key = await pressed.read()
                    if key in ("", "\x1b", "\x04", "\x03", "\n"):
                        key = ""
                        return key
                    if key in keys:
                        return key
        finally:
            sys.stderr.write(f"{key}\n")
            sys.stderr.flush()

    async def line(self, question: str, *, secret: bool = False) -> str | None:
        """A line of text; None for Ctrl-D and Ctrl-C."""
        from .keys import read_line

        return await read_line(lambda: self._prompt(question), secret=secret)

    def floor(self) -> AbstractAsyncContextManager[None]:
        """The terminal, for one who asks something else."""
        return self._floor()

    @asynccontextmanager
    async def _floor(self) -> AsyncGenerator[None]:
        """The terminal, when those who asked before have their answers."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        stage = self.stage
        try:
            if stage is not None:
                stage.pause()
            try:
                if self._room is not None:
                    async with self._room():
                        yield
                else:
                    yield
            finally:
                if stage is not None:
                    stage.resume()
        finally:
            self._lock.release()

    def _prompt(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _say(self, text: str, style: str) -> None:
        self._tell(whole_rows(text, [("    ", "")], style))

    def _tell(self, rows: Sequence[Row]) -> None:
        """Write what the user has to decide on, and warn if part of it is cut or would be invisible."""
        self._write(rows)
        self._warn(rows)

    def _warn(self, rows: Sequence[Row]) -> None:
        if is_cut(rows):
            self._write(reveal_rows(INCOMPLETE, terminal_width(), style=CUT))
        if is_hidden(rows):
            self._write(reveal_rows(INVISIBLE, terminal_width(), style=CUT))

    def _write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            line = paint(row, terminal_width(), colour=has_colour()) if sys.stderr.isatty() else plain(row)
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


class _Declined(Exception):
    """The user does not want to answer."""


def is_interactive() -> bool:
    """Whether there is somebody to ask."""
    from .keys import HAS_KEYS

    return HAS_KEYS and sys.stdin.isatty() and sys.stderr.isatty()


def refuse(request: RequestPermissionRequest, hint: str = "") -> PermissionOption | None:
    """Say no, and that it was said."""
    call = request.tool_call
    title, command = call.title or call.name or "", command_in(call.raw_input)
    what = ": ".join(filter(None, [title, command if command not in title else ""]))
    what = reveal(what) or "what the agent wanted to do"
    sys.stderr.write(f"acpella: refused: {what}{f' ({hint})' if hint else ''}\n")
    sys.stderr.flush()
    return next((option for option in request.options if option.kind == "reject_once"), None)
