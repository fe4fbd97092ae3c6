"""What MCP tools give, as ACP content."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from acpella.schema import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

if TYPE_CHECKING:
    import mcp_types as types

__all__ = ["McpResult", "from_result"]


@dataclass(frozen=True, slots=True)
class McpResult:
    """What a call gave."""

    content: list[ContentBlock]
    structured: Any = None
    """The result as JSON, from tools that have an output schema."""
    is_error: bool = False
    """The tool ran and says that it failed."""


def from_result(result: "types.CallToolResult") -> McpResult:
    content = [_block(block) for block in result.content]
    structured = result.structured_content
    if structured is not None and not content:  # servers should send it as text, too
        content.append(TextContent(text=msgspec.json.encode(structured).decode()))
    return McpResult(content, structured, result.is_error)


def _block(block: "types.ContentBlock") -> ContentBlock:
    match block.type:
        case "text":
            return TextContent(text=block.text)
        case "image":
            return ImageContent(data=block.data, mime_type=block.mime_type)
        case "audio":
            return AudioContent(data=block.data, mime_type=block.mime_type)
        case "resource_link":
            return ResourceLink(
                uri=str(block.uri),
                name=block.name,
                title=block.title,
                description=block.description,
                mime_type=block.mime_type,
                size=block.size,
            )
        case "resource":
            resource = block.resource
            uri, mime_type = str(resource.uri), resource.mime_type
            text = getattr(resource, "text", None)
            if text is not None:
                return EmbeddedResource(
                    resource=TextResourceContents(uri=uri, text=text, mime_type=mime_type)
                )
            blob: str = getattr(resource, "blob", "")
            return EmbeddedResource(resource=BlobResourceContents(uri=uri, blob=blob, mime_type=mime_type))
