"""`acpella connect`: an agent behind a URL for an editor that only starts programs and talks over stdio."""

import argparse
import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from acpella._processes import HANGUP, on_signals

from .. import exits
from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.errors import ConnectionClosed
    from acpella.rpc import Channel
    from acpella.rpc.framing import Broken
    from acpella.rpc.relay import Frame

__all__ = ["declare", "run"]

WRITE_HIGH = 256 * 1024
"""Bytes that may wait on one side before the other is read no further."""

GOODBYE = 5.0
"""Seconds for what the editor said last to reach the server, and for the server to be told of the end."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Give an editor that only knows stdio an agent behind a URL: the editor starts this command and\n"
        "talks to it as to an agent. Messages pass unchanged; cut connections are picked up where possible."
    )
    parser.epilog = (
        "Nothing is printed unless something is wrong, and then to stderr. The command ends when the editor\n"
        "closes its input (exit code 0), when the server cannot be reached (3) or when it is lost (4)."
    )
    add = parser.add_argument
    add("target", metavar="URL|NAME", help="http, https, ws or wss URL, or a name of the settings with a url")
    add(
        "--header",
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="send this header with every request; may be repeated",
    )
    add(
        "--token-file",
        metavar="PATH",
        help="read the token from a file; default: the environment variable ACPELLA_TOKEN",
    )
    add("--settings", metavar="PATH", help="the settings file; default: as for `acpella run`")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from acpella.errors import AcpellaError

    try:
        return asyncio.run(_run(arguments))
    except (AcpellaError, OSError, ValueError) as error:
        say(str(error))
        return exits.code_for(error)
    except KeyboardInterrupt:
        return exits.CANCELLED


async def _run(arguments: argparse.Namespace) -> int:
    from acpella.client.targets import find_endpoint, open_endpoint
    from acpella.transport import StdioChannel

    from ..state.settings import find

    settings = find(arguments.settings)
    endpoint = find_endpoint(
        arguments.target,
        settings=settings,
        headers=dict(map(_header, arguments.header)),
        token=_token(arguments.token_file),
    )
    if endpoint is None:
        hint = settings.suggest(arguments.target)
        raise ValueError(f"{arguments.target!r} is not the URL of an agent" + (f"; {hint}" if hint else ""))
    remote = open_endpoint(endpoint[1], on_link=_tell_link)
    return await _Bridge(StdioChannel(), remote).run()


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ValueError("--header wants NAME: VALUE")
    return name.strip(), value.strip()


def _token(path: str | None) -> str | None:
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def _tell_link(up: bool) -> None:
    say("the connection is back" if up else "the connection was cut; picking it up")


class _Bridge:
    """A relay between stdio and a server; each side is read only as fast as the other takes it."""

    def __init__(self, editor: "Channel", server: "Channel") -> None:
        from acpella.rpc.relay import Relay
        from acpella.transport.endpoint import MAX_MESSAGE

        self._editor = editor
        self._server = server
        self._relay = Relay(
            to_client=editor.write, to_agent=server.write, on_noise=_tell_noise, max_frame=MAX_MESSAGE
        )
        self._ended: asyncio.Future[tuple[bool, ConnectionClosed]] | None = None

    async def run(self) -> int:
        from acpella.errors import ConnectionClosed, RpcError, TransportError

        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        # the server is told, so that it keeps nothing for us
        by_signal = ConnectionClosed("ended by a signal")
        on_signals((signal.SIGINT, signal.SIGTERM, *HANGUP), lambda: self._end(True, by_signal))
        await self._server.open(
            _Reader(self._from_server, self._editor, lambda reason: self._end(False, reason)),
            write_high=WRITE_HIGH,
        )
        try:
            await self._editor.open(
                _Reader(self._from_editor, self._server, lambda reason: self._end(True, reason)),
                write_high=WRITE_HIGH,
            )
            by_editor, reason = await self._ended
            if by_editor:
                self._relay.finish("to_agent")
            else:
                self._relay.lost("to_client", RpcError(str(reason)))
        finally:
            try:
                async with asyncio.timeout(GOODBYE):
                    await self._server.close()
            except TimeoutError:
                pass
            finally:
                await self._editor.close()
        failure = self._server.about.failure
        if by_editor and failure is None:
            return exits.DONE
        say(str(failure or reason))
        return exits.NOT_FOUND if isinstance(failure, TransportError) else exits.CRASHED

    def _end(self, by_editor: bool, reason: "ConnectionClosed") -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result((by_editor, reason))

    def _from_editor(self, data: bytes) -> None:
        self._relay.receive("to_agent", data)

    def _from_server(self, data: bytes) -> None:
        self._relay.receive("to_client", data)


def _tell_noise(direction: str, noise: "Broken | Frame") -> None:
    from acpella.rpc.framing import Broken

    if isinstance(noise, Broken):
        whose = "the editor" if direction == "to_agent" else "the server"
        say(f"a message from {whose} was dropped: {noise.reason}")


class _Reader:
    """What one side reads goes to the other; what the other cannot take yet is not read."""

    def __init__(
        self, take: Callable[[bytes], None], other: "Channel", ended: "Callable[[ConnectionClosed], None]"
    ) -> None:
        self._take = take
        self._end = ended
        self._other = other

    def received(self, data: bytes) -> None:
        self._take(data)

    def ended(self, reason: "ConnectionClosed") -> None:
        self._end(reason)

    def pause_writing(self) -> None:
        self._other.pause_reading()

    def resume_writing(self) -> None:
        self._other.resume_reading()
