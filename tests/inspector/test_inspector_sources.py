"""Several conversations in one inspector: those of a server, for people with the scope `admin`."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import acpella

AGENT = """
import acpella

async def reply(turn):
    yield f"You said: {turn.text}"

acpella.run(reply)
"""
ADMIN, PLAIN = "a" * 64, "b" * 64


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "agent.py").write_text(AGENT)
    (folder / "tokens").write_text(f"ada {ADMIN}\nbob {PLAIN} scopes=read,prompt\n")
    (folder / "tokens").chmod(0o600)
    program = subprocess.Popen(
        [sys.executable, "-m", "acpella", "serve", "--web", "--inspect", "--port", "0"]
        + ["--token-file", str(folder / "tokens"), str(folder / "agent.py")],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert program.stderr is not None
    text = program.stderr.readline()
    found = re.search(r"http\S+", text)
    assert found is not None, text
    assert "the page: " in program.stderr.readline()
    assert "the inspector: " in program.stderr.readline()
    yield found.group().removesuffix("/acp")
    program.terminate()
    program.wait(60)
    program.stderr.close()


def ask(url: str, token: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def refusal(url: str, token: str) -> int:
    try:
        ask(url, token)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


async def talk(url: str, token: str, text: str) -> str:
    async with acpella.connect(f"{url}/acp", token=token) as agent:
        session = await agent.new_session(cwd="/tmp")
        return (await session.prompt(text)).text


def test_each_connection_of_a_server_is_a_conversation_of_its_own(server: str) -> None:
    assert asyncio.run(talk(server, ADMIN, "one")) == "You said: one"
    assert asyncio.run(talk(server, PLAIN, "two")) == "You said: two"
    sources = ask(f"{server}/inspect/sources", ADMIN)["sources"]
    assert sorted(source["name"].partition(" ")[0] for source in sources) == ["ada", "bob"]
    previews: dict[str, set[str]] = {}
    for source in sources:
        batch = ask(f"{server}/inspect/rows?after=0&source={source['id']}", ADMIN)
        assert batch["source"] == source["id"] and not batch["can_hold"]
        who = source["name"].partition(" ")[0]
        previews[who] = {row.get("preview", "") for row in batch["rows"]}
    assert "one" in previews["ada"] and "two" not in previews["ada"]
    assert "two" in previews["bob"] and "one" not in previews["bob"]


@pytest.mark.parametrize("what", ["sources", "rows?after=0", "hold", "copy?n=1"])
def test_only_admins_look_at_a_server(server: str, what: str) -> None:
    for token, code in ((PLAIN, 403), ("c" * 64, 401)):
        assert refusal(f"{server}/inspect/{what}", token) == code


def test_both_pages_are_offered(server: str) -> None:
    for path, title in (("/", "<title>acpella"), ("/inspect", "<title>Inspector")):
        request = urllib.request.Request(f"{server}{path}", headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert title in answer.read().decode()


def test_a_recording_that_is_not_offered_cannot_be_asked_for(server: str) -> None:
    for name in ("../../etc/passwd", "nothing.jsonl", "/etc/passwd"):
        assert refusal(f"{server}/inspect/rows?after=0&source={name}", ADMIN) == 404
