"""Runs commands where they can do no harm: bubblewrap, if it is there and works."""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Fence", "confinement"]

TRY_SECONDS = 10.0

_HIDDEN = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/acpella",
    ".local/share/acpella",
    ".password-store",
)
"""Directories of the user's that a confined command does not see."""

_EMPTY = ("/tmp", "/var/tmp", "/run")
"""Where sockets lead out, such as those of Docker and ssh."""


_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
"""Names of variables that a confined command does not get."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A working bubblewrap."""

    program: str
    proc: bool
    """Whether it may mount a /proc of its own; inside containers it often may not."""

    def command(self, command: str, *, cwd: str, pairs: list[tuple[Path, Path]]) -> list[str]:
        """The words that run a shell command: no network, and only the copies are writable."""
        argv = self.base()
        for name in _HIDDEN:
            path = Path.home() / name
            if path.is_dir():
                argv += ["--tmpfs", str(path)]
        for root, copy in pairs:
            argv += ["--bind", str(copy), str(root)]
        for name in self.emptied():
            argv += ["--unsetenv", name]
        return [*argv, "--chdir", cwd, "--", "/bin/sh", "-c", command]

    def emptied(self) -> dict[str, str]:
        """What to lay over bubblewrap's own environment, which the command could read otherwise."""
        return {name: "" for name in os.environ if _SECRET.search(name)}

    def base(self) -> list[str]:
        argv = [self.program, "--ro-bind", "/", "/", "--dev", "/dev"]
        argv += ["--proc", "/proc"] if self.proc else ["--tmpfs", "/proc"]  # never that of this machine
        for path in _EMPTY:
            if os.path.isdir(path) and not os.path.islink(path):
                argv += ["--tmpfs", path]
        # Without capabilities: root could make everything writable again.
        return [*argv, "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]


@functools.cache
def confinement() -> Fence | str:
    """How commands can be confined here, or why they cannot; found out by trying. Blocks for a moment."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (`bwrap`) is not installed"
    why = ""
    for proc in (True, False):
        fence = Fence(program, proc)
        try:
            tried = subprocess.run(
                [*fence.base(), "--", "/bin/sh", "-c", "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRY_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not work here ({error})"
        if tried.returncode == 0:
            return fence
        why = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
    return f"bubblewrap does not work here ({why})"
