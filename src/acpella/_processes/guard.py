"""Ends a process group when this process is gone, even if it was killed and could not do so itself."""

import logging
import os
import subprocess
import sys

__all__ = ["Guard"]

log: logging.Logger = logging.getLogger(__name__)

# Ends the group in steps when our end of the pipe closes without a word: we were killed.
_SCRIPT = 'read -r word || { sleep 1; kill -s TERM -- "-$1"; sleep 1; kill -s KILL -- "-$1"; } 2>/dev/null'


class Guard:
    """A shell that waits until this process is gone. Call `stop` when the group has ended."""

    def __init__(self, group: int | None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if group is None or sys.platform == "win32":
            return
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "sh", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        except OSError as error:
            log.warning("process group %d might outlive this process if it is killed: %s", group, error)

    def stop(self) -> None:
        """Leave the group alone from now on. Safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
