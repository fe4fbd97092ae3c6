"""Pages of the documentation as a test sees them: their blocks of code, and what happens with each.

A page is worked through from top to bottom in an empty directory, as a reader would:

- a block with a title is a file and is written;
- `python` without a title is run as a program;
- `console` has commands behind `$ `, which are run; lines beneath a command must be in what it
  printed, in that order, and `…` stands for anything;
- `json` and `toml` are parsed.

A comment before a block changes that:

- `<!-- program: docs_src/x.py -->` is a program of `docs_src`, which is type-checked, word for word;
- `<!-- exit: 10 -->` is the exit code of its last command;
- `<!-- background -->` is a server that runs until the end of the page;
- `<!-- terminal -->` is a command that needs a terminal and is left with Ctrl-D;
- `<!-- syntax only: reason -->` cannot run here; its commands are checked as far as they are acpella's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_REMARK = re.compile(r"^<!-- (\w[\w ]*?)(?:: (.*?))? -->$")


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    line: int
    language: str
    title: str | None
    text: str
    remarks: dict[str, str] = field(default_factory=dict[str, str])
    """What the comments before it say."""

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Commands of a console, each with the output that the page shows."""
        command: list[str] = []
        output: list[str] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                if command:
                    yield "\n".join(command), output
                command, output = [line[2:]], []
            elif command and command[-1].endswith("\\"):
                command.append(line)
            else:
                output.append(line)
        if command:
            yield "\n".join(command), output


def pages() -> list[Path]:
    """Every page that is written by hand."""
    return sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])


def blocks(page: Path) -> list[Block]:
    """The blocks of a page."""
    found: list[Block] = []
    remarks: dict[str, str] = {}
    fence: re.Match[str] | None = None
    start, lines = 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = _FENCE.match(line)
        if fence is None and match is not None:
            fence, start, lines = match, number, []
        elif fence is not None and line.strip() == "```":
            title = _TITLE.search(fence["rest"])
            name = None if title is None else title[1]
            found.append(Block(start, fence["language"], name, "\n".join(lines) + "\n", remarks))
            fence, remarks = None, {}
        elif fence is not None:
            lines.append(line.removeprefix(fence["indent"]))
        elif remark := _REMARK.match(line):
            remarks[remark[1]] = remark[2] or ""
        elif line.strip():
            remarks = {}
    return found
