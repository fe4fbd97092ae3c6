"""Checks what stays in memory without the garbage collector, which runs late for few but large objects."""

import gc
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager

LARGE = 1024 * 1024
"""The size in bytes of the large messages."""


@contextmanager
def nothing_large_kept() -> Generator[None, None, None]:
    """Fails if the block leaves several large messages behind; the last one may still be in a buffer."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept < 3 * LARGE
