"""A number and what it counts, in a sentence."""

__all__ = ["counted"]


def counted(number: int, what: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
