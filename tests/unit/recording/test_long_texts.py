"""A text of many megabytes is searched only where secrets can be, and nothing of them is left."""

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from test_recording_format import written

from acpella._redact import redact
from acpella.recording import long_texts
from acpella.recording.long_texts import LONG, redact_long

SECRET = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
WORDS = "some words of a file\n" * (LONG // 20)
RUN = base64.b64encode(random.Random(1).randbytes(LONG)).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET} {WORDS}",
        f"{WORDS} token={SECRET} {WORDS}{WORDS} password: {SECRET}",
        f"{RUN} {SECRET}, {RUN}",
        f"é{WORDS} pa\u017f\u017fword={SECRET} {WORDS}",
        f"{WORDS} token={RUN} {WORDS}",
        f'{WORDS} {{"api_key": "{RUN}"}} {RUN}',
        f"{WORDS} Bearer {RUN * 2}",
        f"-----BEGIN PRIVATE KEY-----\n{RUN}\n-----END PRIVATE KEY-----{WORDS}",
        WORDS,
        RUN,
    ],
    ids=lambda text: f"{text[:8]}…{text[-24:]}".replace("\n", " "),
)
def test_a_long_text_is_redacted_as_a_short_one(text: str) -> None:
    hidden: list[str] = []
    short: list[str] = []
    assert redact_long(text, lambda secret: hidden.append(secret) or "***") == redact(
        text, lambda secret: short.append(secret) or "***"
    )
    assert hidden == short


@pytest.mark.parametrize(
    "text", ["x" * 16 * LONG, RUN * 12, WORDS * 16], ids=["one letter", "base64", "words"]
)
def test_the_rules_do_not_look_at_all_of_a_message_of_megabytes_with_one_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """For one of 20 MB they took six seconds, which a recording was late."""
    searched: list[int] = []

    def counted(text: str, hide: Callable[[str], str]) -> str:
        searched.append(len(text))
        return redact(text, hide)

    monkeypatch.setattr(long_texts, "redact", counted)
    path = tmp_path / "talk.jsonl"
    lines = written(path, ("in", json.dumps({"text": f"{text} {SECRET} end"}).encode() + b"\n"))
    assert lines[1]["msg"]["text"].endswith(" <secret 2> end") and SECRET not in path.read_text("utf-8")
    assert 0 < sum(searched) < len(text) / 4
