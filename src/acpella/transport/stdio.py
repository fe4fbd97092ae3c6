"""This process's own stdin and stdout as a channel: how an editor talks to an agent that it started."""

import os
import sys

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver

from ._pipes import ReadEnd, WriteEnd, open_reader, open_writer

__all__ = ["StdioChannel"]


class StdioChannel:
    """The protocol on stdin and stdout: pipes, sockets, files or a terminal.

    While it is open, stdout belongs to the protocol (R-003): `print` and the output of child processes go
    to stderr, and child processes read an empty stdin. Both come back when it is closed.
    """

    about: ChannelInfo = ChannelInfo()

    def __init__(self) -> None:
        self._guard: _Guard | None = None
        self._reader: ReadEnd | None = None
        self._writer: WriteEnd | None = None
        self._ended = False

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Take over stdin and stdout.

        Raises:
            TransportError: one of them is closed.
        """
        if self._guard is not None:
            raise LocalProtocolError("stdin and stdout are in use already")
        self._receiver = receiver
        guard = _Guard()
        stdin, stdout = guard.take()
        self._guard = guard
        try:
            self._writer = await open_writer(
                stdout,
                high=write_high,
                pause=receiver.pause_writing,
                resume=receiver.resume_writing,
                lost=self._stdout_lost,
            )
            self._reader = await open_reader(stdin, receiver.received, self._stdin_ended)
        except BaseException:
            await self.close()
            raise

    def write(self, data: bytes | bytearray) -> None:
        if self._writer is not None:
            self._writer.write(data)

    def pause_reading(self) -> None:
        if self._reader is not None:
            self._reader.pause()

    def resume_reading(self) -> None:
        if self._reader is not None:
            self._reader.resume()

    async def close(self) -> None:
        """Write what is left and give stdin and stdout back."""
        self._ended = True
        reader, self._reader = self._reader, None
        writer, self._writer = self._writer, None
        guard, self._guard = self._guard, None
        if reader is not None:
            reader.close()
        if writer is not None:
            await writer.close()
        if guard is not None:
            guard.give_back()

    def _stdin_ended(self) -> None:
        self._end(ConnectionClosed("the client closed the connection", clean=True))

    def _stdout_lost(self) -> None:
        self._end(ConnectionClosed("the client stopped reading"))

    def _end(self, reason: ConnectionClosed) -> None:
        if not self._ended:
            self._ended = True
            self._receiver.ended(reason)


class _Guard:
    """Keeps everybody but the protocol away from the descriptors 0 and 1."""

    def take(self) -> tuple[int, int]:
        """Private copies of stdin and stdout; the public ones lead to nothing and to stderr."""
        try:
            if sys.__stdin__ is None or sys.__stdout__ is None:
                raise OSError  # were closed at the start; by now their numbers may lead to anything
            self._stdin, self._stdout = os.dup(0), os.dup(1)  # not inherited by children
        except OSError:
            raise TransportError("stdin and stdout must be open to speak ACP on them") from None
        stdin, stdout = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(nothing, 0)
            try:
                os.dup2(nothing if sys.__stderr__ is None else 2, 1)
            except OSError:  # closed meanwhile
                os.dup2(nothing, 1)
        finally:
            os.close(nothing)
        self._settle_prints()
        return stdin, stdout

    def give_back(self) -> None:
        """Undo `take`."""
        self._settle_prints()
        os.dup2(self._stdin, 0)
        os.dup2(self._stdout, 1)
        if sys.platform != "win32":
            os.set_blocking(0, True)  # the loop had made the shared description non-blocking
            os.set_blocking(1, True)
        os.close(self._stdin)
        os.close(self._stdout)

    @staticmethod
    def _settle_prints() -> None:
        """What was printed so far goes where descriptor 1 leads now, not where it will lead later."""
        try:
            if sys.stdout is not None:  # None under pythonw
                sys.stdout.flush()
        except (OSError, ValueError):
            pass  # closed or broken: nothing to save
