"""A recording and the inspector in one file that opens anywhere, without a server and without the network."""

import base64
import hashlib
import os
from collections.abc import Callable
from importlib.resources import files

import msgspec

from .log import RecordingLog
from .program import as_program, as_test
from .spans import turn_times

__all__ = ["MAX_EMBEDDED", "as_html", "write_html"]

END_OF_TITLE = " · acpella</title>"
"""What tells a page that this module wrote from others."""

HEAD = 4096
"""Bytes in which the title stands."""

MAX_EMBEDDED = 64 * 1024 * 1024
"""Bytes of a recording that a browser opens in one piece without trouble."""


def as_html(path: str | os.PathLike[str]) -> str:
    """The page with the recording inside.

    Raises:
        ValueError: the recording is too long for one page, or no line of it can be read.
        OSError: it cannot be read.
    """
    size = os.stat(path).st_size
    if size > MAX_EMBEDDED:
        raise ValueError(
            f"{path} has {size // 1_000_000} MB; a page holds {MAX_EMBEDDED // 1_000_000}. "
            "Record with --no-media, or open it with acpella inspect"
        )
    log = RecordingLog(path)
    try:
        while log.read_more():
            pass
        if all(row.method == "damaged" for row in log.rows):
            raise ValueError(f"{path} holds no conversation")
        data = {
            "batch": {
                "rows": log.rows,
                "rules": {str(n): rules for n, rules in log.rules.items()},
                "total": len(log.rows),
                "left_out": log.left_out,
                "live": False,
                "header": log.header,
                "name": log.path.name,
                "source": "",
                "can_hold": False,
            },
            "times": {
                "spans": list(log.spans.spans)[-5000:],
                "turns": turn_times(log.spans.spans)[-500:],
                "stats": log.stats.summary(),
                "findings": log.findings.findings,
                "finding_count": log.findings.count,
            },
            "copies": {"python": _text(as_program, path), "pytest": _text(as_test, path)},
            "lines": [log.explained(row.n) for row in log.rows],
        }
    finally:
        log.close()
    return _page(msgspec.json.encode(data).decode(), title=log.path.name)


def _text(make: Callable[[str | os.PathLike[str]], str], path: str | os.PathLike[str]) -> str:
    """Empty for a recording without a prompt."""
    try:
        return make(path)
    except ValueError:
        return ""


def write_html(path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write that page to a file, for the user alone. Raises as `as_html`. Of files that exist, only such
    a page is replaced."""
    if os.path.exists(out) and os.path.samefile(out, path):
        raise ValueError("the page would replace the recording; name another file")
    if os.path.isfile(out) and os.path.getsize(out) and not _is_page(out):
        raise ValueError(f"{out} is there, and no page of a recording; name another file, or remove it")
    text = as_html(path)
    handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def _is_page(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return END_OF_TITLE.encode() in file.read(HEAD)


def _page(data: str, *, title: str) -> str:
    root = files("acpella.web") / "static"
    manifest: dict[str, str] = msgspec.json.decode((root / "manifest.json").read_bytes(), type=dict[str, str])

    def text(name: str) -> str:
        return (root / manifest[name]).read_text("utf-8")

    script = text("standalone.js")
    style = text("style.css")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    inside = data.replace("<", "\\u003c")  # no text of the recording can end the element
    name = title.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{name}{END_OF_TITLE}\n'
        f"<style>{style}</style>\n"
        '</head>\n<body>\n<div id="app"></div>\n'
        f'<script type="application/json" id="recording">{inside}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
