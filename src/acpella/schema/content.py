"""Content blocks: what prompts, messages and tool calls are made of."""

from typing import Annotated, Any, Literal, TypeAlias

from ._wire import I64, Meta, Pick, Unknown, Wire, field

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "ImageContent",
    "ResourceLink",
    "Role",
    "TextContent",
    "TextResourceContents",
]

Role: TypeAlias = Literal["assistant", "user"]


class Annotations(Wire, frozen=True, kw_only=True):
    """Hints for whoever shows or weighs a piece of content."""

    audience: list[Role] | None = None
    last_modified: str | None = None
    priority: float | None = None
    meta: Meta | None = field(default=None, name="_meta")


class TextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Plain text or Markdown."""

    text: str
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ImageContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image, its bytes in base64."""

    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AudioContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="audio"):
    """Sound, its bytes in base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ResourceLink(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """A pointer to something the agent can read by itself."""

    uri: str
    name: str
    mime_type: str | None = None
    title: str | None = None
    description: str | None = None
    size: I64 | None = None
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


class TextResourceContents(Wire, frozen=True, kw_only=True):
    """The text of an embedded resource."""

    uri: str
    text: str
    mime_type: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class BlobResourceContents(Wire, frozen=True, kw_only=True):
    """The bytes of an embedded resource in base64."""

    uri: str
    blob: str
    mime_type: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


def _resource(value: dict[str, Any]) -> type:
    return BlobResourceContents if "blob" in value and "text" not in value else TextResourceContents


EmbeddedResourceResource: TypeAlias = Annotated[TextResourceContents | BlobResourceContents, Pick(_resource)]


class EmbeddedResource(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource carried inside the message."""

    resource: EmbeddedResourceResource
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | Unknown
)
