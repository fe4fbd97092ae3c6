"""`acpella demo`: a conversation with the built-in agent in a throw-away directory, without any key."""

import argparse
import asyncio
import difflib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acpella.client import ToolCallState, UpdatesDropped
from acpella.schema import (
    AgentMessageChunk,
    Diff,
    RequestPermissionRequest,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallContent,
    ToolCallUpdate,
)

from .. import exits

__all__ = ["declare", "run"]

PROGRAM = """def greet(name):
    return f"helo, {name}"


print(greet("world"))
"""

PROMPTS = (
    "read greet.py",
    'replace "helo" by "hello" in greet.py',
    "run python3 greet.py",
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "A conversation with the built-in coding agent in a throw-away directory: it reads a file, proposes "
        "an edit, asks, and runs a command. Needs no key and no network."
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="answer yes to the agent's questions; the default without a terminal",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError

    directory = Path(tempfile.mkdtemp(prefix="acpella-demo-"))
    try:
        asyncio.run(_demo(directory, ask=sys.stdin.isatty() and not arguments.yes))
    except (AcpellaError, OSError, TimeoutError) as error:
        print(f"acpella: {error}", file=sys.stderr)  # noqa: T201 - this is what the user must know
        return exits.code_for(error)
    except KeyboardInterrupt:
        return exits.CANCELLED
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return exits.DONE


async def _demo(directory: Path, *, ask: bool) -> None:
    from acpella.client import Permissions, Workspace, connect

    (directory / "greet.py").write_text(PROGRAM, encoding="utf-8")
    screen = _Screen()
    _tell(
        f"A conversation with `acpella agent` in {directory}, as an editor would have it.",
        "The model is `offline`: it needs no key and understands a few plain requests.",
    )
    environment = {
        "ACPELLA_PERMISSION_FILE": str(directory / "permissions.toml"),  # nothing is remembered of this
        "ACPELLA_LOG": "off",
    }
    async with connect(
        [sys.executable, "-m", "acpella", "agent", "--model", "offline", "--store", "memory"],
        env=environment,
        files=Workspace(write=True),
        terminals=False,
        permissions=Permissions("ask", ask=_asker(screen, ask=ask)),
    ) as agent:
        session = await agent.new_session(directory)
        for prompt in PROMPTS:
            _tell("", f"> {prompt}")
            turn = session.prompt(prompt)
            async for update in turn:
                if not isinstance(update, UpdatesDropped):
                    screen.update(update, turn.result.tool_calls)
            screen.line("")
    _tell("", *_next_steps())


class _Screen:
    """The conversation as lines; each diff once, when the user is asked or when it was made."""

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._at_start = True
        self._diffs: list[Diff] = []

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            sys.stdout.write(update.content.text)
            self._at_start = update.content.text.endswith("\n")
        elif isinstance(update, ToolCall):
            self.line(f"[{update.kind}] {update.title}", "36")
        elif isinstance(update, ToolCallUpdate) and update.status in ("completed", "failed"):
            call = calls[update.tool_call_id]
            self._show_diffs(call.content)
            self.line(
                f"[{call.kind}] {call.title}: {update.status}", "32" if update.status == "completed" else "31"
            )

    def question(self, request: RequestPermissionRequest) -> None:
        """What the agent wants to do."""
        self.line(f"The agent asks: {request.tool_call.title}?", "1")
        self._show_diffs(request.tool_call.content or [])

    def line(self, text: str, colour: str = "0") -> None:
        """A line of its own."""
        if not self._at_start:
            sys.stdout.write("\n")
        print(f"\x1b[{colour}m{text}\x1b[0m" if self._colour else text, flush=True)  # noqa: T201 - the output
        self._at_start = True

    def _show_diffs(self, content: Sequence[ToolCallContent]) -> None:
        for item in content:
            if isinstance(item, Diff) and item not in self._diffs:
                self._diffs.append(item)
                name = Path(item.path).name
                old, new = (item.old_text or "").splitlines(), item.new_text.splitlines()
                for line in difflib.unified_diff(old, new, name, name, lineterm="", n=1):
                    self.line(f"    {line}", {"+": "32", "-": "31"}.get(line[0], "2"))


def _asker(screen: _Screen, *, ask: bool) -> Any:
    async def answer(request: Any) -> Any:
        screen.question(request)
        if not ask:
            chosen = next(option for option in request.options if option.kind == "allow_once")
            why = "--yes" if sys.stdin.isatty() else "nobody is at a terminal to answer"
            _tell(f"({why}, so the demo says: {chosen.name})")
            return chosen
        for number, option in enumerate(request.options, 1):
            _tell(f"  {number}  {option.name}")
        while True:
            typed = (await _read_line("Your answer [1]: ")).strip() or "1"
            if typed.isdigit() and 1 <= int(typed) <= len(request.options):
                return request.options[int(typed) - 1]
            _tell(f"Type a number from 1 to {len(request.options)}.")

    return answer


async def _read_line(question: str) -> str:
    """A line from the terminal; its end counts as no."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        text = sys.stdin.readline()
        loop.call_soon_threadsafe(lambda: line.done() or line.set_result(text))

    print(question, end="", flush=True)  # noqa: T201 - the output
    threading.Thread(target=read, daemon=True).start()  # left behind by Ctrl-C
    return await line or "3"


def _next_steps() -> list[str]:
    command = shutil.which("acpella", path=os.path.dirname(sys.executable)) or "acpella"
    zed = {"agent_servers": {"coder": {"type": "custom", "command": command, "args": ["agent"]}}}
    return [
        "That was the protocol at work: prompts, tool calls, a diff, permission, answers. Now for real:",
        "",
        "A real model: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or",
        "ACPELLA_MODEL=ollama:NAME for one on this machine, then, in a project of yours:",
        f'    {command} run "what is this project about?"',
        "",
        "An editor: Zed takes this in its settings (docs/how-to/editors.md has the others):",
        f"    {json.dumps(zed)}",
    ]


def _tell(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201 - the output
