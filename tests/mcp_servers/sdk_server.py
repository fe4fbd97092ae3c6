"""An MCP server for tests, made with the official SDK: `python sdk_server.py [stdio|http|sse] [port]`.

Each tool does one thing that a client must cope with.
"""

import asyncio
import base64
import os
import subprocess
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextResourceContents,
    ToolAnnotations,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer("tested")


def touch(path: str) -> None:
    Path(path).touch()


@server.tool(annotations=ToolAnnotations(title="Say it back", read_only_hint=True))
def echo(text: str) -> str:
    """Gives the text back."""
    return text


@server.tool()
def environment(name: str) -> str:
    """The value of an environment variable."""
    return os.environ.get(name, "not set")


@server.tool()
def picture() -> Image:
    """An image."""
    return Image(data=PNG, format="png")


@server.tool()
def sound() -> CallToolResult:
    """Audio, an embedded resource and a link."""
    return CallToolResult(
        content=[
            AudioContent(data=base64.b64encode(b"RIFF0000WAVE").decode(), mime_type="audio/wav"),
            EmbeddedResource(
                resource=TextResourceContents(uri="memo://1", text="remember", mime_type="text/plain")
            ),
            ResourceLink(uri="memo://2", name="two"),
        ]
    )


@server.tool()
def numbers() -> dict[str, int]:
    """Structured content."""
    return {"one": 1}


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("no luck")


@server.tool()
async def slow(started: str, ctx: Context) -> str:
    """Never ends. Creates a file when it starts and another when it is cancelled."""
    touch(started)
    try:
        await asyncio.Event().wait()
    finally:
        touch(started + ".cancelled")
    return "never"


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Reports its progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"step {number}")
    return "counted"


@server.tool()
def crash(code: int = 3) -> str:
    """Ends the process."""
    sys.stderr.write(f"fatal: the disk is full, token={os.environ.get('SECRET', 'none')}\n")
    sys.stderr.flush()
    os._exit(code)


@server.tool()
def noise(lines: int) -> str:
    """Writes much to stderr, and to stdout what does not belong there."""
    sys.stderr.write("x" * 1000 + "\n" * 1)
    for number in range(lines):
        sys.stderr.write(f"line {number} " + "y" * 200 + "\n")
    sys.stderr.flush()
    os.write(1, b"this is no message\n")
    return "quiet again"


@server.tool()
def child() -> int:
    """Starts a process that would live on."""
    return subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL).pid


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Adds a tool and tells so."""

    def learned() -> str:
        return f"I am {name}"

    server.add_tool(learned, name=name, description="new")
    await ctx.notify_tools_changed()
    return "learned"


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if kind == "stdio":
        server.run("stdio")
    elif kind == "stubborn":  # ignores the end of its input and SIGTERM
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.run("stdio")
        Path(sys.argv[2]).touch()
        while True:
            signal.pause()
    elif kind == "http":
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
