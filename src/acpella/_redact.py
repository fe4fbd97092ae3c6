"""Takes secrets out of text before it is logged, kept or shown in an error."""

import re

__all__ = ["redact"]

_HIDDEN = "***"

_SECRET_WORDS = "api[_-]?key|token|secret|password|passwd|authorization|cookie|credential|private[_-]?key"

# Possessive repeats (`++`) never try again: a peer may print anything, and this must stay quick.
_SECRET_KEY = rf"(?=[\w.-]*?(?:{_SECRET_WORDS}))[\w.-]++"
_VALUE = r"""(?:'[^'\n]*+'?|"[^"\n]*+"?|[^\s,;&"']++)"""

# Works on pieces of JSON too: frames are shortened before they are redacted, so the end may be missing.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?$)'
_RULES = [
    # "env": {...} and "headers": {...}: every value of the map
    (re.compile(rf'("(?:env|headers)"\s*+:\s*+\{{)(?:[^"}}]|{_STRING})++'), rf'\1"{_HIDDEN}"'),
    # {"name": "...", "value": "..."}: environment variables and headers of MCP servers and terminals
    (re.compile(rf'("name"\s*+:\s*+{_STRING}\s*+,\s*+"value"\s*+:\s*+){_STRING}'), rf'\1"{_HIDDEN}"'),
    (re.compile(rf'("value"\s*+:\s*+){_STRING}(\s*+,\s*+"name"\s*+:)'), rf'\1"{_HIDDEN}"\2'),
    # backslashes: JSON inside a string
    (re.compile(rf'("{_SECRET_KEY}\\*+"\s*+:\s*+\\*+){_STRING}', re.IGNORECASE), rf'\1"{_HIDDEN}"'),
    (re.compile(r"\b(Bearer|Basic)\s++[\w.~+/=-]{4,}", re.IGNORECASE), rf"\1 {_HIDDEN}"),
    (re.compile(rf"(?<![\w.-])({_SECRET_KEY}\s*+[=:]\s*+){_VALUE}", re.IGNORECASE), rf"\1{_HIDDEN}"),
    # --token abc
    (re.compile(rf"(?<![\w.-])(--?{_SECRET_KEY}\s++)(?!-){_VALUE}", re.IGNORECASE), rf"\1{_HIDDEN}"),
    (re.compile(r"(://)[^\s/@\"']++@"), rf"\1{_HIDDEN}@"),
    # how a WebSocket or an event stream brings a token or ticket when it can set no header
    (re.compile(r"(\bacpella\.(?:token|ticket)\.|[?&]ticket=)[^\s&\"',]++"), rf"\1{_HIDDEN}"),
    (re.compile(r"\b(?:sk|pk|ghp|gho|ghs|xox[abp])[-_][\w-]{12,}"), _HIDDEN),
]


def redact(text: str) -> str:
    """The text with tokens, keys, passwords, header and environment values replaced by `***`."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
