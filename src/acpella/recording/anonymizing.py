"""Replaces what reveals who and where: home, user, machine, directories, sessions."""

import getpass
import os
import re
import socket
from typing import Any, cast

__all__ = ["Anonymizer"]

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

_HOMES = re.compile(r"(?:/home|/Users)/[^/\s\"'<>:;,]+|[A-Za-z]:\\Users\\[^\\\s\"'<>:;,]+")


class Anonymizer:
    """Learns directories and sessions from the messages, and takes the other names from this machine."""

    def __init__(self, *, cwd: str | None = None) -> None:
        self._paths: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._sessions = 0
        for home in (os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))):
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
            # longest first, so that a known directory below home does not become <home>/…
            paths = sorted(self._paths, key=len, reverse=True)
            words = sorted(self._words, key=len, reverse=True)
            parts = [rf"{re.escape(path)}(?![\w.-])" for path in paths]
            parts += [rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words]
            self._pattern = re.compile("|".join(parts) or r"(?!)")
        placeholders = self._paths | self._words
        return _HOMES.sub("<home>", self._pattern.sub(lambda match: placeholders[match[0]], text))

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
