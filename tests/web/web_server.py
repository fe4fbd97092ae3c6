"""A real server with the page, as a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TOKENS = {
    "mira": "mira-" + "m" * 40,
    "jonas": "jonas-" + "j" * 40,
    "priya": "priya-" + "p" * 40,
}
SHOW_AGENT = str(Path(__file__).parents[1] / "cli" / "show_agent.py")
OFFICIAL_AGENT = str(Path(__file__).parent / "official_sdk_agent.py")


@dataclass
class WebServer:
    """`acpella serve --web`, on a port that it keeps when it is restarted."""

    target: Sequence[str]
    directory: Path
    tokens: dict[str, str] = field(default_factory=lambda: dict(TOKENS))
    port: int = 0
    options: Sequence[str] = ()
    process: "subprocess.Popen[bytes] | None" = None
    link: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token_file(self) -> Path:
        return self.directory / "tokens.txt"

    def start(self) -> None:
        """Start the server, and wait until it prints its address."""
        tokens = self.token_file
        scopes = {"priya": " scopes=read"}
        lines = [f"{user} {token}{scopes.get(user, '')}" for user, token in self.tokens.items()]
        tokens.write_text("\n".join(lines) + "\n", encoding="utf-8")
        tokens.chmod(0o600)
        project = self.directory / "project"
        project.mkdir(exist_ok=True)
        who = ["--token-file", str(tokens)] if self.tokens else []
        environment = {
            **os.environ,
            "HOME": str(self.directory),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "XDG_DATA_HOME": str(self.directory / "data"),
            "ACPELLA_MODEL": "offline",
            "ACPELLA_SERVER_FAILURES_PER_MINUTE": "0",  # tests often fail to log in
        }
        output = self.directory / "server.log"
        with output.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "acpella", "serve", "--web", "--port", str(self.port), *who,
                 "--cwd", str(project), *self.options, *self.target],
                cwd=project, env=environment, stderr=stderr,
            )  # fmt: skip
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            told = output.read_text(encoding="utf-8")
            if match := re.search(r"the page: (http://[^:]+:(\d+)/\S*)\n", told):
                self.link, self.port = match[1], int(match[2])
                return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{output.read_text(encoding='utf-8')}")

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self._gone()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGINT)
            self._gone()

    def _gone(self) -> None:
        assert self.process is not None
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)


@contextmanager
def running(server: WebServer) -> Iterator[WebServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()
