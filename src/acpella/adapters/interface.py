"""What an adapter is. Other packages implement these and register under the group `acpella.adapters`:

```toml
[project.entry-points."acpella.adapters"]
smolagents = "acpella_smolagents:SmolagentsAdapter"
```

The name on the left is the package of the framework, as in the `__module__` of its classes: the adapter is
loaded only for objects of such classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from acpella.agent import Session

from .turn import AdaptedTurn

__all__ = ["Adapter", "Conversation", "Declared", "class_names"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What an editor learns about an agent before the first prompt."""

    name: str = "agent"
    images: bool = True
    audio: bool = False


class Conversation:
    """One session of a framework's agent. What it must remember is in `at.memory`, as JSON."""

    async def reply(self, at: AdaptedTurn) -> None:
        """Answer a prompt. If the turn is cancelled, this is too; the memory keeps what happened so far."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release everything except the memory."""


class Adapter:
    """Lets acpella drive agents of one framework. Importing its module must not import the framework."""

    name: ClassVar[str]
    """The name of the framework, for people."""
    package: ClassVar[str]
    """What `pip` installs."""
    floor: ClassVar[str] = "0"
    """The oldest version of the package that works."""
    classes: ClassVar[Sequence[str]] = ()
    """Full names of the classes whose objects it takes."""
    options: ClassVar[Sequence[str]] = ()
    """Further keywords of `adapt` that `open` takes."""
    approvals: ClassVar[bool] = True
    """Whether tools wait for permission; if so, sessions have the modes ask, accept-edits and auto."""

    def matches(self, target: object) -> bool:
        """Whether this adapter takes an object."""
        return bool(set(self.classes) & set(class_names(target)))

    def declare(self, target: Any) -> Declared:
        """Describe an agent for the editor."""
        name = getattr(target, "name", None)
        return Declared(name=name if isinstance(name, str) and name else "agent")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        """Start a conversation with the agent. `options` are the given ones of `Adapter.options`."""
        raise NotImplementedError


def class_names(target: object) -> list[str]:
    """The full names of an object's class and its bases."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(target).__mro__]
