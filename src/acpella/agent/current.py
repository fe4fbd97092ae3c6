"""The turn that is being answered, for code that it was not handed to: a framework's tools."""

import asyncio
from contextvars import ContextVar
from typing import cast

from acpella.errors import LocalProtocolError

from .blocking import BlockingTurn, LoopCalls
from .turn import Turn

__all__ = ["CURRENT_TURN", "current_turn"]

CURRENT_TURN: ContextVar[tuple[Turn, LoopCalls]] = ContextVar("acpella_current_turn")


def current_turn() -> Turn:
    """The turn that is being answered here, for tools that nobody hands it to.

    It follows the context: tasks and threads that a prompt handler starts with its context find it, too. In a
    thread, the methods of the turn wait for their result instead of being awaited.

    Raises:
        LocalProtocolError: no prompt is being answered here.
    """
    entry = CURRENT_TURN.get(None)
    if entry is None:
        raise LocalProtocolError("current_turn() works while a prompt is answered; none is, here")
    turn, calls = entry
    if calls.on_loop:
        return turn
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return cast(Turn, BlockingTurn(turn, calls))
    raise LocalProtocolError("current_turn() was called on another event loop than the turn's")
