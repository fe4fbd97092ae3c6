"""Who is at the other end of a TCP connection: through which proxies, and as which user of this machine."""

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import TypeAlias

__all__ = ["NOBODY", "Proxies", "may_act_as_us", "user_of_peer", "was_forwarded"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MOST_HOPS = 32
"""Entries of `X-Forwarded-For` that are looked at. No chain of proxies is longer."""


def was_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a request says itself that a proxy passed it on."""
    if "forwarded" in headers or "x-real-ip" in headers or "via" in headers:
        return True
    return any(name.startswith("x-forwarded-") for name in headers)


class Proxies:
    """The proxies whose word on who their client is counts."""

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
        """The address that a request comes from: the last that no trusted proxy has.

        What stands before it in the header, anybody can have written.
        """
        if not self.trusts(peer):
            return peer
        client = peer
        for entry in reversed(headers.get("x-forwarded-for", "").split(",")[-MOST_HOPS:]):
            told = _parsed(entry)
            if told is None:
                return client  # nonsense: whoever passed it on answers for it
            client = str(told)
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


# -- the user of a connection from this machine ------------------------------------------------------

NOBODY = -1
"""The client has closed its socket already, which then belongs to nobody."""

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_HEADER = struct.Struct("=IHHII")
_ANSWER_SECONDS = 1.0


def user_of_peer(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """The id of the user whose socket is at the other end; `NOBODY` if it is closed.

    None if this cannot be found out: the system is not Linux, or does not tell. It is asked for this one
    connection, so the number of others costs nothing.
    """
    if sys.platform != "linux":
        return None
    try:
        ends = [ipaddress.ip_address(host.partition("%")[0]) for host, _ in (peer, own)]
        if ends[0].version != ends[1].version:
            return None
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as asking:
            asking.settimeout(_ANSWER_SECONDS)
            asking.send(_question(ends, peer[1], own[1]))
            return _answered(asking.recv(8192))
    except (OSError, ValueError, struct.error):
        return None


def _question(ends: list[Address], port: int, own_port: int) -> bytes:
    family = socket.AF_INET if ends[0].version == 4 else socket.AF_INET6
    both = b"".join(end.packed.ljust(16, b"\0") for end in ends)
    any_interface, any_cookie = 0, 0xFFFFFFFF
    body = (
        struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        + struct.pack("!HH", port, own_port)
        + both
        + struct.pack("=III", any_interface, any_cookie, any_cookie)
    )
    return _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, 1, 1, 0) + body


def _answered(answer: bytes) -> int | None:
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _SOCK_DIAG_BY_FAMILY:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        return NOBODY if -code == 2 else None  # ENOENT: there is no such socket (any more)
    user, inode = struct.unpack_from("=II", answer, _HEADER.size + 64)
    return user if inode else NOBODY  # a closed one counts as root's


def may_act_as_us(user: int | None) -> bool:
    """Whether a program of this user could do what we do anyway, or nobody can tell."""
    return user is None or user in (0, os.getuid())
