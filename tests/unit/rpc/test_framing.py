"""Bytes in, blocks of whole messages out (R-002, R-016; FEATURES B1)."""

from collections.abc import Callable

import pytest

from acpella.rpc.framing import EXCERPT, MAX_HEADER, Broken, Framer
from interaction.wire import in_headers

Cut = Callable[[bytes], list[bytes]]
Wrap = Callable[[bytes], bytes]


def feed(framer: Framer, *chunks: bytes) -> list[bytes | Broken]:
    """The messages that come out, one by one, blank lines left out."""
    blocks = [block for chunk in chunks for block in framer.feed(chunk)]
    return split(framer, [*blocks, *framer.finish()])


def split(framer: Framer, blocks: list[bytes | Broken]) -> list[bytes | Broken]:
    messages: list[bytes | Broken] = []
    for block in blocks:
        if isinstance(block, Broken) or framer.framing == "headers":
            messages.append(block)
        else:
            messages += [line.strip() for line in block.split(b"\n") if line.strip()]
    return messages


def one_by_one(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def held(framer: Framer) -> int:
    """Bytes that the framer keeps of an unfinished message."""
    return sum(map(len, framer._parts)) + len(framer._headers)  # pyright: ignore[reportPrivateUsage]


# -- which framing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [b"{}\n", b"[]\n", b"\n\r\n {}\n", b"hello\n", b"\xff\xfe\n", b"con\n", b"c"]
)
def test_anything_but_a_header_means_lines(first: bytes) -> None:
    framer = Framer()
    feed(framer, first)
    assert framer.framing == "lines"


@pytest.mark.parametrize(
    "first",
    [
        b"Content-Length: 2\r\n\r\n{}",
        b"content-length:2\n\n{}",
        b"CONTENT-LENGTH : 2 \r\n\r\n{}",
        b"\r\n\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\nX-Extra: a: b\r\n\r\n{}",
        b"\xef\xbb\xbfContent-Length: 2\r\n\r\n{}",
    ],
)
@pytest.mark.parametrize("cut", [one_by_one, lambda data: [data]], ids=["bytewise", "whole"])
def test_a_content_header_means_headers(first: bytes, cut: Cut) -> None:
    framer = Framer()
    assert feed(framer, *cut(first)) == [b"{}"]
    assert framer.framing == "headers"


def test_the_framing_is_unknown_until_the_first_bytes_tell() -> None:
    framer = Framer()
    assert framer.feed(b" \r\n") == []
    assert framer.feed(b"Conte") == []
    assert framer.framing is None
    framer.feed(b"nt-Length: 2\r\n")
    assert framer.framing == "headers"


def test_a_given_framing_is_not_guessed() -> None:
    framer = Framer(framing="lines")
    assert feed(framer, b"Content-Length: 2\r\n") == [b"Content-Length: 2"]


@pytest.mark.parametrize("cut", [one_by_one, lambda data: [data]], ids=["bytewise", "whole"])
@pytest.mark.parametrize("blank", [b"", b"\n", b"\r\n \n"])
def test_a_byte_order_mark_is_skipped(cut: Cut, blank: bytes) -> None:
    assert feed(Framer(), *cut(blank + b'\xef\xbb\xbf{"a":1}\n')) == [b'{"a":1}']


def test_answers_go_out_in_kind() -> None:
    lines, headers = Framer(), Framer()
    lines.feed(b"{}\n")
    headers.feed(b"Content-Length: 2\r\n\r\n{}")
    assert Framer().wrap(b"{}") == lines.wrap(b"{}") == b"{}\n"
    assert headers.wrap('{"ä":1}'.encode()) == 'Content-Length: 8\r\n\r\n{"ä":1}'.encode()


# -- lines ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chunks",
    [
        [b"{1}\n{2}\n{3}\n"],
        [b"{1}\r\n{2}\r\n{3}\r\n"],
        [b"\n\n{1}\n\n\r\n{2}\n   \n{3}\n\n"],
        [b"{1}\n{2}\n{3}"],
        [b"{", b"1}\n{2", b"}", b"\n{3}", b"\n"],
        [b"{1}", b"\n", b"{2}\n", b"", b"{3}\n"],
        [b"{1}\n{2", b"}\n{3}\n"],
        one_by_one(b"{1}\r\n\n{2}\n{3}"),
    ],
)
def test_lines_come_out_whole_however_they_were_cut(chunks: list[bytes]) -> None:
    assert feed(Framer(), *chunks) == [b"{1}", b"{2}", b"{3}"]


def test_a_character_cut_in_two_is_whole_again() -> None:
    line = '{"text":"é😀"}\n'.encode()
    for at in range(len(line)):
        assert feed(Framer(), line[:at], line[at:]) == [line.strip()]


# -- headers ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_header_frames_come_out_whole_however_they_were_cut(size: int) -> None:
    bodies = [b'{"a":1}', '{"é":"\n"}'.encode(), b"[]"]
    data = b"".join(map(in_headers, bodies))
    assert feed(Framer(), *(data[i : i + size] for i in range(0, len(data), size))) == bodies


def test_an_empty_body_is_no_message() -> None:
    assert feed(Framer(), b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}") == [b"{}"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage\n",
        b"garbage\r\n\r\n",
        b"garbage: with a colon\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"garbage without an end",
        b'{"a":1}',
        b"Content-Length: 3\r\nnot a header\r\n\r\n{3}",
    ],
)
@pytest.mark.parametrize("cut", [one_by_one, lambda data: [data]], ids=["bytewise", "whole"])
def test_garbage_between_header_frames_is_passed_over(garbage: bytes, cut: Cut) -> None:
    framer = Framer()
    data = in_headers(b"{1}") + garbage + in_headers(b"{2}") + in_headers(b"{4}")
    messages = feed(framer, *cut(data))
    assert [block for block in messages if isinstance(block, bytes)] == [b"{1}", b"{2}", b"{4}"]


@pytest.mark.parametrize("length", [5, 9])
def test_a_wrong_length_costs_at_most_the_frame_after_it(length: int) -> None:
    wrong = b'Content-Length: %d\r\n\r\n{"a":1}' % length
    messages = feed(Framer(), wrong + in_headers(b"{2}") + in_headers(b"{3}") + in_headers(b"{4}"))
    assert messages[-2:] == [b"{3}", b"{4}"]


def test_headers_that_never_end_are_not_kept() -> None:
    framer = Framer()
    framer.feed(b"Content-Length: 2\r\n")
    broken = [block for _ in range(40) for block in framer.feed(b"X" * 1000)]
    assert held(framer) <= MAX_HEADER
    assert broken and all(isinstance(block, Broken) for block in broken)
    assert feed(framer, b"\r\n\r\n" + in_headers(b"{}"))[-1] == b"{}"


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 5", b"Content-Length: 5\r\n\r\n", b"Content-Length: 5\r\n\r\n{"]
)
def test_a_stream_that_ends_inside_a_header_frame_says_so(rest: bytes) -> None:
    messages = feed(Framer(), in_headers(b"{}") + rest)
    assert messages[0] == b"{}"
    assert isinstance(messages[1], Broken) and "ended inside a frame" in messages[1].reason


def test_blank_space_at_the_end_is_no_frame() -> None:
    assert feed(Framer(), in_headers(b"{}") + b"\r\n \t") == [b"{}"]


# -- over-long frames ---------------------------------------------------------------------

LIMIT = 4 * EXCERPT


@pytest.mark.parametrize("size", [1, 100, 64 * 1024, 10**7])
@pytest.mark.parametrize("wrap", [lambda body: body + b"\n", in_headers], ids=["lines", "headers"])
def test_an_over_long_frame_is_skipped_and_the_next_one_read(size: int, wrap: Wrap) -> None:
    framer = Framer(max_frame=LIMIT)
    long = b"<" + b"x" * (2 * LIMIT) + b">"
    data = wrap(b"{1}") + wrap(long) + wrap(b"{2}")
    first, broken, second = feed(framer, *(data[i : i + size] for i in range(0, len(data), size)))
    assert (first, second) == (b"{1}", b"{2}")
    assert isinstance(broken, Broken)
    assert (broken.head, broken.tail) == (long[:EXCERPT], long[-EXCERPT:])
    assert str(LIMIT) in broken.reason


@pytest.mark.parametrize("wrap", [lambda body: body + b"\n", in_headers], ids=["lines", "headers"])
def test_a_frame_of_exactly_the_limit_is_read(wrap: Wrap) -> None:
    body = b"x" * LIMIT
    assert feed(Framer(max_frame=LIMIT), wrap(body)) == [body]
    (broken,) = feed(Framer(max_frame=LIMIT), wrap(body + b"x"))
    assert isinstance(broken, Broken)


@pytest.mark.parametrize("start", [b"{", b"Content-Length: 999999999\r\n\r\n{"])
def test_an_over_long_frame_is_not_buffered(start: bytes) -> None:
    framer = Framer(max_frame=LIMIT)
    framer.feed(start)
    for _ in range(1000):
        framer.feed(b"x" * 1000)
        assert held(framer) <= LIMIT


def test_an_over_long_frame_among_others_in_one_chunk_is_skipped_alone() -> None:
    chunk = b"{1}\n" + b"x" * (LIMIT + 1) + b"\n{2}\n{3}\n"
    one, broken, two, three = feed(Framer(max_frame=LIMIT), chunk)
    assert (one, two, three) == (b"{1}", b"{2}", b"{3}")
    assert isinstance(broken, Broken)


def test_without_a_limit_nothing_is_too_long() -> None:
    assert feed(Framer(max_frame=None), b"x" * 10**6, b"x\n") == [b"x" * (10**6 + 1)]
