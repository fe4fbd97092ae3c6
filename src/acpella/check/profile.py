"""How an agent is made to do something: a prompt for each need.

`{file}`, `{text}`, `{command}` and `{cwd}` in a prompt are replaced by what a scenario needs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["FAKE_MODEL", "NEEDS", "PromptProfile", "placeholders", "unknown_placeholders"]

NEEDS = {
    "hello": "say anything",
    "slow": "work for ten seconds or more, so that it can be cancelled",
    "read": "read the file {file}",
    "write": "write {text} into the file {file}",
    "run": "run the command {command}",
    "ask": "run the command {command} after asking for permission",
    "think": "show a thought",
    "plan": "show a plan",
    "elicit": "show a form to the user",
}
"""What scenarios ask for."""

FAKE_MODEL = {
    "hello": "!say hello",
    "slow": "!slow 20",
    "read": "!read {file}",
    "write": "!write {file} {text}",
    "run": "!run {command}",
    "ask": "!run {command}",
    "think": "!think about it\n!say done",
}
"""Prompts for the fake model of the test kit, which follows the orders in them."""


_PLACEHOLDER = re.compile(r"\{\w+\}")


def placeholders(need: str) -> list[str]:
    """What can stand in the prompt for a need."""
    return [] if need == "hello" else [*_PLACEHOLDER.findall(NEEDS[need]), "{cwd}"]


def unknown_placeholders(need: str, prompt: str) -> list[str]:
    """What looks like a placeholder, and would be sent as it stands."""
    return [word for word in _PLACEHOLDER.findall(prompt) if word not in placeholders(need)]


@dataclass(frozen=True)
class PromptProfile:
    """The prompts for one agent."""

    prompts: Mapping[str, str] = field(default_factory=dict[str, str])

    def has(self, need: str) -> bool:
        return need == "hello" or need in self.prompts

    def names(self, need: str, placeholder: str) -> bool:
        """Whether the prompt for a need names what a scenario looks for afterwards."""
        return "{" + placeholder + "}" in self.prompts.get(need, "")

    def text(self, need: str, **values: str) -> str:
        """The prompt for a need."""
        text = self.prompts.get(need, "Hello")
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        return text
