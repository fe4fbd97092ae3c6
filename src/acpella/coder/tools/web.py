"""Web pages, from public addresses only."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.schema import ImageContent, ToolKind

from ..models import Image, ToolSpec
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import BuiltIn, clip, object_schema, say, string

__all__ = ["Fetch"]

REDIRECTS = 3
SHOWN_CHARS = 2000


class Fetch(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "fetch",
        "Get a web page, a text or an image by its http or https address. Private addresses are refused.",
        object_schema(("url",), url={"type": "string"}),
    )
    kind: ToolKind = "fetch"
    danger: Danger = "network"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        url = arguments.get("url")
        host = _host(url)
        if not isinstance(url, str) or not host:
            return Announcement(title="Fetch a page", permission_key="fetch")
        return Announcement(
            title=f"Fetch {url if len(url) <= 200 else url[:199] + '…'}",
            permission_key=f"fetch:{host}",
            covers=f"pages of {_short(host)}",
        )

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        from ..fetching import FetchError, fetch

        try:
            page = await fetch(string(arguments, "url"), redirects=REDIRECTS)
        except FetchError as error:
            raise ToolError(str(error)) from None
        if page.image is not None:
            image = Image(base64.b64encode(page.image).decode("ascii"), page.mime_type)
            call.show(ImageContent(data=image.data, mime_type=image.mime_type))
            return ToolOutput([image])
        text = page.text or ""
        call.show(clip(text, SHOWN_CHARS) or "(empty)")
        return say(f"[{page.url}, {page.mime_type}]\n{text}")


def _short(host: str) -> str:
    return host if len(host) <= 60 else "…" + host[-59:]  # the end of a host name shows who owns it


def _host(url: object) -> str:
    try:
        return urlsplit(url).hostname or "" if isinstance(url, str) else ""
    except ValueError:
        return ""
