"""Ends a process and all it started when we are gone, even if we were killed and could not do so."""

import logging
import os
import subprocess
import sys

__all__ = ["Guard"]

log: logging.Logger = logging.getLogger(__name__)

# Wakes when our end of the pipe closes. A shell costs a millisecond of CPU; Python would cost fifty. What has
# left the group is found in /proc, as `Descendants` does, and at once, by builtins alone: when the parents
# notice the end of their input and go, they take the trace with them.
_SCRIPT = r"""
read -r word
group=$1 seen= sent=

born() {  # a process: when, which together with the number names it for good; and in which group it is
    stat=
    read -r stat < "/proc/$1/stat" || return
    set -- ${stat##*) }
    pgrp=$3 birth=${20}
}

look() {
    set --
    for entry in $seen; do
        born "${entry%:*}" && [ "$birth" = "${entry#*:}" ] && set -- "$@" "${entry%:*}"
    done
    while [ $# -gt 0 ]; do
        for file in "/proc/$1/task"/*/children; do
            children=
            read -r children < "$file"
            for child in $children; do
                case "$seen" in *" $child:"*) continue ;; esac
                born "$child" && seen="$seen $child:$birth" && set -- "$@" "$child"
            done
        done
        shift
    done
}

send() {  # a signal to the groups of all that were seen: some parents in them may be gone
    kill -s "$1" -- "-$group"
    sent=" $group "
    for entry in $seen; do
        pgrp=${entry%:*}  # the group that it led, if it is gone: others in it keep the number from strangers
        born "$pgrp" && [ "$birth" != "${entry#*:}" ] && continue
        case "$sent" in *" $pgrp "*) continue ;; esac
        [ "$pgrp" -gt 1 ] && kill -s "$1" -- "-$pgrp"
        sent="$sent$pgrp "
    done
}

{
    born "$group" && seen=" $group:$birth"
    look; sleep 1
    look; send TERM; sleep 1
    look; send KILL
} 2>/dev/null
"""


class Guard:
    """A shell that waits until this process is gone. Call `stop` when the group has ended.

    It ends the process that leads the group and all it started, in steps. Daemons, which have no parent any
    more, stay. Without /proc it ends the group alone.
    """

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
