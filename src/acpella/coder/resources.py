"""What a prompt carries, made ready for a model: texts, images, sounds, and what its links lead to (C4, C12).

Links are the user's, or whoever wrote the text that the user sent: files come from the session's roots only,
pages from public addresses only. What cannot be had is told to the user and to the model, and never fatal.
"""

import asyncio
import base64
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from acpella.agent import Turn
from acpella.errors import AcpellaError
from acpella.local import Jail, JailError, NotText
from acpella.schema import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from .fetching import FetchError, Resolver, fetch, look_up
from .media import AUDIO_LIMIT, IMAGE_LIMIT, MediaError, audio_type, decoded, image_type, size_text
from .models import Audio, Image, Text

__all__ = ["LINK_LIMIT", "LINK_TIMEOUT", "MAX_LINKS", "TOTAL_LIMIT", "Part", "resolve"]

LINK_LIMIT = 1024 * 1024
"""Bytes of one linked or embedded text; without it one log file is the whole conversation."""

LINK_TIMEOUT = 10.0
"""Seconds for one link; without it a slow disk or server keeps the model waiting."""

MAX_LINKS = 32
"""Links of one prompt that are followed."""

TOTAL_LIMIT = 4 * 1024 * 1024
"""Characters of all linked and embedded texts of one prompt."""

Part: TypeAlias = Text | Image | Audio
Accepts: TypeAlias = Collection[Literal["image", "audio"]]

_LINES = re.compile(r"L?(\d{1,9})(?:C\d+)?(?:[-:]L?(\d{1,9})(?:C\d+)?)?")


class _Skipped(Exception):
    """Something cannot be given to the model; the message says why."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What a link leads to, before it is known whether the model takes it."""

    text: str | None = None
    media: bytes = b""


async def resolve(
    turn: Turn, blocks: Sequence[ContentBlock], accepts: Accepts, *, resolver: Resolver = look_up
) -> list[Part]:
    """The blocks of a prompt for a model that takes text and what is in `accepts`.

    Files are read through the editor where it offers that, so unsaved changes are seen. What is refused,
    missing, too large or not taken by the model becomes a text that says so, and a warning for the user.
    """
    allowed = [block for block in blocks if isinstance(block, ResourceLink)][:MAX_LINKS]
    results = await asyncio.gather(
        *(_part(turn, block, accepts, resolver, any(block is each for each in allowed)) for block in blocks)
    )
    parts: list[Part] = []
    total = 0
    for block, (part, problem) in zip(blocks, results, strict=True):
        if isinstance(part, Text) and not isinstance(block, TextContent):
            total += len(part.text)
            if total > TOTAL_LIMIT:
                total -= len(part.text)
                part, problem = _skipped(block, "there is too much in this prompt already")
        if problem is not None:
            await turn.notice(problem.title, severity="warning", description=problem.why)
        parts.append(part)
    return parts


@dataclass(frozen=True, slots=True)
class _Problem:
    title: str
    why: str


async def _part(
    turn: Turn, block: ContentBlock, accepts: Accepts, resolver: Resolver, follow: bool
) -> tuple[Part, _Problem | None]:
    try:
        match block:
            case TextContent():
                return Text(block.text), None
            case ImageContent():
                return _image(block, accepts), None
            case AudioContent():
                return _audio(block.data, accepts), None
            case EmbeddedResource():
                return _embedded(block, accepts), None
            case ResourceLink():
                if not follow:
                    raise _Skipped(f"only {MAX_LINKS} links of a prompt are followed")
                return _linked(block, await _load(turn, block, resolver), accepts), None
            case _:
                raise _Skipped("this kind of content is unknown")
    except (_Skipped, MediaError) as error:
        return _skipped(block, str(error))


def _skipped(block: ContentBlock, why: str) -> tuple[Text, _Problem]:
    what = _describe(block)
    return Text(f"[{what} is not included: {why}]", attached=True), _Problem(
        f"Not given to the model: {what}", why
    )


def _describe(block: ContentBlock) -> str:
    match block:
        case ImageContent():
            return f"an image ({_short(block.uri or block.mime_type)})"
        case AudioContent():
            return f"a sound ({_short(block.mime_type)})"
        case EmbeddedResource():
            return f"the attached {_short(block.resource.uri)}"
        case ResourceLink():
            return f"the linked {_short(block.uri)}"
        case _:
            return "a part of the prompt"


# -- what is in the prompt itself --------------------------------------------------------------


def _image(block: ImageContent, accepts: Accepts) -> Part:
    if not block.data and block.uri:
        raise _Skipped("it holds an address and no image; send it as a link")
    return _media(decoded(block.data, limit=IMAGE_LIMIT), accepts, "image")


def _audio(data: str, accepts: Accepts) -> Part:
    return _media(decoded(data, limit=AUDIO_LIMIT), accepts, "audio")


def _media(data: bytes, accepts: Accepts, only: Literal["image", "audio"] | None = None) -> Part:
    """An image or a sound, if it is one by its own bytes and the model takes it."""
    image = image_type(data) if only != "audio" else None
    audio = audio_type(data) if only != "image" and image is None else None
    mime_type = image or audio
    if mime_type is None:
        kinds = {"image": "a PNG, JPEG, GIF or WebP image", "audio": "a sound in a known format"}
        raise _Skipped(f"it is not {kinds[only] if only else 'text, and no image or sound that is known'}")
    kind: Literal["image", "audio"] = "image" if image else "audio"
    limit = IMAGE_LIMIT if image else AUDIO_LIMIT
    if len(data) > limit:
        raise _Skipped(f"it is larger than {size_text(limit)}")
    if kind not in accepts:
        what = "images" if image else "sounds"
        raise _Skipped(f"it is {mime_type} of {size_text(len(data))}, and this model takes no {what}")
    text = base64.b64encode(data).decode("ascii")
    return Image(text, mime_type) if image else Audio(text, mime_type)


def _embedded(block: EmbeddedResource, accepts: Accepts) -> Part:
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        if len(resource.text) > LINK_LIMIT:
            raise _Skipped(f"it is larger than {size_text(LINK_LIMIT)}")
        return _resource(resource.uri, resource.text)
    data = decoded(resource.blob, limit=max(IMAGE_LIMIT, AUDIO_LIMIT))
    text = _as_text(data)
    if text is None:
        return _media(data, accepts)
    if len(data) > LINK_LIMIT:
        raise _Skipped(f"it is larger than {size_text(LINK_LIMIT)}")
    return _resource(resource.uri, text)


def _as_text(data: bytes) -> str | None:
    if b"\0" in data or image_type(data) or audio_type(data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _resource(uri: str, text: str) -> Text:
    return Text(f'<resource uri="{_attribute(uri)}">\n{text}\n</resource>', attached=True)


# -- what is elsewhere -------------------------------------------------------------------------


def _linked(block: ResourceLink, loaded: _Loaded, accepts: Accepts) -> Part:
    if loaded.text is not None:
        return _resource(block.uri, loaded.text)
    return _media(loaded.media, accepts)


async def _load(turn: Turn, link: ResourceLink, resolver: Resolver) -> _Loaded:
    scheme = link.uri.partition(":")[0].lower() if re.match(r"[A-Za-z][\w+.-]+:", link.uri) else ""
    try:
        async with asyncio.timeout(LINK_TIMEOUT):
            if scheme in ("http", "https"):
                page = await fetch(link.uri, max_bytes=LINK_LIMIT, timeout=LINK_TIMEOUT, resolver=resolver)
                return _Loaded(page.text, page.image or b"")
            if scheme == "file" or (not scheme and link.uri.startswith("/")):
                return await _file(turn, link.uri)
    except FetchError as error:
        raise _Skipped(str(error)) from None
    except TimeoutError:
        raise _Skipped(f"it took longer than {LINK_TIMEOUT:g} seconds") from None
    raise _Skipped("only links to files and to web pages are followed")


async def _file(turn: Turn, uri: str) -> _Loaded:
    path, line, limit = _place(uri)
    try:
        disk = await asyncio.to_thread(_read_disk, turn, path, line, limit)
    except FileNotFoundError:
        disk = None
    except JailError as error:
        raise _Skipped(str(error)) from None
    except OSError as error:
        raise _Skipped(f"it cannot be read: {error.strerror or error}") from None
    if disk is not None and disk.text is None:
        if not turn.files.local:
            raise _Skipped("this agent may not read files of this machine")
        return disk
    if turn.files.in_editor:
        buffer = await _read_editor(turn, path, line, limit)
        if buffer is not None:
            return buffer
    if disk is None:
        raise _Skipped("there is no such file")
    if not turn.files.local:
        raise _Skipped("the editor does not give it, and this agent may not read files of this machine")
    return disk


def _place(uri: str) -> tuple[str, int | None, int | None]:
    """The path of a link, and the lines that its fragment names: #L10, #L10-L20, #L10:20."""
    if uri.startswith("/"):
        return uri, None, None
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise _Skipped(f"{_short(parts.netloc)} is another machine")
    path = unquote(parts.path)
    if not PurePosixPath(path).is_absolute():
        raise _Skipped("the path of a file must be absolute")
    lines = _LINES.fullmatch(parts.fragment) if parts.fragment else None
    if lines is None:
        return path, None, None
    first = max(int(lines[1]), 1)
    last = max(int(lines[2]), first) if lines[2] else first
    return path, first, last - first + 1


def _read_disk(turn: Turn, path: str, line: int | None, limit: int | None) -> _Loaded:
    """Text of at most 1 MiB or an image; everything else is refused, whoever would read it."""
    jail = turn.session.jail()
    try:
        return _Loaded(jail.read_text(path, line=line, limit=limit, max_bytes=LINK_LIMIT))
    except NotText:
        data = jail.read_bytes(path, IMAGE_LIMIT)
        if image_type(data) is None:
            raise
        return _Loaded(media=data)
    except JailError:
        with_image = _image_at(jail, path)
        if with_image is None:
            raise
        return with_image


def _image_at(jail: Jail, path: str) -> _Loaded | None:
    """An image that is too large for a text, but not for an image."""
    try:
        data = jail.read_bytes(path, IMAGE_LIMIT)
    except JailError:
        return None
    return _Loaded(media=data) if image_type(data) else None


async def _read_editor(turn: Turn, path: str, line: int | None, limit: int | None) -> _Loaded | None:
    """The text in the editor, saved or not; None if it does not have it."""
    try:
        text = await turn.files.read(path, line=line, limit=limit)
    except (AcpellaError, FileNotFoundError):
        return None
    if len(text) > LINK_LIMIT or len(text.encode("utf-8", "replace")) > LINK_LIMIT:
        raise _Skipped(f"it is larger than {size_text(LINK_LIMIT)}")
    return _Loaded(text)


def _short(text: str) -> str:
    text = "".join(c if c.isprintable() else "?" for c in text)
    text = re.sub(r"(//)[^/@\s]*@", r"\1", text)
    return text if len(text) <= 200 else text[:197] + "..."


def _attribute(text: str) -> str:
    return _short(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
