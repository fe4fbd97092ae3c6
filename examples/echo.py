"""A complete agent: any ACP editor can start it with `python echo.py`."""

import acpella


async def reply(turn: acpella.Turn):
    yield f"You said: {turn.text}"


acpella.run(reply)
