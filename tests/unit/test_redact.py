"""Secrets must not reach logs and error messages (R-052)."""

import json
import time

import pytest

from acpella._redact import redact

SECRET = "hunter2-Zm9v"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"env": {"A": SECRET, "B": SECRET}}),
        json.dumps({"headers": {"X-Anything": SECRET}}),
        json.dumps({"env": [{"name": "A", "value": SECRET}, {"name": "B", "value": SECRET}]}),
        json.dumps({"headers": [{"value": SECRET, "name": "X"}]}),
        json.dumps({"apiKey": SECRET}),
        json.dumps({"OPENAI_API_KEY": SECRET}),
        json.dumps({"accessToken": SECRET, "client_secret": SECRET, "dbPassword": SECRET}),
        json.dumps({"Authorization": f"Bearer {SECRET}"}),
        json.dumps({"token": f'with "quotes" {SECRET}'}),
        json.dumps({"text": json.dumps({"token": SECRET})}),
        json.dumps({"env": {"A": "}", "B": SECRET}}),
        f"OPENAI_API_KEY={SECRET} agent",
        f"export GITHUB_TOKEN={SECRET}",
        f"api_key: {SECRET}",
        f"password='{SECRET}'",
        f'token="{SECRET}"',
        f"connect(password='{SECRET}', user='me')",
        f"agent --token {SECRET} --verbose",
        f"agent --api-key={SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"authorization: basic {SECRET}",
        f"Cookie: {SECRET}",
        f"https://user:{SECRET}@example.org/path",
        f"...postgres://me:{SECRET}@db",
        f"GET /acp?client_id=1&ticket={SECRET} HTTP/1.1",
        f'"WebSocket /acp?ticket={SECRET}" [accepted]',
        f"sec-websocket-protocol: acp, acpella.ticket.{SECRET}, acpella.token.{SECRET}",
        "sk-" + SECRET + "abcdefgh",
        "ghp_" + SECRET.replace("-", "") + "abcdefgh",
    ],
)
def test_a_secret_is_taken_out(text: str) -> None:
    hidden = redact(text)
    assert SECRET not in hidden
    assert SECRET.replace("-", "") not in hidden
    assert "***" in hidden


@pytest.mark.parametrize(
    "template", [{"env": {"A": SECRET}}, {"token": SECRET}, {"name": "A", "value": SECRET}]
)
def test_a_secret_cut_at_any_place_is_taken_out(template: object) -> None:
    """Frames are shortened before they are redacted."""
    text = json.dumps(template).replace(SECRET, f"{SECRET}\\\\{SECRET}")
    for end in range(text.index(SECRET) + 4, len(text)):
        assert SECRET[:4] not in redact(text[:end])


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}',
        '{"usage":{"totalTokens":5,"inputTokens":3},"stopReason":"max_tokens"}',
        "https://example.org/a?b=c",
        "Traceback (most recent call last): File x.py",
        "user@example.org",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece",
    ["a.", "a-", "token-", "token", "secret.", "api_", '"', '"env":{', '"value":"x', '"name":"x",', "Bearer "]
    + ["a://", "a://x@", "\\", '"token"', "=", "sk-", " ", "x", '"value":"\\'],
)
def test_no_text_takes_long(piece: str) -> None:
    """A peer may print anything; before, 16 KiB of `token-token-…` took minutes."""
    text = piece * (64 * 1024 // len(piece))
    start = time.process_time()
    redact(text)
    redact('"token":"' + text)
    assert time.process_time() - start < 2
