"""Frozen sets of requirements: a report names its set, and later requirements do not change its score."""

from importlib import resources

__all__ = ["frozen_set", "set_names"]


def set_names() -> list[str]:
    """The names of all sets, oldest first."""
    files = resources.files(__package__ or "acpella.check").joinpath("frozen").iterdir()
    return sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt"))


def frozen_set(name: str) -> frozenset[str]:
    """The ids of a set.

    Raises:
        ValueError: there is no such set; the message lists all sets.
    """
    if name not in set_names():
        raise ValueError(f"no set {name!r}; there are {', '.join(set_names())}")
    file = resources.files(__package__ or "acpella.check").joinpath("frozen", f"{name}.txt")
    return frozenset(file.read_text(encoding="utf-8").split())
