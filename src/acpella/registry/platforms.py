"""Which of an entry's distributions this machine can use (G-023, G-024)."""

import os
import platform
import shutil
import sys
from pathlib import Path

from acpella.client.installed import Kind

from .entries import BinaryTarget, RegistryEntry
from .errors import InstallError

__all__ = ["choose_kind", "find_tool", "is_musl", "platform_key", "target_of"]

_SYSTEMS = {"Darwin": "darwin", "Linux": "linux", "Windows": "windows"}
_CPUS = {"arm64": "aarch64", "aarch64": "aarch64", "x86_64": "x86_64", "amd64": "x86_64"}

TOOLS = {"npx": ("npm", "Node.js with npm"), "uvx": ("uv", "uv")}
"""What installs each kind of package: the program, and its name for people."""


def platform_key(system: str = "", machine: str = "") -> str:
    """This system as the registry names it, such as `linux-x86_64`; empty if it has no name for it."""
    name = _SYSTEMS.get(system or platform.system())
    cpu = _CPUS.get((machine or platform.machine()).lower())
    return f"{name}-{cpu}" if name and cpu else ""


def is_musl() -> bool:
    """Whether this Linux has musl, which most binaries are not built for."""
    return sys.platform == "linux" and any(Path("/lib").glob("ld-musl-*"))


def find_tool(name: str) -> str | None:
    """A program on the PATH, or one beside this Python, as in a virtual environment that is not active."""
    return shutil.which(name) or shutil.which(name, path=os.path.dirname(sys.executable))


def target_of(entry: RegistryEntry, key: str) -> BinaryTarget | None:
    """The archive for a platform."""
    return entry.binary.get(key)


def choose_kind(entry: RegistryEntry, prefer: str = "", *, key: str | None = None) -> Kind:
    """How an agent will be installed: as asked for, else the first way that works here.

    Raises:
        InstallError: no way works; the message names the tool that is missing.
    """
    key = platform_key() if key is None else key
    missing: list[str] = []
    order: tuple[Kind, ...] = ("binary", "uvx", "npx")
    for kind in order:
        if (prefer and kind != prefer) or kind not in entry.kinds:
            continue
        if kind == "binary":
            if target_of(entry, key) is not None:
                return kind
            missing.append(f"there is no binary for {key or platform.platform()}")
        elif find_tool(TOOLS[kind][0]) is not None:
            return kind
        else:
            missing.append(f"{TOOLS[kind][1]} is missing, which installs its {kind} package")
    if not missing:
        raise InstallError(f"{entry.id} has no distribution {prefer}; it has: {', '.join(entry.kinds)}")
    raise InstallError(f"{entry.name} cannot be installed here: {'; '.join(missing)}")
