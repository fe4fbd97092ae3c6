"""Known agents as entries, for when no index is available: the newest package of each."""

from acpella.client.known_agents import KnownAgent

from .entries import Package, RegistryEntry

__all__ = ["entry_of"]


def entry_of(agent: KnownAgent) -> RegistryEntry | None:
    """An entry without a version; None for an agent that has no package."""
    if not (agent.npm or agent.pypi):
        return None
    package = Package(package=agent.npm or agent.pypi, args=list(agent.args))
    return RegistryEntry(
        id=agent.id,
        name=agent.title,
        version="",
        npx=package if agent.npm else None,
        uvx=None if agent.npm else package,
    )
