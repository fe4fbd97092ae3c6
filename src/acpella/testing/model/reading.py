"""Reads requests that have not been validated: the expected value, or an empty one in its place."""

import re
from typing import Any

from acpella._plain_json import as_dict, as_list

from .prompts import Json

__all__ = ["list_of_objects", "text_of", "words_of_user"]

_ADDED = re.compile(r"<(system-reminder|environment_context|session_context|system)>.*?</\1>", re.DOTALL)
"""What agents add to a prompt by themselves."""


def list_of_objects(value: Any) -> list[Json]:
    """The objects in a value that should be a list."""
    return [as_dict(item) for item in as_list(value) if isinstance(item, dict)]


def text_of(content: Any) -> str:
    """The text of a message, whether it is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in list_of_objects(content))


def words_of_user(content: Any) -> str:
    """What the user said in a message, without what the agent added."""
    return _ADDED.sub("", text_of(content)).strip()
