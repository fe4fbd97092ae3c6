"""What a confined command sees of the machine: real bubblewrap, outside of /tmp, which it empties anyway."""

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpella.cli.state import paths
from acpella.coder.confinement import confinement

REPOSITORY = Path(__file__).parents[2]

CONNECT = (
    "import socket, sys; print('ran', flush=True); "
    "s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); print('in')"
)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home and a project in a directory that no rule about temporary files covers."""
    fence = confinement()
    if isinstance(fence, str):
        pytest.skip(fence)
    place = Path(tempfile.mkdtemp(prefix=".x-", dir=REPOSITORY))
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home", "project", "copy"):
        (place / name).mkdir()
    monkeypatch.setenv("HOME", str(place / "home"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def confined(here: Path, *words: str, private: list[Path] | None = None, project: Path | None = None) -> str:
    """What a command in the sandbox writes."""
    fence = confinement()
    assert not isinstance(fence, str)
    root = project or here / "project"
    argv = fence.command(
        shlex.join(words),
        cwd=str(root),
        pairs=[(Path(os.path.realpath(root)), here / "copy")],
        private=private or [],
    )
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    return ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("", ""),
        ("XDG_STATE_HOME", "state"),
        ("XDG_STATE_HOME", "home/.cache/uv"),
        ("XDG_STATE_HOME", "tools/bin"),
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_RUNTIME_DIR", "tools/bin"),
        ("TMPDIR", "tmp"),
        ("TMPDIR", "tools/bin"),
    ],
)
def test_a_confined_command_cannot_connect_to_the_daemon_of_a_session(
    here: Path, monkeypatch: pytest.MonkeyPatch, variable: str, place: str
) -> None:
    (here / "tools" / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{here}/tools/bin{os.pathsep}{os.environ['PATH']}")
    if variable:
        (here / place).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(variable, str(here / place))
    directory = Path(os.environ["TMPDIR"]) / "acpella-1" if variable == "TMPDIR" else paths.sockets()
    directory.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(directory)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind("s")
        daemon.listen()
        said = confined(here, "sh", "-c", f'cd {directory}; exec python3 -c "$0" s', CONNECT)
    assert "ran\n" in said and "in\n" not in said, said


def test_a_confined_command_sees_a_home_with_nothing_but_tools(here: Path) -> None:
    home = here / "home"
    for name in (".netrc", ".git-credentials", ".bash_history", ".npmrc", "notes.txt"):
        (home / name).write_text("secret", encoding="utf-8")
    (home / ".cargo" / "bin").mkdir(parents=True)
    (home / ".cargo" / "bin" / "tool").write_text("#!/bin/sh\necho tooled\n", encoding="utf-8")
    (home / ".cargo" / "bin" / "tool").chmod(0o755)
    (home / ".cargo" / "credentials.toml").write_text("secret", encoding="utf-8")
    said = confined(
        here, "sh", "-c", "ls -A ~; ls -A ~/.cargo; ~/.cargo/bin/tool; touch ~/.cargo/bin/x; touch ~/y"
    )
    assert said.splitlines()[:3] == [".cargo", "bin", "tooled"], said
    assert "Read-only" in said
    assert not (home / "y").exists()


def test_a_confined_command_sees_no_other_directory_of_the_machine(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "elsewhere").mkdir()
    (here / "elsewhere" / "x").write_text("there\n", encoding="utf-8")
    cat = ("cat", str(here / "elsewhere" / "x"))
    assert "No such file" in confined(here, *cat)
    monkeypatch.setenv("ACPELLA_SANDBOX_READ", str(here / "elsewhere"))
    assert confined(here, *cat) == "there\n"


def test_what_the_agent_keeps_in_the_project_is_hidden_from_its_commands(here: Path) -> None:
    """Its sessions may be stored anywhere, and hold what was said in others."""
    for place in (here / "project", here / "copy"):
        (place / "sessions.db").write_text("secret", encoding="utf-8")
    said = confined(here, "cat", "sessions.db", private=[here / "project" / "sessions.db"])
    assert "secret" not in said


def test_a_project_behind_a_link_keeps_its_name(here: Path) -> None:
    (here / "link").symlink_to(here / "project")
    (here / "copy" / "x").write_text("there\n", encoding="utf-8")
    link = here / "link"
    assert confined(here, "cat", "x", f"{link}/x", str(here / "project" / "x"), project=link) == "there\n" * 3


def test_a_confined_command_cannot_connect_to_an_owner_behind_a_link(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tools may lie on another disk, and the state beside them."""
    (here / "disk").mkdir()
    (here / "home" / ".cache").mkdir()
    (here / "home" / ".cache" / "uv").symlink_to(here / "disk")
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "home" / ".cache" / "uv"))
    directory = paths.sockets()
    directory.mkdir(parents=True)
    monkeypatch.chdir(directory)
    with socket.socket(socket.AF_UNIX) as owner:
        owner.bind("s")
        owner.listen()
        said = confined(here, "sh", "-c", f'cd {directory}; exec python3 -c "$0" s', CONNECT)
    assert "in\n" not in said, said


@pytest.mark.parametrize(
    "variable",
    [
        "DATABASE_URL=postgres://me:s3cret@db/x",
        "SMTP_PASS=s3cret",
        "GH_PAT=s3cret",
        "PAT=s3cret",
        "SENTRY_DSN=s3cret",
        "PEM=-----BEGIN RSA PRIVATE s3cret",
        "OLD_PWD_OF_DB=s3cret",
        "JDBC_URL=jdbc:postgresql://h/db?user=x&password=s3cret",
        "AZURE_STORAGE_CONNECTION_STRING=AccountName=a;AccountKey=s3cret==",
        "SLACK_WEBHOOK_URL=https://hooks.slack.com/services/team/app/s3cret",
        "OTEL_EXPORTER_OTLP_HEADERS=api-key=s3cret",
        "NPM_CONFIG_HEADERS=Authorization: Bearer s3cret",
        "HTTP_BEARER=s3cret",
        "GH_JWT=s3cret",
        "STRIPE_SK=s3cret",
        "OPENAI_API=s3cret",
        "ANYTHING=s3cret",
        "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.keyStorePassword=s3cret",
        "GOFLAGS=-x https://me:s3cret@h/",
        "MAVEN_OPTS=-Dfoo.pw=s3cret",
        "GRADLE_OPTS=-Dgithub.pat=s3cret -Dsonar.login=s3cret",
        "JAVA_OPTS=-Ddb.creds=s3cret",
        "PYTEST_ADDOPTS=--db-password s3cret --pass s3cret",
        "MAKEFLAGS=CURL='curl -u me:s3cret'",
    ],
    ids=lambda variable: variable.split("=")[0],  # the name of the test is a variable, too
)
def test_a_confined_command_gets_no_secret_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(*variable.split("=", 1))
    fence = confinement()
    assert not isinstance(fence, str)
    assert variable.split("=")[0] in fence.emptied()
    assert "s3cret" not in confined(here, "env")


def test_a_confined_command_gets_what_toolchains_need_and_what_the_user_names(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {
        "DJANGO_SETTINGS_MODULE": "site.settings",
        "LC_TIME": "C.UTF-8",
        "VIRTUAL_ENV": "/nowhere/venv",
        "PYTHONPATH": "src:lib",
        "NODE_OPTIONS": "--max-old-space-size=4096",
        "CARGO_TARGET_DIR": "/tmp/target",
        "GIT_AUTHOR_NAME": "Me",
        "MAVEN_OPTS": "-Xmx1g -Dfile.encoding=UTF-8 -Dmode.compat=true -Dspin=3",
        "GOPATH": "/opt/token:/opt/pass:/go",
        "MINE": "one",
        "MY_TOKEN": "two",
    }
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ACPELLA_SANDBOX_ENV", "MINE,MY_TOKEN")
    said = confined(here, "env").splitlines()
    home = f"HOME={here / 'home'}"
    assert {f"{name}={value}" for name, value in wanted.items()} | {home} <= set(said)
    assert not any(line.startswith("ACPELLA_") for line in said)


def test_a_confined_command_reads_no_file_of_the_system_that_is_not_for_everybody(here: Path) -> None:
    said = confined(
        here, "sh", "-c", "find /etc -type f ! -perm -o=r -size +0; ls -A /etc/ssh /etc/ssl/private"
    )
    files = [line for line in said.splitlines() if line.startswith("/etc/") and not line.endswith(":")]
    assert files == [], said
