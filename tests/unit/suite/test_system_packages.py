"""The step of `make test` that gets system packages: it installs what it may, and names what it could not."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci" / "system-packages"
PROGRAMS = ("git", "openssl", "curl", "bwrap", "rg", "tmux", "zsh", "fish", "unshare", "chromium")


class Machine:
    """A PATH with nothing on it but what a test puts there."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "bin"
        self.bin.mkdir()
        self.log = place / "log"
        self.has("id", "echo 1000")

    def has(self, name: str, body: str = ":") -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def has_packages(self, *, but: str = "") -> None:
        """An apt-get that puts a program on the PATH for every package that it installs."""
        words = {"bubblewrap": "bwrap", "ripgrep": "rg", "util-linux": "unshare"}
        programs = "\n".join(f"{package}) program={program};;" for package, program in words.items())
        self.has(
            "apt-get",
            f'echo "apt-get $*" >> {self.log}\n[ "$1" = install ] || exit 0\n'
            "for package; do program=$package; done\n"
            f"case $package in\n{but or '-'}) exit 100;;\n{programs}\nesac\n"
            f"echo > {self.bin}/$program; /bin/chmod 755 {self.bin}/$program",
        )

    def run(self) -> str:
        ran = subprocess.run(
            ["/bin/bash", str(SCRIPT)],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def installed(self) -> list[str]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line.split()[-1] for line in lines if " install " in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_said_or_done_where_everything_is_there(machine: Machine) -> None:
    for program in PROGRAMS:
        machine.has(program)
    machine.has_packages()
    assert machine.run() == "" and machine.installed() == []


def test_root_installs_what_is_missing(machine: Machine) -> None:
    machine.has("id", "echo 0")
    for program in set(PROGRAMS) - {"bwrap", "rg"}:
        machine.has(program)
    machine.has_packages()
    said = machine.run()
    assert machine.installed() == ["bubblewrap", "ripgrep"] and "NOT INSTALLED" not in said


def test_sudo_without_a_password_is_as_good(machine: Machine) -> None:
    machine.has("sudo", 'shift; "$@"')
    machine.has_packages()
    assert "NOT INSTALLED" not in machine.run()
    assert len(machine.installed()) == len(PROGRAMS)


def test_a_package_that_fails_is_named_and_the_others_are_installed(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.has_packages(but="chromium")
    said = machine.run()
    assert (
        "apt-get could not install chromium" in said and "chromium (`chromium`): pages in a browser" in said
    )
    assert "bubblewrap (" not in said and len(machine.installed()) == len(PROGRAMS)


@pytest.mark.parametrize(
    "why, sudo, apt",
    [
        ("needs root, or sudo without a password", None, True),
        ("needs root, or sudo without a password", "exit 1", True),
        ("there is no apt-get", None, False),
    ],
)
def test_what_cannot_be_installed_is_named_with_what_needs_it(
    machine: Machine, why: str, sudo: str | None, apt: bool
) -> None:
    if sudo is not None:
        machine.has("sudo", sudo)
    if apt:
        machine.has_packages()
    said = machine.run()
    assert why in said and machine.installed() == []
    assert "bubblewrap (`bwrap`): the sandbox of the built-in agent" in said
    assert "to run them: apt-get install git openssl curl bubblewrap" in said


@pytest.mark.skipif(os.name != "posix", reason="the script is for Unix")
def test_the_script_can_be_started() -> None:
    assert os.access(SCRIPT, os.X_OK)
