"""Protocol version 99, which nobody speaks: other methods, other words, the same agent behind it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from acpella.agent.choices import Choices
from acpella.agent.codec import EditorCapabilities, Route
from acpella.agent.definition import Definition
from acpella.agent.operations import CancelPrompt, NewSession, OpenedSession, Prompt, Workplace
from acpella.rpc import Method, Vocabulary
from acpella.schema import (
    AgentMessageChunk,
    AuthMethod,
    AvailableCommand,
    PermissionOption,
    PromptResponse,
    SessionUpdate,
    TextContent,
    ToolCallUpdate,
)
from acpella.schema.methods import Vocabulary as MethodTable

__all__ = ["VERSION", "ToyCodec"]

VERSION = 99

P = TypeVar("P")


class Hello(msgspec.Struct, rename="camel"):
    protocol_version: int
    who: str


class Open(msgspec.Struct):
    where: str


class Say(msgspec.Struct):
    room: str
    words: str


class Hush(msgspec.Struct):
    room: str


class ToyMethod(Generic[P]):
    def __init__(self, name: str, params: type[P]) -> None:
        self.name, self.params = name, params

    def read_params(self, raw: bytes | msgspec.Raw | memoryview, /) -> P:
        return msgspec.json.decode(raw, type=self.params)

    def read_result(self, raw: bytes | msgspec.Raw, /) -> Any:
        return msgspec.json.decode(raw)


def _by_name(*methods: ToyMethod[Any]) -> Any:
    return {method.name: method for method in methods}


class ToyCodec:
    """What an agent of version 99 hears: `initialize`, `open`, `say` and `hush`. It answers in `heard`."""

    vocabulary: Vocabulary = MethodTable(
        requests=_by_name(ToyMethod("initialize", Hello), ToyMethod("open", Open), ToyMethod("say", Say)),
        notifications=_by_name(ToyMethod("hush", Hush)),
    )
    update_method: Method[Any, Any] = ToyMethod("heard", dict[str, str])

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.editor = EditorCapabilities()

    def initialize(self, params: Hello) -> dict[str, Any]:
        return {"protocolVersion": VERSION, "hello": params.who, "from": self._definition.name}

    def requests(self) -> Mapping[str, Route]:
        return {
            "open": Route(lambda params: NewSession(Workplace(params.where)), _write_opened),
            "say": Route(lambda params: Prompt(params.room, [TextContent(text=params.words)]), _write_end),
        }

    def cancellations(self) -> Mapping[str, Callable[[Any], CancelPrompt]]:
        return {"hush": lambda params: CancelPrompt(params.room)}

    def auth_methods(self) -> list[AuthMethod]:
        return []

    def update(self, session_id: str, update: SessionUpdate) -> dict[str, str] | None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            return {"room": session_id, "words": update.content.text}
        return None

    def stored_update(self, session_id: str, body: bytes) -> Any:
        return None

    def choices_changed(self, choices: Choices, *, mode: bool) -> list[SessionUpdate]:
        return []

    def commands(self, commands: Sequence[AvailableCommand]) -> SessionUpdate | None:
        return None

    def permission(
        self, session_id: str, call: ToolCallUpdate, options: Sequence[PermissionOption]
    ) -> tuple[Method[Any, Any], Any]:
        return ToyMethod("may I", dict[str, str]), {"room": session_id, "what": str(call.title)}

    def chosen(self, answer: Any) -> str | None:
        return answer

    def hears_cancel(self, method: str, params: Any, is_cancelled: Callable[[str], bool]) -> bool:
        return True


def _write_opened(opened: OpenedSession) -> dict[str, str]:
    return {"room": opened.id}


def _write_end(response: PromptResponse) -> dict[str, str]:
    return {"because": str(response.stop_reason)}
