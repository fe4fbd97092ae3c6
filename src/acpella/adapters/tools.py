"""Tools of a session for any framework's model: those of its MCP servers, and those of the editor.

Each has a name, a description, a JSON schema and a coroutine; an adapter wraps it in a few lines.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from acpella.agent import Turn
from acpella.errors import AcpellaError, Unsupported
from acpella.schema import AudioContent, ImageContent, ToolKind

from .calls import Calls
from .content import prompt_parts
from .jsonable import shortened

if TYPE_CHECKING:
    from acpella.mcp import McpServers, McpTool

__all__ = ["REFUSED", "SessionTool", "ToolFailed", "Workbench", "editor_tools", "mcp_tools"]

FOR_MODEL = 100_000
"""Characters of a result that a model gets; more would fill its context."""


REFUSED = "The user refused this. Do not try it again; ask what to do instead."
"""The result that a model gets for a call that was not permitted."""


class Workbench(Protocol):
    """What tools work with: a turn that can ask for permission."""

    turn: Turn
    calls: Calls

    async def permit(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> bool: ...


class ToolFailed(Exception):
    """A tool failed; the message is for the model."""


@dataclass(frozen=True, slots=True)
class SessionTool:
    """A tool that acpella brings to a framework's model."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON schema of an object."""
    call: Callable[[dict[str, Any], str], Awaitable[str]]
    """Called with the arguments and the framework's id of the call; returns text for the model.

    It asks for permission where that is needed. Raises `ToolFailed`.
    """
    kind: ToolKind = "other"


# -- MCP ---------------------------------------------------------------------------------


async def mcp_tools(at: Workbench, servers: "McpServers") -> list[SessionTool]:
    """The tools of the session's MCP servers; problems with a server are reported to the user."""
    return [_mcp_tool(at, servers, tool) for tool in await servers.prepare(at.turn)]


def _mcp_tool(at: Workbench, servers: "McpServers", tool: "McpTool") -> SessionTool:
    async def call(arguments: dict[str, Any], call_id: str) -> str:
        await _permitted(at, call_id, tool.name, arguments)
        try:
            result = await servers.call(tool, arguments)
        except AcpellaError as error:
            raise ToolFailed(str(error)) from error
        words = (
            part if isinstance(part, str) else f"[{part.mime_type}, shown to the user]"
            for part in prompt_parts(result.content)
        )
        text = shortened("\n".join(words), FOR_MODEL)
        media = [block for block in result.content if isinstance(block, ImageContent | AudioContent)]
        if media and (run := at.calls.find(call_id)) is not None:
            run.show(*media)
        if result.is_error:
            raise ToolFailed(text or "the tool failed without a word")
        return text

    return SessionTool(tool.name, tool.description, tool.schema, call)


# -- the editor ----------------------------------------------------------------------------


def editor_tools(at: Workbench) -> list[SessionTool]:
    """Reading, writing and running through the editor, as far as it, or this machine, offers that."""
    tools: list[SessionTool] = []
    if at.turn.files.can_read:
        tools.append(_read_file(at))
    if at.turn.files.can_write:
        tools.append(_write_file(at))
    if at.turn.shell.can_run:
        tools.append(_run_command(at))
    return tools


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _read_file(at: Workbench) -> SessionTool:
    async def call(arguments: dict[str, Any], call_id: str) -> str:
        run = await at.calls.pending(call_id, "read_file", arguments)
        if run is not None:
            await run.start()
        path = _text(arguments, "path")
        try:
            text = await at.turn.files.read(path, line=arguments.get("line"), limit=arguments.get("limit"))
        except FileNotFoundError:
            raise ToolFailed(f"there is no file {path}") from None
        except (AcpellaError, OSError) as error:
            raise ToolFailed(f"{path} cannot be read: {error}") from error
        return shortened(text, FOR_MODEL)

    return SessionTool(
        "read_file",
        "Read a text file as the user sees it in the editor, unsaved changes included.",
        _object(
            ["path"],
            path={"type": "string", "description": "relative to the project, or absolute"},
            line={"type": "integer", "minimum": 1, "description": "first line to read"},
            limit={"type": "integer", "minimum": 1, "description": "number of lines"},
        ),
        call,
        "read",
    )


def _write_file(at: Workbench) -> SessionTool:
    async def call(arguments: dict[str, Any], call_id: str) -> str:
        path, content = _text(arguments, "path"), _text(arguments, "content")
        await _permitted(at, call_id, "write_file", arguments)
        try:
            await at.turn.files.write(path, content)
        except (AcpellaError, OSError) as error:
            raise ToolFailed(f"{path} cannot be written: {error}") from error
        return f"{path} was written"

    return SessionTool(
        "write_file",
        "Replace the text of a file, or create it.",
        _object(["path", "content"], path={"type": "string"}, content={"type": "string"}),
        call,
        "edit",
    )


def _run_command(at: Workbench) -> SessionTool:
    async def call(arguments: dict[str, Any], call_id: str) -> str:
        command = _text(arguments, "command")
        await _permitted(at, call_id, "run_command", arguments)
        run = at.calls.find(call_id)
        try:
            result = await at.turn.shell.run(command, timeout=arguments.get("timeout"), call=run)
        except Unsupported as error:
            raise ToolFailed(str(error)) from error
        except (AcpellaError, OSError) as error:
            raise ToolFailed(f"the command cannot be run: {error}") from error
        how = "it was stopped after its time" if result.timed_out else f"exit code {result.exit_code}"
        return f"{shortened(result.output, FOR_MODEL)}\n[{how}]"

    return SessionTool(
        "run_command",
        "Run a shell command in the project and give its output.",
        _object(
            ["command"],
            command={"type": "string"},
            timeout={"type": "number", "description": "seconds after which it is stopped"},
        ),
        call,
        "execute",
    )


def _text(arguments: dict[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str):
        raise ToolFailed(f"{key} must be a string")
    return value


async def _permitted(at: Workbench, call_id: str, name: str, arguments: dict[str, Any]) -> None:
    if not await at.permit(call_id, name, arguments):
        raise ToolFailed(REFUSED)
