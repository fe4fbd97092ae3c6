"""The prompt of a command line: its words, a file, stdin, images."""

import sys
from pathlib import Path
from typing import TypeAlias

from .options import RunOptions

__all__ = ["Prompt", "read_prompt"]

Prompt: TypeAlias = list[str | Path]
"""The text, then the images. Empty if there is nothing to send."""


def read_prompt(options: RunOptions) -> Prompt:
    """What shall be sent.

    Raises:
        ValueError: there is nothing, or a file is not what it should be.
        OSError: a file cannot be read.
    """
    parts = [" ".join(options.prompt)] if options.prompt else []
    if options.file and options.file != "-":
        parts.append(_text(Path(options.file).read_bytes(), options.file))
    elif options.file or not parts:
        if sys.stdin.isatty():
            print("Type the prompt, end it with Ctrl-D:", file=sys.stderr)  # noqa: T201
        parts.append(_text(sys.stdin.buffer.read(), "stdin"))
    text = "\n\n".join(parts)
    if not text.strip() and not options.image:
        raise ValueError("the prompt is empty")
    return [text, *map(_image, options.image)]


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError(
            f"{where} is not text in UTF-8; --file takes text, --image takes pictures, and other files are "
            "best named in the prompt"
        ) from None


def _image(name: str) -> Path:
    import mimetypes

    kind, _ = mimetypes.guess_type(name)
    if not Path(name).is_file():
        raise ValueError(f"no image {name}")
    if kind is None or not kind.startswith("image/"):
        raise ValueError(f"{name} does not look like an image by its name; mention other files in the prompt")
    return Path(name)
