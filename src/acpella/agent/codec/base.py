"""What a codec does, whatever its protocol version."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from acpella.rpc import Method, Vocabulary
from acpella.schema import (
    AuthMethod,
    AvailableCommand,
    PermissionOption,
    PermissionOptionId,
    SessionUpdate,
    ToolCallUpdate,
)

from ..choices import Choices
from ..operations import CancelPrompt, Operation

__all__ = ["Codec", "EditorCapabilities", "Route"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorCapabilities:
    """What the editor at the other end can do, as sessions and turns ask for it."""

    reads_files: bool = False
    writes_files: bool = False
    terminals: bool = False
    terminal_output: bool = False
    """Whether it shows the output of commands that the agent runs itself."""
    forms: bool = False
    pages: bool = False
    toggles: bool = False
    """Whether it knows options that are on or off."""
    tokens: bool = False
    """Whether the answer to a prompt may contain its token usage."""
    hidden: frozenset[type] = frozenset()
    """Updates that it must not be sent."""

    def shows(self, kind: type) -> bool:
        """Whether it may be sent updates of this kind."""
        return kind not in self.hidden


class Route(NamedTuple):
    """How one request is served: `read` makes an operation of its params, `write` a result of the outcome."""

    read: Callable[[Any], Operation]
    write: Callable[[Any], Any]


class Codec(Protocol):
    """One protocol version on one connection. `editor` is known once `initialize` was read."""

    editor: EditorCapabilities

    @property
    def vocabulary(self) -> Vocabulary:
        """The typed methods that the agent receives."""
        ...

    @property
    def update_method(self) -> Method[Any, Any]:
        """The notification that `update` makes the params of."""
        ...

    # -- what the editor asks for --------------------------------------------------------

    def initialize(self, params: Any) -> Any:
        """Take in what the editor can do, and answer with what the agent can."""
        ...

    def requests(self) -> Mapping[str, Route]:
        """What this agent serves, by method; everything else does not exist."""
        ...

    def cancellations(self) -> Mapping[str, Callable[[Any], CancelPrompt]]:
        """The notifications that cancel a prompt."""
        ...

    def auth_methods(self) -> list[AuthMethod]:
        """The logins that this editor can use."""
        ...

    # -- what sessions and turns do ------------------------------------------------------

    def update(self, session_id: str, update: SessionUpdate) -> Any:
        """The params that show an update; None for one that this editor must not be sent."""
        ...

    def stored_update(self, session_id: str, body: bytes) -> Any:
        """The same for an update as it stands in the log."""
        ...

    def choices_changed(self, choices: Choices, *, mode: bool) -> list[SessionUpdate]:
        """The updates that tell of a new choice; with `mode`, the mode is new."""
        ...

    def commands(self, commands: Sequence[AvailableCommand]) -> SessionUpdate | None:
        """The update that lists the slash commands; None if the results that open a session list them."""
        ...

    def permission(
        self, session_id: str, call: ToolCallUpdate, options: Sequence[PermissionOption]
    ) -> tuple[Method[Any, Any], Any]:
        """The request that asks the user for permission: its method and params."""
        ...

    def chosen(self, answer: Any) -> PermissionOptionId | None:
        """The option that the user chose; None if the question was cancelled."""
        ...

    def hears_cancel(self, method: str, params: Any, is_cancelled: Callable[[str], bool]) -> bool:
        """Whether the editor should be notified that a request of ours is cancelled.

        `is_cancelled` returns whether the prompt of a session was cancelled.
        """
        ...
