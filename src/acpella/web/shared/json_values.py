"""Values that an agent sent, of which nothing is certain."""

from typing import Any, cast

__all__ = ["as_object"]


def as_object(value: object) -> dict[str, Any]:
    """An object; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
