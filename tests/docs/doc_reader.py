"""A reader who does what a page says: writes files, runs programs and commands, compares what is shown."""

import contextlib
import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from doc_pages import ROOT, Block

PATIENCE = 120
"""Seconds for one command; a page that needs more is not pleasant to follow either."""

CHECKED_ONLY = ("pip ", "make ")
"""Commands that would change the machine, or run this very test. They are checked, but not run."""


class Reader:
    """Works through one page in a directory of its own, with a home of its own."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.place = self.home / "project"
        self.place.mkdir(parents=True)
        self._servers: list[subprocess.Popen[bytes]] = []
        scripts = str(Path(sys.executable).parent)
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "SSL_CERT_FILE") if name in os.environ}
        runtime = self.home / "run"
        runtime.mkdir(mode=0o700)
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(runtime),
            "PATH": scripts + os.pathsep + os.environ["PATH"],
            "TERM": "dumb",
            "ACPELLA_OWNER_IDLE": "30",
            "ACPELLA_DAEMON_IDLE": "30",
        }

    def follow(self, block: Block) -> None:
        if block.title is not None and block.language != "console":
            self._write(block)
        elif block.language == "python":
            self._run_program(block)
        elif block.language == "console":
            self._run_console(block)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            _check_brackets(block)

    def close(self) -> None:
        """End the processes that the page has started."""
        for server in self._servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
        for server in self._servers:
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        subprocess.run(
            ["acpella", "status", "--stop"],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    # -- what blocks are -----------------------------------------------------------------------------

    def _write(self, block: Block) -> None:
        assert block.title is not None
        path = self.place / block.title
        assert path.resolve().is_relative_to(self.home), f"{block.title} would be written elsewhere"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if path.suffix == ".py":
            compile(block.text, block.title, "exec")
        elif path.suffix == ".json":
            json.loads(block.text)
        elif path.suffix == ".toml":
            tomllib.loads(block.text)

    def _run_program(self, block: Block) -> None:
        if "syntax only" in block.remarks:
            compile(block.text, f"line {block.line}", "exec")
            return
        ended = self._run([sys.executable, "-c", block.text])
        assert ended.returncode == 0, _report(block, "the program", ended)

    def _run_console(self, block: Block) -> None:
        commands = list(block.commands())
        assert commands, f"line {block.line}: a console without a command behind `$ `"
        for number, (command, output) in enumerate(commands, 1):
            if "syntax only" in block.remarks or command.startswith(CHECKED_ONLY):
                self._check_words(block, command)
            elif "background" in block.remarks:
                self._start_server(block, command)
            elif "terminal" in block.remarks or command.startswith("acpella chat"):
                self._run_in_terminal(block, command)
            else:
                wanted = int(block.remarks.get("exit", "0")) if number == len(commands) else 0
                ended = self._run(["bash", "-o", "pipefail", "-c", command])
                assert ended.returncode == wanted, _report(block, command, ended)
                _compare(block, command, output, ended)

    # -- how they are run ----------------------------------------------------------------------------

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def _start_server(self, block: Block, command: str) -> None:
        port = re.search(r"--port[= ](\d+)", command)
        assert port is not None, f"line {block.line}: name the port, so that the test can wait for it"
        log = (self.home / f"server-{port[1]}.log").open("wb+")
        with log:
            server = subprocess.Popen(
                ["bash", "-c", f"exec env {command}"],
                cwd=self.place,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._servers.append(server)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended = server.poll()
            text = Path(log.name).read_text(encoding="utf-8", errors="replace")
            assert ended is None, f"line {block.line}: `{command}` ended with {ended}:\n{text}"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port[1])), 1):
                return
            time.sleep(0.05)
        pytest.fail(f"line {block.line}: `{command}` does not listen")

    def _run_in_terminal(self, block: Block, command: str) -> None:
        """Start it on a terminal, wait until it is quiet, leave it with Ctrl-D."""
        import pty

        master, slave = pty.openpty()
        program = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.place,
            env={**self.environment, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        seen = b""
        until = time.monotonic() + PATIENCE
        try:
            while program.poll() is None and time.monotonic() < until:
                if select.select([master], [], [], 1)[0]:
                    with contextlib.suppress(OSError):  # the program has closed its end
                        seen += os.read(master, 65536)
                elif "›".encode() in seen:
                    os.write(master, b"\x04")
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            os.close(master)
        text = seen.decode(errors="replace")
        assert program.returncode == 0, (
            f"line {block.line}: `{command}` ended with {program.returncode}:\n{text}"
        )

    def _check_words(self, block: Block, command: str) -> None:
        """What cannot be run must at least name things that exist."""
        words = shlex.split(command, comments=True)
        if words[:2] == ["pip", "install"]:
            for word in words[2:]:
                if extra := re.fullmatch(r"acpella\[([\w,-]+)\]", word):
                    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
                    known = pyproject["project"]["optional-dependencies"]
                    assert set(extra[1].split(",")) <= set(known), f"line {block.line}: {word}"
        elif words[0] == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[1]}:", makefile, re.M), f"line {block.line}: make has no {words[1]}"
        elif words[0] == "acpella":
            ended = self._run(["acpella", words[1], "--help"])
            assert ended.returncode == 0, _report(block, command, ended)
            for word in words[2:]:
                if word == "--":
                    break
                if re.match(r"--[\w-]+", word):
                    assert word.partition("=")[0] in ended.stdout, (
                        f"line {block.line}: {words[1]} has no {word}"
                    )


def _compare(block: Block, command: str, output: list[str], ended: subprocess.CompletedProcess[str]) -> None:
    """Each line that the page shows must occur in the output, in order; `…` stands for anything."""
    printed = [line.rstrip() for line in (ended.stdout + ended.stderr).splitlines()]
    place = 0
    for line in output:
        if line.strip() in ("…", ""):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")))
        while place < len(printed) and not pattern.fullmatch(printed[place]):
            place += 1
        assert place < len(printed), _report(block, command, ended) + f"\nthe page shows: {line!r}"
        place += 1


def _check_brackets(block: Block) -> None:
    """For languages that are not parsed here: check at least that no bracket is missing."""
    for opening, closing in ("()", "[]", "{}"):
        assert block.text.count(opening) == block.text.count(closing), (
            f"line {block.line}: {opening}{closing}"
        )


def _report(block: Block, command: str, ended: subprocess.CompletedProcess[str]) -> str:
    return (
        f"line {block.line}: `{command}` ended with {ended.returncode}\n"
        f"--- stdout\n{ended.stdout}\n--- stderr\n{ended.stderr}"
    )
