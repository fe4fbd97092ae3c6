"""Replaces the bytes of images, sound and files in a recording with a note of what they were."""

import hashlib
import re
from typing import Any, cast

__all__ = ["cut_media", "is_cut"]

SMALLEST = 256
"""Data of fewer characters are kept as they are; a note about them would be just as long."""

_CUT = re.compile(r"<media sha256:[0-9a-f]{64} \d+ bytes>")


def cut_media(value: Any) -> tuple[Any, int]:
    """The same JSON with notes in place of media, and how many characters were left out."""
    if isinstance(value, list):
        parts = [cut_media(item) for item in cast("list[Any]", value)]
        return [part for part, _ in parts], sum(size for _, size in parts)
    if not isinstance(value, dict):
        return value, 0
    table = cast("dict[str, Any]", value)
    cut = 0
    short: dict[str, Any] = {}
    for name, item in table.items():
        if (
            name in ("data", "blob")
            and isinstance(item, str)
            and "mimeType" in table
            and len(item) >= SMALLEST
        ):
            digest = hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()
            short[name], size = f"<media sha256:{digest} {len(item)} bytes>", len(item)
        else:
            short[name], size = cut_media(item)
        cut += size
    return short, cut


def is_cut(text: str) -> bool:
    """Whether this is a note about media that were left out."""
    return _CUT.fullmatch(text) is not None
