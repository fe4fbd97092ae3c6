"""`python -m acpella.testing.model [PORT]`"""

import contextlib
import sys
import threading

from .server import FakeModel


def main() -> None:
    """Serve until somebody ends the program."""
    if len(sys.argv) > 2 or not all(word.isdecimal() for word in sys.argv[1:]):
        sys.exit("usage: python -m acpella.testing.model [PORT]")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    try:
        model = FakeModel(port=port).__enter__()
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot listen on port {port}: {error}")
    try:
        sys.stdout.write(f"{model.url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    finally:
        model.__exit__()


if __name__ == "__main__":
    main()
