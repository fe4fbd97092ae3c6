"""MCP servers that the user names, as the protocol has them."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acpella.schema import EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio

if TYPE_CHECKING:
    from acpella.client.settings import ClientSettings

__all__ = ["all_servers", "from_settings", "from_word"]


def all_servers(words: Sequence[str], settings: "ClientSettings") -> list[McpServer]:
    """The MCP servers of the command line and of the settings."""
    return [*map(from_word, words), *map(from_settings, settings.mcp_servers)]


def from_word(text: str) -> McpServer:
    """`NAME=COMMAND` or `NAME=URL`, as `--mcp` takes it."""
    name, equals, command = text.partition("=")
    if not equals or not command:
        raise ValueError(f"--mcp wants NAME=COMMAND or NAME=URL, not {text!r}")
    if command.startswith(("http://", "https://")):
        return McpServerHttp(name=name, url=command, headers=[])
    program, *args = shlex.split(command)
    from shutil import which

    return McpServerStdio(name=name, command=which(program) or program, args=args, env=[])


def from_settings(entry: dict[str, Any]) -> McpServer:
    """An entry of the settings' `mcp_servers`."""
    name = str(entry.get("name", "mcp"))
    if "url" in entry:
        kind = McpServerSse if entry.get("type") == "sse" else McpServerHttp
        headers = [HttpHeader(name=k, value=str(v)) for k, v in dict(entry.get("headers") or {}).items()]
        return kind(name=name, url=str(entry["url"]), headers=headers)
    if not isinstance(entry.get("command"), str):
        raise ValueError(f"the MCP server {name!r} in the settings needs a command or a url")
    env = [EnvVariable(name=k, value=str(v)) for k, v in dict(entry.get("env") or {}).items()]
    return McpServerStdio(name=name, command=entry["command"], args=list(entry.get("args") or []), env=env)
