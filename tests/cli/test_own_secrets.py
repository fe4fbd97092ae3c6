"""What opens our own servers and our session database stays with us: no agent that is started gets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Shell

from acpella._processes import inherited_environment
from acpella.cli.daemon.address import _started_by_ps  # pyright: ignore[reportPrivateUsage] - as on macOS
from acpella.coder.confinement import confinement
from acpella.registry.processes import runs_below

RAW = Path(__file__).parent / "raw_agent.py"

SECRETS = {
    "ACPELLA_TOKEN": "t0ken-of-a-server-t0ken-of-a-server",
    "ACPELLA_TOKEN_FILE": "/etc/acpella/tokens.json",
    "ACPELLA_STORE": "postgresql://me:pa55word@db.example.com/agents",
}


def agent_that_tells(shell: Shell) -> str:
    """An agent that writes down its environment before it does anything else."""
    file = shell.home / "telling.py"
    told = shell.home / "environment.json"
    file.write_text(
        "import json, os, runpy, sys\n"
        f"open({str(told)!r}, 'w').write(json.dumps(dict(os.environ)))\n"
        "sys.argv[1:] = ['--load']\n"
        f"runpy.run_path({str(RAW)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    return f"{sys.executable} {file}"


@pytest.mark.parametrize("session", [[], ["-s", "kept"]])
def test_an_agent_does_not_get_our_token_or_database_password(shell: Shell, session: list[str]) -> None:
    env = {**SECRETS, "ACPELLA_MODEL": "demo", "OPENAI_API_KEY": "needed"}
    ran = shell("run", "-a", agent_that_tells(shell), *session, "hello", env=env)
    assert ran.returncode == 0, ran.stderr
    given = json.loads((shell.home / "environment.json").read_text(encoding="utf-8"))
    assert not given.keys() & SECRETS.keys()
    assert not [name for name, value in given.items() if "pa55word" in value or "t0ken" in value]
    assert given["ACPELLA_MODEL"] == "demo" and given["OPENAI_API_KEY"] == "needed"


def test_a_recorded_agent_does_not_get_them_either(shell: Shell) -> None:
    tap = [sys.executable, "-m", "acpella", "record", "-o", str(shell.home / "talk.jsonl"), "--"]
    env = {**os.environ, **SECRETS, "OPENAI_API_KEY": "needed"}
    ran = subprocess.run([*tap, *agent_that_tells(shell).split()], input=b"", env=env, timeout=120)
    assert ran.returncode == 0
    given = json.loads((shell.home / "environment.json").read_text(encoding="utf-8"))
    assert not given.keys() & SECRETS.keys()
    assert given["OPENAI_API_KEY"] == "needed"


def test_an_agent_gets_what_its_settings_name(shell: Shell) -> None:
    words = agent_that_tells(shell).split()
    added = shell("agents", "add", "--env", f"ACPELLA_STORE={SECRETS['ACPELLA_STORE']}", "mine", *words)
    assert added.returncode == 0, added.stderr
    assert shell("run", "-a", "mine", "hello", env=SECRETS).returncode == 0
    given = json.loads((shell.home / "environment.json").read_text(encoding="utf-8"))
    assert given["ACPELLA_STORE"] == SECRETS["ACPELLA_STORE"] and "ACPELLA_TOKEN" not in given


@pytest.mark.parametrize("value, told", [(SECRETS["ACPELLA_STORE"], True), ("postgresql:///agents", False)])
def test_an_agent_that_does_not_get_the_database_is_told_of(shell: Shell, value: str, told: bool) -> None:
    ran = shell("run", "-a", agent_that_tells(shell), "hello", env={"ACPELLA_STORE": value})
    assert ran.returncode == 0
    assert ("ACPELLA_STORE holds a password, so the agent does not get it" in ran.stderr) is told
    assert "pa55word" not in ran.stderr


@pytest.mark.parametrize("program", ["ps", "bwrap"])
def test_programs_that_only_tell_about_the_system_do_not_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    told = tmp_path / "told"
    (tmp_path / program).write_text(f"#!/bin/sh\nenv >> {told}\n", encoding="utf-8")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    if program == "bwrap":
        confinement.__wrapped__()
    else:
        monkeypatch.setattr(os, "listdir", _no_proc)
        assert not runs_below(tmp_path) and _started_by_ps(os.getpid()) == 0
    given = told.read_text(encoding="utf-8")
    assert "PATH=" in given
    assert "pa55word" not in given and "t0ken" not in given


def _no_proc(path: str) -> list[str]:
    raise FileNotFoundError(path)


@pytest.mark.parametrize(
    "name, value, kept",
    [
        ("ACPELLA_STORE", "/home/me/sessions.db", True),
        ("ACPELLA_STORE", "postgresql:///agents", True),
        ("ACPELLA_STORE", "postgresql://me@db/agents?sslmode=require", True),
        ("ACPELLA_STORE", "postgresql://me:x@db/agents", False),
        ("ACPELLA_STORE", "postgresql://db/agents?user=me&password=x", False),
        ("ACPELLA_OTHER_DSN", "postgres://me:x@db/agents", False),
        ("acpella_token", "x", False),
        ("DATABASE_URL", "postgresql://me:x@db/shop", True),
    ],
)
def test_only_secrets_of_our_own_are_withheld(name: str, value: str, kept: bool) -> None:
    assert (name in inherited_environment({name: value})) is kept
