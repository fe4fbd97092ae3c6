"""Finds the tool of an agent that can carry out an order, and the arguments that the tool needs.

Agents name their tools and parameters as they like. A new name is one more word in a table here.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from acpella._plain_json import as_dict

from .prompts import Json, OfferedTool, ToolUse, answer_numbers
from .reading import list_of_objects

__all__ = ["TOOL_ORDERS", "use_tool"]

_NAMES = {
    "read": r"read|read_?file|read_text_file|view",
    "write": r"write|write_?file|create_?file|write_text_file|apply_patch",
    "edit": r"edit|edit_?file|replace|str_?replace|str_replace_file|search_replace|apply_patch",
    "run": r"bash|shell|exec_command|run_shell_command|shell_command|run_command|execute|terminal|run",
    "plan": r"todo_?write|update_plan|write_todos|set_?todo_?list|todo_?list|plan",
}

TOOL_ORDERS = frozenset(_NAMES) | {"call"}
"""The orders that need a tool of the agent."""

_PATHS = {"path", "file_path", "filepath", "filename", "absolute_path", "file"}
_TEXTS = {"content", "contents", "text", "file_text"}
_COMMANDS = {"command", "cmd", "script"}
_BEFORE = {"old_string", "oldstring", "old_text", "old_str", "oldtext", "old", "search"}
_AFTER = {"new_string", "newstring", "new_text", "new_str", "newtext", "new"}


def use_tool(order: str, rest: str, tools: Sequence[OfferedTool]) -> ToolUse | None:
    """How an order is carried out with the tools on offer; None if none of them can do it."""
    if order == "call":
        return _call(rest, tools)
    tool = _find(order, tools)
    if tool is None and order in ("read", "write") and (tool := _find("run", tools)) is not None:
        path, text = _split_path(rest)  # Codex reads and writes by commands
        command = f"cat {shlex.quote(path)}"
        if order == "write":
            command = f"printf '%s\\n' {shlex.quote(_unescape(text))} > {shlex.quote(path)}"
        order, rest = "run", command
    if tool is None:
        return None
    return ToolUse(f"call_{next(answer_numbers)}", tool.name, _arguments(tool, order, rest))


def _call(rest: str, tools: Sequence[OfferedTool]) -> ToolUse | None:
    """The use of a tool by its own name, with arguments as JSON."""
    name, _, text = rest.partition(" ")
    if all(tool.name != name for tool in tools):
        return None
    try:
        arguments = as_dict(json.loads(text or "{}"))
    except ValueError:
        arguments = {}
    return ToolUse(f"call_{next(answer_numbers)}", name, arguments)


def _find(order: str, tools: Sequence[OfferedTool]) -> OfferedTool | None:
    name = re.compile(_NAMES[order], re.IGNORECASE)
    return next((tool for tool in tools if name.fullmatch(tool.name)), None)


def _split_path(rest: str) -> tuple[str, str]:
    """The first word and what follows; quotes hold a path with spaces together."""
    if quoted := re.match(r'"([^"]*)"\s?(.*)', rest, re.DOTALL):
        return quoted[1], quoted[2]
    path, _, text = rest.partition(" ")
    return path, text


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n")


def _arguments(tool: OfferedTool, order: str, rest: str) -> Json | str:
    if order == "plan":
        return _plan(tool, [step.strip() for step in rest.split(";") if step.strip()])
    path, text = ("", "") if order == "run" else _split_path(rest)
    text = _unescape(text)
    before, _, after = text.partition(" => ")
    if tool.name == "apply_patch":
        change = f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.split("\n"))
        if order == "edit":
            change = f"*** Update File: {path}\n@@\n-{before}\n+{after}\n"
        patch = f"*** Begin Patch\n{change}*** End Patch\n"
        return patch if tool.freeform else {"input": patch}
    required: list[str] = tool.schema.get("required") or []
    arguments: Json = {}
    for name, kind in as_dict(tool.schema.get("properties")).items():
        plain = name.lower()
        if order == "run" and plain in _COMMANDS:
            arguments[name] = ["bash", "-lc", rest] if kind.get("type") == "array" else rest
        elif order != "run" and plain in _PATHS:
            arguments[name] = path
        elif order == "write" and plain in _TEXTS:
            arguments[name] = f"{text}\n"
        elif order == "edit" and plain in _BEFORE:
            arguments[name] = before
        elif order == "edit" and plain in _AFTER:
            arguments[name] = after
        elif order == "edit" and name == "edit":
            arguments[name] = {"old": before, "new": after}  # Kimi's
        elif plain == "sandbox_permissions":
            arguments[name] = "require_escalated"  # inside its sandbox, Codex runs commands without asking
        elif plain == "with_escalated_permissions":
            arguments[name] = True
        elif name in required or plain == "justification":
            arguments[name] = _filler(kind)
    return arguments


def _plan(tool: OfferedTool, steps: Sequence[str]) -> Json:
    """The steps of a plan in the list that the tool takes, whatever its items are called."""
    arguments: Json = {}
    for name, kind in as_dict(tool.schema.get("properties")).items():
        if kind.get("type") == "array":
            arguments[name] = [_step(as_dict(kind.get("items")), step) for step in steps]
        elif name in (tool.schema.get("required") or []):
            arguments[name] = _filler(kind)
    return arguments


def _step(schema: Mapping[str, Any], text: str) -> Json | str:
    properties = as_dict(schema.get("properties"))
    if not properties:
        return text
    return {
        name: "pending" if name == "status" else _filler(kind) if "enum" in kind else text
        for name, kind in properties.items()
        if name in (schema.get("required") or list(properties)) and kind.get("type", "string") == "string"
    }


def _filler(kind: Mapping[str, Any]) -> Any:
    """A value that fits the schema of a parameter that has no meaning for orders."""
    for branch in list_of_objects(kind.get("anyOf")):
        return _filler(branch)
    match kind.get("type"):
        case "boolean":
            return False
        case "integer" | "number":
            return kind.get("minimum", 1)
        case "array":
            return []
        case "object":
            return {}
        case _:
            return (kind.get("enum") or ["Needed for the task"])[0]
