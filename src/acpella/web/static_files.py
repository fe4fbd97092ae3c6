"""The built page: files of this package, each with the headers that keep it safe."""

import gzip
import mimetypes
from importlib.resources import files
from typing import NamedTuple

import msgspec

__all__ = ["HEADERS", "StaticFile", "StaticFiles"]

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "media-src blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Nothing runs but our own files, nothing is fetched from elsewhere, and no text can become markup."""

BESIDE = POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'; frame-src 'self'")
"""The same, but the inspector's page may show the conversation in a frame. Nobody else may."""

WORTH_IT = 1024
"""Files of more bytes than this are sent compressed."""

HEADERS: list[tuple[bytes, bytes]] = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=(), "
        b"clipboard-read=(), clipboard-write=(self)",
    ),
]


class StaticFile(NamedTuple):
    """A file as it is sent."""

    body: bytes
    compressed: bytes
    """The same with gzip; empty for a small file."""
    kind: bytes
    headers: list[tuple[bytes, bytes]]


class StaticFiles:
    """Read once; names that the build did not make are not looked for on the disk."""

    def __init__(self, *, in_frames: bool = False) -> None:
        """With `in_frames`, one page may show another one."""
        policy = (b"content-security-policy", (BESIDE if in_frames else POLICY).encode())
        self._files: dict[str, StaticFile] = {}
        root = files("acpella.web") / "static"
        manifest: dict[str, str] = msgspec.json.decode(
            (root / "manifest.json").read_bytes(), type=dict[str, str]
        )
        for name in manifest.values():
            data = (root / name).read_bytes()
            if name.endswith(".html"):
                cache = (b"cache-control", b"no-store")
                path = "/" if name == "index.html" else f"/{name.removesuffix('.html')}"
            else:
                cache = (b"cache-control", b"public, max-age=31536000, immutable")
                path = f"/static/{name}"
            small = gzip.compress(data, 9) if len(data) > WORTH_IT else b""
            headers = [policy, *HEADERS[1:], cache, (b"vary", b"Accept-Encoding")]
            self._files[path] = StaticFile(data, small, _kind_of(name), headers)

    def find(self, path: str) -> StaticFile | None:
        return self._files.get(path)


def _kind_of(name: str) -> bytes:
    kind = mimetypes.types_map.get(name[name.rfind(".") :], "application/octet-stream")
    if name.endswith(".js"):
        kind = "text/javascript"
    is_text = kind.startswith("text/") or kind == "image/svg+xml"
    return f"{kind}; charset=utf-8".encode() if is_text else kind.encode()
