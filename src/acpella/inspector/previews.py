"""What a message is about, in a few words."""

import re
from typing import Any, cast

import msgspec

from acpella._plain_json import as_dict
from acpella.recording import RecordedEvent

__all__ = ["event_preview", "header_preview", "preview_of"]

LENGTH = 200
"""Characters of a preview."""

_BLANKS = re.compile(r"\s+")


def preview_of(method: str, kind: str, message: dict[str, Any]) -> str:
    """The words for a message; for a response, `method` is the one that it answers."""
    if kind == "err":
        error = as_dict(message.get("error"))
        return _short(f"{error.get('code')} {error.get('message', '')}")
    if kind == "res":
        return _short(_result(method, message.get("result")))
    return _short(_call(method, as_dict(message.get("params"))))


def header_preview(info: dict[str, Any]) -> str:
    """The words for the first line of a connection."""
    agent = as_dict(info.get("agent"))
    command = agent.get("command")
    name = " ".join(map(str, cast("list[Any]", command))) if isinstance(command, list) else ""
    name = name or str(agent.get("url") or agent.get("name") or "")
    return _short(" · ".join(str(part) for part in (name, info.get("started"), info.get("by")) if part))


def event_preview(event: RecordedEvent) -> str:
    """The words for something that was not on the wire."""
    info = {name: value for name, value in event.info.items() if name not in ("ev", "t")}
    return _short(", ".join(f"{name} {_word(value)}" for name, value in info.items()))


def _call(method: str, params: dict[str, Any]) -> str:
    match method:
        case "session/update":
            return _update(as_dict(params.get("update")))
        case "session/prompt":
            return _blocks(params.get("prompt"))
        case "initialize":
            info = as_dict(params.get("clientInfo"))
            capabilities = ", ".join(as_dict(params.get("clientCapabilities")))
            return _joined(
                info.get("name"), info.get("version"), f"v{params.get('protocolVersion')}", capabilities
            )
        case "session/request_permission":
            call = as_dict(params.get("toolCall"))
            options = params.get("options")
            count = len(cast("list[Any]", options)) if isinstance(options, list) else 0
            return _joined(call.get("title") or call.get("toolCallId"), call.get("kind"), f"{count} options")
        case "terminal/create":
            words = params.get("args")
            return " ".join(
                [
                    str(params.get("command", "")),
                    *map(str, cast("list[Any]", words) if isinstance(words, list) else []),
                ]
            )
        case _:
            for name in (
                "path",
                "cwd",
                "terminalId",
                "modeId",
                "modelId",
                "configId",
                "methodId",
                "message",
                "sessionId",
            ):
                if isinstance(params.get(name), str):
                    return params[name]
            return ", ".join(params)


def _result(method: str, result: Any) -> str:
    fields = as_dict(result)
    match method:
        case "initialize":
            info = as_dict(fields.get("agentInfo"))
            return _joined(info.get("name"), info.get("version"), f"v{fields.get('protocolVersion')}")
        case "session/prompt":
            return _joined(fields.get("stopReason"))
        case "session/request_permission":
            outcome = as_dict(fields.get("outcome"))
            return _joined(outcome.get("outcome"), outcome.get("optionId"))
        case "fs/read_text_file":
            return str(fields.get("content", ""))
        case _:
            for name in ("sessionId", "terminalId", "output"):
                if isinstance(fields.get(name), str):
                    return fields[name]
            return ", ".join(fields) if fields else _word(result)


def _update(update: dict[str, Any]) -> str:
    match update.get("sessionUpdate"):
        case "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk":
            return _blocks([update.get("content")])
        case "tool_call" | "tool_call_update":
            title, state = update.get("title"), (update.get("kind"), update.get("status"))
            return _joined(title, *state) if title else _joined(*state, update.get("toolCallId"))
        case "plan":
            return _joined(*(as_dict(entry).get("content") for entry in _list(update.get("entries"))))
        case "available_commands_update":
            return ", ".join(
                str(as_dict(command).get("name")) for command in _list(update.get("availableCommands"))
            )
        case "current_mode_update":
            return str(update.get("currentModeId"))
        case "usage_update":
            return f"{update.get('used')} of {update.get('size')} tokens"
        case _:
            return ", ".join(
                f"{name} {_word(value)}" for name, value in update.items() if name != "sessionUpdate"
            )


def _blocks(blocks: Any) -> str:
    parts: list[str] = []
    for block in _list(blocks):
        fields = as_dict(block)
        if isinstance(fields.get("text"), str):
            parts.append(fields["text"])
        else:
            parts.append(f"[{fields.get('type', '?')} {fields.get('uri') or fields.get('mimeType') or ''}]")
    return " ".join(parts)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _joined(*parts: Any) -> str:
    return " · ".join(str(part) for part in parts if part not in (None, ""))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _short(text: str) -> str:
    # blanks at the ends stay: a piece of a stream is shown with the next one
    return _BLANKS.sub(" ", text[: 4 * LENGTH])[:LENGTH]
