"""Which protocol version two sides speak: read from `initialize`, and chosen among those there are."""

from collections.abc import Collection

import msgspec

__all__ = ["PROTOCOL_VERSION", "choose_version", "version_in"]

PROTOCOL_VERSION = 1
"""What is offered, or answered, where no codec takes part, as in a handshake without a connection."""


class _Versioned(msgspec.Struct, rename="camel"):
    protocol_version: int | float | str = ""


def version_in(raw: bytes | msgspec.Raw | memoryview) -> int | None:
    """The protocol version in the params or the result of `initialize`; None if there is none to be read.

    Some peers send "1" or 1.0, which the official SDKs take for 1.
    """
    try:
        version = msgspec.json.decode(raw, type=_Versioned).protocol_version
        return int(version) if version == int(version) or isinstance(version, str) else None
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError):
        return None


def choose_version(requested: int | None, supported: Collection[int]) -> int:
    """The version to answer a client with (R-102): the newest that it knows, else the newest there is."""
    candidates = [version for version in supported if requested is not None and version <= requested]
    return max(candidates or supported)
