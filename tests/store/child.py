"""The other process: does one thing to a database and reports it on stdout, line by line."""

import asyncio
import random
import resource
import sys

from acpella.sessions import EventKind, SessionNotFound, SessionRecord, SqliteStore, StoreError


def tell(*words: object) -> None:
    print(*words, flush=True)


async def stdin_line() -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def append_for_ever(path: str, seed: str) -> None:
    """Append to three sessions at once. Each event holds its own number; the last number is reported once it
    was acknowledged."""
    chance = random.Random(seed)
    store = SqliteStore(path)
    await store.open()

    async def write(name: str) -> None:
        try:
            lease = await store.acquire(name)
        except SessionNotFound:
            lease = await store.create(SessionRecord(id=name, cwd="/x"))
        last = (await store.get(name)).last_seq
        while True:
            count = chance.choice((1, 2, 3, 20, 400))
            events: list[tuple[EventKind, bytes]] = [
                ("update", b'{"n":%d}' % n) for n in range(last + 1, last + count + 1)
            ]
            last = await store.append(lease, last, events)
            tell(name, last)

    await asyncio.gather(*map(write, "abc"))


async def hold(path: str, name: str) -> None:
    """Hold a session open until a line arrives on stdin."""
    store = SqliteStore(path)
    await store.open()
    await store.create(SessionRecord(id=name, cwd="/x"))
    tell("held")
    await stdin_line()
    await store.close()
    tell("closed")


async def append_many(path: str, name: str, count: str) -> None:
    """Appends one event at a time to a session of its own."""
    store = SqliteStore(path)
    await store.open()
    lease = await store.create(SessionRecord(id=name, cwd="/x"))
    tell("ready")
    await stdin_line()
    for last in range(int(count)):
        await store.append(lease, last, [("update", b"{}")])
    await store.close()
    tell("done")


async def fill(path: str) -> None:
    """Runs into a file size limit, which then goes away."""
    store = SqliteStore(path)
    await store.open()
    lease = await store.create(SessionRecord(id="a", cwd="/x"))
    size = 256 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    last = 0
    event: tuple[EventKind, bytes] = ("update", b'"' + b"x" * 20_000 + b'"')
    try:
        while last < 1000:
            last = await store.append(lease, last, [event])
    except StoreError as exc:
        tell(exc)
    tell((await store.get("a")).last_seq == last)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    tell(await store.append(lease, last, [event]) == last + 1)
    await store.close()


asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
