"""What was said so far, as the model is told it: kept in the session's state, valid at every moment."""

import logging
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from acpella.rpc.message import replace_surrogates

from .models import AssistantMessage, Audio, Image, Message, Text, Thinking, ToolMessage, ToolUse

__all__ = ["History", "fitted", "tokens"]

log: logging.Logger = logging.getLogger(__name__)

MESSAGES = "messages"
COUNTED = "counted"
IMAGE_TOKENS = 1500
CHARS_PER_TOKEN = 4


class History:
    """The messages of a session. Every change is in the state at once; `Session.save` makes it durable."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        try:
            self._messages = msgspec.convert(state.get(MESSAGES, []), list[Message])
        except msgspec.ValidationError as error:  # imported, or of another version
            log.warning("the memory of the session cannot be read and begins anew: %s", error)
            self._messages = []
            state[MESSAGES] = []
        self.settle("interrupted: the agent ended before it was done")

    @property
    def messages(self) -> list[Message]:
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        message = _writable(message)
        self._messages.append(message)
        messages = cast("list[Any]", self._state.setdefault(MESSAGES, []))
        messages.append(msgspec.to_builtins(message))

    def replace(self, messages: Iterable[Message]) -> None:
        self._messages = [_writable(message) for message in messages]
        self._state.pop(COUNTED, None)
        self._state[MESSAGES] = [msgspec.to_builtins(message) for message in self._messages]

    def count(self, tokens_so_far: int) -> None:
        """Keep what the provider says that all messages so far take."""
        self._state[COUNTED] = [tokens_so_far, len(self._messages)]

    @property
    def tokens(self) -> int:
        """About how many tokens the messages take: what the provider counted, and a guess for the rest."""
        try:
            counted, length = msgspec.convert(self._state.get(COUNTED), tuple[int, int])
        except msgspec.ValidationError:
            counted = length = 0
        return counted + tokens(self._messages[length:])

    def settle(self, why: str) -> None:
        """Answer the tool uses that have no answer: models refuse a conversation with open ones."""
        settled: list[Message] = []
        open_uses: dict[str, ToolUse] = {}

        def close() -> None:
            settled.extend(ToolMessage(use_id, [Text(why)], is_error=True) for use_id in open_uses)
            open_uses.clear()

        for message in self._messages:
            if isinstance(message, ToolMessage):
                if open_uses.pop(message.tool_use_id, None) is None:
                    continue  # an answer to nothing
            else:
                close()
            settled.append(message)
            if isinstance(message, AssistantMessage):
                open_uses = {part.id: part for part in message.content if isinstance(part, ToolUse)}
        close()
        if len(settled) != len(self._messages):
            self.replace(settled)


def _writable(message: Message) -> Message:
    """The message without what has no UTF-8: file names may be any bytes, and models cut emojis."""
    try:
        msgspec.json.encode(message)
        return message
    except UnicodeEncodeError:
        plain = replace_surrogates(msgspec.to_builtins(message))
        return msgspec.convert(plain, cast("type[Message]", Message))


def fitted(messages: Iterable[Message], accepts: frozenset[Any]) -> list[Message]:
    """The messages for a model that takes these things besides text; the others are described in words."""

    def part(each: Any) -> Any:
        kind = "image" if isinstance(each, Image) else "audio" if isinstance(each, Audio) else ""
        if not kind or kind in accepts:
            return each
        return Text(
            f"[here was {'an image' if kind == 'image' else 'a sound'} of type {each.mime_type}; "
            f"this model takes no {kind}]",
            attached=True,
        )

    described: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            described.append(message)
        else:
            described.append(
                msgspec.structs.replace(message, content=[part(each) for each in message.content])
            )
    return described


def tokens(messages: Iterable[Message]) -> int:
    """About how many tokens messages take; providers tell exactly, but only afterwards."""
    total = 0
    for message in messages:
        for part in message.content:
            if isinstance(part, Text | Thinking):
                total += len(part.text) // CHARS_PER_TOKEN + 1
            elif isinstance(part, ToolUse):
                total += len(str(part.arguments)) // CHARS_PER_TOKEN + 8
            else:
                total += IMAGE_TOKENS
        total += 4
    return total
