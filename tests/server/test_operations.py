"""What an operator sees: health, metrics, logs, and the command (FEATURES C24)."""

import asyncio
import hashlib
import json
import logging
import os
import re
import shlex
import signal
import socket as sockets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from acpella.cli import main
from acpella.server.logs import _Json, _Lines
from server.serving import Http, Talker, eventually, serving, socket, ws_url

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40

AGENT = """
import acpella
agent = acpella.Agent("served")
other = 42

@agent.on_prompt
async def reply(turn):
    yield f"You said: {turn.text}"
"""


async def test_health_is_told_to_anybody_and_says_when_the_server_stops() -> None:
    talker = Talker()
    async with serving(talker, token=TOKEN, limits={"drain_seconds": 5}) as server:
        root = server.url.removesuffix("/acp")
        auth = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(timeout=10) as http, socket(ws_url(server), auth) as client:
            for path in ("healthz", "readyz"):
                answer = await http.get(f"{root}/{path}", headers={"Host": "10.0.0.7:8000"})
                assert (answer.status_code, answer.text) == (200, "ok\n")
                assert (await http.post(f"{root}/{path}")).status_code == 405
            session = await client.start()
            await client.prompt(session, "wait")
            await client.message()
            server.stop()
            await eventually(lambda: server.app.connections.draining, "it drains")
            assert (await http.get(f"{root}/healthz")).status_code == 200
            assert (await http.get(f"{root}/readyz")).status_code == 503
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
            refused = await http.post(server.url, json=body, headers=auth)
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
            talker.go.set()
            await client.until_answer(2)


async def test_metrics_are_what_prometheus_reads() -> None:
    async with serving(Talker()) as server, Http(server.url) as client, socket(ws_url(server)) as other:
        await client.initialize()
        session = await other.start()
        await other.prompt(session, "wait")
        await other.message()
        page = (await client.http.get(server.url.removesuffix("/acp") + "/metrics")).text
        for line in page.splitlines():
            assert re.fullmatch(
                r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[\d.e+]+', line
            ), line
        assert "acpella_turns 1\n" in page
        assert 'acpella_connections{client="there"} 1\n' in page
        assert 'acpella_connections_total{transport="websocket"} 1\n' in page
        assert 'acpella_requests_total{method="POST",status="200"} 1\n' in page


def test_log_lines_are_json_and_hide_secrets() -> None:
    record = logging.LogRecord("acpella.audit", logging.INFO, "", 1, "token=%s", ("abcdef123456",), None)
    record.facts = {"user": "alice", "connection": "ab12"}
    told = json.loads(_Json().format(record))
    assert (told["level"], told["user"], told["connection"]) == ("INFO", "alice", "ab12")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["time"])
    line = _Lines("%(message)s").format(record)
    assert line.endswith("(user=alice connection=ab12)")
    for text in (json.dumps(told), line):
        assert "abcdef123456" not in text


def test_a_client_cannot_write_lines_of_its_own_into_the_log() -> None:
    """It names methods and paths; without care one with a line break looks like a line of ours."""
    method = "session/x\r\n2030-01-01 INFO acpella.audit: forged\u2028\x1b[2J" + "y" * 100_000
    record = logging.LogRecord("acpella.audit", logging.INFO, "", 1, "%s", (method,), None)
    record.facts = {"user": "a\nb"}
    for formatter in (_Lines("%(levelname)s %(message)s"), _Json()):
        line = formatter.format(record)
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line
        assert len(line) < 5_000


def facts_of(caplog: pytest.LogCaptureFixture, text: str) -> list[dict[str, Any]]:
    return [record.__dict__["facts"] for record in caplog.records if record.getMessage() == text]


async def test_the_audit_log_tells_from_where_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "acpella.audit")
    async with serving(Talker()) as server, socket(ws_url(server)) as client:
        session = await client.start()
        await client.call(5, "session/load", {"sessionId": "nothing", "cwd": "/tmp", "mcpServers": []})
        await client.prompt(session, "say 1")
        await client.until_answer(2)
        async with Http(server.url) as http:
            await http.initialize()
    label = hashlib.sha256(session.encode()).hexdigest()[:8]
    assert [facts["address"] for facts in facts_of(caplog, "connection opened")] == ["127.0.0.1"] * 2
    (made,) = facts_of(caplog, "session/new answered")
    assert (made["session"], made["outcome"]) == (label, "ok")
    (loaded,) = facts_of(caplog, "session/load answered")
    assert loaded["outcome"] == "error -32002"
    (prompted,) = facts_of(caplog, "session/prompt answered")
    assert (prompted["session"], prompted["outcome"]) == (label, "ok")


# -- the command ------------------------------------------------------------------------------------


@contextmanager
def command(*words: str, cwd: Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """`acpella serve` as an operator starts it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "acpella", "serve", *words],
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line
    return found[0]


@pytest.mark.parametrize("target", ["served:agent", "./served.py:agent", "stdio.py", "command"])
async def test_the_command_serves_a_module_a_file_or_a_command(tmp_path: Path, target: str) -> None:
    (tmp_path / "served.py").write_text(AGENT)
    (tmp_path / "stdio.py").write_text(AGENT + "\nagent.run()\n")
    words = ["--", sys.executable, "stdio.py"] if target == "command" else [target]
    with command("--port", "0", *words, cwd=tmp_path) as process:
        url = await asyncio.to_thread(url_of, process)
        async with socket(url.replace("http", "ws")) as client:
            session = await client.start()
            await client.prompt(session, "hi")
            seen = await client.until_answer(2)
            assert seen[0]["params"]["update"]["content"]["text"] == "You said: hi"
        process.send_signal(signal.SIGTERM)
        _, text = await asyncio.to_thread(process.communicate, timeout=20)
        assert "Traceback" not in text
        assert process.returncode in (0, -signal.SIGTERM)


async def test_without_a_target_the_built_in_agent_is_served(tmp_path: Path) -> None:
    """C1, E3: one agent over HTTP, over WebSocket, and on stdio through the bridge."""
    (tmp_path / "a.txt").write_text("forty-two")
    python = [sys.executable, "-m", "acpella"]
    homes = {name: str(tmp_path) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME")}
    env = {**homes, "ACPELLA_MODEL": "offline"}
    with command("--port", "0", "--root", str(tmp_path), cwd=tmp_path, env=env) as process:
        url = await asyncio.to_thread(url_of, process)
        bridge = shlex.join([*python, "connect", url])
        for agent in (url, url.replace("http", "ws"), bridge):
            ran = await asyncio.to_thread(
                subprocess.run,
                [*python, "run", "-a", agent, "read a.txt"],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={**os.environ, **env},
                timeout=60,
            )
            assert ran.returncode == 0, ran.stderr
            assert "forty-two" in ran.stdout
        process.send_signal(signal.SIGTERM)
        _, text = await asyncio.to_thread(process.communicate, timeout=20)
        assert "Traceback" not in text


async def test_a_token_of_the_environment_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "served.py").write_text(AGENT)
    words = ("--port", "0", "--log-format", "json", "served:agent")
    with command(*words, cwd=tmp_path, env={"ACPELLA_TOKEN": TOKEN}) as process:
        url = await asyncio.to_thread(url_of, process)
        async with Http(url) as nobody, Http(url, {"Authorization": f"Bearer {TOKEN}"}) as client:
            assert (await nobody.post("initialize", {"protocolVersion": 1}, id=1)).status_code == 401
            await client.initialize()
        process.send_signal(signal.SIGINT)
        _, text = await asyncio.to_thread(process.communicate, timeout=20)
        assert TOKEN not in text
        lines = [json.loads(line) for line in text.splitlines()]
        assert any(line["logger"] == "acpella.audit" and line.get("status") == 401 for line in lines)


def test_mistakes_are_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "served.py").write_text(AGENT)
    (tmp_path / "broken.py").write_text("import no_such_thing\n")
    (tmp_path / "plain.py").write_text("x = 1\n")
    (tmp_path / "server.toml").write_text("max_bdy = 3\n")
    with sockets.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words, message in (
            (["missing:agent"], "there is no module 'missing'"),
            (["./missing.py:agent"], "there is no file missing.py"),
            (["missing.py"], "there is no file missing.py"),
            (["--", "no-such-program", "x"], "no-such-program is not a program"),
            (["broken:agent"], "No module named 'no_such_thing'"),
            (["served:nothing"], "served has no 'nothing'; it has: agent"),
            (["plain.py:agent"], "`acpella serve plain.py` hosts it as a program"),
            (["served:other"], "is a int, not an acpella.Agent"),
            (["--port", port, "served:agent"], f"port {port} is in use"),
            (["--host", "0.0.0.0", "served:agent"], "--token"),
            (["--token", "short", "served:agent"], "at least 32"),
            (["--token-file", "nowhere", "served:agent"], "cannot be read"),
            (["--config", "server.toml", "served:agent"], "no setting 'max_bdy'"),
            (["--host", "0.0.0.0", "--token", TOKEN, "served:agent"], "--plain-http if a proxy"),
            (["--trust-proxy", "nginx", "served:agent"], "neither an address nor a network"),
            (["--root", "nowhere", "served:agent"], "nowhere: there is no such directory"),
            (["--allow-origin", "*", "served:agent"], "* would let every web page"),
            (["--allow-origin", "foo", "served:agent"], "'foo' is not an origin such as"),
            (["--allow-origin", "https://a.example/x", "served:agent"], "without a path"),
            (
                ["--allow-host", "http://foo/", "served:agent"],
                "'http://foo/' is not a name as in a Host header",
            ),
            (["--allow-host", "foo:8000", "served:agent"], "without scheme, port or path"),
            (["--certfile", "nope.pem", "served:agent"], "the certificate nope.pem cannot be read"),
            (["--keyfile", "nope.pem", "served:agent"], "needs its certificate"),
            (["--certfile", "served.py", "served:agent"], "served.py and no key are not a certificate"),
            (["--token", "", "served:agent"], "need a value"),
            (["--store", "/proc/nothing/x.db", "served:agent"], "/proc/nothing/x.db cannot be made"),
            (
                ["--store", "postgresql://me:hunter2@127.0.0.1:1/x", "--port", "0", "served:agent"],
                "the PostgreSQL database x on 127.0.0.1:1 cannot be reached: connection refused",
            ),
            (
                ["--host", "203.0.113.9", "--plain-http", "--token", TOKEN, "served:agent"],
                "not an address of this machine",
            ),
        ):
            code = main(["serve", *words])
            text = capsys.readouterr().err
            assert code in (2, 3), words
            assert message in text.splitlines()[-1], (words, text)
            assert "Traceback" not in text
            assert len([line for line in text.splitlines() if line.startswith("acpella: ")]) == 1
            assert "acpella serves" not in text, words
        for name in ("ACPELLA_TOKEN", "ACPELLA_TOKEN_FILE"):
            with monkeypatch.context() as changed:
                changed.setenv(name, "")
                assert main(["serve", "--port", "0", "served:agent"]) == 2
                assert f"{name} is set, but empty" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--port", "eighty", "served:agent"])
    assert ended.value.code == 2
    assert "'eighty' is not a port" in capsys.readouterr().err


def test_the_help_names_what_an_operator_needs(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "serve", "--help"], capture_output=True, text=True, timeout=30
    )
    assert ran.returncode == 0
    for word in ("--host", "--token-file", "--root", "ACPELLA_TOKEN", "/healthz", "-- npx", "SIGTERM"):
        assert word in ran.stdout
