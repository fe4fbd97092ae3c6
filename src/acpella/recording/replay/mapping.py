"""Maps names in the recording to current names: sessions, terminals, directories."""

import os
import re
from typing import Any, cast

from ..media import is_cut

__all__ = ["Mapping", "name_home"]

HOME = "<home>"
"""The placeholder for the home directory in anonymized recordings."""


def name_home(value: Any, key: str = "") -> Any:
    """A message with `<home>` for the home directory, so that it compares with an anonymized one."""
    if isinstance(value, str):
        home = os.path.expanduser("~")
        return _moved(value, {home: HOME}) if len(home) > 1 else value
    return _each(value, name_home)


class Mapping:
    """Translates between recorded and current names."""

    def __init__(self) -> None:
        self._now: dict[str, dict[str, str]] = {"sessionId": {}, "terminalId": {}}
        self._recorded: dict[str, dict[str, str]] = {"sessionId": {}, "terminalId": {}}
        self._paths: dict[str, str] = {HOME: os.path.expanduser("~")}

    def add(self, kind: str, recorded: object, now: object) -> None:
        """`kind` is `sessionId` or `terminalId`."""
        if isinstance(recorded, str) and isinstance(now, str):
            self._now[kind][recorded] = now
            self._recorded[kind][now] = recorded

    def add_directory(self, recorded: object, now: object) -> None:
        """Map paths below the recorded directory to paths below the current one."""
        if isinstance(recorded, str) and isinstance(now, str) and recorded != now and len(recorded) > 1:
            self._paths[recorded.rstrip("/")] = now.rstrip("/")

    def recorded_session(self, now: str | None) -> str | None:
        """The recorded id of a current session."""
        return None if now is None else self._recorded["sessionId"].get(now, now)

    def to_now(self, value: Any, key: str = "") -> Any:
        """Translate a recorded message that is to be sent."""
        if isinstance(value, str):
            if key in self._now:
                return self._now[key].get(value, value)
            return "" if is_cut(value) else _moved(value, self._paths)
        return _each(value, self.to_now)

    def to_recorded(self, value: Any, key: str = "") -> Any:
        """Translate a new message that is to be compared with recorded ones."""
        if isinstance(value, str):
            if key in self._recorded:
                return self._recorded[key].get(value, value)
            return _moved(value, {now: recorded for recorded, now in self._paths.items()})
        return _each(value, self.to_recorded)


def _each(value: Any, translate: Any) -> Any:
    if isinstance(value, list):
        return [translate(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: translate(item, name) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _moved(text: str, paths: dict[str, str]) -> str:
    for old in sorted(paths, key=len, reverse=True):
        if old in text:
            text = re.sub(rf"{re.escape(old)}(?![\w.-])", lambda _, new=paths[old]: new, text)
    return text
