"""Locks on files that end with the process which holds them, however that ends."""

import sys

__all__ = ["lock_file"]

if sys.platform == "win32":
    import msvcrt

    def lock_file(fd: int, *, shared: bool = False) -> bool:
        """Lock an open file without waiting; False if somebody else has it. Here, no lock is shared."""
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock_file(fd: int, *, shared: bool = False) -> bool:
        """Lock an open file without waiting; False if somebody else has it."""
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
