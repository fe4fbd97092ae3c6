"""Envelopes, ids, surrogates, and guesses about what cannot be read."""

import json

import msgspec
import pytest

from acpella.rpc.message import ABSENT, guess, id_of, mend_surrogates, read_envelope, replace_surrogates


@pytest.mark.parametrize(
    "text", ["0", "-5", "1.5", "1e3", "99999999999999999999", '"1"', '""', '"é"', "null"]
)
def test_a_legal_id_is_kept_as_it_came(text: str) -> None:
    """R-010: string, number or null; `1` is not `"1"`."""
    envelope = read_envelope(f'{{"id" : {text} }}'.encode())
    assert id_of(envelope.id) == text.encode()


@pytest.mark.parametrize("text", ["true", "false", "{}", "[]", "[1]"])
def test_an_illegal_id_is_none(text: str) -> None:
    assert id_of(read_envelope(b'{"id":%b}' % text.encode()).id) is None


def test_an_absent_id_is_none() -> None:
    assert read_envelope(b"{}").id == ABSENT
    assert id_of(ABSENT) is None


def test_one_string_has_one_spelling() -> None:
    spellings = [rb'"\u00e9"', rb'"\u00E9"', '"é"'.encode()]
    assert {id_of(msgspec.Raw(text)) for text in spellings} == {'"é"'.encode()}


def test_an_id_that_is_not_utf_8_cannot_be_echoed() -> None:
    assert id_of(msgspec.Raw(b'"\xff"')) is None


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"\uDE00", "\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\ud83d\ude00", "😀"),
        (rb"a\ud83d\n", "a\ufffd\n"),
        (rb"\\ud83d", r"\ud83d"),
        (rb"\\\ud83d", "\\\ufffd"),
    ],
)
def test_half_a_surrogate_pair_reads_as_a_replacement_character(broken: bytes, mended: str) -> None:
    assert json.loads(mend_surrogates(b'"%b"' % broken)) == mended


def test_replacing_surrogates_reaches_everywhere() -> None:
    value = {"k\ud83d": ["\ude00", ("😀", {"x": "\ud83d\ude00"})], "n": 1.5, "z": None}
    assert replace_surrogates(value) == {"k\ufffd": ["\ufffd", ["😀", {"x": "😀"}]], "n": 1.5, "z": None}


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x"', b"", (b"7", False)),
        (b'{"jsonrpc":"2.0","id":7,"result":"x', b"", (b"7", True)),
        (b' { "id" : "a" , "error": ', b"", (b'"a"', True)),
        (b'{"id":7,"jsonrpc":"2.0","result":NaN', b"", (b"7", True)),
        (b'{"id":7,"jsonrpc":"2.0","method":"x', b"", (b"7", False)),
        (b'{"id":7,"level":"info","n":NaN}', b"", (None, False)),
        (b'{"jsonrpc":"2.0","result":"xxx', b'xxx","id":-3}', (b"-3", True)),
        (b'{"result":"xxx', b'xxx","id":3,"jsonrpc":"2.0"}\r', (b"3", True)),
        (b'{"method":"m","params":"xxx', b'xxx","id":3}', (b"3", False)),
        (b'{"method":"m","params":"xxx', b'xxx"}', (None, False)),
        (b"garbage", b"", (None, False)),
        (b'{"id":007,"method":', b"", (None, False)),
        (b'{"id":"\xff","method":', b"", (None, False)),
        (b'{"id":"a\nb","method":', b"", (None, False)),
        (b'{"id":"\\x","method":', b"", (None, False)),
        (b'{"id":"\\u00e9","method":', b"", ('"é"'.encode(), False)),
    ],
)
def test_the_ends_of_an_unreadable_message_tell_its_id(
    head: bytes, tail: bytes, expected: tuple[bytes | None, bool]
) -> None:
    assert guess(head, tail) == expected
