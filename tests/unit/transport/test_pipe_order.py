"""What passes is noted before anybody can answer it, so that a recording keeps questions before answers."""

import os
import select

from acpella.transport.pipe import Pipe, Stream


def test_bytes_are_noted_before_they_can_be_read() -> None:
    source, target = os.pipe()
    noted: list[tuple[bytes, bool]] = []

    def seen(stream: Stream, data: bytes, at: float) -> None:
        noted.append((data, bool(select.select([source], [], [], 0)[0])))

    pipe = Pipe("in", target, seen)
    try:
        pipe.write(b"a question\n", 1.0)
        assert noted == [(b"a question\n", False)]
        assert os.read(source, 100) == b"a question\n"
    finally:
        os.close(source)
        pipe.close()
