"""Images and sounds that models take: told by their first bytes, not by what somebody calls them (C12)."""

import base64
import binascii

__all__ = [
    "AUDIO_LIMIT",
    "AUDIO_TYPES",
    "IMAGE_LIMIT",
    "MediaError",
    "audio_type",
    "decoded",
    "image_type",
    "size_text",
]

IMAGE_LIMIT = 5 * 1024 * 1024
"""Bytes of one image; model providers refuse larger ones, and with them the whole request."""

AUDIO_LIMIT = 10 * 1024 * 1024
"""Bytes of one sound."""

AUDIO_TYPES = frozenset({"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm"})


class MediaError(Exception):
    """The data cannot be given to a model; the message says why."""


def image_type(data: bytes) -> str | None:
    """The MIME type of a PNG, JPEG, GIF or WebP image; None for everything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def audio_type(data: bytes) -> str | None:
    """The MIME type of a sound in a common format; None for everything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    if data.startswith(b"fLaC"):
        return "audio/flac"
    if data[4:8] == b"ftyp":
        return "audio/mp4"
    if data.startswith(b"\x1aE\xdf\xa3"):
        return "audio/webm"
    if data.startswith(b"ID3") or (len(data) > 1 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2):
        return "audio/mpeg"
    return None


def decoded(text: str, *, limit: int) -> bytes:
    """The bytes of base64, line breaks allowed.

    Raises:
        MediaError: it is not base64, or empty, or longer than `limit` bytes.
    """
    if len(text) > limit * 4 // 3 + limit // 32 + 16:
        raise MediaError(f"it is larger than {size_text(limit)}")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise MediaError("its data is not base64") from None
    if not data:
        raise MediaError("it is empty")
    if len(data) > limit:
        raise MediaError(f"it is larger than {size_text(limit)}")
    return data


def size_text(count: int) -> str:
    """A number of bytes for people."""
    if count >= 1024 * 1024:
        return f"{count / (1024 * 1024):.3g} MiB"
    return f"{count / 1024:.3g} KiB" if count >= 1024 else f"{count} bytes"
