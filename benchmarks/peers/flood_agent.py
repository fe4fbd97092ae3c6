"""An agent that says very much: `flood RATE SECONDS` sends that many updates a second, a word each."""

import asyncio
import time

import acpella


async def reply(turn: acpella.Turn) -> None:
    words = turn.text.split()
    if len(words) != 3 or words[0] != "flood":
        await turn.say("flood RATE SECONDS")
        return
    rate, seconds = int(words[1]), float(words[2])
    began, sent = time.perf_counter(), 0
    while sent < rate * seconds:
        due = min(int((time.perf_counter() - began) * rate) + 1, int(rate * seconds))
        while sent < due:
            end = "\n\n" if sent % 60 == 59 else " "
            await turn.say(f"w{sent}{end}")
            sent += 1
        await asyncio.sleep(0.005)


if __name__ == "__main__":
    acpella.run(reply)
