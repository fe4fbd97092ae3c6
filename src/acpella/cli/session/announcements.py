"""Waits for what an agent announces shortly after a session was made."""

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acpella.client import ClientSession

__all__ = ["commands"]


async def commands(session: "ClientSession", *, within: float) -> None:
    """Wait until the agent has told its slash commands; it may have none, so not for long."""
    announced = asyncio.Event()

    def on_update(update: object) -> None:
        announced.set()

    session.on_update = on_update
    try:
        async with asyncio.timeout(within):
            while not session.commands:
                await announced.wait()
                announced.clear()
    except TimeoutError:
        pass
