"""Installing archives: digests, cut downloads, killed processes, two at once, updates and going back."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, binary, entry, tar, zipped
from tiny_agent import HEAD, tiny_agent

import acpella
from acpella.client.installed import agents_directory, find_installed, list_installed
from acpella.registry import install as install_module
from acpella.registry import staging as staging_module
from acpella.registry.entries import RegistryEntry
from acpella.registry.errors import InstallError
from acpella.registry.index import find_index
from acpella.registry.install import install, plan, remove, roll_back, set_pin
from acpella.registry.staging import Staging

INSTALL = (
    "import sys; from acpella.registry.index import find_index; "
    "from acpella.registry.install import install, plan\n"
    "url, name = sys.argv[1:]\n"
    "entry = find_index(url, refresh=True).index.entries[name]\n"
    "with plan(entry, index_url=url) as planned: install(planned)\n"
)


def publish(server: Loopback, version: str = "1.0.0", *, digest: bool = True, **more: Any) -> bytes:
    """The agent tiny in an archive, and an index that names it."""
    body = tar({"tiny": more.pop("program", tiny_agent(version))}, mode=0o644)
    target = binary(f"{server.url}/tiny-{version}.tar.gz", body if digest else None, **more)
    server.archive(f"/tiny-{version}.tar.gz", body)
    server.index(entry("tiny", version, binary=target))
    return body


def listed(server: Loopback, name: str = "tiny") -> RegistryEntry:
    return find_index(server.index_url, refresh=True).index.entries[name]


def installed(server: Loopback, **options: Any) -> str:
    """Install tiny; gives its version."""
    with plan(listed(server), index_url=server.index_url) as planned:
        return install(planned, **options).receipt.version


def left(home: Path) -> list[str]:
    place = home / "data" / "acpella" / "agents" / "tiny"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def nothing_at_all(home: Path) -> bool:
    return not (home / "data" / "acpella" / "agents" / "tiny").exists()


def test_an_installed_agent_is_a_name_for_connect(home: Path, server: Loopback) -> None:
    publish(server, args=["--acp"], env={"TINY": "yes", "PATH": "/evil"})
    with plan(listed(server), index_url=server.index_url) as planned:
        assert planned.warnings == ("the index may not set PATH; left out",)
        found = install(planned)
    assert acpella.ask("tiny", "hello").text == "1.0.0 --acp yes"
    receipt = found.receipt
    assert receipt.source == f"{server.url}/tiny-1.0.0.tar.gz" and receipt.index_url == server.index_url
    assert receipt.files == 1 and receipt.digest.startswith("sha256:") and receipt.kind == "binary"
    assert [one.receipt.id for one in list_installed()] == ["tiny"]
    assert (home / "data" / "acpella" / "agents").stat().st_mode & 0o077 == 0
    assert left(home) == [found.directory.name, "current.json"]


@pytest.mark.parametrize("kind", ["zip", "bare"])
def test_other_formats_are_installed_as_well(home: Path, server: Loopback, kind: str) -> None:
    body = zipped({"pkg/tiny": tiny_agent()}, mode=0o100644) if kind == "zip" else tiny_agent()
    path = "/tiny.zip" if kind == "zip" else "/download/tiny-linux"
    server.archive(path, body)
    server.index(entry(binary=binary(server.url + path, body)))
    assert installed(server) == "1.0.0"
    assert acpella.ask("tiny", "hello").text == "1.0.0"


def test_a_runner_of_the_path_gets_files_of_the_archive(
    home: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    body = tar({"main.py": tiny_agent()})
    server.archive("/t.tgz", body)
    target = binary(f"{server.url}/t.tgz", body, cmd="python3", args=["./main.py", "main.txt"])
    server.index(entry(binary=target))
    installed(server)
    assert acpella.ask("tiny", "hello").text == "1.0.0 main.txt"


def test_a_wrong_digest_installs_nothing(home: Path, server: Loopback) -> None:
    publish(server)
    server.archive("/tiny-1.0.0.tar.gz", tar({"tiny": b"evil"}))
    with pytest.raises(InstallError, match="is not what the index says: its sha256 is"):
        installed(server)
    assert nothing_at_all(home) and find_installed("tiny") is None


def test_an_agent_may_have_the_name_of_a_file_of_ours(
    home: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging_module, "LOCKED_WITHIN", 2.0)  # else it waits for half an hour
    body = tar({"tiny": tiny_agent()})
    server.archive("/tiny.tar.gz", body)
    server.index(entry("digests", binary=binary(f"{server.url}/tiny.tar.gz")))
    with plan(listed(server, "digests"), index_url=server.index_url) as planned:
        install(planned)
    assert acpella.ask("digests", "hello").text == "1.0.0"
    assert server.url in (agents_directory() / "digests.json").read_text(encoding="utf-8")


def test_without_a_digest_the_first_one_counts(home: Path, server: Loopback) -> None:
    publish(server, digest=False)
    with plan(listed(server), index_url=server.index_url) as planned:
        assert planned.digest.startswith("sha256:") and "gives no digest" in planned.details[0]
        install(planned)
    remove("tiny")
    server.archive("/tiny-1.0.0.tar.gz", tar({"tiny": tiny_agent("evil")}))
    with pytest.raises(InstallError, match="has changed: its sha256 was"):
        installed(server)
    assert find_installed("tiny") is None


@pytest.mark.parametrize(
    "more, problem",
    [
        ({"cut": 50}, "cut after 50 of"),
        ({"status": 404}, "404"),
        ({"headers": {"Content-Length": str(1 << 40)}}, "more than"),
    ],
)
def test_a_bad_download_installs_nothing(
    home: Path, server: Loopback, more: dict[str, Any], problem: str
) -> None:
    body = publish(server)
    server.archive("/tiny-1.0.0.tar.gz", body, **more)
    with pytest.raises(InstallError, match=problem):
        installed(server)
    assert nothing_at_all(home)
    publish(server)
    assert installed(server) == "1.0.0"


def test_an_agent_that_does_not_answer_is_not_installed(home: Path, server: Loopback) -> None:
    publish(server, program=(HEAD + "raise SystemExit('the moon is wrong')\n").encode())
    with pytest.raises(InstallError, match=r"does not work; nothing was installed(.|\n)*the moon is wrong"):
        installed(server)
    assert find_installed("tiny") is None
    assert installed(server, check=False) == "1.0.0"


def test_a_process_that_is_killed_leaves_nothing_behind(home: Path, server: Loopback) -> None:
    body = publish(server)
    page = server.archive("/tiny-1.0.0.tar.gz", body, hold=threading.Event())
    process = subprocess.Popen([sys.executable, "-c", INSTALL, server.index_url, "tiny"])
    assert page.begun.wait(20)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(left(home)) == 1 and find_installed("tiny") is None
    assert page.hold is not None
    page.hold.set()
    server.archive("/tiny-1.0.0.tar.gz", body)
    assert installed(server) == "1.0.0"
    assert [name for name in left(home) if name.startswith(".")] == []


def test_two_processes_install_the_same_agent_at_once(home: Path, server: Loopback) -> None:
    body = publish(server)
    page = server.archive("/tiny-1.0.0.tar.gz", body, hold=threading.Event())
    command = [sys.executable, "-c", INSTALL, server.index_url, "tiny"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    assert page.begun.wait(20)
    assert page.hold is not None
    page.hold.set()
    assert [process.communicate(timeout=60)[1] for process in both] == [b"", b""]
    found = find_installed("tiny")
    assert found is not None
    assert left(home) == [found.directory.name, "current.json"]


def test_an_update_keeps_the_version_before_and_can_go_back(home: Path, server: Loopback) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        publish(server, version)
        assert installed(server) == version
    kept = [name.rpartition("-")[0] for name in left(home)]
    assert kept == ["1.1.0", "1.2.0", ""]
    assert roll_back("tiny").receipt.version == "1.1.0"
    assert acpella.ask("tiny", "hello").text == "1.1.0"
    assert roll_back("tiny").receipt.version == "1.2.0"


def test_a_version_that_runs_is_not_deleted(home: Path, server: Loopback) -> None:
    publish(server, "1.0.0")
    installed(server)
    found = find_installed("tiny")
    assert found is not None
    running = subprocess.Popen([found.server.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for version in ("1.1.0", "1.2.0"):
            publish(server, version)
            installed(server)
        assert [n.rpartition("-")[0] for n in left(home)] == ["1.0.0", "1.1.0", "1.2.0", ""]
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["result"]["agentInfo"]["version"] == "1.0.0"
    finally:
        running.kill()
        running.communicate()
    publish(server, "1.3.0")
    installed(server)
    assert [n.rpartition("-")[0] for n in left(home)] == ["1.2.0", "1.3.0", ""]


def test_an_update_that_does_not_start_changes_nothing(home: Path, server: Loopback) -> None:
    publish(server, "1.0.0")
    installed(server)
    publish(server, "1.1.0", program=(HEAD + "print('Welcome!')\n").encode())
    with pytest.raises(InstallError, match=r"1.1.0 does not work; 1.0.0 is still used.*Welcome!"):
        installed(server)
    found = find_installed("tiny")
    assert found is not None and found.receipt.version == "1.0.0"
    assert acpella.ask("tiny", "hello").text == "1.0.0"


def test_only_packages_have_other_versions(home: Path, server: Loopback) -> None:
    publish(server)
    with pytest.raises(InstallError, match="there is only version 1.0.0"):
        plan(listed(server), index_url=server.index_url, version="0.9.0")
    assert left(home) == []


def test_removing_deletes_all_of_it(home: Path, server: Loopback) -> None:
    publish(server)
    installed(server)
    set_pin("tiny", "1.0.0")
    found = find_installed("tiny")
    assert found is not None and found.selection.pin == "1.0.0"
    remove("tiny")
    assert find_installed("tiny") is None and not (agents_directory() / "tiny").exists()
    for change in (remove, roll_back):
        with pytest.raises(InstallError, match="not installed"):
            change("tiny")


@pytest.mark.parametrize("name", ["../../evil", "", "a/b", ".", "..", "Tiny", "tiny\n"])
def test_names_that_are_no_ids_find_nothing(home: Path, name: str) -> None:
    assert find_installed(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "../agents", "tiny/", "tiny/..", "Tiny", "PLACE"])
def test_only_an_id_names_files_that_are_deleted(
    home: Path, server: Loopback, tmp_path: Path, name: str
) -> None:
    publish(server)
    installed(server)
    other = tmp_path / "other" / "directory"
    other.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    name = name.replace("PLACE", os.fspath(other.parent))
    for change in (remove, roll_back, lambda name: set_pin(name, "1.0.0"), Staging):
        with pytest.raises(InstallError, match="not the id of an agent"):
            change(name)
    assert sorted(tmp_path.rglob("*")) == before
    assert find_installed("tiny") is not None


def test_damaged_files_are_an_agent_that_is_not_there(home: Path, server: Loopback) -> None:
    publish(server)
    installed(server)
    place = agents_directory() / "tiny"
    (receipt,) = place.glob("*/receipt.json")
    receipt.write_bytes(b"{")
    assert find_installed("tiny") is None and list_installed() == []
    assert installed(server) == "1.0.0"  # it is built again
    (place / "current.json").write_text('{"current": "../../.."}', encoding="utf-8")
    assert find_installed("tiny") is None


def test_an_archive_that_is_damaged_is_named_and_leaves_nothing(home: Path, server: Loopback) -> None:
    url, whole = f"{server.url}/tiny.tar.gz", tar({"tiny": os.urandom(10_000)})
    half = whole[: len(whole) // 2]
    server.archive("/tiny.tar.gz", half)
    server.index(entry("tiny", "1.0.0", binary=binary(url, half)))
    with pytest.raises(InstallError, match="damaged.*; nothing was installed") as raised:
        installed(server)
    assert str(raised.value).startswith(url)
    assert find_installed("tiny") is None and not (agents_directory() / "tiny").exists()


def test_an_archive_with_links_that_leave_makes_nothing_anywhere(
    home: Path, server: Loopback, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    up = "../" * 20 + str(outside).lstrip("/")
    links = {"x": up, "x/planted": "tiny", "x/new/deep/link": "tiny"}
    body = zipped({name: target.encode() for name, target in links.items()}, mode=0o120777)
    server.archive("/tiny.zip", body)
    server.index(entry(binary=binary(f"{server.url}/tiny.zip", body)))
    with pytest.raises(InstallError, match="link behind a link.*nothing was installed"):
        installed(server)
    assert list(outside.iterdir()) == [] and nothing_at_all(home)


def test_a_disk_that_is_full_leaves_the_old_version(
    home: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(server, "1.0.0")
    installed(server)
    publish(server, "1.1.0")

    def full(*_: object, **__: object) -> int:
        raise InstallError("the archive cannot be unpacked: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(install_module, "unpack", full)
        with pytest.raises(InstallError, match="No space"):
            installed(server)
    assert acpella.ask("tiny", "hello").text == "1.0.0"
    assert installed(server) == "1.1.0"
