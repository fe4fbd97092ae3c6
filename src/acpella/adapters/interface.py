"""What an adapter is. Other packages implement these and register under the group `acpella.adapters`:

```toml
[project.entry-points."acpella.adapters"]
smolagents = "acpella_smolagents:SmolagentsAdapter"
```

The name on the left is the package of the framework, as its classes name it in `__module__`: only for objects
of such classes is the adapter loaded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from acpella.agent import Session

from .turn import AdaptedTurn

__all__ = ["Adapter", "Conversation", "Declared", "class_names"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What an editor is told of an agent before the first prompt."""

    name: str = "agent"
    images: bool = True
    audio: bool = False


class Conversation:
    """One session of a framework's agent. What it must remember is in `at.memory`, as JSON."""

    async def reply(self, at: AdaptedTurn) -> None:
        """Answer a prompt. A cancelled turn cancels this; the memory keeps what happened until then."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of what is held besides memory."""


class Adapter:
    """Makes agents of one framework drivable. Importing its module must not import the framework."""

    name: ClassVar[str]
    """Of the framework, for people."""
    package: ClassVar[str]
    """What `pip` installs."""
    floor: ClassVar[str] = "0"
    """The oldest version of the package that works."""
    classes: ClassVar[Sequence[str]] = ()
    """Full names of the classes whose objects it takes."""
    options: ClassVar[Sequence[str]] = ()
    """Further keywords of `adapt` that `open` takes."""
    approvals: ClassVar[bool] = True
    """Whether tools wait for permission; then there are the modes ask, accept-edits and auto."""

    def matches(self, target: object) -> bool:
        """Whether this is an object for this adapter."""
        return bool(set(self.classes) & set(class_names(target)))

    def declare(self, target: Any) -> Declared:
        """What to tell of an agent."""
        name = getattr(target, "name", None)
        return Declared(name=name if isinstance(name, str) and name else "agent")

    def open(self, target: Any, session: Session, options: Mapping[str, Any]) -> Conversation:
        """A conversation with the agent. `options` are those of `options` that were given."""
        raise NotImplementedError


def class_names(target: object) -> list[str]:
    """The full names of an object's class and its bases."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(target).__mro__]
