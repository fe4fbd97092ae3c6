"""`make test-all`: every Python that is declared is run if it is here, and named if it is not."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def pythons(tmp_path: Path) -> Path:
    """Where programs called `python` seem to be Pythons of pyenv."""
    for version in ("3.12.7", "3.14.0"):
        program = tmp_path / "versions" / version / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        program.chmod(0o755)
    broken = (
        tmp_path / "versions" / "3.13.1" / "bin" / "python"
    )  # is of another version than its directory says
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    return tmp_path


def make_test_all(pythons: Path, make: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    return subprocess.run(
        [program, "test-all", f"MAKE={make}"],
        cwd=ROOT,
        env={**os.environ, "PYENV_ROOT": str(pythons), "PATH": "/nowhere"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


def test_pythons_that_are_here_are_run_and_the_others_named(pythons: Path) -> None:
    ran = make_test_all(pythons, "echo make")
    assert ran.returncode == 0, ran.stderr
    started = [line.split("PYTHON=")[1] for line in ran.stdout.splitlines() if line.startswith("make ")]
    assert started == [
        f"{pythons}/versions/3.12.7/bin/python VENV=.venv-3.12",
        f"{pythons}/versions/3.14.0/bin/python VENV=.venv-3.14",
    ]
    assert "Not on this machine, so not tested: Python 3.11 3.13" in ran.stdout


def test_a_failure_on_one_python_fails_all_and_is_named(pythons: Path) -> None:
    ran = make_test_all(pythons, "false")
    assert ran.returncode != 0
    assert "Failed on: Python 3.12 3.14" in ran.stdout


def test_every_python_that_is_declared_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: "
    declared = [name.removeprefix(prefix) for name in project["classifiers"] if name.startswith(prefix)]
    assert declared == ["3.11", "3.12", "3.13", "3.14"]
    assert f"for version in {' '.join(declared)}; do" in (ROOT / "Makefile").read_text(encoding="utf-8")
