"""`acpella registry` as a user types it, and the names that it gives to all other commands."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from fake_tools import fake_npm, fake_uv
from loopback import Loopback, Page, binary, entry, tar
from terminal import acpella
from tiny_agent import tiny_agent

from acpella.registry.index import find_index
from acpella.registry.install import install as install_planned
from acpella.registry.install import plan


def publish(server: Loopback, version: str = "1.0.0", *, agent_id: str = "tiny", **agent: Any) -> None:
    body = tar({"tiny": tiny_agent(version, **agent)})
    server.archive(f"/{agent_id}-{version}.tar.gz", body)
    server.index(
        entry(agent_id, version, binary=binary(f"{server.url}/{agent_id}-{version}.tar.gz", body)),
        entry("other", "2.0.0", npx={"package": "@scope/tiny@2.0.0"}),
    )


def install(shell: Shell, server: Loopback, name: str = "tiny") -> None:
    """Install an agent for the user of a shell; quicker than by its command."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in shell.env.items():
            patch.setenv(variable, value)
        found = find_index(server.index_url, refresh=True).index.entries[name]
        with plan(found, index_url=server.index_url) as planned:
            install_planned(planned)


def agents(shell: Shell) -> list[str]:
    place = shell.home / "data" / "acpella" / "agents"
    return sorted(path.name for path in place.glob("*/current.json")) if place.exists() else []


def test_agents_are_listed_searched_and_shown(shell: Shell, server: Loopback) -> None:
    publish(server)
    ran = shell("registry", "list")
    assert ran.returncode == 0 and [line.split()[0] for line in ran.stdout.splitlines()] == ["tiny", "other"]
    assert "\x1b" not in ran.stdout
    assert shell("registry", "search", "agent", "OTHER").stdout.split()[0] == "other"
    listed = json.loads(shell("registry", "list", "--json", "--search", "tiny").stdout)
    assert [one["id"] for one in listed["agents"]] == ["tiny"] and listed["agents"][0]["installed"] is None
    shown = shell("registry", "show", "tiny").stdout
    assert "by         Somebody <some@body.example>" in shown and "licence    MIT" in shown
    assert "sha256:" in shown and "installed  no" in shown
    missing = shell("registry", "show", "tinny")
    assert missing.returncode != 0 and "did you mean 'tiny'?" in missing.stderr


def test_nothing_is_installed_unless_somebody_agrees(shell: Shell, server: Loopback) -> None:
    publish(server)
    ran = shell("registry", "install", "tiny")
    assert ran.returncode == 3 and "nobody can be asked" in ran.stderr and "--yes" in ran.stderr
    for words in (["run", "-a", "tiny", "hi"], ["registry", "run", "tiny"]):
        refused = shell(*words)
        assert refused.returncode == 3 and "`acpella registry install tiny`" in refused.stderr, refused.stderr
    assert "/tiny-1.0.0.tar.gz" not in server.paths() and agents(shell) == []


def test_what_would_be_installed_is_shown_whole_and_asked_once(shell: Shell, server: Loopback) -> None:
    publish(server)
    digest = server.pages["/registry.json"].body.split(b'"sha256": "')[1][:64].decode()
    for typed, code in (("\n", 2), ("y\n", 0)):
        with acpella("registry", "install", "tiny", cwd=shell.repo, columns=110, **shell.env) as terminal:
            shown = terminal.see(r"install Tiny, and run it on this machine\? \[y/N\]")
            for fact in ("Tiny 1.0.0 (tiny)", "Somebody <some@body.example>", "MIT", f"sha256:{digest}"):
                assert fact in shown, fact
            assert f"{server.url}/tiny-1.0.0.tar.gz" in shown and server.index_url in shown
            terminal.type(typed)
            assert terminal.wait() == code
        assert len(agents(shell)) == (code == 0)
    assert shell("run", "-a", "tiny", "hello").stdout == "1.0.0\n"


def test_an_agent_that_is_named_and_not_there_is_offered(shell: Shell, server: Loopback) -> None:
    publish(server)
    with acpella("run", "-a", "tiny", "hello", cwd=shell.repo, columns=110, **shell.env) as terminal:
        terminal.see(r"Tiny is not installed(.|\n)*run it on this machine\? \[y/N\]")
        terminal.type("y\n")
        assert terminal.wait() == 0
        assert "installed tiny 1.0.0" in terminal.all()
    with acpella("run", "-a", "tiny", "hello", cwd=shell.repo, columns=110, **shell.env) as terminal:
        assert terminal.wait() == 0
        assert "[y/N]" not in terminal.all()


def test_the_settings_of_a_project_do_not_install_anything(shell: Shell, server: Loopback) -> None:
    publish(server)
    (shell.repo / ".acpella").mkdir()
    settings = {"agent_servers": {"mine": {"command": "tiny"}}, "registry": {"url": server.index_url}}
    (shell.repo / ".acpella" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    shell("agents", "trust", "--yes")
    before = len(server.asked)
    ran = shell("run", "-a", "mine", "--yes", "hello")
    assert ran.returncode == 3, ran.stderr
    assert len(server.asked) == before and agents(shell) == []


def test_a_name_of_the_registry_in_the_settings_means_the_installed_agent(
    shell: Shell, server: Loopback
) -> None:
    publish(server)
    settings = shell.home / "settings.json"
    settings.write_text('{"agent_servers": {"tiny": {"type": "registry"}}}', encoding="utf-8")
    refused = shell("run", "--settings", str(settings), "-a", "tiny", "hello")
    assert refused.returncode == 3 and server.asked == []
    install(shell, server)
    ran = shell("run", "--settings", str(settings), "-a", "tiny", "hello")
    assert ran.stdout == "1.0.0\n", ran.stderr
    settings.write_text(
        '{"agent_servers": {"tiny": {"type": "registry", "env": {"A": "b"}}}}', encoding="utf-8"
    )
    assert "has no env here" in shell("run", "--settings", str(settings), "-a", "tiny", "hello").stderr


def test_an_installed_agent_is_checked_by_its_name(shell: Shell, server: Loopback) -> None:
    publish(server)
    shell("registry", "list")
    refused = shell("check", "tiny", "--only", "initialize.version-1")
    assert refused.returncode == 3 and "`acpella registry install tiny`" in refused.stderr, refused.stderr
    install(shell, server)
    ran = shell("check", "tiny", "--only", "initialize.version-1")
    assert ran.returncode == 0 and "1 of 1 must holds" in ran.stdout, ran.stderr
    server.pages["/tiny-1.0.0.tar.gz"] = Page(b"something else")
    assert shell("registry", "remove", "tiny").returncode == 0
    broken = shell("check", "--yes", "tiny")
    assert broken.returncode == 3 and "Traceback" not in broken.stderr and broken.stderr, broken.stderr
    server.pages["/registry.json"] = Page(b"", status=503)
    away = shell("check", "--yes", "other-one", env={"ACPELLA_REGISTRY_URL": f"{server.url}/gone.json"})
    assert away.returncode == 3 and "the registry cannot be asked" in away.stderr


def test_a_registry_that_cannot_be_reached_has_an_exit_code_of_its_own(
    shell: Shell, server: Loopback
) -> None:
    server.pages["/registry.json"] = Page(b"", status=503)
    ran = shell("registry", "list")
    assert ran.returncode == 3 and "503" in ran.stderr
    publish(server)
    server.pages["/tiny-1.0.0.tar.gz"] = Page(b"", status=404)
    ran = shell("registry", "install", "tiny", "--yes")
    assert ran.returncode == 3 and "404" in ran.stderr and agents(shell) == []


def test_a_server_hosts_an_installed_agent(shell: Shell, server: Loopback) -> None:
    publish(server)
    install(shell, server)
    hosted = shell.start("serve", "--port", "0", "tiny")
    try:
        assert hosted.stderr is not None
        line = hosted.stderr.readline()
        url = re.search(r"http://\S+", line)
        assert url is not None, line
        assert shell("run", "-a", url[0], "hello").stdout == "1.0.0\n"
    finally:
        hosted.terminate()
        hosted.communicate(timeout=20)


def test_an_installed_agent_is_a_name_everywhere(shell: Shell, server: Loopback) -> None:
    publish(server)
    ran = shell("registry", "install", "tiny", "--yes", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["installed"][0]["version"] == "1.0.0"
    server.pages.clear()  # none of this needs the network
    assert shell("run", "-a", "tiny", "hello").stdout == "1.0.0\n"
    assert "installed from the registry" in shell("agents", "list").stdout
    code = "import acpella; print(acpella.ask('tiny', 'hello').text)"
    asked = subprocess.run(
        [sys.executable, "-c", code], env=shell.env, capture_output=True, text=True, check=True
    )
    assert asked.stdout == "1.0.0\n"
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    started = subprocess.run(
        [sys.executable, "-m", "acpella", "registry", "run", "tiny", "--", "--more"],
        env=shell.env,
        input=hello,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(started.stdout)["result"]["agentInfo"]["name"] == "tiny"


def test_an_agent_that_an_editor_starts_does_not_get_our_token_or_database_password(
    shell: Shell, server: Loopback
) -> None:
    told = shell.home / "environment.json"
    publish(
        server, before=f"import json, os\njson.dump(dict(os.environ), open({str(told)!r}, 'w'))\n", methods=[]
    )
    install(shell, server)
    env = {
        "ACPELLA_TOKEN": "t0ken",
        "ACPELLA_STORE": "postgresql://me:pa55word@db.example.com/agents",
        "OPENAI_API_KEY": "needed",
    }
    assert shell("registry", "run", "tiny", env=env).returncode == 0  # its input is at its end
    given = json.loads(told.read_text(encoding="utf-8"))
    assert not given.keys() & {"ACPELLA_TOKEN", "ACPELLA_STORE"}
    assert given["OPENAI_API_KEY"] == "needed"


def test_names_of_the_settings_come_first(shell: Shell, server: Loopback) -> None:
    publish(server)
    install(shell, server)
    mine = shell.home / "mine.py"
    mine.write_bytes(tiny_agent("mine"))
    shell("agents", "add", "tiny", sys.executable, str(mine))
    assert shell("run", "-a", "tiny", "hello").stdout == "mine\n"


def test_editors_get_their_lines(shell: Shell, server: Loopback) -> None:
    assert "no agent is installed" in shell("registry", "export", "zed").stderr
    publish(server)
    install(shell, server)
    zed = json.loads(shell("registry", "export", "zed").stdout)["agent_servers"]["tiny"]
    assert zed["type"] == "custom" and zed["args"][-3:] == ["registry", "run", "tiny"]
    for words in (("tiny", "--direct"), ("--direct", "tiny")):
        brains = json.loads(shell("registry", "export", "jetbrains", *words).stdout)["agent_servers"]
        assert "type" not in brains["tiny"] and os.path.isfile(brains["tiny"]["command"])


def test_updates_pins_and_going_back(shell: Shell, server: Loopback) -> None:
    publish(server)
    install(shell, server)
    assert "is the newest" in shell("registry", "update", "--all", "--refresh").stderr
    publish(server, "1.1.0")
    assert "↑  tiny   1.0.0 → 1.1.0" in shell("registry", "list", "--refresh").stdout
    assert shell("registry", "update", "tiny").returncode == 3  # nobody agrees
    ran = shell("registry", "update", "tiny", "--yes", "--json")
    assert json.loads(ran.stdout)["updated"][0]["before"] == "1.0.0", ran.stderr
    assert "is 1.0.0 again" in shell("registry", "update", "tiny", "--rollback").stderr
    server.index(entry("other", "2.0.0", npx={"package": "@scope/tiny@2.0.0"}))
    assert "no longer listed" in shell("registry", "list", "--refresh").stdout
    assert "no longer listed; 1.0.0 stays" in shell("registry", "update", "tiny").stderr
    assert shell("registry", "remove", "tiny", "--logout").returncode == 0
    assert shell("run", "-a", "tiny", "hello").returncode == 3


def test_an_agent_that_is_distributed_in_another_way_is_asked_about_again(
    shell: Shell, server: Loopback, tmp_path: Path
) -> None:
    publish(server)
    install(shell, server)
    fake_npm(tmp_path, ["2.0.0"])
    shell.env["PATH"] = f"{tmp_path}:{shell.env['PATH']}"
    server.index(entry("tiny", "2.0.0", npx={"package": "@scope/tiny@2.0.0"}))
    ran = shell("registry", "update", "tiny", "--refresh")
    assert ran.returncode == 3 and "is distributed in another way now, as npx" in ran.stderr
    assert shell("run", "-a", "tiny", "hello").stdout == "1.0.0\n"
    ran = shell("registry", "update", "tiny", "--yes")
    assert "tiny is 2.0.0 now" in ran.stderr
    assert f"changed  until now it was archives of {server.url.removeprefix('http://')}" in ran.stderr


def test_an_update_says_that_it_is_another_package(shell: Shell, server: Loopback, tmp_path: Path) -> None:
    fake_npm(tmp_path, ["1.0.0", "2.0.0", "3.0.0"])
    shell.env["PATH"] = f"{tmp_path}:{shell.env['PATH']}"
    server.index(entry("tiny", "1.0.0", npx={"package": "@scope/tiny@1.0.0"}))
    first = shell("registry", "install", "tiny", "--yes")
    assert first.returncode == 0 and "changed" not in first.stderr
    server.index(entry("tiny", "2.0.0", npx={"package": "@scope/tiny@2.0.0"}))
    newer = shell("registry", "update", "tiny", "--refresh", "--yes")
    assert "tiny is 2.0.0 now" in newer.stderr and "changed" not in newer.stderr
    fake_npm(tmp_path, ["3.0.0"], name="@else/tiny")
    server.index(entry("tiny", "3.0.0", npx={"package": "@else/tiny@3.0.0"}))
    other = shell("registry", "update", "tiny", "--refresh", "--yes")
    assert "changed  until now it was the npm package @scope/tiny" in other.stderr, other.stderr


def test_an_update_comes_from_the_index_of_the_installation(shell: Shell, server: Loopback) -> None:
    publish(server)
    install(shell, server)
    with Loopback() as evil:
        publish(evil, "6.6.6")
        ran = shell("registry", "update", "tiny", "--yes", env={"ACPELLA_REGISTRY_URL": evil.index_url})
        assert ran.returncode == 0 and evil.asked == []
    assert shell("run", "-a", "tiny", "hello").stdout == "1.0.0\n"


def test_a_package_is_kept_at_a_version(shell: Shell, server: Loopback, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    fake_npm(tools, ["1.0.0", "2.0.0"])
    shell.env["PATH"] = f"{tools}:{shell.env['PATH']}"
    publish(server)
    assert shell("registry", "install", "other", "--version", "1.0.0", "--yes").returncode == 0
    assert "other is kept at 1.0.0" in shell("registry", "update", "other", "--yes").stderr
    ran = shell("registry", "update", "other", "--yes", "--unpin")
    assert "other is 2.0.0 now; it was 1.0.0" in ran.stderr, ran.stderr
    settings = shell.home / "config" / "acpella" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"registry": {"pins": {"other": "1.0.0"}}}', encoding="utf-8")
    assert "other is 1.0.0 now" in shell("registry", "update", "other", "--yes").stderr


def test_a_package_without_a_wheel_is_built_only_after_a_question(
    shell: Shell, server: Loopback, tmp_path: Path
) -> None:
    log = fake_uv(tmp_path, ["1.0.0"], source=True)
    shell.env["PATH"] = f"{tmp_path}:{shell.env['PATH']}"
    server.index(entry("tiny", uvx={"package": "tiny-py==1.0.0"}))
    ran = shell("registry", "install", "tiny", "--yes")
    assert ran.returncode == 2 and "`acpella registry install tiny --scripts` allows that" in ran.stderr
    for words in ([], ["--scripts"]):
        with acpella(
            "registry", "install", "tiny", *words, cwd=shell.repo, columns=110, **shell.env
        ) as terminal:
            terminal.see(r"to build that runs code of it(.|\n)*run that code on this machine.*\[y/N\]")
            terminal.type("n\n")
            assert terminal.wait() == 2
    assert all("--no-build" in line for line in log.read_text(encoding="utf-8").splitlines())
    assert agents(shell) == []
    with acpella("registry", "install", "tiny", cwd=shell.repo, columns=110, **shell.env) as terminal:
        terminal.see(r"run that code on this machine.*\[y/N\]")
        terminal.type("y\n")
        terminal.see(
            r"what has no wheel is built here(.|\n)*install Tiny, and run it on this machine\? \[y/N\]"
        )
        terminal.type("y\n")
        assert terminal.wait() == 0
    assert shell("registry", "remove", "tiny").returncode == 0
    ran = shell("registry", "install", "tiny", "--yes", "--scripts")
    assert ran.returncode == 0 and agents(shell) == ["current.json"], ran.stderr


def test_without_a_network_the_copy_is_shown_with_its_age(shell: Shell, server: Loopback) -> None:
    ran = shell("registry", "list", "--offline")
    assert ran.returncode == 2 and "no copy of the index" in ran.stderr
    publish(server)
    shell("registry", "list")
    server.pages["/registry.json"] = Page(b"", status=503)
    assert "tiny" in shell("registry", "list", "--offline").stdout
    again = shell("registry", "list", "--refresh")
    assert "tiny" in again.stdout and "503" in again.stderr and "copy of" in again.stderr


def test_broken_entries_are_named_and_what_they_say_cannot_steer_the_terminal(
    shell: Shell, server: Loopback
) -> None:
    evil = entry("evil", npx={"package": "x@1.0.0"}) | {"description": "\x1b[2J\x1b]0;owned\x07fine"}
    server.index(evil, {"id": "broken"})
    ran = shell("registry", "list")
    assert "evil" in ran.stdout and "\x1b" not in ran.stdout
    assert "broken is left out" in ran.stderr


def test_the_name_of_an_agent_cannot_hide_what_would_be_installed(shell: Shell, server: Loopback) -> None:
    publish(server)
    index = json.loads(server.pages["/registry.json"].body)
    index["agents"][0]["name"] = "Tiny\x1b[2J\x1b[H\n  from     a nice place"
    server.pages["/registry.json"] = Page(json.dumps(index).encode())
    with acpella("registry", "install", "tiny", cwd=shell.repo, columns=110, **shell.env) as terminal:
        shown = terminal.see(r"install Tiny\\x1b.*, and run it on this machine\? \[y/N\]")
        assert f"{server.url}/tiny-1.0.0.tar.gz" in shown
        assert "\n  from     a nice place" not in shown
        terminal.type("n\n")
        assert terminal.wait() == 2


def test_a_terminal_gets_a_table_and_a_bar(shell: Shell, server: Loopback) -> None:
    publish(server)
    with acpella("registry", "list", cwd=shell.repo, columns=60, **shell.env) as terminal:
        assert terminal.wait() == 0
        lines = terminal.all().splitlines()
        assert any(line.split()[:3] == ["id", "version", "as"] for line in lines)
        assert any(line.rstrip().endswith("…") for line in lines) or max(map(len, lines)) <= 60
    page = server.pages["/tiny-1.0.0.tar.gz"]
    import threading

    page.hold = threading.Event()
    with acpella(
        "registry", "install", "tiny", "--yes", cwd=shell.repo, columns=100, **shell.env
    ) as terminal:
        terminal.see(r"download tiny 1\.0\.0 .*━")
        page.hold.set()
        assert terminal.wait() == 0
        assert "tiny 1.0.0 is installed" in terminal.all()


LOGIN = """
import pathlib, sys
if sys.argv[-1:] == ['--login']:
    pathlib.Path(pathlib.Path.home(), 'logged-in').write_text(' '.join(sys.argv[1:]))
    sys.exit(CODE)
"""


@pytest.mark.parametrize("how", ["replace", "own command", "fails"])
def test_a_login_runs_in_the_terminal(shell: Shell, server: Loopback, how: str) -> None:
    method: dict[str, Any] = {"id": "t", "name": "Terminal", "type": "terminal", "args": ["--login"]}
    if how == "own command":
        script = shell.home / "own-login"
        script.write_text(f"#!/bin/sh\necho own $* > {shell.home}/logged-in\n", encoding="utf-8")
        script.chmod(0o755)
        method = {"id": "t", "name": "T", "_meta": {"terminal-auth": {"command": str(script), "args": ["x"]}}}
    before = LOGIN.replace("CODE", "3" if how == "fails" else "0")
    body = tar({"tiny": tiny_agent(methods=[method], before=before)})
    server.archive("/t.tar.gz", body)
    server.index(entry(binary=binary(f"{server.url}/t.tar.gz", body, args=["--acp"])))
    install(shell, server)
    more = ["--replace-args"] if how == "replace" else []
    with acpella("registry", "login", "tiny", *more, cwd=shell.repo, columns=200, **shell.env) as terminal:
        terminal.see("this login runs: ")
        if how == "fails":
            terminal.see(r"ended with code 3; are you logged in\? \[y/N\]")
            terminal.type("n\n")
        assert terminal.wait() == (5 if how == "fails" else 0)
    words = {
        "append": "--acp --login",
        "replace": "--login",
        "own command": "own x",
        "fails": "--acp --login",
    }
    assert (shell.home / "logged-in").read_text(encoding="utf-8").strip() == words[how]


def test_a_login_that_the_agent_does_itself_fails_with_its_words(shell: Shell, server: Loopback) -> None:
    publish(server)
    install(shell, server)
    ran = shell("registry", "login", "tiny")  # this one has no authenticate
    assert ran.returncode == 8 and "no such method" in ran.stderr
    publish(server, "1.1.0", methods=[{"id": "t", "name": "Terminal", "type": "terminal", "args": []}])
    install(shell, server)
    ran = shell("registry", "login", "tiny")
    assert ran.returncode == 6 and "needs a terminal" in ran.stderr


def test_known_agents_need_no_index(shell: Shell, server: Loopback, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(shutil.which("python3") or sys.executable)
    log = fake_npm(tools, ["7.0.0"], name="pi-acp", bins="index.js")
    npm = (tools / "npm").read_text(encoding="utf-8").replace("v == wanted", "True")
    (tools / "npm").write_text(npm, encoding="utf-8")
    shell.env["PATH"] = str(tools)
    ran = shell("run", "-a", "pi", "--yes", "hello")  # the server has no index
    assert ran.stdout == "7.0.0\n", ran.stderr
    assert "404" in ran.stderr and "its newest package is taken instead" in ran.stderr
    assert "pi-acp" in log.read_text(encoding="utf-8")
