"""JSON as people write it into settings: with comments and trailing commas."""

import re
from typing import Any

__all__ = ["parse", "strip"]

_PARTS = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*+"?)"""
    r"""|(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?P<end>\*/)?)"""
    r"""|(?P<comma>,)|(?P<other>[^\s"/,]|/)"""
)


def parse(text: str) -> Any:
    """Parse the text.

    Raises:
        ValueError: it is not JSON; with line and column.
    """
    import json

    try:
        return json.loads(strip(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("not JSON: it is nested too deeply") from None


def strip(text: str) -> str:
    """Replace comments and trailing commas with spaces, so that line and column numbers stay the same.

    Raises:
        ValueError: a comment has no end.
    """
    gaps: list[tuple[int, int]] = []
    comma = -1  # a comma after a value, while nothing has followed it
    before = ""
    for part in _PARTS.finditer(text):
        if part.lastgroup in ("comment", "end"):
            if part["comment"].startswith("/*") and part["end"] is None:
                line = text.count("\n", 0, part.start()) + 1
                raise ValueError(f"not JSON: the comment that begins in line {line} has no end")
            gaps.append(part.span())
            continue
        token = part[0]
        if comma >= 0 and token in "]}":
            gaps.append((comma, comma + 1))
        comma = part.start() if token == "," and before not in ("", ",", "[", "{", ":") else -1
        before = token
    pieces: list[str] = []
    done = 0
    for start, end in sorted(gaps):
        pieces += [text[done:start], re.sub(r"[^\n\r]", " ", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])
