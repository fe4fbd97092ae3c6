"""Which user of this machine is at the other end of a TCP connection."""

import errno
import ipaddress
import os
import socket
import struct
import sys
from typing import TypeAlias

__all__ = ["CLOSED_SOCKET", "can_tell_users", "may_act_as_us", "user_of_peer"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

CLOSED_SOCKET = -1
"""The client has closed its socket already, which then belongs to nobody."""

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_HEADER = struct.Struct("=IHHII")
_ANSWER_SECONDS = 1.0
_SYN_SENT = 2

End: TypeAlias = tuple[str, int]


def user_of_peer(peer: End, own: End) -> int | None:
    """The id of the user whose socket is at the other end; `CLOSED_SOCKET` if its program has closed it.

    None if this cannot be found out: the system is not Linux or does not tell, or the two addresses are not
    those of a connection to this program, as behind some ASGI servers.
    """
    if sys.platform != "linux":
        return None
    try:
        theirs, ours = _plain(peer), _plain(own)
    except ValueError:
        return None
    user = _owner(theirs, ours)
    if user is not None:
        return user
    # Ours is still there when theirs is closed. Without it, nothing says that these addresses are real.
    return CLOSED_SOCKET if _owner(ours, theirs) == os.getuid() else None


def can_tell_users() -> bool:
    """Whether this system reports which user owns a connection; tried with one of our own."""
    if sys.platform != "linux":
        return False
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            with socket.create_connection(listening.getsockname(), _ANSWER_SECONDS) as client:
                return user_of_peer(client.getsockname(), listening.getsockname()) == os.getuid()
    except OSError:
        return False


def may_act_as_us(user: int | None) -> bool:
    """Whether a program of this user could do what we do anyway. False if the user is unknown."""
    return sys.platform != "win32" and user is not None and user in (0, os.getuid())


_Plain: TypeAlias = tuple[Address, int]


def _plain(end: End) -> _Plain:
    """IPv4 in IPv6 is IPv4 at the other end. Raises `ValueError` for what is not an address."""
    address = ipaddress.ip_address(end[0].partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address, end[1]


def _owner(local: _Plain, remote: _Plain) -> int | None:
    """The user who has the socket with these two ends open; None if nobody has, or nobody can tell."""
    if sys.platform != "linux" or local[0].version != remote[0].version:
        return None
    try:  # it is asked for this one connection, so the number of others costs nothing
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as asking:
            asking.settimeout(_ANSWER_SECONDS)
            asking.send(_question(local, remote))
            return _answered(asking.recv(8192))
    except (OSError, struct.error):  # some containers have no such sockets
        return _owner_in_table(local, remote)


def _question(local: _Plain, remote: _Plain) -> bytes:
    family = socket.AF_INET if local[0].version == 4 else socket.AF_INET6
    both = b"".join(address.packed.ljust(16, b"\0") for address, _ in (local, remote))
    any_interface, any_cookie = 0, 0xFFFFFFFF
    body = (
        struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        + struct.pack("!HH", local[1], remote[1])
        + both
        + struct.pack("=III", any_interface, any_cookie, any_cookie)
    )
    return _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, 1, 1, 0) + body


def _answered(answer: bytes) -> int | None:
    """Raises `OSError` if the kernel does not know what was asked."""
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _SOCK_DIAG_BY_FAMILY:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        if -code == errno.ENOENT:
            return None
        raise OSError(-code, "sock_diag")
    _, state = struct.unpack_from("=BB", answer, _HEADER.size)
    user, inode = struct.unpack_from("=II", answer, _HEADER.size + 64)
    return _checked(state, user, inode)


def _owner_in_table(local: _Plain, remote: _Plain) -> int | None:
    # an IPv4 connection is in the table of IPv6 at the end that listens to both
    files = {4: (("tcp", ""), ("tcp6", "0000000000000000FFFF0000")), 6: (("tcp6", ""),)}
    for name, prefix in files[local[0].version]:
        addresses = [f"{prefix}{_in_table(address)}:{port:04X}" for address, port in (local, remote)]
        try:
            with open(f"/proc/self/net/{name}", encoding="ascii") as table:
                for line in table:
                    words = line.split()
                    if words[1:3] == addresses:
                        return _checked(int(words[3], 16), int(words[7]), int(words[9]))
        except (OSError, ValueError, IndexError):
            pass
    return None


def _in_table(address: Address) -> str:
    """An address as the kernel writes it: words of four bytes, each in the order of this machine."""
    packed = address.packed
    return "".join(
        f"{int.from_bytes(packed[at : at + 4], sys.byteorder):08X}" for at in range(0, len(packed), 4)
    )


def _checked(state: int, user: int, inode: int) -> int | None:
    """The user, unless the socket is closed (the kernel then says root) or not the one that we talk to."""
    return user if inode and state != _SYN_SENT else None
