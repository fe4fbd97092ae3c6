"""`@files`: finding them, and what goes along with a prompt that names some."""

import os
import re
import subprocess
import time
from pathlib import Path

from acpella.schema import (
    ContentBlock,
    EmbeddedResource,
    PromptCapabilities,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

__all__ = ["Files", "to_prompt"]

MAX_FILES = 20_000
"""Files that are offered; the list of a home directory would never end."""

MAX_EMBEDDED = 256 * 1024
"""Bytes of a file that is sent whole; larger ones go as a link for the agent to read."""

LIST_TIME = 3.0
"""Seconds that listing files may take."""

FRESH = 10.0
"""Seconds for which a list of files is good."""

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Files:
    """The files beneath a directory, without those that git ignores."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names: list[str] = []
        self._listed = 0.0

    def names(self) -> list[str]:
        """Relative paths; may take a moment, so not in the event loop."""
        if not self._listed or time.monotonic() - self._listed > FRESH:
            self._names = _git_files(self.root) or _walk(self.root)
            self._listed = time.monotonic()
        return self._names

    def matching(self, part: str, limit: int = 50) -> list[str]:
        """Those that contain what was typed; first those whose name begins with it."""
        part = part.lower()
        found = [name for name in self.names() if part in name.lower()]

        def rank(name: str) -> tuple[bool, bool, int, str]:
            low = name.lower()
            return (
                not os.path.basename(low.rstrip("/")).startswith(part),
                not low.startswith(part),
                len(low),
                low,
            )

        return sorted(found, key=rank)[:limit]


def _git_files(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=LIST_TIME, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = ran.stdout.decode("utf-8", "replace").split("\0")[:MAX_FILES]
    return list(dict.fromkeys(name for name in names if name)) if ran.returncode == 0 else []


def _walk(root: Path) -> list[str]:
    names: list[str] = []
    until = time.monotonic() + LIST_TIME
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        inside = os.path.relpath(folder, root)
        names += [name if inside == "." else os.path.join(inside, name) for name in sorted(files)]
        if len(names) > MAX_FILES or time.monotonic() > until:
            break
    return names[:MAX_FILES]


def to_prompt(text: str, root: Path, accepts: PromptCapabilities) -> list[ContentBlock | Path]:
    """The text, and each file that it names with `@`: whole if the agent takes that, else as a link."""
    blocks: list[ContentBlock | Path] = [TextContent(text=text)]
    seen: set[Path] = set()
    for quoted, word in _MENTION.findall(text):
        path = _existing(root, quoted or word)
        if path is not None and path not in seen:
            seen.add(path)
            blocks.append(_block(path, root, accepts))
    return blocks


def _existing(root: Path, name: str) -> Path | None:
    """The file that is meant; a full stop or comma after its name does not belong to it."""
    for candidate in (name, name.rstrip(".,;:!?)]'\"")):
        path = Path(os.path.normpath(root / os.path.expanduser(candidate)))
        try:
            if candidate and path.exists():
                return path
        except (OSError, ValueError):
            pass
    return None


def _block(path: Path, root: Path, accepts: PromptCapabilities) -> ContentBlock | Path:
    name = os.path.relpath(path, root)
    if path.suffix.lower() in _IMAGES and accepts.image:
        return path  # the session makes an image of it
    if path.is_file() and accepts.embedded_context and path.stat().st_size <= MAX_EMBEDDED:
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            pass
        else:
            if "\0" not in text:
                return EmbeddedResource(resource=TextResourceContents(uri=path.as_uri(), text=text))
    size = path.stat().st_size if path.is_file() else None
    return ResourceLink(uri=path.as_uri(), name=name, size=size)
