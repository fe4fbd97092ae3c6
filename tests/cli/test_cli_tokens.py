"""`acpella tokens`, and the server that its tokens are for (HOSTING "Scopes, revocation")."""

import hashlib
import json
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets
from cli_shell import Shell
from websockets.sync.client import ClientConnection, connect

from acpella.server import Tokens


def add(shell: Shell, *words: str) -> str:
    """A new token, as a script gets it."""
    done = shell("tokens", "add", "tokens", *words)
    assert done.returncode == 0, done.stderr
    (token,) = done.stdout.splitlines()
    assert re.fullmatch("[0-9a-f]{64}", token)
    assert token not in done.stderr
    return token


@pytest.fixture
def file(shell: Shell) -> Path:
    return shell.repo / "tokens"


def test_a_token_is_shown_once_and_only_its_hash_is_kept(shell: Shell, file: Path) -> None:
    """HOSTING "Bearer auth on by default": 256 random bits, a file of mode 0600, SHA-256."""
    token = add(shell, "alice")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sha256 = hashlib.sha256(token.encode()).hexdigest()
    line = f"alice sha256:{sha256} scopes=prompt,approve\n"  # not admin, who sees everybody
    assert file.read_text() == line
    other = add(shell, "alice", "--scopes", "prompt,admin", "--until", "2100-01-01")
    assert other != token
    assert file.read_text().splitlines()[1].endswith(" until=2100-01-01 scopes=prompt,admin")
    tokens = Tokens.from_file(file)
    assert (tokens.user_of(token), tokens.user_of(other)) == ("alice", "alice")
    credential = tokens.credential_of(other)
    assert credential is not None and credential.scopes == {"prompt", "read", "admin"}


def test_the_list_shows_whose_and_for_what_but_no_token(shell: Shell, file: Path) -> None:
    clear = "c" * 40
    file.write_text(f"# ours\nold {clear} until=2020-01-01 scopes=read\n")
    token = add(shell, "alice")
    sha256 = hashlib.sha256(token.encode()).hexdigest()
    done = shell("tokens", "list", "tokens")
    assert done.returncode == 0
    old, alice = done.stdout.splitlines()
    assert re.fullmatch(rf"alice +{sha256[:8]} +prompt,approve,read +no end", alice)
    assert re.fullmatch(r"old +\w{8} +read +until 2020-01-01 +is over, in clear on line 2", old)
    assert "`acpella tokens hash tokens`" in done.stderr
    assert "chmod 600" in done.stderr
    listed = json.loads(shell("tokens", "list", "tokens", "--json").stdout)
    assert [(row["user"], row["until"]) for row in listed] == [
        ("old", "2020-01-01T00:00:00+00:00"),
        ("alice", None),
    ]
    for secret in (clear, token, sha256):
        assert secret not in done.stdout + done.stderr + str(listed)
    hashed = shell("tokens", "hash", "tokens")
    assert hashed.returncode == 0
    old_hash = hashlib.sha256(clear.encode()).hexdigest()
    assert file.read_text().splitlines()[:2] == [
        "# ours",
        f"old sha256:{old_hash} until=2020-01-01 scopes=read",
    ]
    assert "in clear" not in shell("tokens", "list", "tokens").stdout


def test_removing_keeps_what_else_the_file_says(shell: Shell, file: Path) -> None:
    """Remarks, order and mode; by user, or by the digits of a hash."""
    first, second = add(shell, "alice"), add(shell, "bob")
    text = "# people\n\n" + file.read_text() + "  # the end\n"
    file.write_text(text)
    file.chmod(0o640)
    link = shell.repo / "link"
    link.symlink_to(file)
    third = add(shell, "bob")
    digits = hashlib.sha256(third.encode()).hexdigest()[:8]
    done = shell("tokens", "remove", "link", digits)
    assert done.returncode == 0, done.stderr
    assert (link.is_symlink(), file.read_text()) == (True, text)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    done = shell("tokens", "remove", "tokens", "alice")
    assert f"removed the token {hashlib.sha256(first.encode()).hexdigest()[:8]} of alice" in done.stderr
    kept = f"bob sha256:{hashlib.sha256(second.encode()).hexdigest()} scopes=prompt,approve"
    assert file.read_text() == f"# people\n\n{kept}\n  # the end\n"
    assert "nobody is let in" in shell("tokens", "remove", "tokens", "bob").stderr
    assert file.read_text() == "# people\n\n  # the end\n"
    assert [path.name for path in shell.repo.iterdir() if path.name.startswith(".tokens")] == []


def test_mistakes_are_told_and_change_nothing(shell: Shell, file: Path) -> None:
    add(shell, "alice")
    before = file.read_text()
    for words, told in (
        (["add", "tokens", "a b"], "cannot be a user's name"),
        (["add", "tokens", "#a"], "cannot be a user's name"),
        (["add", "tokens", "a\nb"], "cannot be a user's name"),
        (["add", "tokens", "x", "--scopes", "write"], "no scope 'write'; there are: prompt"),
        (["add", "tokens", "x", "--until", "tomorrow"], "not a date such as"),
        (["add", "tokens", "x", "--until", "2020-01-01"], "2020-01-01 is over"),
        (["add", "nowhere/tokens", "x"], "nowhere cannot be used"),
        (["list", "nothing"], "there is no file"),
        (["remove", "nothing", "x"], "there is no file"),
        (["remove", "tokens", "x"], "no user 'x', and no hash that begins so; there are: alice"),
        (["remove", "tokens", ""], "no user ''"),
    ):
        done = shell("tokens", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert told in done.stderr
        assert file.read_text() == before
    file.write_text(before + "half a")
    for words in (["add", "tokens", "bob"], ["list", "tokens"]):
        done = shell("tokens", *words)
        assert done.returncode == 2
        assert re.search(r"tokens:2: a token has at least 32 characters", done.stderr)
    assert file.read_text() == before + "half a"
    done = shell("tokens", "remove", "tokens", "alice")
    assert done.returncode == 2, "a server does not see it before the rest is mended"
    assert file.read_text() == "half a\n"


def test_tokens_made_at_once_are_all_kept(shell: Shell, file: Path) -> None:
    started = [shell.start("tokens", "add", "tokens", f"user{number}") for number in range(6)]
    tokens = [process.communicate(timeout=90)[0].strip() for process in started]
    table = Tokens.from_file(file)
    assert [table.user_of(token) for token in tokens] == [f"user{number}" for number in range(6)]


# -- with a server -------------------------------------------------------------------------------------


AGENT = """
import acpella
agent = acpella.Agent("served", store="memory")

@agent.on_prompt
async def reply(turn):
    yield f"You said: {turn.text}"
"""


@pytest.fixture
def server(shell: Shell, file: Path) -> "Iterator[tuple[str, subprocess.Popen[str]]]":
    """A server with a token file in which somebody is, and where it is."""
    add(shell, "somebody")
    (shell.repo / "served.py").write_text(AGENT)
    with shell.serving("--token-file", str(file), "served:agent") as running:
        yield running


def opened(url: str, token: str) -> ClientConnection:
    return connect(
        url.replace("http", "ws", 1),
        additional_headers={"Authorization": f"Bearer {token}"},
        proxy=None,
        open_timeout=10,
        close_timeout=1,
    )


def call(client: ClientConnection, method: str, params: Any) -> Any:
    client.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
    while True:
        answer = json.loads(client.recv(timeout=10))
        if answer.get("id") == method:
            return answer


def test_a_running_server_takes_new_tokens_and_hangs_up_on_removed_ones(
    shell: Shell, server: "tuple[str, subprocess.Popen[str]]"
) -> None:
    """HOSTING "Scopes, revocation": with the real command on both sides."""
    url, _ = server
    token = add(shell, "alice", "--scopes", "prompt")
    reader = add(shell, "alice", "--scopes", "read")

    def lets_in() -> bool:
        try:
            with opened(url, reader):
                return True
        except websockets.InvalidStatus as refusal:
            assert refusal.response.status_code == 401
            return False

    shell.until(lets_in, "the server reads the file again")
    hello = {"protocolVersion": 1, "clientCapabilities": {}}
    place = {"cwd": str(shell.repo), "mcpServers": []}
    with opened(url, token) as client, opened(url, reader) as watching:
        assert "result" in call(client, "initialize", hello)
        session = call(client, "session/new", place)["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
        assert call(client, "session/prompt", prompt)["result"]["stopReason"] == "end_turn"
        call(watching, "initialize", hello)
        assert call(watching, "session/new", place)["error"]["data"] == {"scope": "prompt"}
        done = shell("tokens", "remove", "tokens", hashlib.sha256(token.encode()).hexdigest()[:8])
        assert done.returncode == 0, done.stderr
        with pytest.raises(websockets.ConnectionClosed):
            client.recv(timeout=10)
        assert (client.close_code, client.close_reason) == (1008, "the token was revoked")
        with pytest.raises(websockets.InvalidStatus, match="401"), opened(url, token):
            pass
        assert "result" in call(watching, "session/list", {}), "the user's other token stays"


def test_the_log_of_a_server_holds_no_token_and_no_ticket(
    shell: Shell, server: "tuple[str, subprocess.Popen[str]]"
) -> None:
    """HOSTING "Tokens out of URLs", "Audit": from the outside, refusals included."""
    import httpx2

    url, process = server
    token = add(shell, "alice")
    bearer = {"Authorization": f"Bearer {token}"}

    def answer() -> Any:
        return httpx2.post(f"{url}/ticket", headers=bearer, timeout=10)

    shell.until(lambda: answer().status_code == 200, "the server knows the token")
    ticket = answer().json()["ticket"]
    where = f"{url.replace('http', 'ws', 1)}?ticket={ticket}"
    for path in (where, where):
        try:
            with connect(path, proxy=None, open_timeout=10):
                pass
        except websockets.InvalidStatus as refusal:
            assert refusal.response.status_code == 401
    assert httpx2.get(f"{url}?token={token}", headers={"Accept": "text/event-stream"}).status_code == 401
    process.terminate()
    _, log = process.communicate(timeout=60)
    assert "WEBSOCKET /acp 101" in log and "WEBSOCKET /acp 401" in log
    assert token not in log and ticket not in log
    assert "ERROR" not in log, "a refusal is none of the server's errors"
    assert "***" not in log, "what hides secrets hides nothing else"
