"""Shapes that older peers still send (FEATURES D12): read, never written.

Each function takes plain JSON and gives it back in today's shape. They run only on messages that the strict
reader refused, or that carry a word which today's shape does not have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import msgspec

__all__ = ["OLD_PARAMS", "OLD_RESULTS", "OldShape"]

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OldShape:
    """How an old message becomes one of today."""

    modernize: Callable[[Json], Json]
    hint: bytes | None = None
    """Bytes that give an old message away although the strict reader can read it."""


# -- initialize --------------------------------------------------------------------------


def _initialize_params(params: Json) -> Json:
    params = _with_numeric_version(params)
    old = params.get("capabilities")
    if "clientCapabilities" in params or not isinstance(old, dict):
        return params
    capabilities = dict(cast("Json", old))
    if "fileSystem" in capabilities:
        capabilities.setdefault("fs", capabilities.pop("fileSystem"))
    if isinstance(capabilities.get("terminal"), dict):
        capabilities["terminal"] = any(capabilities["terminal"].values())
    return {**params, "clientCapabilities": capabilities}


def _initialize_result(result: Json) -> Json:
    result = dict(_with_numeric_version(result))
    capabilities = result.get("agentCapabilities", result.get("capabilities"))
    if isinstance(capabilities, dict):
        capabilities = dict(cast("Json", capabilities))
        sessions = capabilities.get("sessions")
        if isinstance(sessions, dict):
            capabilities.setdefault("loadSession", bool(cast("Json", sessions).get("load")))
        _rename(capabilities, "prompts", "promptCapabilities")
        _rename(capabilities, "mcp", "mcpCapabilities")
        result["agentCapabilities"] = capabilities
    _rename(result, "authenticationMethods", "authMethods")
    meta = result.get("meta")
    if isinstance(meta, dict) and "name" in meta and "version" in meta:
        result.setdefault("agentInfo", cast("Json", meta))
    return result


def _with_numeric_version(value: Json) -> Json:
    """The protocol version as a number; some peers send "1" or 1.0, which the official SDKs take for 1."""
    version = value.get("protocolVersion")
    if isinstance(version, float) and version.is_integer():
        return {**value, "protocolVersion": int(version)}
    if isinstance(version, str) and version.isascii() and version.isdigit() and len(version) <= 5:
        return {**value, "protocolVersion": int(version)}
    return value


# -- session/prompt ----------------------------------------------------------------------


def _prompt_params(params: Json) -> Json:
    params = dict(params)
    _rename(params, "content", "prompt")
    prompt = params.get("prompt")
    if isinstance(prompt, list):
        params["prompt"] = [_block(block) for block in cast("list[Any]", prompt)]
    return params


def _prompt_result(result: Json) -> Json:
    return {**result, "stopReason": "end_turn"} if result.get("stopReason") == "done" else result


def _block(block: Any) -> Any:
    """A content block: media under `source`, resources without their inner object or name."""
    if not isinstance(block, dict):
        return block
    block = dict(cast("Json", block))
    kind = block.get("type")
    source = block.get("source")
    if kind in ("image", "audio") and isinstance(source, dict):
        source = cast("Json", source)
        block.setdefault("data", source.get("data"))
        block.setdefault("mimeType", source.get("mediaType"))
    elif kind == "resource" and "resource" not in block and "uri" in block:
        if "text" in block or "blob" in block:
            inner = {key: block[key] for key in ("uri", "mimeType", "text", "blob") if key in block}
            return {"type": "resource", "resource": inner}
        kind = block["type"] = "resource_link"
    if kind == "resource_link" and "name" not in block and isinstance(block.get("uri"), str):
        block["name"] = block["uri"].rstrip("/").rpartition("/")[2] or block["uri"]
    return block


# -- session/update ----------------------------------------------------------------------

_KINDS = {"message": "agent_message_chunk", "thought": "agent_thought_chunk"}


def _update_params(params: Json) -> Json:
    update = params.get("update")
    if not isinstance(update, dict):
        return params
    update = dict(cast("Json", update))
    tag = update.get("sessionUpdate")
    if tag is None and isinstance(update.get("kind"), str):
        kind = update.pop("kind")
        tag = update["sessionUpdate"] = _KINDS.get(kind, kind)
        content = update.get("content")
        if isinstance(content, dict) and tag in _INNER:
            update = {"sessionUpdate": tag, **_INNER[tag](cast("Json", content))}
    if tag in ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"):
        update["content"] = _chunk(update.get("content"))
    elif tag == "current_mode_update":
        _rename(update, "modeId", "currentModeId")
    return {**params, "update": update}


def _chunk(content: Any) -> Any:
    """One block out of what a message chunk used to hold: a string, a thought, a list of blocks."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if isinstance(content, dict) and "type" not in content:
        inner = cast("Json", content)
        return _chunk(inner.get("thought", inner.get("content", inner.get("text"))))
    if isinstance(content, list):
        blocks = [_block(block) for block in cast("list[Any]", content)]
        if len(blocks) == 1:
            return blocks[0]
        texts: list[Any] = [cast("Json", block).get("text") for block in blocks if isinstance(block, dict)]
        return {"type": "text", "text": "".join(text for text in texts if isinstance(text, str))}
    return _block(content)


def _tool_call(content: Json) -> Json:
    call = {key: value for key, value in content.items() if key not in ("type", "function")}
    function = content.get("function")
    if isinstance(function, dict):
        function = cast("Json", function)
        call.setdefault("title", function.get("name"))
        call.setdefault("name", function.get("name"))
        call["rawInput"] = _parsed(function.get("arguments"))
    call.setdefault("title", call.get("toolCallId"))
    return call


def _tool_call_update(content: Json) -> Json:
    update = {key: value for key, value in content.items() if key != "output"}
    if "output" in content:
        update["rawOutput"] = content["output"]
        update.setdefault("status", "completed")
        if isinstance(content["output"], str):
            block = {"type": "text", "text": content["output"]}
            update.setdefault("content", [{"type": "content", "content": block}])
    return update


def _plan(content: Json) -> Json:
    steps = content.get("steps")
    if not isinstance(steps, list):
        return content
    entries = [
        {"content": step, "priority": "medium", "status": "pending"} if isinstance(step, str) else step
        for step in cast("list[Any]", steps)
    ]
    return {"entries": entries}


_INNER: dict[str, Callable[[Json], Json]] = {
    "tool_call": _tool_call,
    "tool_call_update": _tool_call_update,
    "plan": _plan,
}
"""Updates whose fields used to lie one level deeper, under `content`."""


def _parsed(arguments: Any) -> Any:
    if isinstance(arguments, str):
        try:
            return msgspec.json.decode(arguments)
        except msgspec.DecodeError:
            pass
    return arguments


def _rename(value: Json, old: str, new: str) -> None:
    if old in value and new not in value:
        value[new] = value.pop(old)


# -- fs/read_text_file -------------------------------------------------------------------


def _read_text_file_result(result: Json) -> Json:
    """No content at all reads as no text: some editors answer so for a file that is not there."""
    return {**result, "content": ""} if result.get("content") is None else result


OLD_PARAMS = {
    "initialize": OldShape(_initialize_params, b'"capabilities"'),
    "session/prompt": OldShape(_prompt_params),
    "session/update": OldShape(_update_params),
}
OLD_RESULTS = {
    "initialize": OldShape(_initialize_result, b'"authenticationMethods"'),
    "session/prompt": OldShape(_prompt_result, b'"done"'),
    "fs/read_text_file": OldShape(_read_text_file_result),
}
