"""The content of a prompt, in the few forms that every framework accepts."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from acpella.schema import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

__all__ = ["Media", "prompt_parts", "text_of"]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture or a sound."""

    kind: Literal["image", "audio"]
    data: str
    """In Base64."""
    mime_type: str

    @property
    def bytes(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def url(self) -> str:
        """As a `data:` URL."""
        return f"data:{self.mime_type};base64,{self.data}"


def prompt_parts(prompt: Iterable[ContentBlock]) -> list[str | Media]:
    """The prompt as texts and media, in its order; neighbouring texts are joined."""
    parts: list[str | Media] = []
    for block in prompt:
        part = _part(block)
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] = f"{parts[-1]}\n{part}"
        elif part:
            parts.append(part)
    return parts


def text_of(parts: Iterable[str | Media]) -> str:
    """The texts alone."""
    return "\n".join(part for part in parts if isinstance(part, str))


def _part(block: ContentBlock) -> str | Media:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return Media("image", block.data, block.mime_type)
        case AudioContent():
            return Media("audio", block.data, block.mime_type)
        case ResourceLink():
            return f"[{block.name}]({block.uri})"
        case EmbeddedResource():
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                return f'<resource uri="{resource.uri}">\n{resource.text}\n</resource>'
            if (resource.mime_type or "").startswith("image/"):
                return Media("image", resource.blob, resource.mime_type or "")
            return f"[the resource {resource.uri}, which is not text]"
        case _:
            return ""
