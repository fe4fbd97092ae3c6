"""Files: read, write, edit, list."""

import base64
import difflib
import os
from pathlib import Path
from typing import Any

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.errors import RequestCancelled, RpcError
from acpella.local import acting_name
from acpella.schema import ImageContent, ToolKind

from ..models import Image, ToolSpec
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import LARGEST, BuiltIn, clip, number, object_schema, say, string

__all__ = ["EditFile", "ListFiles", "ReadFile", "WriteFile", "replace_once"]

READ_LINES = 2000
"""Lines that are read unless more are asked for."""

SHOWN_CHARS = 8000
"""Characters of a file that the user is shown with the call."""

IMAGE_BYTES = 5 * 1024 * 1024
LISTED = 1000
NEAR_LINES = 20_000

PATH_CHARS = 1000
"""Characters of a path that is changed; nobody reads more before saying yes."""

_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_PATH: dict[str, Any] = {"type": "string", "description": "Relative to the working directory, or absolute."}


def _where(arguments: dict[str, Any]) -> tuple[str, list[str | tuple[str, int]]]:
    """What to call the file, and where it is, whatever the arguments are."""
    path, line = arguments.get("path"), arguments.get("line")
    if not isinstance(path, str) or not path or "\0" in path or len(path) > PATH_CHARS:
        return "a file", []
    if isinstance(line, int) and 0 < line <= LARGEST:
        return path, [(path, line)]
    return path, [path]


def _path(arguments: dict[str, Any]) -> str:
    """The path of a file to change.

    Raises:
        ToolError: it is none that `_where` can tell, and so none that could be shown and decided on.
    """
    path = string(arguments, "path")
    if not _where(arguments)[1]:
        raise ToolError(f"`path` must have 1 to {PATH_CHARS} characters, and none of them NUL")
    return path


def _real(cwd: Path, path: str) -> str:
    """Where a change of this path ends: dots count before links, as in `Session.full_path`."""
    return os.path.realpath(os.path.normpath(cwd / path))


class ReadFile(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "read_file",
        "Read a text file, or a part of it, or look at an image. Long files are cut; ask for the next "
        "lines then.",
        object_schema(
            ("path",),
            path=_PATH,
            line={"type": "integer", "description": "First line, from 1."},
            limit={"type": "integer", "description": f"Number of lines; {READ_LINES} by default."},
        ),
    )
    kind: ToolKind = "read"
    danger: Danger = "none"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        name, locations = _where(arguments)
        return Announcement(title=f"Read {name}", locations=locations)

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        path = string(arguments, "path")
        line, limit = number(arguments, "line") or 1, number(arguments, "limit") or READ_LINES
        place = await self.session_tools.place(turn)
        if (mime := _IMAGES.get(Path(path).suffix.lower())) is not None:
            data = place.jail().read_bytes(place.locate(path), IMAGE_BYTES)
            image = Image(base64.b64encode(data).decode(), mime)
            call.show(ImageContent(data=image.data, mime_type=mime))
            return ToolOutput([image])
        text = await place.read(path, line=line, limit=limit)
        call.show(clip(text, SHOWN_CHARS) or "(empty)")
        lines = text.count("\n") + (not text.endswith("\n"))
        if not text:
            return say(f"{path} is empty" if line == 1 else f"{path} has fewer than {line} lines")
        if lines >= limit:
            text += f"\n[lines {line} to {line + limit - 1}; read on with line={line + limit}]"
        return say(text)


class ListFiles(BuiltIn):
    spec: ToolSpec = ToolSpec("list_files", "List a directory.", object_schema((), path=_PATH))
    kind: ToolKind = "read"
    danger: Danger = "none"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        name, locations = _where({"path": ".", **arguments})
        return Announcement(title=f"List {name}", locations=locations)

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        import asyncio

        path = string(arguments, "path", ".") or "."
        place = await self.session_tools.place(turn)
        entries = await asyncio.to_thread(place.jail().list_dir, place.locate(path))
        marks = {"directory": "/", "link": "@", "other": "?"}
        names = [entry.name + marks.get(entry.kind, "") for entry in entries]
        text = "\n".join(names[:LISTED]) or "(empty)"
        if len(names) > LISTED:
            text += f"\n[… and {len(names) - LISTED} more]"
        call.show(clip(text, SHOWN_CHARS))
        return say(text)


class _Change:
    """What a use of a tool would make of a file."""

    def __init__(self, path: str, old: str | None, new: str) -> None:
        self.path = path
        self.old = old
        self.new = new


class _Changing(BuiltIn):
    """Shows its change before the user is asked, and then makes exactly that one."""

    kind: ToolKind = "edit"
    danger: Danger = "write"
    confined = True
    _verb = "Write"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._previewed: dict[str, _Change] = {}

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        name, locations = _where({**arguments, "line": None})
        key, covers = self.spec.name, f"{self.spec.name} for ordinary files"
        if not locations:  # `_path` refuses it
            key, covers = f"{key}:", "exactly this"
        elif acting_name(real := _real(cwd, name)) is not None:
            key, covers = f"{key}:{real}", f"{key} for this file"
        return Announcement(
            title=f"{self._verb} {name}", locations=locations, permission_key=key, covers=covers
        )

    async def preview(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> None:
        change = self._previewed[call.id] = await self._change(turn, arguments)
        call.diff(change.path, change.old, change.new)
        call.defer(lambda: self._forget(call))
        await call.progress()

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        seen = self._previewed.get(call.id)
        place = await self.session_tools.place(turn, changing=True)
        if seen is not None and seen.old is None and await place.on_disk(seen.path) is False:
            change = seen  # editors show an error for each read of a file that is not there
        else:
            change = await self._change(turn, arguments)
        if seen is None:
            call.diff(change.path, change.old, change.new)
        elif (seen.old, seen.new) != (change.old, change.new):
            raise ToolError(f"{change.path} was changed by somebody else meanwhile; read it again")
        await place.write(change.path, change.new)
        if change.old is None:
            count = len(change.new.splitlines())
            return say(f"created {change.path} ({count} {'line' if count == 1 else 'lines'})")
        return say(f"changed {change.path}")

    async def _forget(self, call: ToolRun) -> None:
        self._previewed.pop(call.id, None)

    async def _change(self, turn: Turn, arguments: dict[str, Any]) -> _Change:
        raise NotImplementedError

    async def _read(self, turn: Turn, path: str) -> str | None:
        place = await self.session_tools.place(turn, changing=True)
        try:
            return await place.read(path)
        except FileNotFoundError:
            return None


class WriteFile(_Changing):
    spec: ToolSpec = ToolSpec(
        "write_file",
        "Create a file, or replace the whole text of one. To change a part, use edit_file.",
        object_schema(("path", "text"), path=_PATH, text={"type": "string"}),
    )

    async def _change(self, turn: Turn, arguments: dict[str, Any]) -> _Change:
        path, text = _path(arguments), string(arguments, "text")
        if path.endswith("/"):
            raise ToolError(f"{path} names a directory; name a file in it")
        try:
            old = await self._read(turn, path)
        except RpcError as error:
            place = await self.session_tools.place(turn, changing=True)
            if isinstance(error, RequestCancelled) or await place.on_disk(path):
                raise
            old = None  # editors have many errors for a missing file
        return _Change(path, old, text)


class EditFile(_Changing):
    spec: ToolSpec = ToolSpec(
        "edit_file",
        "Replace a piece of a text file. `old` must be in the file exactly once: take enough lines around "
        "it.",
        object_schema(
            ("path", "old", "new"),
            path=_PATH,
            old={"type": "string", "description": "The text as it is now, white space included."},
            new={"type": "string", "description": "What stands there afterwards."},
        ),
    )
    _verb = "Edit"

    async def _change(self, turn: Turn, arguments: dict[str, Any]) -> _Change:
        path, old, new = _path(arguments), string(arguments, "old"), string(arguments, "new")
        if not old:
            raise ToolError("`old` is empty; name the text to replace, or use write_file for a new file")
        if old == new:
            raise ToolError("`old` and `new` are the same; nothing would change")
        text = await self._read(turn, path)
        if text is None:
            raise ToolError(f"no file {path}; create it with write_file")
        return _Change(path, text, replace_once(path, text, old, new))


def replace_once(path: str, text: str, old: str, new: str) -> str:
    """The text with its one `old` replaced.

    Raises:
        ToolError: there is none or more than one; says where to look.
    """
    if "\r\n" in text and "\r" not in old and text.count("\n") == text.count("\r\n"):
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old)
    if count == 1:
        return text.replace(old, new)
    if count > 1:
        lines: list[str] = []
        at = -1
        for _ in range(min(count, 10)):
            at = text.index(old, at + 1)
            lines.append(str(text.count("\n", 0, at) + 1))
        raise ToolError(
            f"`old` is in {path} {count} times (lines {', '.join(lines)}{', …' if count > 10 else ''}); "
            "add lines around the one you mean"
        )
    raise ToolError(f"`old` is not in {path}. {_near(text, old)}")


def _near(text: str, old: str) -> str:
    """What in the text looks most like what was looked for."""
    lines = text.splitlines()[:NEAR_LINES]
    old_lines = [line for line in old.splitlines() if line.strip()] or [old]
    squeezed = [" ".join(line.split()) for line in lines]
    first = " ".join(old_lines[0].split())
    if first in squeezed:
        at = squeezed.index(first)
        why = "Line {} is like its first line, but white space or the lines after it differ"
    else:
        best = difflib.get_close_matches(first, squeezed, n=1, cutoff=0.6)
        if not best:
            return "Nothing in it looks similar; read the file again."
        at, why = squeezed.index(best[0]), "Line {} looks similar to its first line"
    start, end = max(at - 1, 0), min(at + len(old_lines) + 1, at + 12, len(lines))
    excerpt = "\n".join(lines[start:end])
    return f"{why.format(at + 1)}; lines {start + 1} to {end} are:\n{excerpt}"
