"""A conversation as it should be, kept beside the tests.

A snapshot is a recording: `acpella record show` and `acpella replay` read it. What differs from run to run
(ids, directories, times, how a text was cut into chunks) is left out or replaced by a name.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acpella._counted import counted
from acpella._plain_json import as_dict
from acpella.recording import RecordedFrame, read_recording
from acpella.recording.anonymizing import Anonymizer
from acpella.recording.comparing import compare
from acpella.recording.format import FORMAT, SNAPSHOT
from acpella.recording.shape import session_of, update_kind

__all__ = ["SnapshotDiffers", "check_snapshot", "write_snapshot"]

_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")


class SnapshotDiffers(AssertionError):
    """A conversation is not the one that was kept."""


def write_snapshot(
    path: Path, conversations: Iterable[Sequence[RecordedFrame]], places: Mapping[str, str] | None = None
) -> None:
    """Keep conversations as a snapshot; `places` gives directories names, such as `{"/tmp/x": "<tmp>"}`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_snapshot(conversations, places or {}))


def check_snapshot(
    path: Path, conversations: Iterable[Sequence[RecordedFrame]], places: Mapping[str, str] | None = None
) -> None:
    """Compare conversations with a snapshot.

    Raises:
        SnapshotDiffers: the conversations differ, or there is no snapshot; the message shows where.
    """
    __tracebackhide__ = True  # pytest shows the difference, not this function
    now = path.with_suffix(".now.jsonl")
    if not path.is_file():
        raise SnapshotDiffers(f"there is no snapshot {path} yet: run pytest --acp-update to make it")
    try:
        stored = read_recording(path)
    except ValueError as error:
        raise SnapshotDiffers(
            f"the snapshot cannot be read: {error}; run pytest --acp-update to make it again"
        ) from None
    now.write_bytes(_snapshot(conversations, places or {}))
    try:
        current = read_recording(now)
    finally:
        now.unlink()
    lines: list[str] = []
    if len(stored) != len(current):
        lines.append(f"{counted(len(current), 'connection')}, not {len(stored)}")
    for before, after in zip(stored, current, strict=False):
        lines += compare(before, after).lines()
    if lines:
        report = "\n".join(f"  {line}" for line in lines)
        raise SnapshotDiffers(
            f"the conversation differs from {path} (- kept, + now; left is kept, right is now):\n{report}\n"
            "If this is how it should be, run pytest --acp-update."
        )


def _snapshot(conversations: Iterable[Sequence[RecordedFrame]], places: Mapping[str, str]) -> bytes:
    lines: list[bytes] = []
    for frames in conversations:
        anonymizer = Anonymizer()
        for frame in frames:
            anonymizer.learn(frame.message)
        lines.append(msgspec.json.encode({"acpella": FORMAT, "point": "client", "note": SNAPSHOT}))
        for number, (direction, message) in enumerate(_joined(frames), 1):
            if isinstance(message, bytes):
                message = message.decode(errors="replace")
            if direction == "out" and as_dict(message).get("method") == "initialize":
                message = _plain_hello(message)
            text = anonymizer.value(_with_places(message, places))
            key = "text" if isinstance(text, str) else "msg"
            lines.append(msgspec.json.encode({"n": number, "t": 0, "dir": direction, key: text}))
    return b"\n".join(lines) + b"\n"


def _plain_hello(message: Any) -> Any:
    """Keep only the protocol version: the rest depends on the version of acpella and on the transport, but a
    snapshot is about the agent."""
    return {**message, "params": {"protocolVersion": as_dict(message.get("params")).get("protocolVersion")}}


def _with_places(message: Any, places: Mapping[str, str]) -> Any:
    text = msgspec.json.encode(message).decode()
    for place, name in sorted(places.items(), key=lambda item: -len(item[0])):
        text = text.replace(msgspec.json.encode(place).decode()[1:-1], name)
    return msgspec.json.decode(text)


def _joined(frames: Sequence[RecordedFrame]) -> list[tuple[str, Any]]:
    """The messages, with the chunks of one text joined."""
    joined: list[tuple[str, Any]] = []
    for frame in frames:
        chunk = _chunk(frame.message)
        if chunk is not None and joined and _chunk(joined[-1][1]) is not None:
            before = joined[-1][1]
            same = (update_kind(before), session_of(before)) == (
                update_kind(frame.message),
                session_of(frame.message),
            )
            if same:
                params = as_dict(as_dict(frame.message)["params"])
                update = as_dict(params["update"])
                text = f"{_chunk(before)}{chunk}"
                content = {**as_dict(update["content"]), "text": text}
                message = {**frame.message, "params": {**params, "update": {**update, "content": content}}}
                joined[-1] = frame.direction, message
                continue
        joined.append((frame.direction, frame.message))
    return joined


def _chunk(message: Any) -> str | None:
    """The text of a message that is a chunk; None for other messages."""
    if update_kind(message) not in _CHUNKS:
        return None
    text = as_dict(as_dict(as_dict(as_dict(message).get("params")).get("update")).get("content")).get("text")
    return text if isinstance(text, str) else None
