"""`@files`: what goes along with a prompt that names some."""

import os
import re
from pathlib import Path

from acpella.local import Jail, JailError
from acpella.schema import (
    ContentBlock,
    EmbeddedResource,
    PromptCapabilities,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

__all__ = ["to_prompt"]

MAX_EMBEDDED = 256 * 1024
"""Bytes of a file that is sent whole; larger ones go as a link for the agent to read."""

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


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


def _stands_for_another(path: Path, root: Path) -> bool:
    """Whether a link in the project leads out of it, or to secrets: the user sees only its harmless name."""
    if not path.is_relative_to(root):
        return False  # the user named it so
    if Path(os.path.realpath(path)) == Path(os.path.realpath(root)) / path.relative_to(root):
        return False
    try:
        Jail([root]).resolve(path)
    except (JailError, OSError):
        return True
    return False


def _block(path: Path, root: Path, accepts: PromptCapabilities) -> ContentBlock | Path:
    name = os.path.relpath(path, root)
    if _stands_for_another(path, root):
        return ResourceLink(uri=path.as_uri(), name=name)
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
