"""Looks for a pattern in files: a program of its own, so that a pattern without end can be killed.

Arguments: the pattern. Input: paths, each ended by NUL. Output: `path NUL line NUL text LF` for every hit.
"""

import os
import re
import stat
import sys

LINE_CHARS = 300
FILE_BYTES = 2 * 1024 * 1024
PER_FILE = 50
__all__ = ["main"]

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def main() -> None:
    pattern = re.compile(sys.argv[1])
    out = sys.stdout.buffer
    for path in sys.stdin.buffer.read().split(b"\0"):
        if not path:
            continue
        try:
            fd = os.open(path, FLAGS)
            with os.fdopen(fd, "rb") as file:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES:
                    continue
                data = file.read(FILE_BYTES)
        except OSError:
            continue
        if b"\0" in data[:8192]:
            continue
        hits = 0
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if pattern.search(line):
                hits += 1
                if hits > PER_FILE:
                    break
                text = line[:LINE_CHARS].encode("utf-8", "replace")
                out.write(path + b"\0" + str(number).encode() + b"\0" + text + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
