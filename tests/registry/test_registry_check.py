"""The registry's own rules, applied to agents and to what is submitted."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from fake_tools import fake_npm
from loopback import Loopback, entry
from tiny_agent import tiny_agent

from acpella.registry.handshake import HandshakeFailed, greet, login_kinds
from acpella.registry.submission import check_directory, check_icon

ICON = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">'
    b'<path fill="currentColor" d="M0 0h9"/></svg>'
)


def program(tmp_path: Path, **options: Any) -> list[str]:
    path = tmp_path / "agent.py"
    path.write_bytes(tiny_agent(**options))
    return [sys.executable, str(path)]


def test_an_agent_is_greeted_in_an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    seen = tmp_path / "seen.json"
    look = (
        "import json, os\n"
        f"facts = [os.listdir(os.environ['HOME']), os.getcwd(), os.environ['HOME'], dict(os.environ)]\n"
        f"json.dump(facts, open({str(seen)!r}, 'w'))\n"
    )
    greeting = greet(program(tmp_path, before=look), {"TINY": "1"}, within=30)
    assert greeting.agent == "tiny 1.0.0" and login_kinds(greeting.result) == {"browser": "agent"}
    files, cwd, home, env = json.loads(seen.read_text(encoding="utf-8"))
    assert files == [".stderr"] and cwd == home and env["TERM"] == "dumb" and env["TINY"] == "1"
    assert "SOME_API_KEY" not in env
    assert not Path(home).exists()


@pytest.mark.parametrize(
    "before, problem",
    [
        (
            "print('Welcome to tiny!', flush=True)\n",
            "first line on stdout is not the answer but: Welcome to tiny!",
        ),
        ("import time; time.sleep(60)\n", "not answered `initialize` within 1 s"),
        ("import sys; sys.exit('no config')\n", "(?s)ended with code 1.*no config"),
        ('print(\'{"jsonrpc": "2.0", "method": "hi"}\', flush=True)\n', "first message is not the answer"),
        ("print('[]', flush=True)\n", "not the answer"),
        ('print(\'{"id": 1, "error": {"code": 1, "message": "no"}}\', flush=True)\n', "with an error"),
    ],
)
def test_agents_that_do_not_answer_as_they_must(tmp_path: Path, before: str, problem: str) -> None:
    with pytest.raises(HandshakeFailed, match=problem):
        greet(program(tmp_path, before=before), within=1 if "sleep" in before else 30)


def launcher(tmp_path: Path, name: str, code: str) -> list[str]:
    """A program of that name on Unix, which runs this code."""
    path = tmp_path / name
    path.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.skipif(sys.platform == "win32", reason="launchers are scripts here")
@pytest.mark.parametrize(
    "name, variable, place", [("uvx", "UV_CACHE_DIR", ".cache/uv"), ("npx", "npm_config_cache", ".npm")]
)
def test_a_launcher_keeps_what_it_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for each in ("XDG_CACHE_HOME", variable):
        monkeypatch.delenv(each, raising=False)
    look = f"import os, sys\nsys.exit('cache: ' + os.environ[{variable!r}])\n"
    with pytest.raises(HandshakeFailed, match=f"cache: {tmp_path / place}"):
        greet(launcher(tmp_path, name, look), within=60)


@pytest.mark.skipif(sys.platform == "win32", reason="launchers are scripts here")
def test_a_launcher_that_takes_too_long_is_told_apart_from_an_agent(tmp_path: Path) -> None:
    with pytest.raises(HandshakeFailed, match="in which uvx may have had to download it.*--timeout"):
        greet(launcher(tmp_path, "uvx", "import time; time.sleep(60)\n"), within=1)


def test_a_flood_without_a_line_is_bounded(tmp_path: Path) -> None:
    flood = "import sys\nwhile True: sys.stdout.write('x' * 65536)\n"
    with pytest.raises(HandshakeFailed, match="not the answer"):
        greet(program(tmp_path, before=flood), within=30)


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(HandshakeFailed, match="cannot be started"):
        greet(["/no/such/program"])


def test_the_kind_of_a_login_is_found_as_the_registry_does() -> None:
    methods = [
        {"id": "a", "type": "agent"},
        {"id": "b"},
        {"id": "c", "_meta": {"terminal-auth": {"command": "x"}}},
        {"id": "d", "type": "terminal"},
        {"id": "e", "type": "env_var"},
        "nonsense",
    ]
    kinds = login_kinds({"authMethods": methods})
    assert kinds == {"a": "agent", "b": "agent", "c": "terminal", "d": "terminal", "e": "env_var"}
    assert login_kinds({"authMethods": "nonsense"}) == login_kinds({}) == {}


def test_the_built_in_agent_could_be_listed(shell: Shell) -> None:
    ran = shell("registry", "check", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    checked = json.loads(ran.stdout)
    assert checked["passed"] and "api-key (terminal)" in checked["findings"][1]["text"]


@pytest.mark.parametrize(
    "methods, problem",
    [([], "it offers no login"), ([{"id": "k", "name": "K", "type": "env_var", "vars": []}], "k (env_var)")],
)
def test_an_agent_without_a_login_to_drive_is_not_listed(
    shell: Shell, tmp_path: Path, methods: Any, problem: str
) -> None:
    ran = shell("registry", "check", "--", *program(tmp_path, methods=methods))
    assert ran.returncode == 6 and problem in ran.stdout and "✓ its first line" in ran.stdout


def test_a_key_is_typed_in_a_terminal_and_kept_for_the_user(shell: Shell) -> None:
    from terminal import acpella

    with acpella("agent", "--login", cwd=shell.repo, **shell.env) as terminal:
        terminal.see("1  Anthropic")
        terminal.type("2\n")
        terminal.see("OpenAI key")
        terminal.type("sk-not-shown\n")
        assert terminal.wait() == 0
        assert "sk-not-shown" not in terminal.all()
    (file,) = (shell.home / "config" / "acpella").glob("keys.json")
    assert file.stat().st_mode & 0o077 == 0
    env = {"PATH": shell.env["PATH"], "HOME": shell.env["HOME"]}
    env |= {name: value for name, value in shell.env.items() if name.startswith("XDG_")}
    code = (
        "import os; from acpella.coder.models.model_names import available as a; print(a(), dict(os.environ))"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "openai:" in ran.stdout and "sk-not-shown" not in ran.stdout
    assert shell("agent", "--login").returncode == 2  # without a terminal


def test_what_is_submitted_is_read_by_the_rules(tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    place.mkdir()
    archive = {
        "archive": "https://a.example/releases/download/v1.0.0/t.zip",
        "cmd": "./t",
        "sha256": "0" * 64,
    }
    systems = ("linux-x86_64", "darwin-aarch64", "windows-x86_64")
    good = entry(npx={"package": "tiny@1.0.0"}, binary=dict.fromkeys(systems, archive))
    (place / "icon.svg").write_bytes(ICON)

    def findings(value: Any) -> list[tuple[str, str]]:
        (place / "agent.json").write_text(json.dumps(value), encoding="utf-8")
        return [(finding.level, finding.text) for finding in check_directory(place)]

    assert findings(good) == [("ok", "agent.json and icon.svg of tiny keep the rules")]
    for change, problem in (
        ({"id": "other"}, "must be the name of the directory"),
        ({"version": "latest"}, "does not begin with three numbers"),
        ({"version": "2.0.0"}, "tiny@1.0.0 has version 1.0.0, the entry 2.0.0"),
        ({"distribution": {"npx": {"package": "tiny@latest"}}}, "must name its version"),
        ({"distribution": {"npx": {"package": "tiny@1.0.0", "extra": 1}}}, "npx.extra is not a field"),
        ({"distribution": {"snap": {}}}, "not known here"),
        (
            {"distribution": {"binary": {"linux-x86_64": {**archive, "archive": "https://a.example/x.deb"}}}},
            ".deb",
        ),
        (
            {
                "distribution": {
                    "binary": {"linux-x86_64": {**archive, "archive": "https://a.example/latest/x.zip"}}
                }
            },
            "name a version",
        ),
    ):
        found = findings({**good, **change})
        assert any(level == "error" and problem in text for level, text in found), (change, found)
    only = {"distribution": {"binary": {"linux-x86_64": {k: v for k, v in archive.items() if k != "sha256"}}}}
    warned = [text for level, text in findings({**good, **only}) if level == "warning"]
    assert len(warned) == 2 and "no binary for darwin, windows" in warned[1]
    (place / "icon.svg").unlink()
    assert ("error", "icon.svg is missing: 16x16, in currentColor") in findings(good)


def test_a_directory_is_checked_against_what_is_there(shell: Shell, server: Loopback, tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "icon.svg").write_bytes(ICON)
    target = {"cmd": "./t", "sha256": "0" * 64}
    paths = {"linux-x86_64": "/l.zip", "darwin-aarch64": "/d.zip", "windows-x86_64": "/w.zip"}
    binaries = {system: {**target, "archive": server.url + path} for system, path in paths.items()}
    value = entry(npx={"package": "@scope/tiny@1.0.0"}, binary=binaries)
    (place / "agent.json").write_text(json.dumps(value), encoding="utf-8")
    (tools := tmp_path / "tools").mkdir()
    fake_npm(tools, ["0.9.0", "1.0.0"])
    shell.env["PATH"] = f"{tools}{os.pathsep}{shell.env['PATH']}"
    server.archive("/l.zip", b"x")
    server.archive("/d.zip", b"x", head=[405])  # knows GET alone
    server.archive("/w.zip", b"x", head=[503, 503])  # busy twice
    ran = shell("registry", "check", str(place))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "✓ every archive is there" in ran.stdout and "✓ @scope/tiny@1.0.0 is there" in ran.stdout
    assert server.paths() == ["/l.zip", "/d.zip", "/d.zip", "/w.zip", "/w.zip", "/w.zip"]
    del server.pages["/l.zip"]
    fake_npm(tools, ["0.9.0"])
    ran = shell("registry", "check", str(place))
    assert ran.returncode == 6
    assert "/l.zip answers with 404" in ran.stdout and "is not to be had; the newest is 0.9.0" in ran.stdout
    asked = len(server.asked)
    assert shell("registry", "check", "--offline", str(place)).returncode == 0
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    "old, new, problem",
    [
        (b'width="16"', b'width="24"', "16x16"),
        (b"currentColor", b"#ff0000", "#ff0000"),
        (b"<path", b"<!-- hi --><path", "comments"),
        (b"</svg>", b"", "not XML"),
        (b"svg", b"png", "root"),
        (b"<svg", b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg", "document type"),
        (b"<path", b"<style>.a{fill: red}</style><path", "red"),
    ],
)
def test_icons_are_small_and_without_colour(old: bytes, new: bytes, problem: str) -> None:
    assert check_icon(ICON) == []
    assert any(problem in text for text in check_icon(ICON.replace(old, new)))
