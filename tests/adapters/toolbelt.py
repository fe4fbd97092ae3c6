"""Tools that the agents of the tests have: plain functions, as every framework takes them."""

import asyncio
from pathlib import Path

import acpella

running = asyncio.Event()
"""Set while `slow` runs."""

together = asyncio.Barrier(2)
"""`both` returns only when two of them run at once."""


def reset() -> None:
    global running, together
    running, together = asyncio.Event(), asyncio.Barrier(2)


async def read_note(path: str) -> str:
    """Read a note."""
    return f"the note in {path}"


async def edit_file(path: str, old_string: str, new_string: str) -> str:
    """Change a text file."""
    return "changed"


async def run_shell(command: str) -> str:
    """Run a shell command."""
    return f"ran {command}"


async def broken(reason: str) -> str:
    """Always fails."""
    raise RuntimeError(f"it is broken: {reason}")


async def slow(seconds: int) -> str:
    """Takes for ever."""
    running.set()
    await asyncio.Event().wait()
    return "never"


async def both(name: str) -> str:
    """Waits for the other one."""
    await together.wait()
    return f"{name} is done"


async def through_editor(path: str) -> str:
    """Read a file through the editor, by the turn of the context."""
    return await acpella.current_turn().files.read(path)


def printing(text: str) -> str:
    """Print something, as careless tools do."""
    print(text)
    print('{"jsonrpc": "2.0", "method": "session/update"}', flush=True)
    return f"printed in {Path.cwd().name}"
