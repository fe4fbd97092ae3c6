"""Fetches a web page for a model, and nothing that only this machine can reach.

Whoever writes a link decides where this machine connects to, so: the name is looked up once, every address it
stands for must be public, and the connection goes to the address that was checked. A name that changes its
answer afterwards changes nothing.
"""

import asyncio
import codecs
import os
import re
import socket
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, TypeAlias

from acpella.errors import AcpellaError

from .media import IMAGE_LIMIT, image_type, size_text

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "FETCH_LIMIT",
    "FETCH_TIMEOUT",
    "FetchError",
    "Fetched",
    "Resolver",
    "fetch",
    "is_public",
    "look_up",
]

FETCH_LIMIT = 1024 * 1024
"""Bytes of one text, unpacked; without it one page fills the memory and the model's context."""

FETCH_TIMEOUT = 10.0
"""Seconds for all of one fetch: the name, the connection and every byte."""

REDIRECT_LIMIT = 5
"""Redirects of one fetch that may be followed at all."""

PRIVATE_VARIABLE = "ACPELLA_FETCH_PRIVATE"
"""Set to 1 by people who want this machine's and their network's own pages fetched, too."""

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a host's name."""

_TEXT_TYPES = re.compile(
    r"text/.*|application/(json|xml|javascript|ecmascript|x-javascript|typescript|yaml|x-yaml|toml|graphql"
    r"|x-ndjson|jsonlines|x-sh|x-httpd-php|sql|x-www-form-urlencoded|rtf|[\w.+-]+\+(json|xml|yaml))"
    r"|image/svg\+xml"
)

_FORBIDDEN = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # the metadata service of a large cloud has a public address
            *("::/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16"),
            *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "64:ff9b:1::/48"),
        ),
    )
)
_NAT64 = ip_network("64:ff9b::/96")
_6TO4 = ip_network("2002::/16")


class FetchError(AcpellaError):
    """A page could not be fetched, or must not be. The message says why."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was at an address: a text, or an image."""

    url: str
    """Where it came from in the end."""
    mime_type: str
    text: str | None = None
    image: bytes | None = None


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet's, also behind an IPv6 form of an IPv4 address."""
    try:
        ip: Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped
        if inner is None and ip in _NAT64:
            inner = IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is None and ip in _6TO4:
            inner = ip.sixtofour
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not any(ip.version == each.version and ip in each for each in _FORBIDDEN)


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine's resolver knows them."""
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


async def fetch(
    url: str,
    *,
    max_bytes: int = FETCH_LIMIT,
    timeout: float = FETCH_TIMEOUT,
    redirects: int = 0,
    private: bool | None = None,
    resolver: Resolver = look_up,
) -> Fetched:
    """GET a text or an image over http or https.

    No cookies, no proxies of the environment, no credentials. At most `redirects` redirects are followed,
    each checked like the first address and only on the same host, which is what the user allowed; any other
    is an error that names its target. `private` allows addresses that are not public; by default the
    environment variable `ACPELLA_FETCH_PRIVATE` decides.

    Raises:
        FetchError: it was refused, is not there, too slow, too large, or neither text nor image.
    """
    allowed = os.environ.get(PRIVATE_VARIABLE) == "1" if private is None else private
    try:
        import httpx2
    except ImportError:
        raise FetchError("fetching needs the package httpx2; install acpella[standard]") from None
    try:
        async with asyncio.timeout(timeout):
            return await _follow(url, max_bytes, min(redirects, REDIRECT_LIMIT), allowed, resolver)
    except TimeoutError:
        raise FetchError(f"{_shown(url)} took longer than {timeout:g} seconds") from None
    except httpx2.HTTPError as error:
        raise FetchError(f"{_shown(url)} cannot be fetched: {str(error) or type(error).__name__}") from None
    except OSError as error:
        raise FetchError(f"{_shown(url)} cannot be fetched: {error.strerror or error}") from None


async def _follow(url: str, max_bytes: int, redirects: int, private: bool, resolver: Resolver) -> Fetched:
    import httpx2

    target = _parsed(url)
    for _ in range(redirects + 1):
        outcome = await _get(target, max_bytes, private, resolver)
        if isinstance(outcome, Fetched):
            return outcome
        if not redirects:
            raise FetchError(f"{_shown(target)} redirects to {_shown(outcome)}; redirects are not followed")
        if outcome.scheme in ("http", "https") and outcome.host != target.host:
            raise FetchError(f"{_shown(target)} redirects to {_shown(outcome)} on another host; fetch that")
        if target.scheme == "https" and outcome.scheme != "https":
            raise FetchError(f"{_shown(target)} redirects to {_shown(outcome)}, which is not encrypted")
        target = _parsed(str(httpx2.URL(outcome)))
    raise FetchError(f"{_shown(url)} redirects more than {redirects} times")


def _parsed(url: str) -> "httpx2.URL":
    import httpx2

    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise FetchError(f"{_shown(url)} is not an address") from None
    if target.scheme not in ("http", "https"):
        raise FetchError(f"{_shown(url)} cannot be fetched: only http and https are")
    if not target.host:
        raise FetchError(f"{_shown(url)} names no host")
    if target.userinfo:
        raise FetchError(f"{_shown(url)} holds a user name or password; give the address without it")
    return target


async def _addresses(target: "httpx2.URL", port: int, private: bool, resolver: Resolver) -> list[str]:
    """Where to connect to: all of the host's addresses, if all may be connected to."""
    host = target.raw_host.decode("ascii").strip("[]")
    try:
        addresses = await resolver(host, port)
    except (OSError, UnicodeError):
        raise FetchError(f"{_shown(target)} cannot be fetched: there is no host {target.host}") from None
    if not addresses:
        raise FetchError(f"{_shown(target)} cannot be fetched: {target.host} has no address")
    for address in addresses:
        if not private and not is_public(address):
            raise FetchError(
                f"{_shown(target)} is not fetched: {target.host} is {address}, an address of this machine "
                f"or its network. Start the agent with {PRIVATE_VARIABLE}=1 to allow that"
            )
    return addresses


async def _get(
    target: "httpx2.URL", max_bytes: int, private: bool, resolver: Resolver
) -> "Fetched | httpx2.URL":
    """What is there, or where it redirects to."""
    import httpx2

    port = target.port or (443 if target.scheme == "https" else 80)
    addresses = await _addresses(target, port, private, resolver)
    name = target.raw_host.decode("ascii")
    headers = {
        "Host": name if target.port is None else f"{name}:{port}",
        "Accept": "text/html, text/*, application/json;q=0.9, image/*;q=0.8, */*;q=0.1",
        "Accept-Encoding": "gzip, deflate",  # what can be unpacked piece by piece
        "User-Agent": "acpella",
    }
    # The connection goes to the checked address; TLS still asks for, and verifies, the name.
    extensions = {"sni_hostname": name.strip("[]")}
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None) as client:
        for index, address in enumerate(addresses):
            request = client.build_request(
                "GET", target.copy_with(host=address, fragment=None), headers=headers, extensions=extensions
            )
            try:
                response = await client.send(request, stream=True)
            except httpx2.ConnectError:
                if index + 1 == len(addresses):
                    raise
                continue
            try:
                return await _read(target, response, max_bytes)
            finally:
                await response.aclose()
    raise AssertionError("there is at least one address")


async def _read(target: "httpx2.URL", response: "httpx2.Response", max_bytes: int) -> "Fetched | httpx2.URL":
    import httpx2

    address = _shown(target)
    if response.status_code in (301, 302, 303, 307, 308):
        try:
            return target.join(response.headers.get("location", ""))
        except (httpx2.InvalidURL, ValueError):
            raise FetchError(f"{address} redirects to something that is not an address") from None
    if not response.is_success:
        phrase = f" {response.reason_phrase}" if response.reason_phrase else ""
        raise FetchError(f"{address} answered {response.status_code}{phrase}")
    mime_type, charset = _content_type(response.headers.get("content-type", ""))
    is_image = mime_type.startswith("image/") and mime_type != "image/svg+xml"
    if mime_type and not is_image and not _TEXT_TYPES.fullmatch(mime_type):
        raise FetchError(f"{address} is {mime_type}, neither text nor an image")
    limit = max(IMAGE_LIMIT, max_bytes) if is_image else max_bytes
    data = await _body(response, limit, address)
    image = image_type(data)
    if is_image:
        if image is None:
            raise FetchError(f"{address} is not a PNG, JPEG, GIF or WebP image")
        return Fetched(str(target), image, image=data)
    if image is not None:
        return Fetched(str(target), image, image=data)
    return Fetched(str(target), mime_type or "text/plain", text=_decode(data, charset, address))


async def _body(response: "httpx2.Response", limit: int, url: str) -> bytes:
    """The unpacked body. Never holds more than the limit, whatever it unpacks to."""
    too_large = FetchError(f"{url} is larger than {size_text(limit)}")
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise too_large
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FetchError(f"{url} is packed with {encoding}, which was not asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None
    data = bytearray()
    async for chunk in response.aiter_raw():
        if unpack is None:
            data += chunk
        else:
            try:
                data += unpack.decompress(chunk, limit + 1 - len(data))
            except zlib.error:
                raise FetchError(f"{url} is not packed as it says") from None
        if len(data) > limit:
            raise too_large
    if unpack is not None and not unpack.eof and data:
        raise FetchError(f"{url} ended in the middle")
    return bytes(data)


def _content_type(header: str) -> tuple[str, str]:
    mime_type, _, parameters = header.partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", parameters, re.IGNORECASE)
    return mime_type.strip().lower(), charset.group(1) if charset else ""


_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


def _decode(data: bytes, charset: str, url: str) -> str:
    """Decode the text with the declared charset or, if that fails, with one that fits."""
    marked = next((name for bom, name in _BOMS if data.startswith(bom)), "")
    if not marked and b"\0" in data[:8192] and not charset.lower().startswith(("utf-16", "utf-32", "utf16")):
        raise FetchError(f"{url} is a binary file")
    in_page = _META.search(data[:2048])
    page_charset = in_page.group(1).decode("ascii", "replace") if in_page else ""
    for candidate in (marked, charset, page_charset, "utf-8"):
        if candidate:
            try:
                return data.decode(candidate)
            except (LookupError, UnicodeError, ValueError):
                continue  # the declaration is wrong; the next one may be right
    try:
        return data.decode(charset or "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _shown(url: "httpx2.URL | str") -> str:
    """An address for messages: without credentials, and not endless."""
    text = re.sub(r"(//)[^/@\s]*@", r"\1", str(url))
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 200 else text[:197] + "..."
