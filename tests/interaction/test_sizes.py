"""Messages of any size, through real pipes and both ways."""

import asyncio
import sys
import time

import pytest

from acpella.errors import ConnectionClosed, InvalidRequest, RemoteProtocolError
from acpella.rpc import Connection, Limits
from acpella.transport import ProcessChannel
from interaction.test_stdio import AGENT, ENV
from interaction.wire import PLAIN, in_headers, read_header_frames, read_lines, request

pytestmark = pytest.mark.anyio

MB = 1_000_000
PATIENCE = 120


def agent() -> ProcessChannel:
    return ProcessChannel(AGENT, env=ENV)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 569_512, MB, 10 * MB])
async def test_a_line_of_any_size_goes_there_and_back(size: int) -> None:
    """FIELD-NOTES 2"""
    text = "é" * (size // 2)
    async with asyncio.timeout(PATIENCE), Connection(agent(), PLAIN) as connection:
        assert await connection.call("echo", text) == text


async def test_a_line_of_100_megabytes_goes_there_and_back_in_seconds() -> None:
    text = "x" * (100 * MB)
    async with asyncio.timeout(PATIENCE), Connection(agent(), PLAIN) as connection:
        await connection.call("echo")
        start = time.process_time()
        answer = await connection.call("echo", text)
        assert time.process_time() - start < 10
        assert answer == text


async def test_small_calls_pass_while_large_ones_are_under_way() -> None:
    async with asyncio.timeout(PATIENCE), Connection(agent(), PLAIN) as connection:
        large = [asyncio.create_task(connection.call("text", 5 * MB)) for _ in range(3)]
        small = await asyncio.gather(*(connection.call("echo", n) for n in range(100)))
        assert small == list(range(100))
        assert [len(text) for text in await asyncio.gather(*large)] == [5 * MB] * 3


async def test_an_answer_longer_than_allowed_fails_its_call_and_no_other() -> None:
    limits = Limits(max_frame=MB)
    async with asyncio.timeout(PATIENCE), Connection(agent(), PLAIN, limits=limits) as connection:
        with pytest.raises(RemoteProtocolError, match="at most 1000000 bytes"):
            await connection.call("text", 10 * MB)
        assert await connection.call("echo", 1) == 1


async def test_a_request_longer_than_the_peer_allows_is_refused_on_its_id() -> None:
    code = """
import asyncio
from acpella.rpc import Connection, Limits
from acpella.transport import StdioChannel
from interaction.wire import PLAIN
async def main():
    options = {"requests": {"echo": lambda params: params}, "limits": Limits(max_frame=1000)}
    async with Connection(StdioChannel(), PLAIN, **options) as connection:
        await connection.wait_closed()
asyncio.run(main())
"""
    channel = ProcessChannel([sys.executable, "-c", code], env=ENV)
    async with asyncio.timeout(PATIENCE), Connection(channel, PLAIN) as connection:
        with pytest.raises(InvalidRequest, match="at most 1000 bytes"):
            await connection.call("echo", "x" * 10 * MB)
        assert await connection.call("echo", 1) == 1


async def test_a_peer_that_dies_in_the_middle_of_a_large_frame_is_told_as_dead() -> None:
    frame = """'{"id":0,"result":"' + 'x' * 5_000_000"""
    code = f"import sys; sys.stdin.readline(); sys.stdout.write({frame}); sys.exit(4)"
    async with asyncio.timeout(PATIENCE):
        async with Connection(ProcessChannel([sys.executable, "-ISc", code]), PLAIN) as connection:
            with pytest.raises(ConnectionClosed) as caught:
                await connection.call("m")
            assert caught.value.exit_code == 4


async def test_a_large_header_frame_goes_there_and_back() -> None:
    process = await asyncio.create_subprocess_exec(
        *AGENT, env=ENV, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate(
            in_headers(request(1, "echo", "é" * MB)) + in_headers(request(2, "echo", 2))
        )
    assert [len(str(message["result"])) for message in read_header_frames(out)] == [MB, 1]


async def test_an_endless_line_is_not_kept() -> None:
    """Skipped to its end without being buffered: the peer's memory says so."""
    code = """
import asyncio, resource
from acpella.rpc import Connection, Limits
from acpella.transport import StdioChannel
from interaction.wire import PLAIN
peak = lambda params=None: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
async def main():
    limits = Limits(max_frame=1_000_000)
    async with Connection(StdioChannel(), PLAIN, requests={"peak": peak}, limits=limits) as connection:
        await connection.wait_closed()
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=ENV, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    async with asyncio.timeout(PATIENCE):
        process.stdin.write(b'{"id":0,"method":"peak"}\n{"jsonrpc":"2.0","id":1,"method":"m","params":"')
        for _ in range(100):
            process.stdin.write(b"x" * MB)
            await process.stdin.drain()
        out, _ = await process.communicate(b'"}\n{"id":2,"method":"peak"}\n')
    before, refused, after = read_lines(out)
    assert (refused["id"], refused["error"]["code"]) == (1, -32600)
    assert after["result"] - before["result"] < 20_000, "KiB"
