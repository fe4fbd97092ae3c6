"""Finding: files by name, and text in files."""

import asyncio
import fnmatch
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.local import Jail, JailError
from acpella.local.git import LIST_FILES, git_environment
from acpella.schema import ToolKind

from ..models import ToolSpec
from ..places import Place
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import BuiltIn, clip, object_schema, say, string

__all__ = ["FindFiles", "Search", "glob_matcher"]

MAX_FILES = 50_000
"""Files that are looked at; without it a search in a home directory never ends."""

MAX_HITS = 200
SECONDS = 20.0
OUTPUT_BYTES = 8 * 1024 * 1024
PATTERN_CHARS = 500
SHOWN_CHARS = 8000

_SKIPPED = {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"}
"""Directories that are not looked into where git does not say what is ignored."""

_START = {"type": "string", "description": "Directory to look in; the working directory by default."}


class FindFiles(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "find_files",
        "Find files by a glob pattern: `*.py` (anywhere), `src/**/*.ts`, `{a,b}.json`. Ignored files are "
        "left out.",
        object_schema(("pattern",), pattern={"type": "string"}, path=_START),
    )
    kind: ToolKind = "search"
    danger: Danger = "none"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        return Announcement(title=f"Find {_word(arguments.get('pattern'))}")

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        pattern = string(arguments, "pattern")
        matches = glob_matcher(pattern)
        place = await self.session_tools.place(turn)
        start, files, cut = await _files(place, string(arguments, "path", ".") or ".")
        paths = sorted(path for path in files if matches(path))
        paths = await asyncio.to_thread(_allowed, place.jail(), start, paths[: MAX_HITS * 2])
        text = (
            "\n".join(place.shown(start / path) for path in paths[:MAX_HITS]) or f"no file matches {pattern}"
        )
        if len(paths) > MAX_HITS:
            text += f"\n[more than {MAX_HITS}; use a narrower pattern]"
        if cut:
            text += f"\n[only {MAX_FILES} files were looked at; name a directory]"
        call.show(clip(text, SHOWN_CHARS))
        return say(text)


class Search(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "search",
        "Search the text of files for a regular expression. Gives path:line: text. Ignored files are left "
        "out.",
        object_schema(
            ("pattern",),
            pattern={"type": "string", "description": "A regular expression."},
            path={
                "type": "string",
                "description": "A directory or a file; the working directory by default.",
            },
            glob={"type": "string", "description": "Only in files like this: `*.py`, `src/**`."},
        ),
    )
    kind: ToolKind = "search"
    danger: Danger = "none"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        return Announcement(title=f"Search for {_word(arguments.get('pattern'))}")

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        pattern = string(arguments, "pattern")
        if len(pattern) > PATTERN_CHARS:
            raise ToolError(f"the pattern is longer than {PATTERN_CHARS} characters")
        glob = string(arguments, "glob", "")
        place = await self.session_tools.place(turn)
        hits, note = await _search(place, pattern, string(arguments, "path", ".") or ".", glob)
        text = "\n".join(hits) or f"nothing matches {pattern}"
        text += f"\n[{note}]" if note else ""
        call.show(clip(text, SHOWN_CHARS))
        return say(text)


def _word(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 80 else "something"


# -- which files there are -----------------------------------------------------------------------


async def _files(place: Place, path: str) -> tuple[Path, list[str], bool]:
    """The directory, the files beneath it by relative path, and whether there were too many."""
    start = await asyncio.to_thread(place.jail().resolve, place.locate(path))
    if not start.is_dir():
        if start.is_file():
            return start.parent, [start.name], False
        raise ToolError(f"no directory {path}")
    listed = await _list_with_git(start)
    if listed is None:
        listed = await asyncio.to_thread(_walk, place.jail(), start)
    return start, listed[:MAX_FILES], len(listed) > MAX_FILES


async def _list_with_git(start: Path) -> list[str] | None:
    """What git tracks or does not ignore; None where git has nothing to say."""
    if shutil.which("git") is None:
        return None
    code, out = await _output([*LIST_FILES], start)
    if code != 0:
        return None
    return list(dict.fromkeys(os.fsdecode(name) for name in out.split(b"\0")[:-1]))


def _walk(jail: Jail, start: Path) -> list[str]:
    """All files beneath a directory; links are not followed."""
    files: list[str] = []
    waiting = [start]
    while waiting and len(files) <= MAX_FILES:
        directory = waiting.pop()
        try:
            entries = jail.list_dir(directory)
        except (JailError, OSError):
            continue
        for entry in entries:
            if entry.kind == "file":
                files.append(str((directory / entry.name).relative_to(start)))
            elif entry.kind == "directory" and entry.name not in _SKIPPED:
                waiting.append(directory / entry.name)
    return files


def _allowed(jail: Jail, start: Path, paths: list[str]) -> list[str]:
    """Those that exist, are not secret and do not lead out."""
    inside: list[str] = []
    for path in paths:
        with suppress(JailError, OSError):
            if jail.resolve(start / path).is_file():
                inside.append(path)
    return inside


# -- which lines match ---------------------------------------------------------------------------


async def _search(place: Place, pattern: str, path: str, glob: str) -> tuple[list[str], str]:
    start, files, cut = await _files(place, path)
    matches = glob_matcher(glob) if glob else None
    files = [name for name in files if matches is None or matches(name)]
    notes = [f"only {MAX_FILES} files were looked at"] if cut else []
    code, out = await _run_grep(pattern, start, files)
    if code is None:
        notes.append(f"stopped after {SECONDS:g} s or {OUTPUT_BYTES} bytes")
    hits: list[str] = []
    allowed: dict[str, bool] = {}
    jail = place.jail()
    for row in out.decode("utf-8", "replace").splitlines():
        parts = row.split("\0", 2)
        if len(parts) != 3:
            continue
        name, line, text = parts[0].removeprefix("./"), parts[1], parts[2]
        if name not in allowed:
            allowed[name] = bool(await asyncio.to_thread(_allowed, jail, start, [name]))
        if allowed[name]:
            hits.append(f"{place.shown(start / name)}:{line}: {text[:300]}")
        if len(hits) > MAX_HITS:
            notes.append(f"more than {MAX_HITS} hits; narrow it down")
            break
    return hits[:MAX_HITS], "; ".join(notes)


async def _run_grep(pattern: str, start: Path, files: list[str]) -> tuple[int | None, bytes]:
    """Hits as `path NUL line NUL text`: by ripgrep, or by our own program."""
    names = "\0".join(files)
    rg = shutil.which("rg")
    if rg is not None and files:
        common = [
            rg,
            "--no-config",
            "--no-ignore",
            "--hidden",
            "--no-heading",
            "--with-filename",
            "--color=never",
        ]
        options = [
            "--line-number",
            "--null",
            "--max-columns=300",
            "--max-columns-preview",
            "--max-count=50",
            "--max-filesize=2M",
            "--sort=path",
            "-e",
            pattern,
        ]
        hits: list[bytes] = []
        for batch in _batches(files):
            code, out = await _output([*common, *options, "--", *batch], start)
            if code == 2 and not out:
                break  # a pattern that it does not know; ours may
            # `path NUL line:text` becomes the rows of ours
            hits.append(re.sub(rb"(?m)^([^\0\n]*)\0(\d+):", rb"\1\0\2\0", out))
            if code is None:
                return None, b"".join(hits)
        else:
            return 0, b"".join(hits)
    code, out = await _output(
        [sys.executable, "-I", str(Path(__file__).with_name("_grep.py")), pattern],
        start,
        names.encode("utf-8", "surrogateescape"),
    )
    if code not in (0, None):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ToolError(f"{pattern!r} is not a regular expression: {error}") from None
        raise ToolError("the search failed")
    return code, out


def _batches(files: list[str], size: int = 1000) -> list[list[str]]:
    return [["./" + name for name in files[at : at + size]] for at in range(0, len(files), size)]


async def _output(argv: list[str], cwd: Path, stdin_data: bytes = b"") -> tuple[int | None, bytes]:
    """The exit code of a program, None if it had to be stopped, and what it wrote to stdout."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=git_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    output = bytearray()
    feeding = asyncio.ensure_future(_feed(process.stdin, stdin_data))
    try:
        async with asyncio.timeout(SECONDS):
            while chunk := await process.stdout.read(65536):
                output += chunk
                if len(output) > OUTPUT_BYTES:
                    return None, bytes(output)
            await feeding
            return await process.wait(), bytes(output)
    except TimeoutError:
        return None, bytes(output)
    finally:
        feeding.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):
        stdin.write(data)
        await stdin.drain()
    stdin.close()


# -- globs ---------------------------------------------------------------------------------------


def glob_matcher(pattern: str) -> Callable[[str], bool]:
    """Says whether a relative path matches: `*` within a name, `**` over directories, `{a,b}` either.

    A pattern without a slash is about names in any directory.
    """
    if not pattern or len(pattern) > PATTERN_CHARS:
        raise ToolError(f"a pattern has 1 to {PATTERN_CHARS} characters")
    patterns = [tuple(each.split("/")) for each in _alternatives(pattern.removeprefix("./"))]

    def matches(path: str) -> bool:
        names = tuple(path.split("/"))
        return any(_match(each if len(each) > 1 else ("**", *each), names) for each in patterns)

    return matches


@lru_cache(maxsize=4096)
def _match(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not pattern:
        return not names
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return _match(rest or ("*",), names) or (bool(names) and _match(pattern, names[1:]))
    return bool(names) and fnmatch.fnmatchcase(names[0], first) and _match(rest, names[1:])


def _alternatives(pattern: str) -> list[str]:
    """The patterns that braces stand for."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= 64:
        each = waiting.pop()
        braces = re.search(r"\{([^{}]*)\}", each)
        if braces is None:
            done.append(each)
        else:
            waiting += [each[: braces.start()] + word + each[braces.end() :] for word in braces[1].split(",")]
    return done + waiting
