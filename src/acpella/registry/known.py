"""Known agents as entries, for when no index can be had: the newest package of each."""

from acpella.client.known_agents import KnownAgent

from .entries import Entry, Package

__all__ = ["entry_of"]


def entry_of(known: KnownAgent) -> Entry | None:
    """An entry without a version; None for an agent that has no package."""
    if not (known.npm or known.pypi):
        return None
    package = Package(package=known.npm or known.pypi, args=list(known.args))
    return Entry(
        id=known.id,
        name=known.title,
        version="",
        npx=package if known.npm else None,
        uvx=None if known.npm else package,
    )
