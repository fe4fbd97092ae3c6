"""The agent of the pictures: its words are written here, what it reads, edits and runs is real."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import acpella

agent = acpella.Agent(
    "fixer", version="1.4", images=True, store="sqlite", modes=[acpella.Mode("ask", "Ask first")]
)

TEST = "python3 -m pytest -q tests/test_cart.py"
CART = "src/shop/cart.py"
FILES = (CART, "src/shop/money.py", "tests/test_cart.py")
STEPS = (
    "Reproduce the failure",
    "Find where money is rounded",
    "Round once, after the discount",
    "Run the tests again",
    "Check invoices for the same mistake",
)
OLD = """\
        cents = 0
        for line in self.lines:
            cents += round(line.price * line.count * (1 - self.discount))
        return Money(cents)
"""
NEW = """\
        gross = sum(line.price * line.count for line in self.lines)
        return Money(round(gross * (1 - self.discount)))
"""
ANSWER = """\
The tests pass again. `Cart.total` rounded **every line** before it added them up; since the discount came \
in, the lost fractions could make a cent.

| Cart | Before | Now |
|---|---:|---:|
| 3 × 3.33, less 10 % | 9.00 | **8.99** |
| 7 × 19.99, no discount | 139.93 | 139.93 |

The public API is as it was:

```python
def total(self) -> Money:
    gross = sum(line.price * line.count for line in self.lines)
    return Money(round(gross * (1 - self.discount)))
```
"""


async def spoken(text: str) -> AsyncIterator[str]:
    for word in text.split(" "):
        yield word + " "
        await asyncio.sleep(0.01)


@agent.on_prompt
async def reply(turn: acpella.Turn) -> AsyncIterator[Any]:
    await turn.title("Fix rounding in cart totals")
    await asyncio.sleep(0.8)
    for thought in ("The test expects 8.99 ", "and gets 9.00. ", "Something rounds too early."):
        await turn.think(thought)
        await asyncio.sleep(0.5)
    plan = await turn.plan(*STEPS)
    await plan.start(STEPS[0])
    async for word in spoken("I run the failing test first, then look at the code behind it."):
        yield word
    async with turn.tool("Run the cart tests", kind="execute") as call:
        await turn.shell.run(TEST, call=call)
    await plan.done(STEPS[0])
    await plan.start(STEPS[1])
    async for word in spoken("Three lines of 3.33 less 10 % should be 8.99, the cart says 9.00."):
        yield word
    for path in FILES:
        async with turn.tool(f"Read {path}", kind="read", locations=[path]) as call:
            call.show(await turn.files.read(path))
            await asyncio.sleep(0.15)
    await turn.usage(used=24_800, size=200_000, cost=0.12)
    await plan.done(STEPS[1])
    await plan.start(STEPS[2])
    await asyncio.sleep(1.1)
    async for word in spoken(
        "`Cart.total` rounds each line before it adds them up. I round once, at the end."
    ):
        yield word
    old = await turn.files.read(CART)
    async with turn.tool(
        f"Edit {CART}", kind="edit", name="edit_file", locations=[CART], pending=True
    ) as call:
        call.diff(CART, old, old.replace(OLD, NEW))
        await call.progress()
        if not await turn.permit(call, f"Edit {CART}"):
            call.fail("The user said no.")
            return
        await turn.files.write(CART, old.replace(OLD, NEW))
    await plan.done(STEPS[2])
    await plan.start(STEPS[3])
    await asyncio.sleep(0.6)
    async with turn.tool("Run the cart tests", kind="execute") as call:
        await turn.shell.run(TEST, call=call)
    await plan.done(STEPS[3])
    async for word in spoken(ANSWER):
        yield word
    await plan.start(STEPS[4])
    await turn.usage(used=36_400, size=200_000, cost=0.21)


if __name__ == "__main__":
    agent.run()
