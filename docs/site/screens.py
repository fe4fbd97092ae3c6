"""Makes the pictures of terminal screens in `docs/pictures`, from real runs: `python docs/site/screens.py`.

Each command runs on a terminal in memory (pyte), with a home and a project of its own; keys are pressed
when the text that they answer is on the screen. The picture is plain SVG with the fonts of the reader's
system.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pyte

PICTURES = Path(__file__).parents[1] / "pictures"
PATIENCE = 60.0
"""Seconds for a text to appear."""

COLOURS = {
    "default": "#d7dce5",
    "black": "#5b6577",
    "red": "#ff7b86",
    "green": "#7fd88f",
    "brown": "#e8c26a",
    "yellow": "#e8c26a",
    "blue": "#7cacf8",
    "magenta": "#d3a2f2",
    "cyan": "#6fd3d3",
    "white": "#f4f6fa",
}
GROUND = "#171b24"
GROUNDS = {
    "black": "#2a3140",
    "red": "#5a2730",
    "green": "#234a30",
    "blue": "#233a63",
    "brown": "#57481f",
    "white": "#d7dce5",
}
CELL_WIDTH, CELL_HEIGHT = 8.4, 18
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"


@dataclass(frozen=True)
class Step:
    """Wait for a text on the screen, then press keys; no keys: only wait."""

    wait_for: str
    keys: str = ""


@dataclass(frozen=True)
class Picture:
    """A command whose screen is shown."""

    name: str
    command: str
    steps: tuple[Step, ...]
    columns: int = 88
    rows: int = 34


SHOWN = (
    Picture(
        "run",
        """acpella run 'replace "helo" by "hello" in greet.py and then run python3 greet.py'""",
        (Step("[1-4 or letter", "a"), Step("Run python3 greet.py", "a"), Step("\n$ ")),
        rows=52,
    ),
    Picture(
        "chat",
        "acpella chat",
        (
            Step("›", "read greet.py\r"),
            Step("✓ read"),
            Step("›", "/mode read-only\r"),
            Step("mode read-only"),
            Step("Read only", "run make clean\r"),
            Step("I cannot do this"),
        ),
    ),
    Picture("doctor", "acpella agents doctor coder", (Step("\n$ "),), rows=40),
)


class Terminal:
    """A program on a terminal in memory."""

    def __init__(self, picture: Picture, home: Path) -> None:
        self.screen = pyte.Screen(picture.columns, picture.rows)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", picture.rows, picture.columns, 0, 0))
        environment = {
            "HOME": str(home),
            "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ACPELLA_MODEL": "offline",
        }
        typed = f"printf '\\033[2m$\\033[0m %s\\n' {quoted(picture.command)}"
        script = f"{typed}; {picture.command}; printf '\\n$ '; sleep 600"
        self._process = subprocess.Popen(
            ["bash", "-c", script],
            cwd=home / "greetings",
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def wait_for(self, text: str) -> None:
        """Until the text is on the screen, and nothing has changed for a moment."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            quiet = not self._read(0.7)
            body = "\n".join(self.screen.display[1:])
            if quiet and text in body:
                return
        raise SystemExit(f"{text!r} did not come:\n" + "\n".join(self.screen.display))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        with contextlib.suppress(OSError):  # the program has ended
            self._stream.feed(os.read(self._master, 65536))
        return True

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)


def quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def svg(screen: pyte.Screen) -> str:
    """The screen as a picture, without empty rows at its end."""
    rows = len(screen.display)
    while rows and not screen.display[rows - 1].strip(" $"):
        rows -= 1
    width, height = screen.columns * CELL_WIDTH + 32, rows * CELL_HEIGHT + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}">',
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
        '<g fill="#3a4252">' + "".join(f'<circle cx="{x}" cy="18" r="5"/>' for x in (20, 38, 56)) + "</g>",
        f'<g font-family="{FONTS}" font-size="13.5">',
    ]
    for row in range(rows):
        y = 52 + row * CELL_HEIGHT
        for column, text, cell in _runs(screen, row):
            x = 16 + column * CELL_WIDTH
            colour = COLOURS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else COLOURS["default"])
            ground = GROUNDS.get(cell.bg, "")
            if cell.reverse:
                colour, ground = GROUND, colour
            if ground:
                parts.append(
                    f'<rect x="{x:.1f}" y="{y - 13.5:.1f}" width="{len(text) * CELL_WIDTH:.1f}" '
                    f'height="{CELL_HEIGHT}" fill="{ground}"/>'
                )
            style = (' font-weight="600"' if cell.bold else "") + (
                ' font-style="italic"' if cell.italics else ""
            )
            length = f'textLength="{len(text) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<text x="{x:.1f}" y="{y}" fill="{colour}"{style} {length}>{escape(text)}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _runs(screen: pyte.Screen, row: int) -> list[tuple[int, str, "pyte.screens.Char"]]:
    """Neighbouring cells that look the same, without blanks at the end."""
    line = screen.buffer[row]
    runs: list[tuple[int, str, pyte.screens.Char]] = []
    for column in range(screen.columns):
        cell = line[column]
        if runs and _look(runs[-1][2]) == _look(cell) and runs[-1][0] + len(runs[-1][1]) == column:
            start, text, first = runs[-1]
            runs[-1] = (start, text + cell.data, first)
        else:
            runs.append((column, cell.data, cell))
    trimmed: list[tuple[int, str, pyte.screens.Char]] = []
    for column, text, cell in runs:
        if cell.bg == "default" and not cell.reverse:  # blanks are not seen, and SVG would fold them
            column += len(text) - len(text.lstrip(" "))
            text = text.strip(" ")
        if text:
            trimmed.append((column, text.replace(" ", "\N{NO-BREAK SPACE}"), cell))
    return trimmed


def _look(cell: "pyte.screens.Char") -> tuple[object, ...]:
    return (cell.fg, cell.bg, cell.bold, cell.italics, cell.reverse)


def main() -> None:
    wanted = sys.argv[1:]
    for picture in SHOWN:
        if wanted and picture.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            project = home / "greetings"
            project.mkdir()
            (project / "greet.py").write_text(
                'def greet(name):\n    return f"helo, {name}"\n\n\nprint(greet("world"))\n', encoding="utf-8"
            )
            terminal = Terminal(picture, home)
            try:
                for step in picture.steps:
                    terminal.wait_for(step.wait_for)
                    if step.keys:
                        terminal.press(step.keys)
                (PICTURES / f"{picture.name}.svg").write_text(svg(terminal.screen), encoding="utf-8")
            finally:
                terminal.close()
        print(f"docs/pictures/{picture.name}.svg")


if __name__ == "__main__":
    main()
