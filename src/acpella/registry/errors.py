"""What can go wrong with the registry, for the person who must act."""

from acpella.errors import AcpellaError, TransportError

__all__ = ["InstallError", "RegistryError", "Unreachable", "UnsafeArchive"]


class RegistryError(AcpellaError):
    """The index cannot be used, or does not have what was asked for."""


class InstallError(RegistryError):
    """An agent could not be installed; what was there before is unchanged."""


class UnsafeArchive(InstallError):
    """An archive holds what no honest archive holds; nothing of it was kept."""


class Unreachable(InstallError, TransportError):
    """The index or an archive cannot be fetched; what was there before is unchanged."""
