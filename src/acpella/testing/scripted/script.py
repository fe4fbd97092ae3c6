"""The script of an agent: what it does for which request. Plain data, like its steps."""

from typing import Any

import msgspec

from .steps import Step

__all__ = ["Script", "ScriptRule"]


class ScriptRule(msgspec.Struct, frozen=True):
    """What to do when a request comes."""

    method: str
    text: str | None
    """Text that the prompt must contain; None matches every request."""
    steps: tuple[Step, ...]


class Script(msgspec.Struct):
    """Everything that a scripted agent does."""

    name: str
    hello: dict[str, Any]
    """Laid over the answer to `initialize`."""
    ignores_cancel: bool = False
    rules: list[ScriptRule] = []
    first: list[Step] = []
    """What the agent does before it handles the first message."""

    def steps_for(self, method: str, text: str = "") -> tuple[Step, ...] | None:
        """The steps of the first rule that fits a request; None if none does."""
        for rule in self.rules:
            if rule.method == method and (rule.text is None or rule.text in text):
                return rule.steps
        return None
