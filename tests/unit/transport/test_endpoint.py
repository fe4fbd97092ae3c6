"""What users give as the address of a remote agent, and what is kept for sending again."""

import pytest

from acpella.errors import TransportError
from acpella.transport import Endpoint
from acpella.transport._resume import MAX_SENT, UnconfirmedFrames


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACPELLA_TOKEN", raising=False)


def test_a_url_without_a_path_means_the_usual_one() -> None:
    assert Endpoint.of("https://agents.example").url == "https://agents.example/acp"
    assert Endpoint.of("ws://agents.example/").url == "ws://agents.example/"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/acp", "begins with http"),
        ("http://", "no host"),
        ("http://host:99999/", "cannot read the URL"),
        ("https://me:pass@host/acp", "must not hold a password"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, words: str) -> None:
    with pytest.raises(TransportError, match=words) as caught:
        Endpoint.of(url)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://agents.example/acp", "ws://10.0.0.7/acp", "http://[fe80::1]/acp"])
def test_a_token_never_travels_unencrypted(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-084."""
    with pytest.raises(TransportError, match="would travel unencrypted"):
        Endpoint.of(url, token="abc")
    with pytest.raises(TransportError, match="would travel unencrypted"):
        Endpoint.of(url, headers={"authorization": "Basic abc"})
    monkeypatch.setenv("ACPELLA_TOKEN", "abc")
    with pytest.raises(TransportError, match="token of ACPELLA_TOKEN would travel unencrypted"):
        Endpoint.of(url)


@pytest.mark.parametrize(
    "url", ["https://agents.example/", "http://localhost:1/", "ws://127.9.9.9/", "http://[::1]:80/"]
)
def test_a_token_travels_over_tls_and_inside_this_machine(url: str) -> None:
    assert Endpoint.of(url, token="abc").headers == {"Authorization": "Bearer abc"}


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"Bad Name": "x"}, "cannot be the name"),
        ({"X": "a\r\nHost: evil"}, "cannot be sent"),
        ({"Acp-Connection-Id": "x"}, "belongs to the transport"),
        ({"Authorization": "Bearer x"}, "not both"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, str], words: str) -> None:
    with pytest.raises(TransportError, match=words):
        Endpoint.of("https://agents.example/", headers=headers, token="abc")


def test_cookies_are_kept_for_the_paths_and_schemes_they_are_for() -> None:
    """T-080: a real jar."""
    endpoint = Endpoint.of("ws://agents.example/acp")
    endpoint.keep_cookies(
        [
            ("Set-Cookie", "a=1; Path=/acp"),
            ("Set-Cookie", "b=2; Path=/other"),
            ("set-cookie", "c=3; Secure"),
            ("Set-Cookie", "d=4; Max-Age=0"),
            ("Set-Cookie", "e=5; Domain=elsewhere.example"),
            ("Content-Type", "x"),
        ]
    )
    assert endpoint.cookie_header() == "a=1"


def test_what_was_sent_is_kept_until_a_later_request_is_answered() -> None:
    sent = UnconfirmedFrames()
    for frame in (
        b'{"id":1,"method":"a"}',
        b'{"method":"b"}',
        b'{"id":"1","method":"c"}',
        b'{"id":7,"result":1}',
    ):
        sent.add(frame)
    sent.answered(b"1")
    assert sent.after(0) is None
    assert sent.after(1) == [b'{"method":"b"}', b'{"id":"1","method":"c"}', b'{"id":7,"result":1}']
    sent.answered(b'"1"')
    assert sent.after(3) == [b'{"id":7,"result":1}']
    assert sent.after(5) is None
    assert sent.after(4) == []


def test_what_is_kept_for_sending_again_is_bounded() -> None:
    sent = UnconfirmedFrames()
    for _ in range(5):
        sent.add(b"x" * (MAX_SENT // 3))
    assert sent.after(1) is None
    kept = sent.after(2)
    assert kept is not None and sum(map(len, kept)) <= MAX_SENT
