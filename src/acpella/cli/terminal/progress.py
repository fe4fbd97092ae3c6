"""How far something is that takes a while: a bar on a terminal, a line for each step elsewhere."""

import sys
from types import TracebackType
from typing import Any, Self

from .output import say
from .rows import is_smart

__all__ = ["ShownProgress"]


class ShownProgress:
    """Shows steps and bytes on stderr. `pause` leaves the terminal to a question."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._last = ""

    def step(self, text: str) -> None:
        """Something begins."""
        if self._quiet:
            return
        if not self._open():
            if text != self._last:
                say(text)
            self._last = text
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(text, total=None)

    def bytes(self, done: int, total: int | None) -> None:
        """So much of the step is done."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def pause(self) -> None:
        """Take the bar off the screen; the next step shows it again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def _open(self) -> bool:
        """Whether there is a bar."""
        if self._bar is not None:
            return True
        from importlib.util import find_spec

        if not is_smart(sys.stderr) or find_spec("rich") is None:
            return False
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause()
