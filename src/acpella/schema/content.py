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
    """Whom the content is meant for: the user, the assistant or both."""
    last_modified: str | None = None
    """When the original of this content was last changed, as a date and time."""
    priority: float | None = None
    """How important the content is beside other content; a higher number means more important."""
    meta: Meta | None = field(default=None, name="_meta")


class TextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Plain text or Markdown."""

    text: str
    """The text itself, which a client shows as Markdown."""
    annotations: Annotations | None = None
    """Hints on whom the text is for and how important it is."""
    meta: Meta | None = field(default=None, name="_meta")


class ImageContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image, its bytes in base64."""

    data: str
    """The bytes of the image, written in base64."""
    mime_type: str
    """The format of the image, such as `image/png`."""
    uri: str | None = None
    """Where the image comes from or can be found."""
    annotations: Annotations | None = None
    """Hints on whom the image is for and how important it is."""
    meta: Meta | None = field(default=None, name="_meta")


class AudioContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="audio"):
    """Sound, its bytes in base64."""

    data: str
    """The bytes of the recording, written in base64."""
    mime_type: str
    """The format of the recording, such as `audio/wav`."""
    annotations: Annotations | None = None
    """Hints on whom the recording is for and how important it is."""
    meta: Meta | None = field(default=None, name="_meta")


class ResourceLink(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """A pointer to something the agent can read by itself."""

    uri: str
    """Where the linked thing is found, such as the `file://` address of a file."""
    name: str
    """The name of the linked thing, such as that of a file."""
    mime_type: str | None = None
    """The format of what the link leads to, such as `text/plain`."""
    title: str | None = None
    """A title to show to the user in place of the name."""
    description: str | None = None
    """What the link leads to, in words for the user or the model."""
    size: I64 | None = None
    """The size in bytes of what the link leads to, if the sender knows it."""
    annotations: Annotations | None = None
    """Hints on whom the link is for and how important it is."""
    meta: Meta | None = field(default=None, name="_meta")


class TextResourceContents(Wire, frozen=True, kw_only=True):
    """The text of an embedded resource."""

    uri: str
    """Where the text comes from, such as the `file://` address of a file."""
    text: str
    """The text itself, so that nobody needs to read it from its source."""
    mime_type: str | None = None
    """The format of the text, such as `text/x-python`."""
    meta: Meta | None = field(default=None, name="_meta")


class BlobResourceContents(Wire, frozen=True, kw_only=True):
    """The bytes of an embedded resource in base64."""

    uri: str
    """Where the bytes come from, such as the `file://` address of a file."""
    blob: str
    """The bytes themselves, written in base64."""
    mime_type: str | None = None
    """The format of the bytes, such as `application/pdf`."""
    meta: Meta | None = field(default=None, name="_meta")


def _resource(value: dict[str, Any]) -> type:
    return BlobResourceContents if "blob" in value and "text" not in value else TextResourceContents


EmbeddedResourceResource: TypeAlias = Annotated[TextResourceContents | BlobResourceContents, Pick(_resource)]


class EmbeddedResource(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource carried inside the message."""

    resource: EmbeddedResourceResource
    """What is carried inside: a text, or bytes in base64. Prompts may hold it only with `embeddedContext`."""
    annotations: Annotations | None = None
    """Hints on whom the resource is for and how important it is."""
    meta: Meta | None = field(default=None, name="_meta")


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | Unknown
)
