"""A program on stdio for the tests, with handlers that do what an agent's author might do.

`stdio_agent.py [before] [after]`: also print before the channel is opened, and after it is closed.
"""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from acpella.rpc import Connection
from acpella.transport import StdioChannel
from interaction.wire import PLAIN


def on_print(params: Any) -> None:
    print("printed")
    sys.stdout.flush()


def on_print_unflushed(params: Any) -> None:
    print("printed later", end="")


def on_os_write(params: Any) -> None:
    os.write(1, b"written\n")


def on_child(params: Any) -> int:
    return subprocess.run([sys.executable, "-ISc", "print('by a child')"], check=True).returncode


def on_child_reads(params: Any) -> str:
    """What a child process gets when it reads its stdin."""
    return subprocess.run(["cat"], stdout=subprocess.PIPE, check=True, timeout=5).stdout.decode()


def on_input(params: Any) -> str:
    try:
        return input()
    except EOFError:
        return "end of file"


async def on_slow(params: Any) -> str:
    await asyncio.sleep(0.1)
    return "slow"


def describe() -> dict[str, Any]:
    """What the two descriptors refer to, and how many descriptors are open."""
    ends = [os.fstat(fd) for fd in (0, 1)]
    return {
        "ends": [[end.st_dev, end.st_ino] for end in ends],
        "blocking": [os.get_blocking(fd) for fd in (0, 1)],
        "count": len(os.listdir("/proc/self/fd")),
    }


async def main() -> None:
    holder: list[Connection] = []
    requests = {
        "echo": lambda params: params,
        "text": lambda size: "x" * size,
        "print": on_print,
        "print_unflushed": on_print_unflushed,
        "os_write": on_os_write,
        "child": on_child,
        "child_reads": on_child_reads,
        "input": on_input,
        "slow": on_slow,
        "close": lambda params: holder[0].close(),
    }
    before = describe()
    async with Connection(StdioChannel(), PLAIN, requests=requests) as connection:
        holder.append(connection)
        await connection.wait_closed()
    if "after" in sys.argv:
        await asyncio.sleep(0)  # let the transports release their descriptors
        print(json.dumps({"before": before, "after": describe()}))


if "before" in sys.argv:
    print("too early", end="")
asyncio.run(main())
