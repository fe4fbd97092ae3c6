"""Agents that were installed from the registry: what is on the disk about each, and how it is started."""

import os
import re
from pathlib import Path
from typing import Literal

import msgspec

from acpella import _directories as directories
from acpella.errors import TransportError

from .settings import AgentServer

__all__ = [
    "Installed",
    "Kind",
    "Receipt",
    "Selection",
    "agents_directory",
    "find_installed",
    "is_agent_id",
    "list_installed",
    "read_receipt",
    "read_selection",
]

Kind = Literal["binary", "npx", "uvx"]

_ID = re.compile(r"[a-z][a-z0-9-]{0,99}")


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was installed, from where, and how it is started; a file beside the agent's own files."""

    id: str
    name: str
    version: str
    kind: Kind
    source: str
    """The URL of the archive, or the package with its version."""
    digest: str
    """Of what was downloaded, such as `sha256:…`; a package's dependencies have theirs in its lock file."""
    runner: str = ""
    """A program of the PATH that runs the agent, such as `node`."""
    program: str = ""
    """The agent's program, below its files."""
    args: list[str] = []
    env: dict[str, str] = {}
    files: int = 0
    """How many files it has."""
    scripts: bool = False
    """Whether packages might run code while they were installed: install scripts, or to be built."""
    installed_at: str = ""
    index_url: str = ""
    """The index that named it; updates come from the same."""


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which of the installed versions is used: names of directories."""

    current: str
    previous: str = ""
    pin: str = ""
    """A version that updates leave alone."""


class Installed(msgspec.Struct, frozen=True):
    """An installed agent as it is used now."""

    directory: Path
    """The one of its version, with `receipt.json` and `files/`."""
    receipt: Receipt
    selection: Selection

    @property
    def server(self) -> AgentServer:
        """How it is started.

        Raises:
            TransportError: the program that runs it, such as Node, is missing.
        """
        receipt = self.receipt
        words: list[str] = []
        if receipt.runner:
            from shutil import which  # not for agents of the settings

            runner = which(receipt.runner)
            if runner is None:
                raise TransportError(f"{receipt.name} needs {receipt.runner}, which is not on the PATH")
            words.append(runner)
        if receipt.program:
            words.append(os.fspath(self.directory / "files" / receipt.program))
        return AgentServer(words[0], [*words[1:], *receipt.args], dict(receipt.env))


def agents_directory() -> Path:
    """Where installed agents are; not made yet."""
    return directories.data() / "agents"


def is_agent_id(name: str) -> bool:
    """Whether a word can be an id of the registry."""
    return _ID.fullmatch(name) is not None


def find_installed(agent_id: str) -> Installed | None:
    """An agent by its id in the registry; None if it is not installed, or its files are damaged."""
    if not is_agent_id(agent_id):
        return None
    home = agents_directory() / agent_id
    selection = read_selection(home)
    if selection is None:
        return None
    directory = home / selection.current
    receipt = read_receipt(directory)
    return None if receipt is None else Installed(directory, receipt, selection)


def list_installed() -> list[Installed]:
    """Every installed agent, by id."""
    try:
        names = sorted(os.listdir(agents_directory()))
    except OSError:
        return []
    return [installed for name in names if (installed := find_installed(name)) is not None]


def read_selection(home: Path) -> Selection | None:
    """Which version of an agent is used; None if none is."""
    try:
        selection = msgspec.json.decode((home / "current.json").read_bytes(), type=Selection)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    names = (selection.current, selection.previous)
    return None if any("/" in name or "\\" in name or name in (".", "..") for name in names) else selection


def read_receipt(directory: Path) -> Receipt | None:
    """What is written down about one installed version; None if it is damaged."""
    try:
        return msgspec.json.decode((directory / "receipt.json").read_bytes(), type=Receipt)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
