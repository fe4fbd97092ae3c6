"""Agents from npm and PyPI, with an `npm` and a `uv` that the tests put on the PATH, or the real `uv`."""

import os
import select
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_tools import fake_npm, fake_uv
from loopback import entry
from pypi_files import sdist, wheel
from tiny_agent import tiny_agent

import acpella
from acpella.client.installed import find_installed
from acpella.registry.download import Quiet
from acpella.registry.entries import RegistryEntry, parse_entry
from acpella.registry.errors import InstallError
from acpella.registry.install import install, plan
from acpella.registry.packages import NeedsBuild
from acpella.registry.platforms import find_tool
from acpella.registry.tools import ProgramFailed, run_tool

URL = "file:///index.json"
REAL_UV = find_tool("uv")


@pytest.fixture
def tools_path(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tools"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return place


def npm_entry(version: str = "1.0.0", **more: Any) -> RegistryEntry:
    return parse_entry(entry(version=version, npx={"package": f"@scope/tiny@{version}", **more}))[0]


@pytest.fixture
def real_uv(tools_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real `uv`, for which a directory is PyPI."""
    if REAL_UV is None:
        pytest.skip("uv is not installed")
    (tools_path / "uv").symlink_to(REAL_UV)
    pypi = tmp_path / "pypi"
    pypi.mkdir()
    for name, value in (("FIND_LINKS", pypi), ("CACHE_DIR", tmp_path / "cache"), ("PYTHON", sys.executable)):
        monkeypatch.setenv(f"UV_{name}", str(value))
    for name in ("UV_NO_INDEX", "UV_OFFLINE", "UV_NO_CONFIG"):
        monkeypatch.setenv(name, "1")
    return pypi


def py_entry(spec: str = "tiny-py==1.0.0", version: str = "1.0.0") -> RegistryEntry:
    return parse_entry(entry(version=version, uvx={"package": spec}))[0]


def test_an_npm_package_is_installed_as_its_lock_file_says(tools_path: Path) -> None:
    log = fake_npm(tools_path, ["0.9.0", "1.0.0"])
    with plan(npm_entry(args=["--acp"], env={"TINY": "env"}), index_url=URL) as planned:
        assert (planned.source, planned.digest) == ("@scope/tiny@1.0.0", "sha512-1.0.0")
        assert "node_modules" not in os.listdir(planned.staging.files)  # nothing of it is here yet
        receipt = install(planned).receipt
    assert receipt.runner == "" and receipt.program == "node_modules/@scope/tiny/index.js"
    assert acpella.ask("tiny", "hello").text == "1.0.0 --acp env"
    assert all("--ignore-scripts" in line for line in log.read_text(encoding="utf-8").splitlines())


def test_a_version_that_is_too_new_becomes_the_newest_below(tools_path: Path) -> None:
    fake_npm(tools_path, ["0.9.0", "1.0.0"])
    with plan(npm_entry("1.5.0"), index_url=URL) as planned:
        assert planned.version == "1.0.0"
        assert "version 1.5.0 is not to be had; this is the newest one below it" in planned.details
        assert install(planned).receipt.version == "1.0.0"


def test_a_pinned_version_is_that_one_or_none(tools_path: Path) -> None:
    fake_npm(tools_path, ["0.9.0", "1.0.0"])
    with plan(npm_entry(), index_url=URL, version="0.9.0") as planned:
        found = install(planned)
    assert found.receipt.version == found.selection.pin == "0.9.0"
    with pytest.raises(InstallError, match="version 0.9.5 of tiny cannot be had; the newest below is 0.9.0"):
        plan(npm_entry(), index_url=URL, version="0.9.5")


def test_an_agent_that_needs_its_install_scripts_says_so(tools_path: Path) -> None:
    check = "import os, pathlib\nassert (pathlib.Path(__file__).parents[3] / 'built').exists(), 'not built'\n"
    program = tiny_agent(before=check).decode()
    fake_npm(tools_path, ["1.0.0"], scripts=True, program=program)
    asked: list[str] = []

    def refuse(reason: str) -> bool:
        asked.append(reason)
        return False

    with plan(npm_entry(), index_url=URL) as planned:
        assert planned.scripts == ("@scope/tiny",)
        with pytest.raises(InstallError, match="were not run; --scripts runs them"):
            install(planned, retry_with_scripts=refuse)
    assert len(asked) == 1 and "not built" in asked[0] and find_installed("tiny") is None
    with plan(npm_entry(), index_url=URL) as planned:
        assert install(planned, retry_with_scripts=lambda reason: True).receipt.scripts
    with plan(npm_entry(), index_url=URL) as planned:
        assert install(planned, scripts=True).receipt.scripts


@pytest.mark.parametrize(
    "bins, problem",
    [
        ({"a": "a.js", "b": "b.js"}, "no program of its own name; it has: a, b"),
        (None, "it has none"),
        ("missing.js", "has no file missing.js"),
        ("../../../../../../bin/sh", "has no file"),
    ],
)
def test_a_package_without_a_program_is_refused(tools_path: Path, bins: Any, problem: str) -> None:
    fake_npm(tools_path, ["1.0.0"], bins=bins)
    with plan(npm_entry(), index_url=URL) as planned, pytest.raises(InstallError, match=problem):
        install(planned)


def test_node_runs_what_is_written_for_it(tools_path: Path) -> None:
    fake_npm(tools_path, ["1.0.0"], program="#!/usr/bin/env node\n")
    with plan(npm_entry(), index_url=URL) as planned:
        assert install(planned, check=False).receipt.runner == "node"


def test_a_package_manager_that_fails_is_quoted(tools_path: Path) -> None:
    (tools_path / "npm").write_text("#!/bin/sh\necho the disk is made of cheese; exit 3\n", encoding="utf-8")
    (tools_path / "npm").chmod(0o755)
    with pytest.raises(ProgramFailed, match=r"npm install failed with code 3\n  the disk is made of cheese"):
        plan(npm_entry(), index_url=URL)


@pytest.mark.parametrize("tool", ["npm", "uv"])
def test_a_package_manager_does_not_get_our_token_or_database_password(
    tools_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    told = tmp_path / "told"
    (tools_path / tool).write_text(f"#!/bin/sh\nenv > {told}; exit 3\n", encoding="utf-8")
    (tools_path / tool).chmod(0o755)
    monkeypatch.setenv("ACPELLA_TOKEN", "t0ken")
    monkeypatch.setenv("ACPELLA_STORE", "postgresql://me:pa55word@db.example.com/agents")
    monkeypatch.setenv("NPM_TOKEN", "of a private registry")
    with pytest.raises(ProgramFailed):
        plan(npm_entry() if tool == "npm" else py_entry(), index_url=URL)
    given = told.read_text(encoding="utf-8")
    assert "t0ken" not in given and "pa55word" not in given
    assert "NPM_TOKEN=of a private registry" in given


def test_a_package_manager_that_hangs_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code = f"(exec sleep 60) > {pipe} & echo waiting for the moon; sleep 60"
    with pytest.raises(ProgramFailed, match="was not done within 1.5 s\n  waiting for the moon"):
        run_tool(["sh", "-c", code], cwd=tmp_path, progress=Quiet(), env=dict(os.environ), within=1.5)
    ended = False
    while select.select([reader], [], [], 20)[0] and not ended:
        ended = os.read(reader, 10) == b""  # nobody has it open for writing any more
    assert ended
    os.close(reader)


def test_a_pypi_package_is_installed_with_its_digests(tools_path: Path) -> None:
    log = fake_uv(tools_path, ["0.9.0", "1.0.0"])
    found, _ = parse_entry(entry(uvx={"package": "tiny-py@1.0.0", "args": ["acp"]}))
    with plan(found, index_url=URL) as planned:
        assert planned.kind == "uvx" and planned.source == "tiny-py==1.0.0"
        assert f"its files have sha256:{'a' * 64}" in planned.details
        install(planned)
    assert acpella.ask("tiny", "hello").text == "1.0.0 acp"
    steps = log.read_text(encoding="utf-8")
    assert "--generate-hashes" in steps and "--require-hashes" in steps and "--relocatable" in steps


def test_a_pypi_version_that_is_too_new_becomes_the_newest_below(tools_path: Path) -> None:
    fake_uv(tools_path, ["0.9.0", "1.0.0"])
    found, _ = parse_entry(entry(version="1.5.0", uvx={"package": "tiny-py==1.5.0"}))
    with plan(found, index_url=URL) as planned:
        assert planned.version == "1.0.0" and "newest one below it" in planned.details[-1]


@pytest.mark.parametrize("needed", [False, True])
def test_looking_up_a_pypi_package_does_not_run_it(real_uv: Path, tmp_path: Path, needed: bool) -> None:
    ran = tmp_path / "ran"
    sdist(real_uv, "evil" if needed else "tiny-py", "1.0.0", ran)
    if needed:
        wheel(real_uv, "tiny-py", "1.0.0", needs="evil")
    name = "evil" if needed else "tiny-py"
    with pytest.raises(NeedsBuild, match=f"needs {name} as a wheel.*install tiny --scripts` allows that"):
        plan(py_entry(), index_url=URL)
    assert not ran.exists() and find_installed("tiny") is None


def test_a_version_with_a_wheel_comes_before_one_that_must_be_built(real_uv: Path, tmp_path: Path) -> None:
    sdist(real_uv, "tiny-py", "1.1.0", tmp_path / "ran")
    wheel(real_uv, "tiny-py", "1.0.0")
    with plan(py_entry("tiny-py"), index_url=URL) as planned:
        assert install(planned).receipt.source == "tiny-py==1.0.0"
    assert acpella.ask("tiny", "hello").text == "1.0.0"
    assert not (tmp_path / "ran").exists()


def test_a_pypi_package_without_a_wheel_is_built_once_somebody_agreed(real_uv: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    sdist(real_uv, "tiny-py", "1.0.0", ran)
    reasons: list[str] = []

    def agree(reason: str) -> bool:
        reasons.append(reason)
        return not ran.exists()

    with plan(py_entry(), index_url=URL, allow_build=agree) as planned:
        assert "what has no wheel is built here" in planned.details[-1]
        assert install(planned).receipt.scripts
    assert len(reasons) == 1 and "there is only its source" in reasons[0]
    assert acpella.ask("tiny", "hello").text == "1.0.0" and ran.exists()


def test_uv_builds_nothing_that_nobody_agreed_to(tools_path: Path) -> None:
    log = fake_uv(tools_path, ["1.0.0"], source=True)
    with pytest.raises(NeedsBuild):
        plan(py_entry(), index_url=URL)
    fake_uv(tools_path, ["1.0.0"])
    with plan(py_entry(), index_url=URL) as planned:
        assert not install(planned).receipt.scripts
    calls = log.read_text(encoding="utf-8").splitlines()
    pip = [line for line in calls if line.startswith("uv pip ")]
    assert len(pip) == 3 and all("--no-build" in line.split() for line in pip)


def test_npm_runs_nothing_from_git_that_nobody_agreed_to(tools_path: Path) -> None:
    cloned = {"node_modules/evil": {"version": "1.0.0", "resolved": "git+https://evil.example/x.git#1234"}}
    log = fake_npm(tools_path, ["1.0.0"], needs=cloned)
    with pytest.raises(NeedsBuild, match="needs evil from git.*--scripts"):
        plan(npm_entry(), index_url=URL)
    assert "--package-lock-only" in log.read_text(encoding="utf-8").splitlines()[-1]
    with plan(npm_entry(), index_url=URL, allow_build=lambda reason: True) as planned:
        assert "evil from git, where npm runs code that it finds" in planned.details
        assert install(planned).receipt.scripts
