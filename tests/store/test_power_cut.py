"""The machine of the database goes away from one moment to the next."""

import asyncio
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acpella.sessions import PostgresStore, SessionRecord
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

SHUT_DOWN = 0x8004_587D
"""EXT4_IOC_SHUTDOWN: from now on nothing reaches the disk, not even what the file system has in memory."""

WITHOUT_FLUSH = 2


class Disk:
    """A file system in a file, whose power can be cut."""

    def __init__(self, directory: Path) -> None:
        self._image = directory / "image"
        self.path = directory / "disk"

    def make(self) -> None:
        """Skips the test where this cannot be done."""
        if os.geteuid() != 0:
            pytest.skip("a disk whose power can be cut can be made by root only")
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("mkfs.ext4 is not installed")
        self.path.mkdir()
        with self._image.open("wb") as image:
            image.truncate(400 * 1024 * 1024)
        subprocess.run(["mkfs.ext4", "-q", self._image], check=True)
        mounted = self._mount()
        if mounted.returncode:
            pytest.skip(f"a file cannot be mounted here: {mounted.stderr.decode().strip()}")

    def cut(self) -> None:
        opened = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(opened, SHUT_DOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(opened)

    def power_on(self) -> None:
        """What the disk has is there again, once nobody uses it as it was before."""
        deadline = time.monotonic() + 30
        while subprocess.run(["umount", self.path], capture_output=True).returncode:
            assert time.monotonic() < deadline, "the file system is still in use"
            time.sleep(0.1)
        assert self._mount().returncode == 0

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", self.path], capture_output=True)

    def _mount(self) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(["mount", "-o", "loop", self._image, self.path], capture_output=True)


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, as the path of a socket must be, and of the user that runs the database."""
    path = Path(tempfile.mkdtemp(prefix="power-"))
    if os.geteuid() == 0:
        shutil.chown(path, "nobody")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def disk(directory: Path) -> Iterator[Disk]:
    disk = Disk(directory)
    disk.make()
    yield disk
    disk.remove()


@contextmanager
def running(directory: Path, disk: Disk) -> Generator[PostgresServer]:
    """A database that writes to this disk in earnest."""
    data = disk.path / "data"
    data.mkdir(mode=0o700)
    shutil.chown(data, "nobody")
    server = PostgresServer(directory, data=data)
    server.create()
    subprocess.run(["sync", "-f", data], check=True)  # initdb was told not to
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Writing:
    """Appends to some sessions; knows what was acknowledged."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.acknowledged = {f"s{number}": 0 for number in range(5)}
        self._progress = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name in self.acknowledged:
                group.create_task(self._write(name))

    async def _write(self, name: str) -> None:
        lease = await self._store.create(SessionRecord(id=name, cwd="/x"))
        while True:
            last = self.acknowledged[name]
            body = b"%d " % (last + 1) + b"x" * 2000
            self.acknowledged[name] = await self._store.append(lease, last, [("update", body)])
            self._progress.set()

    async def progress(self) -> None:
        """Wait until each session has some more."""
        before = dict(self.acknowledged)
        while any(self.acknowledged[name] < last + 5 for name, last in before.items()):
            self._progress.clear()
            await self._progress.wait()


async def test_power_cut(directory: Path, disk: Disk) -> None:
    """What the file system had not written is gone; nothing that was acknowledged is, and what was not is
    written once when the database is back. `test_engine_crash_restart` has kill -9 of the database alone."""
    with running(directory, disk) as server:
        store = PostgresStore(server.dsn(), lease_seconds=120)
        await store.open()
        writing = Writing(store)
        task = asyncio.create_task(writing.run())
        async with asyncio.timeout(120):
            await writing.progress()
            pid = int((server.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
            disk.cut()
            os.kill(pid, signal.SIGKILL)
            acknowledged = dict(writing.acknowledged)
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(disk.power_on)
            await asyncio.to_thread(server.start)
            for name, last in acknowledged.items():
                assert (await store.get(name)).last_seq >= last
            await writing.progress()
        task.cancel()
        await asyncio.wait([task])
        for name in writing.acknowledged:
            events = [event async for piece in store.read(name) for event in piece]
            assert [int(event.body.split()[0]) for event in events] == list(range(1, len(events) + 1))
            assert len(events) >= writing.acknowledged[name]
        await store.close()
