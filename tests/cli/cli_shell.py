"""The shell of a user of `acpella`: its own home, a repository, and commands typed in it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


class Shell:
    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.repo = place / "repo"
        self.home.mkdir()
        (self.repo / ".git").mkdir(parents=True)
        own = {
            "HOME": self.home,
            "XDG_CONFIG_HOME": self.home / "config",
            "XDG_DATA_HOME": self.home / "data",
            "XDG_STATE_HOME": self.home / "state",
        }
        self.env: dict[str, Any] = {
            k: v for k, v in os.environ.items() if not k.startswith(("ACPELLA_", "XDG_"))
        }
        self.env |= {name: str(path) for name, path in own.items()}
        self.state = self.home / "state" / "acpella"
        self.log = place / "agent.log"

    @property
    def scripted(self) -> str:
        """An agent that keeps its sessions."""
        return f"{sys.executable} {HERE / 'cli_agent.py'} {self.log} --store"

    @property
    def forgetful(self) -> str:
        """The same agent without a store: it can neither load nor resume sessions."""
        return f"{sys.executable} {HERE / 'cli_agent.py'} {self.log}"

    def start(self, *words: str, cwd: Path | None = None, **more: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "acpella", *words],
            stdin=more.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=more.pop("stderr", subprocess.PIPE),
            text=True,
            cwd=cwd or self.repo,
            env=self.env | more.pop("env", {}),
            start_new_session=True,
            **more,
        )

    def __call__(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=90)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    @contextmanager
    def serving(self, *words: str) -> "Iterator[tuple[str, subprocess.Popen[str]]]":
        """`acpella serve`: its URL, and its process."""
        process = self.start("serve", "--port", "0", *words)
        try:
            assert process.stderr is not None
            url = re.search(r"http://\S+", process.stderr.readline())
            assert url is not None
            yield url[0], process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    # -- what is known of the processes in the background --------------------------------------

    def addresses(self) -> list[Path]:
        return sorted((self.state / "daemons").glob("*.json"))

    def address(self) -> dict[str, Any]:
        (only,) = self.addresses()
        return json.loads(only.read_text(encoding="utf-8"))

    def events(self) -> list[tuple[str, str]]:
        if not self.log.exists():
            return []
        return [tuple(json.loads(line)[:2]) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def notes(self) -> list[tuple[str, str, int]]:
        """The events, each with the id of the process that it happened in."""
        return [tuple(json.loads(line)) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def until(self, true: Callable[[], Any], what: str = "") -> None:
        deadline = time.monotonic() + 60
        while not true():
            assert time.monotonic() < deadline, f"never happened: {what}"
            time.sleep(0.02)

    def until_event(self, *event: str) -> None:
        self.until(lambda: event in self.events(), f"{event} in {self.events()}")

    def end(self) -> None:
        """End the processes in the background; nothing may be left when a test is over."""
        pids = []
        for path in self.addresses():
            try:
                address = json.loads(path.read_text(encoding="utf-8"))
                pids += [address["pid"], address["agent_pid"]]
                os.kill(address["pid"], signal.SIGTERM)
            except (OSError, ValueError):
                continue
        try:
            self.until(lambda: not any(map(alive, pids)), f"the end of {pids}")
        finally:
            for pid in filter(alive, pids):
                os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return bool(pid) and stat.rpartition(")")[2].split()[0] != "Z"
