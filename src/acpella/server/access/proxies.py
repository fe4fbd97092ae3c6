"""Proxies between a client and this server: which ones are believed, and whose request it is then."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import TypeAlias

__all__ = ["Proxies", "was_forwarded"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_HOPS = 32
"""Entries of `X-Forwarded-For` that are looked at. No chain of proxies is longer."""


def was_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a request says itself that a proxy passed it on."""
    if "forwarded" in headers or "x-real-ip" in headers or "via" in headers:
        return True
    return any(name.startswith("x-forwarded-") for name in headers)


class Proxies:
    """The proxies that are believed when they name their client."""

    def __init__(self, names: Iterable[str]) -> None:
        """Raises `ValueError` for what is neither an address nor a network."""
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for name in names:
            try:
                self._networks.append(ipaddress.ip_network(name.strip(), strict=False))
            except ValueError:
                raise ValueError(
                    f"trusted_proxies: {name!r} is neither an address nor a network such as 10.0.0.0/8"
                ) from None

    def trusts(self, address: str) -> bool:
        """Whether the proxy at this address is believed."""
        parsed = _parsed(address) if self._networks else None
        return parsed is not None and any(parsed in network for network in self._networks)

    def client_of(self, peer: str, headers: Mapping[str, str]) -> str:
        """The address that a request comes from: the last one that is not a trusted proxy's.

        Anybody can have written what stands before it in the header.
        """
        if not self.trusts(peer):
            return peer
        client = peer
        for entry in reversed(headers.get("x-forwarded-for", "").split(",")[-MAX_HOPS:]):
            address = _parsed(entry)
            if address is None:
                return client  # nonsense: whoever passed it on answers for it
            client = str(address)
            if not self.trusts(client):
                return client
        return client


def _parsed(text: str) -> Address | None:
    """An address as proxies write it: perhaps with a port, in brackets, or IPv4 in IPv6."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
