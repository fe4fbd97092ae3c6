"""What a server owes the machine it runs on: sockets of clients that are gone, commands that it hosts."""

import asyncio
import os
import socket as sockets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.serving import Http, Talker, eventually, serving
from server.test_operations import command, url_of

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parents[1]

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")


# -- clients that are gone without a word ------------------------------------------------------------


def _accepted(server: Any) -> list[sockets.socket]:
    """The real sockets of a server's clients."""
    return [
        protocol.transport.get_extra_info("socket") for protocol in server._server.server_state.connections
    ]


@linux
async def test_tcp_asks_silent_clients_whether_they_are_there() -> None:
    limits = {"silent_seconds": 30, "stall_seconds": 20}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream():
            (accepted, *_) = _accepted(server)

            def option(name: int) -> int:
                return accepted.getsockopt(sockets.IPPROTO_TCP, name)

            assert accepted.getsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE) == 1
            assert option(sockets.TCP_KEEPIDLE) == 15
            assert option(sockets.TCP_KEEPINTVL) == 5
            assert option(sockets.TCP_KEEPCNT) == 3
            assert option(sockets.TCP_USER_TIMEOUT) == 30_000
            assert option(sockets.TCP_NODELAY) == 1
    async with serving(Talker(), limits={"silent_seconds": 0}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream():
            (accepted, *_) = _accepted(server)
            assert accepted.getsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE) == 0


TCP_REPAIR = 19


@linux
async def test_a_silent_stream_whose_client_vanished_is_noticed() -> None:
    """Nothing is written, and no FIN came: as if the client's machine had been switched off and on."""
    limits = {"silent_seconds": 2, "keepalive_seconds": 3600}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        name = client.connection["Acp-Connection-Id"]
        connection = server.app.connections.find(name, "")
        assert connection is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"GET /acp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            b"Acp-Connection-Id: " + name.encode() + b"\r\n\r\n"
        )
        async with asyncio.timeout(60):
            await reader.readuntil(b":\n\n")
        assert connection.readers == 1
        raw: Any = writer.get_extra_info("socket")
        try:
            raw.setsockopt(sockets.IPPROTO_TCP, TCP_REPAIR, 1)  # a socket that is closed now says no word
        except PermissionError:
            writer.close()
            pytest.skip("only root can take a socket away without a word")
        writer.transport.abort()
        await eventually(lambda: connection.readers == 0, "the stream is let go")


CUT_OFF = """
import asyncio, ctypes, fcntl, os, socket, struct, sys
assert ctypes.CDLL(None, use_errno=True).unshare(0x40000000) == 0  # CLONE_NEWNET
def lo(flags):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", flags))  # SIOCSIFFLAGS
lo(1)
sys.path.insert(0, sys.argv[1])
from server.serving import Http, Talker, eventually, serving
from server.test_operations import command, url_of

async def main():
    limits = {"silent_seconds": 2, "stall_seconds": 2, "keepalive_seconds": 3600}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        connection = server.app.connections.find(client.connection["Acp-Connection-Id"], "")
        async with client.stream():
            await eventually(lambda: connection.readers == 1, "it reads")
            lo(0)  # nothing gets through any more, and nobody says so
            await eventually(lambda: connection.readers == 0, "the stream is let go")
            print("noticed", flush=True)
            os._exit(0)
asyncio.run(main())
"""


@linux
def test_a_silent_stream_is_let_go_when_the_cable_is_pulled() -> None:
    """A network of its own whose only interface goes down: no answer to anything."""
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, timeout=10)
    if probe.returncode:
        pytest.skip("no network of its own can be made here")
    ran = subprocess.run(
        [sys.executable, "-c", CUT_OFF, str(HERE)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ,
    )
    assert ran.stdout == "noticed\n", ran.stderr


# -- what a hosted command may have ------------------------------------------------------------------

REPORTER = """
import json, os, resource, subprocess, sys
KINDS = ("CORE", "DATA", "AS", "NOFILE", "NPROC")
ASK = "import json, resource as r; print(json.dumps([r.getrlimit(k) for k in ({0})]))".format(
    ", ".join("r.RLIMIT_" + k for k in KINDS))
m = json.loads(sys.stdin.readline())
told = {
    "own": [resource.getrlimit(getattr(resource, "RLIMIT_" + k)) for k in KINDS],
    "child": json.loads(subprocess.check_output([sys.executable, "-c", ASK])),
    "env": sorted(os.environ),
    "argv": sys.argv[1:],
}
r = {"protocolVersion": 1, "_meta": told}
print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
sys.stdin.read()
"""

GIB = 1024**3


async def _told(tmp_path: Path, *words: str, **limits: Any) -> dict[str, Any]:
    """What a hosted command finds."""
    program = tmp_path / "reporter.py"
    program.write_text(REPORTER)
    async with serving([sys.executable, str(program), *words], limits=limits) as server:
        async with Http(server.url) as client:
            return (await client.initialize())["result"]["_meta"]


@linux
async def test_limits_hold_for_a_hosted_command_and_what_it_starts(tmp_path: Path) -> None:
    """HOSTING 6: before its first instruction, so no child of its can be without them."""
    told = await _told(
        tmp_path,
        "a b",
        "$HOME; 'x\"",
        command_memory=4 * GIB,
        command_address_space=8 * GIB,
        command_files=77,
        command_processes=5000,
    )
    wanted = [0, 4 * GIB, 8 * GIB, 77, 5000]
    assert told["own"] == told["child"] == [[limit, limit] for limit in wanted]
    assert told["argv"] == ["a b", "$HOME; 'x\""], "words pass as they are"


@linux
async def test_only_core_dumps_are_off_by_default(tmp_path: Path) -> None:
    import resource

    told = await _told(tmp_path)
    rest = [resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC]
    assert told["own"] == [[0, 0], *(list(resource.getrlimit(kind)) for kind in rest)]


@linux
async def test_a_limit_beyond_what_the_server_may_is_the_servers(tmp_path: Path) -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = await _told(tmp_path, command_files=most * 2)
    assert told["own"][3] == [most, most]


async def test_a_command_gets_the_variables_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        *("ACPELLA_TOKEN", "ACPELLA_TOKENS_FILE", "ACPELLA_SERVER_MAX_ID", "ACPELLA_STORE_DSN"),
        *("ACPELLA_DATABASE_URL", "ACPELLA_MODEL", "ONE_API_KEY", "OTHER_API_KEY", "PASSWORD"),
    ):
        monkeypatch.setenv(name, "1024")
    monkeypatch.setenv("ACPELLA_STORE", "postgresql://me:secret@db/sessions")
    own = {"ACPELLA_TOKEN", "ACPELLA_TOKENS_FILE", "ACPELLA_SERVER_MAX_ID", "ACPELLA_STORE_DSN"}
    own |= {"ACPELLA_DATABASE_URL", "ACPELLA_STORE"}
    given = set((await _told(tmp_path))["env"])
    assert given >= {"PATH", "ONE_API_KEY", "OTHER_API_KEY", "PASSWORD", "ACPELLA_MODEL"}
    assert not given & own
    given = set((await _told(tmp_path, environment=["ONE_*", "ACPELLA_*"]))["env"])
    assert given >= {"PATH", "HOME", "ONE_API_KEY", "ACPELLA_MODEL"}
    assert not given & {*own, "OTHER_API_KEY", "PASSWORD"}


STUBBORN = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
m = json.loads(sys.stdin.readline())
r = {"protocolVersion": 1, "_meta": {"pids": [os.getpid(), child.pid]}}
print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
time.sleep(600)
"""


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@linux
async def test_hosted_commands_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """kill -9: nothing of the server's runs any more, and the command listens to nobody."""
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    with command("--port", "0", "--", sys.executable, "stubborn.py", cwd=tmp_path) as process:
        url = await asyncio.to_thread(url_of, process)
        async with Http(url) as client:
            pids = (await client.initialize())["result"]["_meta"]["pids"]
            assert all(map(_runs, pids))
            process.kill()
            await eventually(lambda: not any(map(_runs, pids)), "all of it is gone")
