"""Text of others made safe for a terminal: it may not move the cursor, set the title or hide anything."""

import re

__all__ = ["Cleaner", "clean", "one_line"]

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erasing
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC with their end
    r"|\x9b[0-?]*[ -/]*[@-~]|\x9d[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # the same in one character
    r"|\x1b[ -/]*[0-Z\\^-~]"  # the short ones
)
_UNFINISHED = re.compile(
    r"(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|\x9d)[^\x07\x1b\x9c]*\x1b?)\Z"
)
_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"},
    127: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    # these turn the direction of text round, so that it reads as something else
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # halves of characters, which cannot be written
    0x2028: "\n",
    0x2029: "\n",
}
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")

MAX_HELD = 4096
"""Characters of an unfinished sequence that are held back; else a title that never ends hides the rest."""


def clean(text: str) -> str:
    """Without escape sequences, and with every other control character made visible or dropped."""
    if not _BAD.search(text):
        return text
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:  # a progress bar: what was written last stands
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\b" in text:
        text = re.sub("[^\b\n]\b", "", text)  # the way manual pages print bold
    return text.translate(_CONTROLS)


def one_line(text: str, limit: int = 500) -> str:
    """The same for titles and paths, which are shown in one line."""
    text = " ".join(clean(text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Cleaner:
    """Cleans text that comes in pieces; a sequence cut in two is held back until its end."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text, self._held = self._held + text, ""
        if ("\x1b" in text or "\x9b" in text or "\x9d" in text) and (cut := _UNFINISHED.search(text)):
            if len(text) - cut.start() <= MAX_HELD:
                text, self._held = text[: cut.start()], text[cut.start() :]
        elif text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        return clean(text)

    def end(self) -> str:
        text, self._held = self._held, ""
        return clean(text.rstrip("\r"))
