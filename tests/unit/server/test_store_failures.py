"""What a client is told when the store of a server fails."""

import pytest

from acpella.server.app import _unavailable  # pyright: ignore[reportPrivateUsage] - values in, values out
from acpella.sessions import StoreError, StoreUnavailable

FULL = "the disk of db.example/acpella is full, and nothing was changed"


@pytest.mark.parametrize(
    ("error", "words", "seconds"),
    [
        (StoreUnavailable("nobody answers at db.example"), "cannot be reached", b"2"),
        (StoreError(FULL), "the server's log says why", b"30"),
    ],
)
def test_a_client_may_come_back_and_learns_nothing_about_the_database(
    error: StoreError, words: str, seconds: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = _unavailable(error)
    assert refusal.status == 503 and words in str(refusal) and "db.example" not in str(refusal)
    assert dict(refusal.headers)[b"retry-after"] == seconds
    assert str(error) in caplog.text
