"""Where tools work: in the session's own directories, or in a throw-away copy of them."""

import asyncio
import logging
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from acpella.agent import Agent, ShellResult, Turn
from acpella.agent.tool_call import ToolRun
from acpella.local import Jail, JailError, SecretPath

from .confinement import confinement
from .keys import keys_file
from .tool import ToolError

__all__ = ["Copy", "CopyAt", "Place", "Project", "private_files"]

log: logging.Logger = logging.getLogger(__name__)

COPY_FILES = 50_000
COPY_BYTES = 1024**3
"""How much is copied for a sandbox; without a bound a home directory fills the disk."""


class Place(Protocol):
    """Files and commands as tools see them. Paths are the session's, absolute or relative."""

    def jail(self) -> Jail:
        """Access to the files, limited to what tools may see; takes the paths that `locate` returns."""
        ...

    def locate(self, path: str) -> Path:
        """Where the file of that path really lies."""
        ...

    def shown(self, path: Path) -> str:
        """The session's name, as short as can be, for a real path."""
        ...

    async def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str: ...

    async def on_disk(self, path: str) -> bool | None:
        """Whether the file is there; None if that cannot be seen."""
        ...

    async def write(self, path: str, text: str) -> None: ...

    async def run(self, call: ToolRun, command: str, timeout: float | None) -> ShellResult: ...


class Project:
    """The session's own directories, through the editor where it offers files and terminals."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def jail(self) -> Jail:
        return self._turn.session.jail()

    def locate(self, path: str) -> Path:
        return Path(self._turn.session.full_path(path))

    def shown(self, path: Path) -> str:
        return _relative(path, self._turn.session.cwd)

    async def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        await asyncio.to_thread(self.jail().resolve, self.locate(path))  # editors may be less strict
        return await self._turn.files.read(path, line=line, limit=limit)

    async def on_disk(self, path: str) -> bool | None:
        return await self._turn.files.on_disk(path)

    async def write(self, path: str, text: str) -> None:
        await asyncio.to_thread(self.jail().resolve, self.locate(path))
        await self._turn.files.write(path, text)

    async def run(self, call: ToolRun, command: str, timeout: float | None) -> ShellResult:
        return await self._turn.shell.run(command, timeout=timeout, call=call)


class Copy:
    """A copy of the session's directories, which is thrown away with the session or its mode."""

    def __init__(self, roots: list[Path]) -> None:
        """Copy the directories; blocks, so call it in a thread.

        Raises:
            ToolError: they are too large, or cannot be copied.
        """
        _sweep()
        self._home = Path(tempfile.mkdtemp(prefix=f"acpella-sandbox-{os.getpid()}-"))
        real = [Path(os.path.realpath(root)) for root in roots]
        outer = [root for root in real if not any(o != root and root.is_relative_to(o) for o in real)]
        self._pairs = [(root, self._home / f"{number}-{root.name}") for number, root in enumerate(outer)]
        left = _Budget()
        try:
            for root, copy in self._pairs:
                _copy_tree(root, copy, Jail([root]), left)
        except OSError as error:
            self.remove()
            raise ToolError(f"the sandbox could not be made: {error.strerror or error}") from error
        except RecursionError:
            self.remove()
            raise ToolError("the sandbox could not be made: directories are nested too deeply") from None
        except BaseException:
            self.remove()
            raise

    def at(self, turn: Turn, private: list[Path]) -> "CopyAt":
        return CopyAt(self, turn, private)

    def covers(self, roots: list[Path]) -> bool:
        """Whether these directories were copied; the session's may change."""
        real = [Path(os.path.realpath(root)) for root in roots]
        return all(any(root == r or root.is_relative_to(r) for r, _ in self._pairs) for root in real)

    def inside(self, path: Path) -> Path:
        """Where the copy of a path lies; a path outside of the roots stays what it is."""
        for root, copy in self._pairs:
            if path == root or path.is_relative_to(root):
                return copy / path.relative_to(root)
        return path

    def outside(self, path: Path) -> Path:
        """The path that a copied one stands for."""
        for root, copy in self._pairs:
            if path == copy or path.is_relative_to(copy):
                return root / path.relative_to(copy)
        return path

    @property
    def pairs(self) -> list[tuple[Path, Path]]:
        """Each directory with its copy."""
        return list(self._pairs)

    def remove(self) -> None:
        _remove(self._home)


class CopyAt:
    """The copy as one turn sees it."""

    def __init__(self, copy: Copy, turn: Turn, private: list[Path]) -> None:
        self._copy = copy
        self._turn = turn
        self._private = private

    def jail(self) -> Jail:
        return Jail([self._copy.inside(Path(os.path.realpath(root))) for root in self._turn.session.roots])

    def locate(self, path: str) -> Path:
        full = Path(self._turn.session.full_path(path))
        for root in self._turn.session.roots:
            if full == root or full.is_relative_to(root):  # a root may be spelled through a link
                return self._copy.inside(Path(os.path.realpath(root)) / full.relative_to(root))
        return self._copy.inside(full)

    def shown(self, path: Path) -> str:
        real = Path(os.path.realpath(self._turn.session.cwd))
        return _relative(self._copy.outside(path), real)

    async def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        try:
            return await asyncio.to_thread(self.jail().read_text, self.locate(path), line=line, limit=limit)
        except FileNotFoundError:
            raise FileNotFoundError(2, "no such file", path) from None

    async def on_disk(self, path: str) -> bool | None:
        return await asyncio.to_thread(self.locate(path).exists)

    async def write(self, path: str, text: str) -> None:
        await asyncio.to_thread(self.jail().write_text, self.locate(path), text)

    async def run(self, call: ToolRun, command: str, timeout: float | None) -> ShellResult:
        fence = await asyncio.to_thread(confinement)
        if isinstance(fence, str):
            raise ToolError(
                f"commands cannot be run in the sandbox: {fence}. Work without running anything, or ask the "
                "user to install bubblewrap or to switch to the mode `full`"
            )
        argv = fence.command(
            command,
            cwd=self._turn.session.full_path("."),
            pairs=self._copy.pairs,
            private=self._private,
        )
        return await self._turn.shell.run(
            argv, timeout=timeout, call=call, cwd=self.locate("."), env=fence.emptied(), local=True
        )


def private_files(agent: Agent) -> list[Path]:
    """What the agent keeps of its own: sessions, decisions, keys, the log."""
    files = [agent.settings.remembered_in(), keys_file()]
    if isinstance(store := getattr(agent.store, "path", None), Path):
        files += [store.with_name(store.name + ending) for ending in ("", "-wal", "-shm")]
    if log := os.environ.get("ACPELLA_LOG"):
        files.append(Path(log).expanduser())
    return files


def _relative(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        try:
            return str(path.relative_to(os.path.realpath(base)))
        except ValueError:
            return str(path)


class _Budget:
    def __init__(self) -> None:
        self.files = COPY_FILES
        self.bytes = COPY_BYTES

    def take(self, size: int) -> None:
        self.files -= 1
        self.bytes -= size
        if self.files < 0 or self.bytes < 0:
            raise ToolError(
                f"the project is too large for a sandbox (more than {COPY_FILES} files or "
                f"{COPY_BYTES // 1024**2} MiB); open a smaller directory, or ask the user for another mode"
            )


def _copy_tree(source: Path, target: Path, jail: Jail, left: _Budget) -> None:
    """Copy what a jail would give: no secrets, no devices, and links as links."""
    target.mkdir()
    for entry in jail.list_dir(source):
        path = source / entry.name
        if entry.kind == "link":
            left.take(0)
            (target / entry.name).symlink_to(os.readlink(path))
            continue
        try:
            jail.resolve(path)
        except SecretPath:
            if (
                entry.name == "config" and entry.kind == "file" and ".git" in source.parts
            ):  # of submodules, too
                _copy_git_config(path, target / entry.name)
            continue
        except JailError:
            continue  # gone, or swapped meanwhile
        if entry.kind == "directory":
            left.take(0)
            _copy_tree(path, target / entry.name, jail, left)
        elif entry.kind == "file":
            left.take(path.lstat().st_size)
            shutil.copy2(path, target / entry.name, follow_symlinks=False)


def _copy_git_config(source: Path, target: Path) -> None:
    """Copy what git needs to read the repository. Addresses of remotes and headers may hold tokens."""
    sections: list[str] = []
    keep = False
    with open(source, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.lstrip().startswith("["):
                keep = line.split("]")[0].strip(" \t[").lower() in ("core", "extensions", "user")
            if keep:
                sections.append(line)
    target.write_text("".join(sections), encoding="utf-8")


def _remove(copy: Path) -> None:
    """Remove a copy. Commands may have made directories read-only, as Go does with its cache of modules."""
    shutil.rmtree(copy, ignore_errors=True)
    if not os.path.lexists(copy):
        return
    _make_writable(copy)
    try:
        shutil.rmtree(copy)
    except OSError as error:
        log.warning("a copy for the sandbox stays at %s, remove it yourself: %s", copy, error)


def _make_writable(copy: Path) -> None:
    """Give back the rights on all directories. A link is never followed: it may lead anywhere."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        copy.chmod(stat.S_IRWXU)  # no command can put a link in its place
    for _, names, _, directory in os.fwalk(copy):  # the names are looked into afterwards
        for name in names:
            with suppress(OSError, ValueError, NotImplementedError):  # a link, or a system that cannot
                os.chmod(name, stat.S_IRWXU, dir_fd=directory, follow_symlinks=False)


def _sweep() -> None:
    """Remove the copies of processes that ended without cleaning up."""
    if sys.platform == "win32":
        return
    for path in Path(tempfile.gettempdir()).glob("acpella-sandbox-*"):
        owner = path.name.split("-")[2]
        try:
            if owner.isdigit() and path.lstat().st_uid == os.getuid():
                os.kill(int(owner), 0)
        except ProcessLookupError:
            _remove(path)
        except OSError:
            pass  # somebody else's
