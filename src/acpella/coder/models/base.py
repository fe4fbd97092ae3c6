"""What the agent's loop says to a model, and what it hears back.

Messages are kept with the session as JSON, so they are Structs; events live for a moment only.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from acpella.errors import AcpellaError

__all__ = [
    "AssistantMessage",
    "Audio",
    "ContextOverflow",
    "Image",
    "Message",
    "Model",
    "ModelError",
    "ModelEvent",
    "ModelRequest",
    "ModelUsage",
    "Retrying",
    "Stop",
    "StopReason",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "ToolMessage",
    "ToolSpec",
    "ToolUse",
    "ToolUseStarted",
    "UserMessage",
]

# -- parts of messages -------------------------------------------------------------------------


class Text(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """Words, of the user or of the model."""

    text: str
    attached: bool = False
    """It came with the prompt, and was not typed."""


class Image(msgspec.Struct, frozen=True, tag="image"):
    """A picture that came with the prompt."""

    data: str
    """Base64."""
    mime_type: str


class Audio(msgspec.Struct, frozen=True, tag="audio"):
    """A sound that came with the prompt."""

    data: str
    """Base64."""
    mime_type: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking"):
    """What the model thought; sent back to it unchanged, for models that want it.

    Some thoughts are a signature alone, with no text; they are kept too.
    """

    text: str
    signature: str = ""
    """What the provider wants to see again with the thought; opaque."""


class ToolUse(msgspec.Struct, frozen=True, tag="tool_use"):
    """The model wants a tool to be run. In a stream it comes once, when its arguments are complete."""

    id: str
    name: str
    arguments: dict[str, Any]
    invalid: str = ""
    """Why the arguments could not be read; then they are empty and the model is told."""


# -- messages ------------------------------------------------------------------------------------


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """A prompt, as the model gets it."""

    content: list[Text | Image | Audio]


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    """What the model said: words, thoughts, and the tools that it wants to use."""

    content: list[Text | Thinking | ToolUse]


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """What a tool gave, for the `ToolUse` of that id. Every use gets one before the next model request."""

    tool_use_id: str
    content: list[Text | Image]
    is_error: bool = False


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    """At most 64 of [A-Za-z0-9_-]: what all providers take."""
    description: str
    parameters: dict[str, Any]
    """JSON schema of an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    system: str
    messages: list[Message]
    tools: list[ToolSpec] = field(default_factory=list[ToolSpec])
    max_tokens: int = 8192
    thinking: Literal["off", "low", "medium", "high"] = "off"


# -- events of a stream --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str
    signature: str = ""
    """Comes with the last piece of a thought, if at all."""


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """A tool use has begun; its arguments are still being written."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The provider was busy or unreachable; the request is sent again. Nothing was streamed before."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of this request; the last one counts. `input` holds all input, cached or not."""

    input: int = 0
    output: int = 0
    cached: int = 0


StopReason: TypeAlias = Literal["end", "tool_use", "max_tokens", "refusal"]


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a stream that ended as it should; always the last event."""

    reason: StopReason


ModelEvent: TypeAlias = TextDelta | ThinkingDelta | ToolUseStarted | ToolUse | Retrying | ModelUsage | Stop


class Model(Protocol):
    """A language model. Made once, used by many sessions at once."""

    @property
    def name(self) -> str:
        """What the user calls it, and what options show: "anthropic:claude-...", "offline"."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens that fit, input and output together."""
        ...

    @property
    def accepts(self) -> frozenset[Literal["image", "audio"]]:
        """What messages may carry besides text; the rest is described in text by the caller."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model. Closing the generator, or cancelling who iterates, ends the HTTP request at once.

        Raises:
            ContextOverflow: the request is too long for the model; nothing was streamed.
            ModelError: it cannot be reached, refused the key, or broke off; the message says what to do.
        """
        ...


class ModelError(AcpellaError):
    """The model did not answer as it should. The message is for the user and holds no key."""


class ContextOverflow(ModelError):
    """The conversation does not fit into the model's context window."""
