"""Replaces what reveals who and where: home, user, machine, directories, sessions."""

import getpass
import os
import re
import socket
from typing import Any, cast
from urllib.parse import quote

__all__ = ["HOMES", "Anonymizer", "own_homes", "spellings"]

SHORTEST_NAME = 4
"""The fewest characters of a user or host name that is replaced; shorter ones are parts of other words."""

COMMON_NAMES = {
    "root",
    "user",
    "admin",
    "localhost",
    "ubuntu",
    "runner",
    "vscode",
    "node",
    "nobody",
    "debian",
    "home",
}
"""Names that reveal nothing about a person, and are common words as well."""

SHORTEST_SESSION = 6

EVERYWHERE = {"/", "/usr", "/usr/local", "/opt", "/opt/homebrew"}
"""Directories of programs that reveal nothing about a machine."""

HOMES = re.compile(
    r"(?:/home|/Users)/[^/\s\"'<>:;,]+|[A-Za-z]:\\Users\\[^\\\s\"'<>:;,]+"
    r"|%2[Ff](?:home|Users)%2[Ff][^%/\s\"'<>:;,&]+"
)
"""Home directories of anybody, also as a part of a URL."""


def own_homes() -> list[str]:
    """The home directory of this user, by its name and by where it is."""
    home = os.path.expanduser("~")
    return [place for path in (home, os.path.realpath(home)) if len(place := path.rstrip("/\\")) > 1]


def spellings(path: str) -> set[str]:
    """A path as it is, as the path of a URL, and as a parameter of one."""
    encoded = quote(path, safe="")
    small = re.sub("%..", lambda code: code[0].lower(), encoded)
    return {path, quote(path), encoded, small}


class Anonymizer:
    """Learns directories and sessions from the messages, and takes the other names from this machine."""

    def __init__(self, *, cwd: str | None = None) -> None:
        self._paths: dict[str, str] = {}
        self._spelled: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._sessions = 0
        for home in own_homes():
            self._add_path(home, "<home>")
        if cwd is not None:
            self._add_path(cwd, "<cwd>")
        for name, placeholder in ((_user(), "<user>"), (socket.gethostname(), "<host>")):
            if len(name) >= SHORTEST_NAME and name.lower() not in COMMON_NAMES:
                self._words[name] = placeholder

    def words(self, words: list[str]) -> list[str]:
        """Anonymize a command line: the paths of its programs and files reveal whose machine it is."""
        for word in words:
            if os.path.isabs(word):
                place = os.path.dirname(word)
                if os.path.basename(place) in ("bin", "Scripts"):
                    place = os.path.dirname(place)  # the root of an environment, which also holds its modules
                if place not in EVERYWHERE:
                    self._add_path(place, "<program>")
        return [self.text(word) for word in words]

    def learn(self, value: Any) -> None:
        """Note the sessions and directories that a message names."""
        if isinstance(value, list):
            for item in cast("list[Any]", value):
                self.learn(item)
        elif isinstance(value, dict):
            for name, item in cast("dict[str, Any]", value).items():
                if name == "sessionId" and isinstance(item, str):
                    self._add_session(item)
                elif name == "cwd" and isinstance(item, str):
                    self._add_path(item, "<cwd>")
                elif isinstance(item, dict | list):
                    self.learn(item)

    def value(self, value: Any) -> Any:
        """Anonymize JSON, including the names of fields."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {self.text(k): self.value(v) for k, v in cast("dict[str, Any]", value).items()}
        return value

    def text(self, text: str) -> str:
        if self._pattern is None:
            self._spelled = {each: path for path in self._paths for each in spellings(path)}
            # longest first, so that a known directory below home does not become <home>/…
            paths = sorted(self._spelled, key=len, reverse=True)
            words = sorted(self._words, key=len, reverse=True)
            parts = [rf"{re.escape(path)}(?![\w.-])" for path in paths]
            parts += [rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words]
            self._pattern = re.compile("|".join(parts) or r"(?!)")
        return HOMES.sub("<home>", self._pattern.sub(self._placeholder, text))

    def _placeholder(self, match: re.Match[str]) -> str:
        word = match[0]
        return self._words.get(word) or self._paths[self._spelled[word]]

    def _add_path(self, path: str, placeholder: str) -> None:
        path = path.rstrip("/\\")
        if len(path) > 1 and path not in self._paths:
            if placeholder in ("<cwd>", "<program>") and placeholder in self._paths.values():
                alike = sum(name.startswith(placeholder[:-1]) for name in self._paths.values())
                placeholder = f"{placeholder[:-1]} {alike + 1}>"
            self._paths[path] = placeholder
            self._pattern = None

    def _add_session(self, session: str) -> None:
        if (
            len(session) >= SHORTEST_SESSION
            and session not in self._words
            and not session.startswith("<session")
        ):
            self._sessions += 1
            self._words[session] = f"<session {self._sessions}>"
            self._pattern = None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no user has this id
        return ""
