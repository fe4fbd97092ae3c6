"""Questions of agents to the user: permissions by key, forms, pages to open."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

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

from .forms import choices_of, read_value, show_value
from .show.clean import clean, one_line
from .show.facts import Output, call_label, diff_rows, output_rows, short_path
from .show.lines import Row, cell_len, has_colour, paint, plain, rows, wrap

__all__ = ["Asker", "Stage", "refuse"]

MAX_QUESTION_DIFF = 30
"""Lines of a diff above a question, so that the question itself stays in sight."""

MAX_QUESTION_LINES = 200
"""Lines of a command above a question; what is longer says so."""

LONGEST = 16_000
"""Characters of a title or an option; `MAX_QUESTION_LINES` of them on most terminals."""

_LETTERS = {"allow_once": "a", "allow_always": "A", "reject_once": "r", "reject_always": "R"}
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

    `room` gives the terminal over for a question, where pausing a stage is not enough.
    """

    def __init__(self, *, cwd: str = "", hint: str = "", room: Callable[[], Any] | None = None) -> None:
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
            self._show_call(request)
            keys = _keys_for(request.options)
            for index, option in enumerate(request.options):
                letter = next((key for key, at in keys.items() if at == index and key.isalpha()), " ")
                self._write(_whole(one_line(option.name, LONGEST), [(f"  {index + 1} {letter}  ", "cyan")]))
            chosen = await self._choose(request.options, keys)
            option = None if chosen is None else request.options[chosen]
            said = "no" if option is None else one_line(option.name)  # all of it stands above
            colour = "green" if option is not None and option.kind.startswith("allow") else "yellow"
            self._write([[("  → ", "dim"), (said, colour)]])
            return option

    def _show_call(self, request: RequestPermissionRequest) -> None:
        call = request.tool_call
        title = one_line(call.title or call.name or "go on", LONGEST)
        more = f"  ({self._waiting} more wait)" if self._waiting else ""
        head = [("? ", "yellow bold"), (f"{one_line(call.kind or 'other', 20)} ", "dim")]
        self._write([[], *_whole(title + more, head, "bold")])
        for location in (call.locations or [])[:5]:
            path = short_path(location.path, self.cwd)
            if path not in title:
                self._write([[("    ", ""), (path, "dim")]])
        command = _command(call.raw_input)
        if command and command != title:
            self._write(_whole(clean(command), [("    ", "")]))
        for item in call.content or []:
            if isinstance(item, Diff):
                self._write(diff_rows(item, cwd=self.cwd, limit=MAX_QUESTION_DIFF))
                if self.stage is not None:
                    self.stage.saw_diff(call.tool_call_id)
            elif (text := getattr(getattr(item, "content", None), "text", None)) and isinstance(text, str):
                if command and text.strip("`sh\n") == command.strip("`sh\n"):
                    continue  # the command again, for editors that do not show what goes into a call
                self._write(output_rows(Output(clean(text))))

    async def _choose(self, options: Sequence[PermissionOption], keys: dict[str, int]) -> int | None:
        """The index of the chosen option; Esc is the one that says no this once."""
        from .keys import open_keys

        no = next((i for i, option in enumerate(options) if option.kind == "reject_once"), None)
        typed = ""
        try:
            async with open_keys() as pressed:
                wide = f"  [1-{len(options)} or letter, Esc: no] " if options else "  [any key] "
                self._prompt(wide if len(wide) < _width() else "  [Esc: no] ")
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
        self._write([[], [("? ", "yellow bold"), (one_line(request.message), "bold")]])
        self._say(request.url, "cyan")
        if not request.url.startswith(("https://", "http://")):
            self._say("this is no web page; it is not opened", "red")
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
        self._write([[], [("? ", "yellow bold"), (one_line(request.message), "bold")]])
        for text in (schema.title, schema.description):
            if text:
                self._say(text, "dim")
        self._say("Enter takes what is in brackets, !no declines, Ctrl-D cancels", "dim")
        content: dict[str, Any] = {}
        required = schema.required or []
        for name, field in list(schema.properties.items())[:50]:
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
        title = one_line(getattr(field, "title", None) or name, 80)
        if description := getattr(field, "description", None):
            self._say(description, "dim")
        choices = choices_of(field)
        for number, (_, words) in enumerate(choices, 1):
            self._write([[("    ", ""), (f"{number}  ", "cyan"), (words, "")]])
        default = getattr(field, "default", None)
        note = (
            f" [{show_value(default, choices)}]" if default is not None else "" if required else " (optional)"
        )
        if isinstance(field, MultiSelectPropertySchema):
            note += " numbers with commas"
        elif isinstance(field, BooleanPropertySchema):
            note += " y/n"
        while True:
            answer = await self.line(f"  {title}{note}: ")
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
            self._write([[("? ", "yellow bold"), (question, "bold")]])
            for number, (value, about) in enumerate(pairs, 1):
                mark = "●" if value == current else " "
                shown = f"{one_line(value, 60)}  " if show_id else ""
                self._write([[(f"  {mark} {number:>2}  ", "cyan"), (shown, ""), (one_line(about), "dim")]])
            if len(pairs) > 9:
                answer = (await self.line("  number: ") or "").strip()
            else:
                answer = await self._key(f"  [1-{len(pairs)}, Esc: none] ", "123456789"[: len(pairs)])
            if answer.isdigit() and 1 <= int(answer) <= len(pairs):
                return pairs[int(answer) - 1][0]
            return None

    async def _key(self, prompt: str, wanted: str) -> str:
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
                    if key in wanted:
                        return key
        finally:
            sys.stderr.write(f"{key}\n")
            sys.stderr.flush()

    async def line(self, question: str, *, secret: bool = False) -> str | None:
        """A line of text; None for Ctrl-D."""
        from .keys import read_line

        self._prompt(question)
        return await read_line(secret=secret)

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
        width = _width() - 4
        self._write([[("    ", ""), (row, style)] for row in wrap(clean(text), max(width, 10))])

    def _write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            line = paint(row, _width(), colour=has_colour()) if sys.stderr.isatty() else plain(row)
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


class _Declined(Exception):
    """The user does not want to answer."""


def is_interactive() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def refuse(request: RequestPermissionRequest, hint: str = "") -> PermissionOption | None:
    """Say no, and that it was said."""
    what = call_label(request.tool_call) or "what the agent wanted to do"
    sys.stderr.write(f"acpella: refused: {what}{f' ({hint})' if hint else ''}\n")
    sys.stderr.flush()
    return next((option for option in request.options if option.kind == "reject_once"), None)


def _keys_for(options: Sequence[PermissionOption]) -> dict[str, int]:
    """Which key chooses which option: its number, and a letter if it is the only one of its kind."""
    kinds = [option.kind for option in options]
    keys = {str(i + 1): i for i in range(len(options))} if len(options) <= 9 else {}
    for kind, letter in _LETTERS.items():
        if kinds.count(kind) == 1:  # of two that allow for ever, no letter chooses one by chance
            keys[letter] = kinds.index(kind)
    return keys


def _whole(text: str, before: Row, style: str = "") -> list[Row]:
    """All of a text, so that nobody says yes to what lies beyond the edge of the screen."""
    used = sum(cell_len(piece) for piece, _ in before)
    first, *lines = wrap(text, max(_width() - used, 10))
    indent = " " * min(used, 6)
    left_out = len(lines) - MAX_QUESTION_LINES
    shown: list[Row] = [[*before, (first, style)], *rows(lines[:MAX_QUESTION_LINES], style, indent)]
    if left_out > 0:
        shown.append([(indent, ""), (f"… {left_out} more lines", "yellow bold")])
    return shown


def _command(raw: Any) -> str:
    """The command that a call wants to run, if its input names one."""
    command = raw.get("command") if isinstance(raw, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
    if isinstance(command, list):
        return " ".join(str(word) for word in command)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any JSON
    return command if isinstance(command, str) else ""


def _width() -> int:
    import shutil

    return max(shutil.get_terminal_size().columns - 1, 20)
