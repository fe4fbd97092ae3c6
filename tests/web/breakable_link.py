"""A TCP proxy in threads, for tests that are not asynchronous: its connections break when a test says so."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class BreakableLink:
    """Forwards a loopback port to another one."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_down = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def down(self) -> None:
        """Break all open connections, and every new one."""
        with self._lock:
            self._is_down = True
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def up(self) -> None:
        self._is_down = False

    def close(self) -> None:
        self.down()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join(5)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self._is_down:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                self._open |= {near, far}
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            threading.Thread(target=self._forward, args=(far, near), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()


@contextmanager
def breakable_link(target: int) -> Iterator[BreakableLink]:
    link = BreakableLink(target)
    try:
        yield link
    finally:
        link.close()
