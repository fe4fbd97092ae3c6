"""Sessions of Claude Code. They hold what was said, so they become messages that say the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from acpella._plain_json import as_dict
from acpella._protocol_versions import PROTOCOL_VERSION

from ..format import Begin, Damaged, Item, RecordedFrame, new_header
from .jsonl import lines, seconds

__all__ = ["read"]


def read(path: Path) -> Iterator[Item]:
    """Prompts and answers in the order of the file; abandoned branches are not separated from the rest."""
    teller = _Teller()
    for number, entry in lines(path):
        if isinstance(entry, Damaged):
            yield entry
        elif entry.get("type") in ("user", "assistant") and not entry.get("isSidechain"):
            yield from teller.tell(entry, number)
    yield from teller.end_turn()


class _Teller:
    def __init__(self) -> None:
        self._began: float | None = None
        self._session = ""
        self._time = 0.0
        self._line = 0
        self._id = 0
        self._open: int | None = None

    def tell(self, entry: dict[str, Any], line: int) -> Iterator[Item]:
        now = seconds(entry.get("timestamp"))
        if self._began is None:
            self._began, self._session = now, str(entry.get("sessionId", "session"))
            yield Begin(2, new_header("converted", {"name": "Claude Code"}, redacted="unknown"), line)
            yield from self._call(
                "initialize", {"protocolVersion": PROTOCOL_VERSION}, {"protocolVersion": PROTOCOL_VERSION}
            )
            where: dict[str, Any] = {"cwd": str(entry.get("cwd", "/")), "mcpServers": []}
            yield from self._call("session/new", where, {"sessionId": self._session})
        self._time, self._line = max(0.0, now - self._began), line
        content = as_dict(entry.get("message")).get("content")
        blocks = (
            cast("list[Any]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
        )
        if entry["type"] == "user" and not any(as_dict(b).get("type") == "tool_result" for b in blocks):
            yield from self.end_turn()
            self._id += 1
            self._open = self._id
            prompt = [b for b in blocks if as_dict(b).get("type") == "text"]
            yield self._frame("out", id=self._id, method="session/prompt", params=self._about(prompt=prompt))
            return
        for block in map(as_dict, blocks):
            if (update := _update(block)) is not None:
                yield self._frame("in", method="session/update", params=self._about(update=update))

    def end_turn(self) -> Iterator[Item]:
        if self._open is not None:
            yield self._frame("in", id=self._open, result={"stopReason": "end_turn"})
            self._open = None

    def _call(self, method: str, params: Any, result: Any) -> Iterator[Item]:
        self._id += 1
        yield self._frame("out", id=self._id, method=method, params=params)
        yield self._frame("in", id=self._id, result=result)

    def _about(self, **fields: Any) -> dict[str, Any]:
        return {"sessionId": self._session, **fields}

    def _frame(self, direction: Any, **fields: Any) -> RecordedFrame:
        return RecordedFrame(self._time, direction, {"jsonrpc": "2.0", **fields}, line=self._line)


def _update(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        name = "agent_message_chunk" if kind == "text" else "agent_thought_chunk"
        return {"sessionUpdate": name, "content": {"type": "text", "text": str(block.get(kind, ""))}}
    if kind == "tool_use":
        call = {"toolCallId": str(block.get("id")), "title": str(block.get("name")), "status": "in_progress"}
        return {"sessionUpdate": "tool_call", **call, "rawInput": block.get("input")}
    if kind == "tool_result":
        status = "failed" if block.get("is_error") else "completed"
        result = block.get("content")
        parts = (
            cast("list[Any]", result) if isinstance(result, list) else [{"type": "text", "text": str(result)}]
        )
        content = [
            {"type": "content", "content": part} for part in parts if as_dict(part).get("type") == "text"
        ]
        call = {"toolCallId": str(block.get("tool_use_id")), "status": status, "content": content}
        return {"sessionUpdate": "tool_call_update", **call}
    return None
