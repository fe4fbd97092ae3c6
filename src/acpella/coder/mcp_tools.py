"""Tools of MCP servers as tools of the coding agent."""

import asyncio
import json
from pathlib import Path
from typing import Any

from acpella.agent import ToolRun, Turn
from acpella.mcp import McpServerError, McpServers, McpTool
from acpella.schema import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolKind,
)

from .media import IMAGE_LIMIT, MediaError, decoded, image_type
from .models import Image, Text, ToolSpec
from .tool import Announcement, Danger, ToolError, ToolOutput

__all__ = ["TEXT_LIMIT", "McpCoderTool", "mcp_tools"]

TEXT_LIMIT = 100_000
"""Characters of one result that the model gets; without it one answer fills its context."""

NOTE_ROOM = 500
"""Characters that each part keeps even beyond the limit, so that a note about what is left out fits."""

SHOWN_LIMIT = 10 * 1024 * 1024
"""Characters of one piece of a result that the editor is sent and the session keeps."""

PROGRESS_PAUSE = 0.2
"""Seconds between two updates of progress; a server may report thousands a second."""

TITLE_LIMIT = 200


async def mcp_tools(servers: McpServers, turn: Turn) -> list["McpCoderTool"]:
    """The tools of the session's MCP servers, as they are now; to be asked before every model request.

    Waits for servers that are starting, and tells the user of those that failed.
    """
    return [McpCoderTool(servers, tool) for tool in await servers.prepare(turn)]


class McpCoderTool:
    """A tool of an MCP server. What is not marked as read-only by its server counts as execution."""

    def __init__(self, servers: McpServers, tool: McpTool) -> None:
        self._servers = servers
        self._tool = tool

    @property
    def spec(self) -> ToolSpec:
        tool = self._tool
        description = tool.description or f"{tool.title} (a tool of the MCP server {tool.server})"
        return ToolSpec(name=tool.name, description=description, parameters=tool.schema)

    @property
    def kind(self) -> ToolKind:
        return "other"  # not "read", even where the server says so: editors say yes to that by themselves

    @property
    def danger(self) -> Danger:
        return "claimed" if self._tool.read_only else "execute"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        tool = self._tool
        # so that it is clear where its name ends
        server = tool.server.replace("%", "%25").replace(":", "%3A")
        return Announcement(
            title=_short(f"{tool.server}: {tool.title}"),
            permission_key=f"mcp:{server}:{tool.tool}",
            covers=_short(f'"{tool.tool}" of {tool.server} with any arguments'),
        )

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        """Call the tool at its server, showing its progress in the title of the call."""
        progress = _Progress(call)
        try:
            result = await self._servers.call(self._tool, arguments, on_progress=progress)
        except McpServerError as error:
            raise ToolError(str(error)) from None
        await progress.end()
        if result.structured is not None and len(json.dumps(result.structured)) <= SHOWN_LIMIT:
            call.output(result.structured)
        content = _for_model(result.content)
        if result.is_error:
            call.show(*(_shown(block) for block in result.content if not isinstance(block, TextContent)))
            text = "\n".join(part.text for part in content if isinstance(part, Text))
            raise ToolError(text or "the tool failed and did not say why")
        call.show(*map(_shown, result.content))
        return ToolOutput(content or [Text("(no output)")])


class _Progress:
    """Shows a server's progress in the title of a call, now and then."""

    def __init__(self, call: ToolRun) -> None:
        self._call = call
        self._title = call.title
        self._next = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now = asyncio.get_running_loop().time()
        if not self._call.is_open or now < self._next:
            return
        self._next = now + PROGRESS_PAUSE
        done = f"{progress:g}/{total:g}" if total else f"{progress:g}"
        await self._call.progress(title=_short(f"{self._title} ({done}{': ' + message if message else ''})"))

    async def end(self) -> None:
        """The call is over: its title is its own again."""
        self._next = float("inf")
        if self._call.title != self._title and self._call.is_open:
            await self._call.progress(title=self._title)


def _shown(block: ContentBlock) -> ContentBlock:
    """The block for the user, unless it is so long that only its beginning, or nothing, can be shown."""
    size = _size(block)
    if size <= SHOWN_LIMIT:
        return block
    if isinstance(block, TextContent):
        return TextContent(
            text=f"{block.text[:SHOWN_LIMIT]}\n[cut off: {size - SHOWN_LIMIT} more characters]"
        )
    return TextContent(text=f"[left out: content of {size} characters]")


def _size(block: ContentBlock) -> int:
    match block:
        case TextContent():
            return len(block.text)
        case ImageContent() | AudioContent():
            return len(block.data)
        case EmbeddedResource():
            resource = block.resource
            return len(resource.text if isinstance(resource, TextResourceContents) else resource.blob)
        case _:
            return 0


def _for_model(blocks: list[ContentBlock]) -> list[Text | Image]:
    parts: list[Text | Image] = []
    room = TEXT_LIMIT
    for block in blocks:
        part = _part(block)
        if isinstance(part, Text):
            keep = max(room, NOTE_ROOM)
            room = max(room - len(part.text), 0)
            if len(part.text) > keep:
                part = Text(part.text[:keep] + f"\n[cut off: {len(part.text) - keep} more characters]")
        parts.append(part)
    return parts


def _part(block: ContentBlock) -> Text | Image:
    match block:
        case TextContent():
            return Text(block.text)
        case ImageContent():
            return _image(block.data, block.mime_type)
        case AudioContent():
            return Text(f"[a sound, {block.mime_type}, which is shown to the user only]")
        case ResourceLink():
            detail = f": {block.description}" if block.description else ""
            return Text(f"[{block.title or block.name}]({block.uri}){detail}")
        case EmbeddedResource():
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                return Text(f"<resource uri={json.dumps(resource.uri)}>\n{resource.text}\n</resource>")
            if (resource.mime_type or "").startswith("image/"):
                return _image(resource.blob, resource.mime_type or "")
            return Text(
                f"[the resource {resource.uri}, {resource.mime_type or 'binary'}, shown to the user only]"
            )
        case _:
            return Text("[content of an unknown kind]")


def _image(data: str, mime_type: str) -> Text | Image:
    try:
        kind = image_type(decoded(data, limit=IMAGE_LIMIT))
    except MediaError as error:
        return Text(f"[an image, {mime_type}, left out: {error}]")
    if kind is None:
        return Text(f"[an image, {mime_type}, left out: models take PNG, JPEG, GIF and WebP]")
    return Image("".join(data.split()), kind)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= TITLE_LIMIT else text[: TITLE_LIMIT - 3] + "..."
