"""Programs that have the terminal of a chat for themselves: the user's commands, and logins."""

import asyncio
import subprocess

from acpella._processes import inherited_environment

from ..terminal.questions import Asker

__all__ = ["Foreground"]


class Foreground:
    """Runs one program after the other; the chat steps aside."""

    def __init__(self, asker: Asker, cwd: str) -> None:
        self._asker = asker
        self._cwd = cwd
        self.is_running: bool = False
        """Whether Ctrl-C is for a program."""

    async def run(self, command: list[str], env: dict[str, str] | None) -> int:
        """Run a program that reads the keyboard and draws for itself; its exit code.

        `env` is for programs of an agent, which do not get our secrets; None is for the user's own command.

        Raises:
            ValueError: it cannot be started.
        """
        async with self._asker.floor():
            self.is_running = True
            try:
                process = self._start(command, env)
                try:
                    return await asyncio.to_thread(process.wait)
                finally:
                    if process.poll() is None:
                        process.kill()
            finally:
                self.is_running = False

    def _start(self, command: list[str], env: dict[str, str] | None) -> "subprocess.Popen[bytes]":
        environment = None if env is None else {**inherited_environment(), **env}
        try:
            return subprocess.Popen(command, cwd=self._cwd, env=environment)
        except OSError as error:
            raise ValueError(f"cannot run {command[0]}: {error.strerror}") from None
