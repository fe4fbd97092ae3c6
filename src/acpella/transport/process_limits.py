"""System limits for a child process."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ProcessLimits"]

_LIMITING = """\
set -e
c=$1 d=$2 v=$3 n=$4 u=$5; shift 5
[ -z "$c" ] || ulimit -c "$c"
[ -z "$d" ] || ulimit -d "$d"
[ -z "$v" ] || ulimit -v "$v"
[ -z "$n" ] || ulimit -n "$n"
[ -z "$u" ] || ulimit -u "$u" 2>/dev/null || ulimit -p "$u"
exec "$@"
"""
"""Takes limits upon itself, then becomes the command: whatever that starts has them from the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """System limits for a command and everything it starts. None keeps the limit of this process."""

    core: int | None = None
    """Bytes of a core dump."""
    memory: int | None = None
    """Bytes of data that each process may have."""
    address_space: int | None = None
    """Bytes of addresses; some programs (node) reserve very many without using them."""
    files: int | None = None
    """Files and sockets that each process may have open."""
    processes: int | None = None
    """Processes and threads of the user, those that do not belong to the command included."""

    def launching(self, command: Sequence[str]) -> list[str]:
        """A command that sets the limits on itself and then becomes the given command."""
        if sys.platform == "win32" or self == ProcessLimits():
            return list(command)
        import resource

        def shown(limit: int | None, kind: str, unit: int) -> str:
            number = getattr(resource, kind, None)
            if limit is None or number is None:
                return ""
            _, most = resource.getrlimit(number)  # what no shell can go beyond
            return str((limit if most == resource.RLIM_INFINITY else min(limit, most)) // unit)

        words = [
            shown(self.core, "RLIMIT_CORE", 512),
            shown(self.memory, "RLIMIT_DATA", 1024),
            shown(self.address_space, "RLIMIT_AS", 1024),
            shown(self.files, "RLIMIT_NOFILE", 1),
            shown(self.processes, "RLIMIT_NPROC", 1),
        ]
        return ["/bin/sh", "-c", _LIMITING, "sh", *words, *command]
