"""Ends a process and all it started when we are gone, even if we were killed and could not do so."""

import logging
import os
import subprocess
import sys

__all__ = ["Guard"]

log: logging.Logger = logging.getLogger(__name__)

# Wakes when our end of the pipe closes. A shell costs a millisecond of CPU; Python would cost fifty. What has
# left the group is found in /proc, as `Descendants` does. Parents that go take the trace with them, so the
# shell holds the pipes of the process open until it has looked: its stdout and stderr are our ends of them.
# A line says that they are closed on purpose.
_SCRIPT = r"""
while read -r word; do exec > /dev/null 2>&1; done
group=$1 seen= sent=

born() {  # a process: when, which together with the number names it for good; and in which group it is
    stat=
    while read -r line; do stat="$stat $line"; done < "/proc/$1/stat"  # a name may have line breaks
    [ "$stat" ] || return
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

{ born "$group" && seen=" $group:$birth"; look; } 2> /dev/null
exec > /dev/null 2>&1
sleep 1
look; send TERM; sleep 1
look; send KILL
"""


class Guard:
    """A shell that waits until this process is gone. Call `stop` when the group has ended.

    It ends the process that leads the group and all it started, in steps. Daemons, which have no parent any
    more, stay. Without /proc it ends the group alone.

    `stdin` and `stdout` are our ends of that process's pipes. It notices that we are gone when they are
    closed, which is not before the shell has looked for what it started. Call `let_close` before you close
    them.
    """

    def __init__(self, group: int | None, *, stdin: int | None = None, stdout: int | None = None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if group is None or sys.platform == "win32":
            return
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "sh", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if stdin is None else stdin,
                stderr=subprocess.DEVNULL if stdout is None else stdout,
                bufsize=0,
                cwd="/",
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        except OSError as error:
            log.warning("process group %d might outlive this process if it is killed: %s", group, error)

    def let_close(self) -> None:
        """Hold the pipes no longer, because they are about to be closed on purpose. Safe to call twice."""
        process = self._process
        if process is not None and process.stdin is not None:
            try:
                process.stdin.write(b"\n")
            except (OSError, ValueError) as error:  # a thread may close the pipe while another stops this
                log.info("the guard of a process is gone: %s", error)

    def stop(self) -> None:
        """Leave the group alone from now on. Safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
