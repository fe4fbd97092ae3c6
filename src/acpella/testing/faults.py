"""Faults on any channel: what bad networks, bad pipes and bad peers do to a conversation.

`connect(FaultyChannel(ProcessChannel(["agent"]), faults.split(3), faults.delay(0.01)))`. Faults act one after
the other, in the order in which they are given; `split` is always the last. The seed determines everything
random, so a run can be repeated.
"""

import asyncio
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from acpella.errors import ConnectionClosed
from acpella.rpc import Channel, ChannelInfo, Receiver

__all__ = [
    "Fault",
    "FaultyChannel",
    "Way",
    "crash",
    "delay",
    "drop",
    "duplicate",
    "garbage",
    "garble",
    "split",
    "stall",
    "with_stderr_flood",
]

Way: TypeAlias = Literal["in", "out", "both"]
"""Which way a fault acts, as the owner of the channel sees it."""


class _Break(Exception):
    """The channel breaks here."""


class _Halt(Exception):
    """Nothing passes from here on."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes on their way, and how long they take."""

    data: bytes
    seconds: float = 0.0


class _Rule(Protocol):
    def __call__(self, number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]: ...


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong. Made by `split`, `delay`, `drop` and the other functions of this module."""

    name: str
    rule: _Rule
    way: Way = "both"


class _Flow:
    """What passes one way, line by line, through all its faults."""

    def __init__(self, faults: Iterable[Fault], seed: int, deliver: Callable[[bytes], None]) -> None:
        # `split` last: the other faults act on whole messages
        ordered = sorted(faults, key=lambda fault: fault.name == "split")
        self._stages = [(fault, random.Random(f"{seed} {n} {fault.name}")) for n, fault in enumerate(ordered)]
        self._counts = [0] * len(self._stages)
        self._deliver = deliver
        self._rest = b""
        self._queue: asyncio.Queue[_Piece | None] = asyncio.Queue()
        self._halted = False

    def feed(self, data: bytes) -> None:
        """Take bytes; raises `_Break` where the channel breaks."""
        if self._halted:
            return
        if not self._stages:
            self._queue.put_nowait(_Piece(data))
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                for piece in self._through(0, [_Piece(line + b"\n")]):
                    self._queue.put_nowait(piece)
            except _Halt:
                self._halted = True
                return

    def finish(self) -> None:
        """Deliver what is left; no more will be fed."""
        if self._rest and not self._halted:
            self._queue.put_nowait(_Piece(self._rest))
        self._queue.put_nowait(None)

    async def run(self) -> None:
        """Deliver what is due, in order, until the end."""
        while (piece := await self._queue.get()) is not None:
            await asyncio.sleep(piece.seconds)  # even 0: pieces must not be joined again
            self._deliver(piece.data)

    def _through(self, stage: int, pieces: Iterable[_Piece]) -> Iterable[_Piece]:
        if stage == len(self._stages):
            yield from pieces
            return
        fault, dice = self._stages[stage]
        for piece in pieces:
            self._counts[stage] += 1
            yield from self._through(stage + 1, fault.rule(self._counts[stage], piece, dice))


class FaultyChannel:
    """A channel with faults around another channel. It is opened and closed like that one."""

    def __init__(self, channel: Channel, *faults: Fault, seed: int = 0) -> None:
        self._channel = channel
        self._receiver: Receiver | None = None
        self._in = _Flow([f for f in faults if f.way != "out"], seed, self._deliver)
        self._out = _Flow([f for f in faults if f.way != "in"], seed, self._write)
        self._tasks: list[asyncio.Task[None]] = []
        self._ended = False
        self._broken = False

    @property
    def about(self) -> ChannelInfo:
        """The information of the channel inside."""
        return self._channel.about

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        self._receiver = receiver
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._in.run()), loop.create_task(self._out.run())]
        await self._channel.open(self, write_high=write_high)

    def write(self, data: bytes | bytearray) -> None:
        self._pass(self._out, bytes(data))

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    async def close(self) -> None:
        if not self._broken:
            self._out.finish()
            if len(self._tasks) > 1:
                await self._tasks[1]
        for task in self._tasks:
            task.cancel()
        await self._channel.close()

    # -- what the channel inside calls -----------------------------------------------------------

    def received(self, data: bytes) -> None:
        self._pass(self._in, data)

    def pause_writing(self) -> None:
        assert self._receiver is not None
        self._receiver.pause_writing()

    def resume_writing(self) -> None:
        assert self._receiver is not None
        self._receiver.resume_writing()

    def ended(self, reason: ConnectionClosed) -> None:
        self._in.finish()
        self._tasks[0].add_done_callback(lambda _: self._end(reason))

    def _pass(self, flow: _Flow, data: bytes) -> None:
        if self._broken:
            return
        try:
            flow.feed(data)
        except _Break:
            self._broken = True
            self._tasks.append(asyncio.get_running_loop().create_task(self._channel.close()))
            self._in.finish()
            reason = ConnectionClosed("the connection broke, as the test wanted")
            self._tasks[0].add_done_callback(lambda _: self._end(reason))

    def _deliver(self, data: bytes) -> None:
        assert self._receiver is not None
        if not self._ended:
            self._receiver.received(data)

    def _write(self, data: bytes) -> None:
        self._channel.write(data)

    def _end(self, reason: ConnectionClosed) -> None:
        assert self._receiver is not None
        if not self._ended:
            self._ended = True
            self._receiver.ended(reason)


# -- the faults ------------------------------------------------------------------------------------------


def split(most: int = 1, *, way: Way = "both") -> Fault:
    """Deliver in pieces of 1 to `most` bytes."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        start = 0
        while start < len(piece.data):
            size = dice.randint(1, most)
            yield _Piece(piece.data[start : start + size], piece.seconds if start == 0 else 0.0)
            start += size

    return Fault("split", rule, way)


def delay(seconds: float, *, way: Way = "both") -> Fault:
    """Hold each message back for up to so many seconds."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        yield _Piece(piece.data, piece.seconds + dice.uniform(0, seconds))

    return Fault("delay", rule, way)


def drop(*numbers: int, share: float = 0.0, way: Way = "both") -> Fault:
    """Lose the messages of these numbers (the first is 1), or this share of all."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        if not _hits(number, numbers, share, dice):
            yield piece

    return Fault("drop", rule, way)


def duplicate(*numbers: int, share: float = 0.0, way: Way = "both") -> Fault:
    """Deliver the messages of these numbers twice, or this share of all."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        yield piece
        if _hits(number, numbers, share, dice):
            yield piece

    return Fault("duplicate", rule, way)


def garble(*numbers: int, share: float = 0.0, way: Way = "both") -> Fault:
    """Change one byte of the messages of these numbers, or of this share of all."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        if _hits(number, numbers, share, dice) and len(piece.data) > 1:
            place = dice.randrange(len(piece.data) - 1)
            changed = bytearray(piece.data)
            changed[place] = (changed[place] + dice.randrange(1, 256)) % 256
            piece = _Piece(bytes(changed), piece.seconds)
        yield piece

    return Fault("garble", rule, way)


def garbage(*numbers: int, share: float = 0.0, size: int = 100, way: Way = "both") -> Fault:
    """Put a line of random bytes before the messages of these numbers, or before this share of all."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        if _hits(number, numbers, share, dice):
            yield _Piece(dice.randbytes(size).replace(b"\n", b" ") + b"\n")
        yield piece

    return Fault("garbage", rule, way)


def crash(after: int, *, way: Way = "both") -> Fault:
    """Break the channel after so many messages."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        if number > after:
            raise _Break
        yield piece

    return Fault("crash", rule, way)


def stall(after: int, *, way: Way = "both") -> Fault:
    """Let nothing pass after so many messages, while the channel stays open."""

    def rule(number: int, piece: _Piece, dice: random.Random) -> Iterable[_Piece]:
        if number > after:
            raise _Halt
        yield piece

    return Fault("stall", rule, way)


def with_stderr_flood(command: Sequence[str], *, size: int = 10_000_000) -> list[str]:
    """A command that writes `size` bytes to stderr, then becomes `command`."""
    flood = (
        "import os, sys\n"
        "left = int(sys.argv[1])\n"
        "while left > 0:\n"
        "    left -= os.write(2, b'x' * min(left, 9999) + b'\\n')\n"
        "os.execvp(sys.argv[2], sys.argv[2:])"
    )
    return [sys.executable, "-c", flood, str(size), *command]


def _hits(number: int, numbers: tuple[int, ...], share: float, dice: random.Random) -> bool:
    return number in numbers or (share > 0 and dice.random() < share)
